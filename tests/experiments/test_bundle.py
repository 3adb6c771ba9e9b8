"""Verdicts as one table, and as an archive that somebody else can check."""

from __future__ import annotations

import csv
import json
import math
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from nuc_engine.experiments import bundle
from nuc_engine.experiments.bundle import BundleError, check_bundle, write_bundle
from nuc_engine.experiments.course import Collected
from nuc_engine.experiments.protocol import TableRow
from nuc_engine.experiments.record import VERDICT_FILE, write_verdict
from nuc_engine.experiments.sources import Sources, find_sources
from nuc_engine.experiments.tidy import COLUMNS, write_tidy
from nuc_engine.experiments.trials import run_trial
from nuc_engine.experiments.verdict import judge_rows
from tests.experiments import tiny

ROW = tiny.row()


def judge(row: TableRow, folder: Path) -> Path:
    """Write a verdict over two repetitions of a row, and its control's, into a folder of pages."""
    trials = {seed: run_trial(row, seed) for seed in (5, 6)}
    control = {5: run_trial(row, 5, control=True)}
    sources = find_sources([*row.bouts, *row.control.bouts])
    verdict = judge_rows(tiny.experiment(row), [Collected(row, trials, control)], 2, 5, sources)
    (folder / "T").mkdir()
    write_verdict(verdict, folder / "T")
    return folder


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of a tiny row."""
    return judge(ROW, tmp_path_factory.mktemp("pages"))


@pytest.fixture(autouse=True)
def only_the_tiny_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "EXPERIMENTS", (tiny.experiment(ROW),))


def changed(path: Path, to: Path, change) -> Path:
    """The archive with its files changed by a function of them."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    with zipfile.ZipFile(to, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return to


def summed(files: dict[str, bytes]) -> None:
    """Make the sums those of the files, as somebody would who hides what he did."""
    names = sorted(files.keys() - {bundle.SUMS})
    files[bundle.SUMS] = "".join(f"{bundle._sum(files[name])}  {name}\n" for name in names).encode()


def test_what_was_judged_comes_out_again(judged, tmp_path):
    path = tmp_path / "a.zip"
    assert write_bundle(path, judged) == len(zipfile.ZipFile(path).namelist())
    again = tmp_path / "b.zip"
    write_bundle(again, judged)
    assert path.read_bytes() == again.read_bytes()
    told: list[tuple[int, int]] = []
    verdict = check_bundle(path, 2, lambda done, of: told.append((done, of)))
    assert verdict.good
    assert [(each.seed, each.differences) for each in verdict.repeated] == [(5, ()), (6, ())]
    assert told == [(1, 2), (2, 2)]
    here = {"configs/lin_roach/plant.toml", "configs/lin_roach/joints.xml", "docs/experiments/T/verdict.json"}
    assert here <= set(zipfile.ZipFile(path).namelist())


def test_a_configuration_that_shares_a_plant_is_run_again_with_the_one_that_was_judged(tmp_path, monkeypatch):
    bouts = tuple(replace(plan, config="null_roach", values={}) for plan in ROW.bouts)
    row = replace(ROW, bouts=bouts, control=replace(ROW.control, bouts=bouts))
    monkeypatch.setattr(bundle, "EXPERIMENTS", (tiny.experiment(row),))
    pages = tmp_path / "pages"
    pages.mkdir()
    path = tmp_path / "a.zip"
    write_bundle(path, judge(row, pages))
    assert check_bundle(path, 2).good

    def other(files: dict[str, bytes]) -> None:
        files["configs/null_roach/plant.toml"] = b'same_as = "null_roach"\n'
        summed(files)

    found = check_bundle(changed(path, tmp_path / "b.zip", other), 1)
    assert found.contradictions == ("configs/null_roach/plant.toml: names another plant than here",)
    assert not found.good


def test_a_verdict_that_was_touched_up_is_found_by_its_sum_and_by_running_it_again(judged, tmp_path):
    path = tmp_path / "a.zip"
    write_bundle(path, judged)
    name = "docs/experiments/T/verdict.json"

    def better(files: dict[str, bytes]) -> None:
        record = json.loads(files[name])
        record["rows"][0]["trials"][0]["numbers"]["only range (deg)"] += 1.0
        files[name] = json.dumps(record).encode()

    found = check_bundle(changed(path, tmp_path / "touched.zip", better), 1)
    assert (found.changed, found.good) == ((name,), False)
    assert found.repeated[0].differences == ("numbers",)

    def better_with_sums(files: dict[str, bytes]) -> None:
        better(files)
        summed(files)

    found = check_bundle(changed(path, tmp_path / "hidden.zip", better_with_sums), 1)
    assert (found.changed, found.repeated[0].differences, found.good) == ((), ("numbers",), False)


