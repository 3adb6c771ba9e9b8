"""`nuc sweep`, `nuc tune` and `nuc minimise` as they are typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

from nuc_engine.batch.journal import RUN, Journal
from nuc_engine.batch.plan import SweepRequest, make_plan
from nuc_engine.cli.app import app
from nuc_engine.cli.terminal.progress import ManyProgress

Nuc = Callable[..., Result]

SCRIPT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE hdsoscript SYSTEM "hdsoscript.dtd">
<hdsoscript name="two" ScriptType="LegScript">
  <hdsoMod idNum="103" name="TC1_retLEV_FTang" NumElts="1" datatype="float" time="9">61</hdsoMod>
  <hdsoMod idNum="121" name="TC1_protractionDEP_retractor_activation"
      NumElts="1" datatype="float" time="9">0.05</hdsoMod>
</hdsoscript>
"""
"""At 9 s one threshold a degree higher, and a value that is in force already."""


@pytest.fixture
def nuc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nuc:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.xml").write_text(SCRIPT)

    def call(*words: str) -> Result:
        result = CliRunner().invoke(app, list(words))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


def test_sweep_says_what_was_seen_and_when_there_is_nothing_to_do(nuc: Nuc, tmp_path: Path) -> None:
    words = ("sweep", "lin_roach", "-d", "4", "--latin", "2", "-v", "plant.world.friction=0.05:0.2", "-o", "a.parquet")
    first = nuc(*words, "--jobs", "2", "--json")
    assert first.exit_code == 0
    said = json.loads(first.stdout)
    assert (said["ok"], said["rows"], said["before"], said["states"]) == (True, 2, 0, {"complete": 2})
    frictions = parquet.read_table(tmp_path / "a.parquet")["plant.world.friction"].to_pylist()
    assert sorted(int((friction - 0.05) / 0.075) for friction in frictions) == [0, 1]
    again = nuc(*words)
    assert "complete already, 2 rows; nothing was run" in again.stdout


def test_sweep_says_when_its_rows_are_of_several_versions_of_the_engine(nuc: Nuc, tmp_path: Path) -> None:
    plan = make_plan(SweepRequest("lin_roach", duration_s=2.0, seeds=(0, 1)))
    with Journal(tmp_path / "a.parquet.parts", plan.describe()) as journal:
        journal.add({RUN: 0, "engine": "0.0.9 (older)", "state": "complete"})
    words = ("sweep", "lin_roach", "-d", "2", "--seeds", "0,1", "--jobs", "1")
    assert "by 2 versions of the engine" in nuc(*words, "-o", "a.parquet").stdout
    assert "versions" not in nuc(*words, "-o", "b.parquet").stdout


def test_options_go_before_the_file(nuc: Nuc, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("config = 'lin_roach'\nduration = 600\nseeds = '1:90'\n[vary]\n103 = [60, 61]\n")
    result = nuc("sweep", "s.toml", "--duration", "2", "--seeds", "5", "-v", "103=62", "-o", "a.parquet", "--jobs", "1")
    assert result.exit_code == 0, result.stderr
    (row,) = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert (row["TC1_retLEV_FTang"], row["seed"], row["simulated_s"]) == (62.0, 5, 2.0)


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("sweep", "lin_roach", "-o", "a.parquet", "--grid", "--latin", "3"), 2, "exclude each other"),
        (("sweep", "lin_roach", "-o", "a.parquet", "--dask", "tcp://x:1", "-j", "2"), 2, "exclude each other"),
        (("sweep", "lin_roach", "-o", "a.parquet", "-v", "103=1", "-v", "103=2"), 2, "given twice"),
        (("sweep", "lin_roach", "-o", "a.parquet", "-v", "seed=1", "--seeds", "2"), 2, "are the same"),
        (("sweep", "lin_roach", "-o", "a.parquet", "-v", "103=1:2"), 1, "a grid needs FROM:TO:N"),
        (("sweep", "lin_roach", "-o", "a.parquet", "--window", "x=20:40"), 1, "expected to lie in 0:30 s"),
        (("sweep", "no_leg", "-o", "a.parquet"), 2, "no configuration 'no_leg'"),
        (("tune", "lin_roach", "-o", "a.xml", "-c", "FWD"), 1, "nothing is varied"),
        (("tune", "lin_roach", "-o", "a.xml", "-c", "FDW", "-v", "103=1:2"), 1, "expected FWD, ITF"),
        (("tune", "lin_roach", "-o", "a.xml", "-c", "FWD", "-v", "seed=1,2"), 2, "--seeds"),
        (("tune", "lin_roach", "-o", "two.xml", "-c", "FWD", "-v", "103=1:2"), 2, "two.xml exists already"),
        (("minimise", "experiment_a", "--at", "20", "--wanted", "FDW"), 1, "'FDW', is no outcome; expected FWD, ITF"),
        (("minimise", "experiment_a"), 2, "--at T"),
        (("minimise", "experiment_a", "--at", "noon"), 2, "expected seconds"),
        (("minimise", "experiment_a", "--at", "21"), 1, "the script writes at 0, 20, 40"),
        (("minimise", "two.xml", "--commute"), 1, "expected two changesets"),
        (("minimise", "two.xml", "--at", "9", "--write", "two.xml"), 2, "exists already"),
    ],
)
def test_what_can_not_be_run_is_told_in_a_line(words: tuple[str, ...], status: int, says: str, nuc: Nuc) -> None:
    result = nuc(*words)
    assert result.exit_code == status
    assert says in result.stderr
    assert not result.stdout


