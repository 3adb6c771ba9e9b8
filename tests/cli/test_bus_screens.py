"""What the bench tools print: whole names, lines that fit, torques that are given and not only asked for."""

from __future__ import annotations

import json
import re

import pytest

from nuc_engine.cli.bus.set_baud import command as set_baud
from tests.cli.conftest import Nuc

NARROW = 80


@pytest.mark.parametrize(
    "words",
    [
        ("monitor", "emulated:", "-c", "lin_roach", "-n", "4"),
        ("scan", "emulated:feetech", "--ids", "1,2"),
        ("move", "emulated:dynamixel", "--ids", "1,2", "--by", "20deg", "--model", "XM430-W350"),
        ("budget", "18", "emulated:dynamixel"),
        ("budget", "4", "emulated:feetech"),
        ("characterise", "emulated:", "--id", "1", "--model", "1001", "--hold", "0.2", "--steps", "4"),
    ],
)
def test_tables_fit_a_narrow_terminal(nuc: Nuc, words: tuple[str, ...]) -> None:
    result = nuc("bus", *words)
    assert result.exit_code == 0, result.output
    rows = [line for line in result.stdout.splitlines() if re.search(r"\S {2,}\S", line)]
    assert len(rows) > 1
    assert max(map(len, rows)) <= NARROW


def test_names_of_a_configuration_are_not_cut(nuc: Nuc) -> None:
    shown = nuc("bus", "monitor", "emulated:", "-c", "lin_roach", "-n", "4").stdout
    assert "Coxa-Trochanter_motor " in shown


def test_the_rate_of_readings_is_that_between_them(nuc: Nuc) -> None:
    words = ("--ids", "1", "--model", "XL430-W250", "--rate", "50", "-n", "100")
    shown = nuc("bus", "monitor", "emulated:dynamixel", *words).stdout
    assert "100 readings, 50 readings/s" in shown.splitlines()[-1]
    first = nuc("bus", "monitor", "emulated:", "--ids", "1", "-n", "1").stdout
    assert "1 reading" in first
    assert "readings/s" not in first


@pytest.mark.parametrize(("torque", "given"), [("0.5", 0.5), ("3", 0.32 * 4.1), ("-3", -0.32 * 4.1)])
def test_force_says_the_torque_there_is_not_the_one_asked_for(nuc: Nuc, torque: str, given: float) -> None:
    words = ("--id", "1", "--model", "XM430-W350", "--torque", torque, "--for", "0.1", "--most", "360")
    result = nuc("bus", "force", "emulated:dynamixel", *words, "--json")
    servo = json.loads(result.stdout)["servo"]
    assert servo["torque_n_m"] == pytest.approx(given, abs=0.02)
    assert servo["delta_n_m"] == pytest.approx(float(torque), abs=0.02)
    said = nuc("bus", "force", "emulated:dynamixel", *words).stdout
    assert f"{servo['torque_n_m']:+.3f} N m" in said
    assert ("the level's limit" in said) == (abs(given) < abs(float(torque)))


def test_a_pseudo_terminal_has_no_rate_to_be_set(nuc: Nuc, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stored in an emulated servo there would leave it deaf."""
    import os

    master, slave = os.openpty()
    try:
        monkeypatch.setattr("nuc_engine.cli.bus.bench.Bench.present", lambda *_: True)
        url = f"dynamixel://{os.ttyname(slave)}"
        result = nuc("bus", "set-baud", url, "--id", "1", "--to", "1000000", "--yes")
    finally:
        os.close(slave)
        os.close(master)
    assert set_baud.name == "set-baud"
    assert result.exit_code == 1
    assert "nuc emulate ... --baud 1000000" in result.stderr
