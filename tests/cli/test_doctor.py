from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nuc_engine.cli.app import app
from tests.doctor.machines import PaperMachine


@pytest.fixture
def paper(tmp_path: Path) -> PaperMachine:
    return PaperMachine(tmp_path)


def doctor(paper: PaperMachine, *words: str) -> Result:
    return CliRunner().invoke(app, ["doctor", "--data", "/var/lib/nuc/data", *words], obj=paper.machine)


def test_a_good_machine(paper: PaperMachine) -> None:
    result = doctor(paper)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[-1] == "16 ok, 0 warnings, 0 bad"
    assert all(line.startswith(("ok ", " " * 8)) for line in lines[:-2])


def test_warnings_alone_are_good_and_come_with_their_remedy(paper: PaperMachine) -> None:
    paper.synchronised = False
    result = doctor(paper)
    assert result.exit_code == 0
    assert "warn  time of day" in result.stdout
    assert "-> run `timedatectl set-ntp true`" in result.stdout
    assert "15 ok, 1 warning, 0 bad" in result.stdout


def test_anything_bad_is_exit_status_1(paper: PaperMachine) -> None:
    paper.free = 0
    assert doctor(paper).exit_code == 1


def test_what_was_found_stands_in_one_column(paper: PaperMachine) -> None:
    paper.free, paper.synchronised = 0, False
    lines = doctor(paper).stdout.splitlines()[:-2]
    column = lines[0].index("PREEMPT_RT")
    assert all(line[column - 2 : column] == "  " and line[column] != " " for line in lines)
    assert max(map(len, lines)) <= 100


def test_json(paper: PaperMachine) -> None:
    paper.synchronised = False
    found = json.loads(doctor(paper, "--json").stdout)
    assert found["ok"] is True
    assert found["counts"] == {"ok": 15, "warn": 1, "bad": 0}
    levels = {each["level"] for each in found["checks"]}
    assert levels == {"ok", "warn"}
    assert all(set(each) == {"name", "level", "found", "meaning", "remedy"} for each in found["checks"])
    paper.free = 0
    assert json.loads(doctor(paper, "--json").stdout)["ok"] is False


@pytest.mark.parametrize("url", ["aimotor:///dev/ttyUSB0?baud=115200", "left=aimotor:///dev/ttyUSB0"])
def test_a_bus_is_looked_at_by_its_url(paper: PaperMachine, url: str) -> None:
    paper.write({"sys/bus/usb-serial/devices/ttyUSB0/latency_timer": "16"})
    result = doctor(paper, "--bus", url)
    assert result.exit_code == 1
    assert "latency timer" in result.stdout


def test_a_bus_that_is_not_there(paper: PaperMachine) -> None:
    result = doctor(paper, "--bus", "aimotor:///dev/ttyUSB0", "--bus", "right=aimotor:///dev/ttyUSB7")
    assert result.exit_code == 1
    assert "/dev/ttyUSB7: absent" in result.stdout


def test_an_emulated_bus_has_no_port(paper: PaperMachine) -> None:
    assert doctor(paper, "--bus", "emulated:").exit_code == 0


def test_a_url_that_is_none_is_a_wrong_command_line(paper: PaperMachine) -> None:
    assert doctor(paper, "--bus", "aimotor:").exit_code == 2