def test_it_is_run_with_the_documents_of_the_archive_and_not_those_here(judged, tmp_path):
    path = tmp_path / "a.zip"
    write_bundle(path, judged)

    def slower(files: dict[str, bytes]) -> None:
        name = "configs/lin_roach/plant.toml"
        assert b"saturation_ticks = 41.4" in files[name]
        files[name] = files[name].replace(b"saturation_ticks = 41.4", b"saturation_ticks = 80.0")
        summed(files)

    assert "numbers" in check_bundle(changed(path, tmp_path / "slow.zip", slower), 1).repeated[0].differences


def test_other_criteria_and_a_file_that_nobody_summed_are_told(judged, tmp_path):
    path = tmp_path / "a.zip"
    write_bundle(path, judged)

    def lenient(files: dict[str, bytes]) -> None:
        files["criteria/1_changes.toml"] += b"\n# more\n"
        summed(files)
        files["more.txt"] = b""

    found = check_bundle(changed(path, tmp_path / "other.zip", lenient), 1)
    assert (found.changed, found.criteria, found.good) == (("more.txt",), ("1_changes.toml",), False)


NAME = "docs/experiments/T/verdict.json"


def forged(judged: Path, tmp_path: Path, change) -> bundle.BundleVerdict:
    """What is found where the verdict was changed by a function of its record, and the sums made to fit."""
    write_bundle(tmp_path / "a.zip", judged)

    def to(files: dict[str, bytes]) -> None:
        record = json.loads(files[NAME])
        change(record)
        files[NAME] = json.dumps(record).encode()
        summed(files)

    return check_bundle(changed(tmp_path / "a.zip", tmp_path / "forged.zip", to), 1)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda r: r["rows"][0].update(word="no evidence"), "T, tiny: word is not what its repetitions say"),
        (lambda r: r["rows"][0]["as_seen"].update(of=3), "T, tiny: as_seen is not what its repetitions say"),
        (
            lambda r: r["rows"][0]["control"].update(aborted=1),
            "T, tiny: control, aborted is not what its repetitions say",
        ),
        (
            lambda r: r["rows"][0]["numbers"]["only range (deg)"].update(median=99.0),
            "T, tiny: numbers are not those of its repetitions",
        ),
        (lambda r: r["rows"][0]["trials"][1].update(seed=5), "T, tiny: seeds are not those from 5 on, each once"),
        (
            lambda r: r["rows"][0]["control"]["trials"][0].update(seed=9),
            "T, tiny: control, seeds are not those from 5 on, each once",
        ),
        (lambda r: r.update(rows=[]), "T: has rows ; expected tiny"),
        (lambda r: r.update(standing=""), "T: standing is not what its seeds and repetitions say"),
        (lambda r: r.update(bus="/dev/ttyUSB0"), "T: was judged on /dev/ttyUSB0"),
        (
            lambda r: r["sources"]["files"].update({"configs/lin_roach/plant.toml": "0"}),
            "T: was judged with another configs/lin_roach/plant.toml",
        ),
    ],
)
def test_a_verdict_that_does_not_follow_from_what_is_in_it_is_told(judged, tmp_path, change, told):
    found = forged(judged, tmp_path, change)
    assert (found.changed, found.good) == ((), False)
    assert [text for text in found.contradictions if text.startswith(told)], found.contradictions


def test_what_is_not_forged_has_no_contradictions(judged, tmp_path):
    found = forged(judged, tmp_path, lambda record: None)
    assert (found.good, found.contradictions, found.recorded) == (True, (), 2)


def test_documents_that_are_missing_are_not_taken_from_here_in_silence(judged, tmp_path):
    write_bundle(tmp_path / "a.zip", judged)

    def without(files: dict[str, bytes]) -> None:
        for name in [name for name in files if name.startswith("configs/")]:
            del files[name]
        summed(files)

    found = check_bundle(changed(tmp_path / "a.zip", tmp_path / "less.zip", without), 1)
    assert not found.good
    assert "T: was judged with another configs/lin_roach/plant.toml" in found.contradictions


