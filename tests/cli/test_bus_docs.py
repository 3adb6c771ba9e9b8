"""docs/hardware.md says what the tables say, and every command in it is one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from drivers.factory import find_family
from nuc_engine.cli.app import app

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "hardware.md").read_text()
COMMANDS = [line.strip() for line in TEXT.splitlines() if line.strip().startswith("nuc ")]


def test_the_supply_table_has_every_model_with_its_numbers() -> None:
    section = TEXT.partition("## Supply")[2].partition("\n## ")[0]
    rows = {
        cells[1]: cells[2:5] for line in section.splitlines() if len(cells := [c.strip() for c in line.split("|")]) > 5
    }
    for family in ("aimotor", "dynamixel", "feetech"):
        for name, model in find_family(family).models.items():
            supply, current, torque = (float(cell) for cell in rows[name.removesuffix("-10bit")])
            assert supply == model.supply_v, name
            assert current == pytest.approx(model.stall_current_a, abs=0.051), name
            assert torque == pytest.approx(model.stall_torque_n_m, abs=0.051), name


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_page_is_one(line: str) -> None:
    words = shlex.split(line)[1:]
    command: click.Command = app
    context = click.Context(command)
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, words[0]
        command, words = found, words[1:]
    # Parsed, not invoked: an unknown option or a missing argument raises.
    command.make_context(command.name, words)


def test_the_commands_are_not_all_the_same() -> None:
    assert len({line.split()[2] for line in COMMANDS if line.startswith("nuc bus")}) >= 8
    assert len(re.findall(r"^\d+\. \*\*", TEXT, re.MULTILINE)) == 10
