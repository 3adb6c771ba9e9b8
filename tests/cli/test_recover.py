"""`nuc recover`, `nuc export` and `nuc replay --again` on the command line."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Nuc
from tests.recording.test_recover import unfinish
from tests.service.log_feed import Bench
from tests.service.log_feed import bout as records


@pytest.fixture
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A bout of the daemon. Made where the configurations are found by their path from here."""
    bench = Bench(tmp_path / "data")
    bench.put(*records())
    bench.run(bench.writer())
    return bench.folders[0]


def test_a_torn_bout_is_mended_and_said_to_be(served: Path, nuc: Nuc) -> None:
    unfinish(served)
    os.truncate(served / "MotorData.txt", 1000)
    would = nuc("recover", str(served), "--dry-run")
    assert "would be cut by" in would.stdout
    result = nuc("recover", str(served))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].endswith("mended, 1 file; the bout is torn")
    assert lines[1].startswith("    MotorData.txt: cut by ")
    assert nuc("recover", str(served)).stdout.splitlines() == [f"{served}: nothing to mend (torn)"]


def test_a_folder_of_bouts_as_json(served: Path, nuc: Nuc) -> None:
    unfinish(Path(shutil.copytree(served, served.with_name("torn"))))
    result = nuc("recover", str(served.parent), "--json")
    data = json.loads(result.stdout)
    assert data["ok"] is True
    assert [bout["state"] for bout in data["bouts"]] == ["complete", "torn"]
    assert [bout["changed"] for bout in data["bouts"]] == [False, True]


def test_what_is_no_bout_is_a_line_and_the_others_are_mended(served: Path, nuc: Nuc, tmp_path: Path) -> None:
    unfinish(served)
    (tmp_path / "empty").mkdir()
    result = nuc("recover", str(tmp_path / "empty"), str(served))
    assert result.exit_code == 1
    assert "manifest.json" in result.stderr
    assert "mended" in result.stdout


def test_export_writes_a_file_beside_the_directory(served: Path, nuc: Nuc) -> None:
    result = nuc("export", str(served), "--mcap", "--json")
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    path = Path(data["file"])
    assert path == served.with_name(served.name + ".mcap")
    assert path.stat().st_size == data["bytes"]
    assert data["messages"] > 100
    assert [p.name for p in served.parent.iterdir() if p.name.endswith(".new")] == []


def test_export_of_what_is_no_bout_is_a_line(nuc: Nuc, tmp_path: Path) -> None:
    result = nuc("export", str(tmp_path), "--mcap")
    assert result.exit_code == 1
    assert "columns.json" in result.stderr


def test_replay_again_makes_a_new_bout_and_compares_the_steps(served: Path, nuc: Nuc, tmp_path: Path) -> None:
    result = nuc("replay", str(served), "--again", "--bus", "loopback:", "--out", str(tmp_path / "new"))
    assert result.exit_code == 0
    assert result.stdout.startswith(f"new bout: {tmp_path / 'new'} (complete: ")
    data = json.loads(nuc("replay", str(served), "--again", "--bus", "loopback:", "--json").stdout)
    assert data["folder"] == str(served) + "_again"
    assert data["state"] == "complete"


@pytest.mark.parametrize("words", [("--again", "--recorded"), ("--bus", "loopback:"), ("--seed", "3")])
def test_options_that_do_not_go_together_are_a_line(served: Path, nuc: Nuc, words: tuple[str, ...]) -> None:
    assert nuc("replay", str(served), *words).exit_code == 2