@pytest.mark.parametrize("name", ["configs/lin_roach/extensions.toml", "numpy.py", "scripts/more.xml", "configs"])
def test_what_no_verdict_rests_on_is_told_and_not_unpacked(judged, tmp_path, name):
    write_bundle(tmp_path / "a.zip", judged)

    def more(files: dict[str, bytes]) -> None:
        files[name] = b'tasks = ["nobody.installed.this"]'
        summed(files)

    found = check_bundle(changed(tmp_path / "a.zip", tmp_path / "more.zip", more), 1)
    assert (found.good, found.contradictions) == (False, (f"{name}: no verdict rests on it; it was left aside",))
    assert found.repeated[0].differences == ()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice_is_refused(judged, tmp_path):
    write_bundle(tmp_path / "a.zip", judged)
    with zipfile.ZipFile(tmp_path / "a.zip", "a") as archive:
        archive.writestr(NAME, archive.read(NAME))
    with pytest.raises(BundleError, match=r"verdict\.json more than once"):
        check_bundle(tmp_path / "a.zip", 1)


def test_damaged_bytes_are_told_and_never_an_accident(judged, tmp_path):
    write_bundle(tmp_path / "a.zip", judged)
    whole = (tmp_path / "a.zip").read_bytes()
    for place in range(0, len(whole), 61):
        (tmp_path / "b.zip").write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            bundle._read(tmp_path / "b.zip")
        except BundleError:
            continue


@pytest.mark.parametrize("name", ["../out.txt", "/etc/x", "a/../../b", "C:x", "a\\b"])
def test_a_name_that_leads_out_is_refused_and_nothing_is_written(judged, tmp_path, name):
    path = tmp_path / "a.zip"
    write_bundle(path, judged)
    with pytest.raises(BundleError, match="leads out"):
        check_bundle(changed(path, tmp_path / "evil.zip", lambda files: files.update({name: b"x"})), 1)


@pytest.mark.parametrize("data", [b"", b"no zip", b"PK\x03\x04" + b"x" * 100])
def test_what_is_no_bundle_is_a_clear_error(tmp_path, data):
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    with pytest.raises(BundleError, match="expected a bundle"):
        check_bundle(path, 1)


def test_verdicts_over_other_documents_or_none_make_no_bundle(judged, tmp_path):
    with pytest.raises(BundleError, match="has no verdict"):
        write_bundle(tmp_path / "a.zip", tmp_path)
    record = json.loads((judged / "T" / VERDICT_FILE).read_text())
    record["sources"]["files"]["configs/lin_roach/plant.toml"] = "0" * 64
    (tmp_path / "T").mkdir()
    (tmp_path / "T" / VERDICT_FILE).write_text(json.dumps(record))
    with pytest.raises(BundleError, match=r"judged with another configs/lin_roach/plant\.toml"):
        write_bundle(tmp_path / "a.zip", tmp_path)
    assert not (tmp_path / "a.zip").exists()


def test_a_table_has_a_line_for_each_number_and_none_of_the_repetitions_is_missing(tmp_path):
    row = tiny.row()
    failed = tiny.trial(2, "failed start", numbers={}, kicks=2)
    trials = {1: tiny.trial(1, numbers={"a": 1.5, "b": math.nan}), 2: failed}
    control = {1: tiny.trial(1, "otherwise", numbers={"a": 0.0})}
    sources = Sources("abc", False, {}, {"configs/x/plant.toml": "12" * 32, "configs/x/joints.xml": "0"})
    verdict = judge_rows(tiny.experiment(row), [Collected(row, trials, control)], 2, 1, sources)
    experiment = tiny.experiment(replace(row, robot=(2, 3)))
    assert write_tidy(tmp_path / "t.csv", [verdict], [experiment]) == 3
    with (tmp_path / "t.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == list(COLUMNS)
    told = [(each["seed"], each["state"], each["number"], each["value"], each["kicks"]) for each in lines]
    assert told == [
        ("1", "as seen", "a", "1.5", "0"),
        ("1", "as seen", "b", "", "0"),
        ("2", "failed start", "", "", "2"),
        ("1", "otherwise", "a", "0.0", "0"),
    ]
    assert {each["plant"] for each in lines} == {"x/plant.toml@121212121212"}
    assert [each["control"] for each in lines][-1] != lines[0]["control"]
    assert {(each["robot"], each["robot_of"], each["robot_kicked"]) for each in lines} == {("2", "3", "")}
