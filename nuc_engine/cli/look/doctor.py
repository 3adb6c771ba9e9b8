"""`nuc doctor`: is this machine fit for real time?"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.output import WIDTH, count, faint, say, say_json
from nuc_engine.cli.terminal.params import NucCommand, as_json
from nuc_engine.machine.needs import need_linux

if TYPE_CHECKING:
    from nuc_engine.doctor import Check, Machine

_COLOURS: Mapping[str, str] = MappingProxyType({"ok": "green", "warn": "yellow", "bad": "red"})


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc doctor", "this machine, with whatever adapters are plugged in"),
        ("nuc doctor --bus aimotor:///dev/nuc/lin_roach --data /var/lib/nuc/data", "as one leg will use it"),
        ("nuc doctor --json", "for a program to read"),
    ),
    output=(
        "To stdout: one line per check with ok, warn or bad and what was found; below all that is not ok, what it"
        " means and what to do. Nothing is changed.",
        "Limits are those of the user who asks; the engine's unit brings its own.",
        "Exit status 1 when anything is bad; warnings alone are good.",
    ),
)
@click.option(
    "--bus", "-b", "buses", metavar="[NAME=]URL", multiple=True, help="Bus the leg will be on; may be repeated."
)
@click.option(
    "--data",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("data"),
    help="Folder bouts will be kept in.  [default: ./data]",
)
@as_json
@click.pass_obj
def command(machine: Machine | None, buses: Sequence[str], data: Path, as_json: bool) -> int:
    """Check whether this machine is fit to run a leg in real time, and say what to do about what is not."""
    need_linux("nuc doctor", "it looks at what real time and serial ports need of the kernel")
    from nuc_engine.doctor import CheckLevel, Machine, examine

    asked = machine if machine is not None else Machine()
    of_machine = examine(asked, [path for url in buses for path in _device(url)], str(data.absolute()))
    checks = (*of_machine, _core())
    counts = {level.value: sum(check.level is level for check in checks) for level in CheckLevel}
    if as_json:
        say_json({"ok": counts["bad"] == 0, "counts": counts, "checks": [_as_data(check) for check in checks]})
    else:
        _print(checks)
        say()
        say(f"{counts['ok']} ok, {count(counts['warn'], 'warning')}, {counts['bad']} bad")
    return BAD if counts["bad"] else 0


def _core() -> Check:
    from nuc_engine.doctor.check import ok
    from nuc_engine.machine.core import COMPILED, core

    remedy = "" if core() == COMPILED else "in a checkout, make fast"
    return ok("core", core(), "a compiled core does the same in about two thirds of the time", remedy)


def _device(url: str) -> tuple[str, ...]:
    from drivers.factory import parse_line

    head, _, _ = url.partition(":")
    plain = url.partition("=")[2] if "=" in head else url
    # An emulated bus has no device.
    return () if plain.startswith(("emulated:", "loopback:")) else (parse_line(plain).path,)


def _as_data(check: Check) -> dict[str, str]:
    return {
        "name": check.name,
        "level": check.level.value,
        "found": check.found,
        "meaning": check.meaning,
        "remedy": check.remedy,
    }


def _print(checks: Sequence[Check]) -> None:
    width = max(len(check.name) for check in checks)
    indent = " " * (6 + width + 2)
    for check in checks:
        level = click.style(f"{check.level.value:<4}", fg=_COLOURS[check.level.value], bold=check.level.value != "ok")
        _say_wrapped(f"{level}  {check.name:<{width}}  ", check.found, indent)
        if check.level.value != "ok":
            _say_wrapped(indent, check.meaning, indent, style=True)
            _say_wrapped(f"{indent}-> ", check.remedy, f"{indent}   ")


def _say_wrapped(head: str, text: str, indent: str, *, style: bool = False) -> None:
    lines = textwrap.wrap(text, WIDTH - len(indent), break_long_words=False, break_on_hyphens=False) or [""]
    for number, line in enumerate(lines):
        say(f"{head if number == 0 else indent}{faint(line) if style else line}".rstrip())
