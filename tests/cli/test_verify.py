"""`nuc verify` on the command line."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from nuc_engine import BoutSpec, run_bout
from nuc_engine.verify import verify_bout
from tests.cli.conftest import Nuc


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("verify") / "bout"
    return run_bout(BoutSpec(config="lin_roach", bus="loopback:", out=out, duration_s=0.5)).folder


@pytest.fixture
def bout(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "bout"))


def damage(bout: Path) -> None:
    text = (bout / "MotorData.txt").read_text()
    (bout / "MotorData.txt").write_text(re.sub(r"(?m)\d+$", "7", text))


def test_a_bout_that_is_right_is_said_to_be_and_what_was_not_computed_is_told(bout: Path, nuc: Nuc) -> None:
    result = nuc("verify", str(bout))
    assert result.exit_code == 0
    assert "as the bout left it, and as the equations have it" in " ".join(result.stdout.split())
    assert "not computed: Debuglog.txt" in result.stdout
    assert result.stderr == ""


def test_a_bout_that_is_wrong_is_told_by_file_record_and_column(bout: Path, nuc: Nuc) -> None:
    damage(bout)
    result = nuc("verify", str(bout))
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "changed file: MotorData.txt is not what the bout left"
    assert re.fullmatch(r"MotorData\.txt, record 1 at 0\.\d+ s, Femur_Tibia_motor\.age_ns", lines[1])
    assert lines[2].split()[0] == "computed"
    assert lines[3].split() == ["found", "7"]
    assert re.search(r"^MotorData\.txt: \d+ more$", result.stdout, re.MULTILINE)


def test_a_bout_without_its_record_is_not_verified_and_says_so(bout: Path, nuc: Nuc) -> None:
    (bout / "InputRecord.msgpack").unlink()
    result = nuc("verify", str(bout))
    assert result.exit_code == 1
    assert "changed file: InputRecord.msgpack is not" in result.stdout
    assert f"{bout}: not verified: nothing was compared" in " ".join(result.stdout.split())


def test_as_json(bout: Path, nuc: Nuc) -> None:
    data = json.loads(nuc("verify", str(bout), "--json").stdout)
    assert data["ok"] is True
    assert data["changed_files"] == data["differences"] == []
    assert data["compared"]["MotorData.txt"] > 50
    damage(bout)
    result = nuc("verify", str(bout), "--json")
    data = json.loads(result.stdout)
    assert (result.exit_code, data["ok"], data["changed_files"]) == (1, False, ["MotorData.txt"])
    assert data["different"]["MotorData.txt"] > 50
    first = data["differences"][0]
    assert {"file", "record", "time_ns", "column", "computed", "found"} == set(first)


def test_a_bout_of_which_nothing_was_compared_is_not_verified(
    bout: Path, nuc: Nuc, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = replace(verify_bout(bout), records={"MotorData.txt": 0}, present={"MotorData.txt": 90})
    monkeypatch.setattr("nuc_engine.verify.verify_bout", lambda *_: verdict)
    result = nuc("verify", str(bout))
    assert result.exit_code == 1
    assert "not verified: compared were 0 of the 90 of MotorData.txt" in " ".join(result.stdout.split())
    assert "as the equations have it" not in result.stdout
    data = json.loads(nuc("verify", str(bout), "--json").stdout)
    assert (data["ok"], data["not_verified"]) == (False, ["MotorData.txt"])


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_is_told_how_far_it_has_come_where_it_takes_long(
    terminal: bool, bout: Path, nuc: Nuc, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = itertools.count(0.0, 3.0)
    monkeypatch.setattr("nuc_engine.cli.terminal.wallclock.seconds", lambda: next(seconds))
    for module in ("look.verify", "terminal.progress"):
        monkeypatch.setattr(f"nuc_engine.cli.{module}.is_terminal", lambda *, err: terminal)
    assert ("0.5 of 0.5 s" in nuc("verify", str(bout)).stderr) == terminal


def test_what_is_no_bout_is_a_line_and_the_command_line_itself_is_status_2(nuc: Nuc, tmp_path: Path) -> None:
    result = nuc("verify", str(tmp_path))
    assert result.exit_code == 1
    assert "expected the data directory of a bout" in result.stderr
    assert nuc("verify", str(tmp_path / "nowhere")).exit_code == 2
    assert nuc("verify").exit_code == 2