def test_tune_writes_the_script_of_the_best(nuc: Nuc, tmp_path: Path) -> None:
    words = (
        "tune",
        "lin_roach",
        "-d",
        "8",
        "-c",
        "FWD",
        "-v",
        "103=55:65",
        "-n",
        "2",
        "--seeds",
        "3",
        "--fresh",
        "4",
        "-j",
        "1",
    )
    result = nuc(*words, "-o", "best.xml", "--json")
    said = json.loads(result.stdout)
    assert result.exit_code == (0 if said["best"]["good"] else 1)
    assert said["trials"] == 2
    assert said["present"]["values"] == {"TC1_retLEV_FTang": 60.0}
    assert said["fresh"]["bouts"] == 1
    assert said["present_fresh"]["bouts"] == 1
    assert nuc("validate", "lin_roach", "best.xml").exit_code == 0
    text = nuc(*words, "-o", "best.xml").stdout
    assert "best of 2 trials" in " ".join(text.split())
    assert "(was 60)" in text


def test_minimise_tells_what_a_changeset_does_not_need(nuc: Nuc, tmp_path: Path) -> None:
    words = (
        "minimise",
        "two.xml",
        "--at",
        "9",
        "--seeds",
        "3",
        "--watch",
        "9",
        "--write",
        "less.xml",
        "--rows",
        "rows",
    )
    result = nuc(*words, "--json")
    assert result.exit_code == 0, result.stderr
    said = json.loads(result.stdout)
    assert said["before"] == {"FWD": 1}
    assert said["wanted"] == "FWD"
    assert [entry["verdict"] for entry in said["entries"]] == ["unnecessary", "no change"]
    assert [entry["sure"] for entry in said["entries"]] == [False, True]
    assert said["whole"]["interval"] == pytest.approx([0.2065, 1.0], abs=1e-4)
    assert said["reduced"]["left_out"] == ["TC1_retLEV_FTang", "TC1_protractionDEP_retractor_activation"]
    assert "hdsoMod" not in (tmp_path / "less.xml").read_text().replace("<!DOCTYPE", "")
    rows = (tmp_path / "rows" / "rows.jsonl").read_bytes()
    text = nuc(*words, "--force").stdout
    assert (tmp_path / "rows" / "rows.jsonl").read_bytes() == rows  # Nothing was run again.
    assert "something else (seeds differs)" in nuc(*words, "--force", "--seeds", "4").stderr
    assert "changeset at 9 s, for FWD" in text
    assert "unnecessary (too few seeds to be sure)" in " ".join(text.split())
    assert "1 of 1, 21 to 100 % (FWD 1)" in text
    assert "writes what is in force already" in text


def test_the_rate_and_the_time_left_are_told_from_what_was_done_here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("nuc_engine.cli.terminal.wallclock.seconds", lambda: now[0])
    with ManyProgress("sweep") as progress:
        for finished in range(51, 101):  # 50 were there before
            now[0] += 10.0
            progress(finished, 100)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "sweep: 53 of 100 bouts, 6.0/min, about 8 min left"
    assert lines[-1] == "sweep: 100 of 100 bouts, 6.0/min, in 8 min"


def test_the_time_left_is_told_by_the_share_of_the_work_where_items_differ(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("nuc_engine.cli.terminal.wallclock.seconds", lambda: now[0])
    with ManyProgress("all", "repetitions") as progress:
        for finished in (1, 2):  # The long ones are first.
            now[0] += 300.0
            progress(finished, 100, 0.25 * finished)
    assert capsys.readouterr().err.splitlines() == [
        "all: 1 of 100 repetitions, 12.0/h, about 15 min left",
        "all: 2 of 100 repetitions, 12.0/h, about 10 min left",
    ]
