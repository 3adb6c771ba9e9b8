"""Mending a torn bout: whatever was cut off, what is left loads and replays as far as it goes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.analysis.load import load_bout
from nuc_engine.bout.replay import ReplayRefused, replay_bout, replay_inputs
from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.plants.events import Ground, Kick
from nuc_engine.plants.scripted import events_of
from nuc_engine.recording import inputs, manifest
from nuc_engine.recording.files import INPUT_RECORD, MANIFEST_FILE
from nuc_engine.recording.lock import FolderLock
from nuc_engine.recording.recover import KEPT, RecoverRefused, list_bouts, recover
from sccils_schemas.documents import HdsoScript
from sccils_schemas.parser import parse
from tests.service.log_feed import Bench, bout, contents, read_manifest

LOGS = (
    "MotorData.txt",
    "SensData.txt",
    "StateData.txt",
    "MuscleData.txt",
    "Infolog.txt",
    "Debuglog.txt",
    "Scriptlog.xml",
    "HDSOlog.xml",
    "Notes.jsonl",
    "InputRecord.msgpack",
)


def unfinish(folder: Path) -> Path:
    """Make a directory that of a bout that runs, as far as its manifest goes."""
    record = read_manifest(folder)
    for key in ("files", "counts", "engine_time_s", "stopped"):
        record.pop(key, None)
    manifest.write_record(folder, record | {"state": "running", "reason": ""})
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bench = Bench(tmp_path_factory.mktemp("recover"))
    bench.tell("author", 11, "Ann", 2)
    bench.tell("note", "note", "before", "Ann", True)
    bench.put(*bout(duration_ms=400))
    bench.run(bench.writer())
    return unfinish(bench.folders[0])


@pytest.fixture
def torn(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "torn"))


def cut(folder: Path, name: str, size: int) -> None:
    os.truncate(folder / name, size)


def check(folder: Path) -> None:
    """What is left loads, its XML is read, and the tasks give it again."""
    record = read_manifest(folder)
    assert record["state"] == "torn"
    assert record["files"] == manifest.hash_files(folder)
    for name in ("Scriptlog.xml", "HDSOlog.xml"):
        if (folder / name).stat().st_size:
            document, problems = parse((folder / name).read_bytes())
            assert document is not None, problems
    for name in ("MotorData.txt", "SensData.txt", "StateData.txt", "MuscleData.txt"):
        data = (folder / name).read_bytes()
        assert data.endswith(b"\n") or not data
    load_bout(folder)
    try:
        report = replay_inputs(folder)
    except ReplayRefused:
        entries = list(inputs.read_inputs(folder / INPUT_RECORD)) if (folder / INPUT_RECORD).stat().st_size else []
        assert not [entry for entry in entries if entry[0] == "cycle"]
    else:
        assert report.difference is None
        assert report.changed_files == ()


@settings(max_examples=30, deadline=None, derandomize=True)
@given(cuts=st.dictionaries(st.sampled_from(LOGS), st.floats(0, 1), max_size=len(LOGS)))
def test_any_truncation_of_any_files_is_mended(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, cuts: dict[str, float]
) -> None:
    folder = Path(shutil.copytree(whole, tmp_path_factory.mktemp("cut") / "torn"))
    for name, share in cuts.items():
        cut(folder, name, round(share * (folder / name).stat().st_size))
    assert recover(folder).changed
    check(folder)
    before = contents_of(folder)
    assert not recover(folder).changed
    assert contents_of(folder) == before


def contents_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@settings(max_examples=12, deadline=None, derandomize=True)
@given(name=st.sampled_from(LOGS), share=st.floats(0.1, 1), zeros=st.integers(1, 300))
def test_zeros_a_power_cut_left_at_the_end_are_cut_off(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, name: str, share: float, zeros: int
) -> None:
    folder = Path(shutil.copytree(whole, tmp_path_factory.mktemp("zeros") / "torn"))
    cut(folder, name, round(share * (folder / name).stat().st_size))
    with (folder / name).open("ab") as file:
        file.write(bytes(zeros))
    recover(folder)
    assert bytes(2) not in (folder / name).read_bytes()[-100:] or name == INPUT_RECORD
    check(folder)


def test_what_was_cut_off_is_kept_and_the_rest_is_as_it_was(torn: Path) -> None:
    before = contents(torn)
    cut(torn, "MotorData.txt", len(before["MotorData.txt"]) - 5)
    report = recover(torn)
    assert [(mend.file, mend.add) for mend in report.mends] == [("MotorData.txt", b"")]
    kept = (torn / KEPT / "MotorData.txt.1").read_bytes()
    assert (torn / "MotorData.txt").read_bytes() + kept == before["MotorData.txt"][:-5]
    assert {name: data for name, data in contents_of(torn).items() if name in before}.keys() == before.keys()
    said = read_manifest(torn)
    assert said["counts"]["records"]["MotorData.txt"] == before["MotorData.txt"].count(b"\n") - 1
    assert said["reason"].startswith("cut off")
    assert said["labels"] == {"leg": "left"}
    assert said["engine_time_s"] == 0.4


def test_a_dry_run_says_the_same_and_touches_nothing(torn: Path) -> None:
    cut(torn, "Scriptlog.xml", 300)
    before = contents_of(torn)
    would = recover(torn, dry_run=True)
    assert contents_of(torn) == before
    assert recover(torn) == would


def test_a_bout_that_is_being_written_is_left_alone(torn: Path) -> None:
    before = contents_of(torn)
    with FolderLock(torn), pytest.raises(RecoverRefused, match="being written"):
        recover(torn)
    assert contents_of(torn) == before
    assert recover(torn).changed


def test_a_bout_that_ended_is_left_alone(torn: Path) -> None:
    for state in ("complete", "interrupted", "fault"):
        manifest.write_record(torn, read_manifest(torn) | {"state": state, "reason": "so"})
        cut(torn, "MotorData.txt", 100)
        before = contents_of(torn)
        assert not recover(torn).changed
        assert contents_of(torn) == before


def test_a_bout_that_ran_out_of_disk_is_mended_and_stays_a_fault(torn: Path) -> None:
    manifest.write_record(torn, read_manifest(torn) | {"state": "fault", "reason": "logging_failed: full"})
    cut(torn, "HDSOlog.xml", 1000)
    report = recover(torn)
    assert report.state == "fault"
    assert parse((torn / "HDSOlog.xml").read_bytes())[0] is not None


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"format": 9}', "[" * 100_000])
def test_what_is_no_bout_is_refused(torn: Path, text: str | None) -> None:
    if text is None:
        (torn / MANIFEST_FILE).unlink()
    else:
        (torn / MANIFEST_FILE).write_text(text)
    with pytest.raises(RecoverRefused, match=r"manifest\.json"):
        recover(torn)


def test_a_folder_of_bouts_is_a_list_of_them(whole: Path, torn: Path, tmp_path: Path) -> None:
    assert list_bouts(torn) == [torn]
    shutil.copytree(whole, tmp_path / "another")
    (tmp_path / "empty").mkdir()
    assert list_bouts(tmp_path) == [tmp_path / "another", torn]


def test_a_bout_of_nuc_run_that_was_killed_is_mended_and_replayed(tmp_path: Path) -> None:
    out = tmp_path / "bout"
    run_bout(BoutSpec("configs/lin_roach", out, script="experiment_a", duration_s=0.4, seed=7, bus="loopback:"))
    unfinish(out)
    for name in ("MotorData.txt", "Scriptlog.xml", "InputRecord.msgpack"):
        cut(out, name, (out / name).stat().st_size * 2 // 3)
    assert recover(out).state == "torn"
    assert replay_bout(out).identical
    assert json.loads((out / MANIFEST_FILE).read_text())["clock"] == "virtual"


def test_a_killed_bout_keeps_what_was_done_by_hand(tmp_path: Path) -> None:
    events = (Kick(200_000_000), Ground(300_000_000, present=False))
    folder = run_bout(BoutSpec("lin_roach", tmp_path / "bout", duration_s=0.5, events=events)).folder
    script = folder / "Scriptlog.xml"
    data = script.read_bytes()
    # Cut off within the end of the document, right behind the last event.
    script.write_bytes(data[: data.index(b"</hdsoscript>") + 5])
    unfinish(folder)
    recover(folder)
    document, problems = parse(script.read_bytes())
    assert isinstance(document, HdsoScript), str(problems)
    assert [type(event) for event in events_of(document)] == [Kick, Ground]
    assert read_manifest(folder)["counts"]["records"]["Scriptlog.xml"] == 2
    assert replay_bout(folder).identical
