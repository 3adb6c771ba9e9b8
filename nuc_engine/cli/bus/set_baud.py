"""`nuc bus set-baud`: set a servo to another rate, for good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nuc_engine.cli.bus.eeprom import Stopping, ask_for, check_established, present, report
from nuc_engine.cli.bus.lines import BenchLine, open_line
from nuc_engine.cli.bus.params import id_option, model_option, url_argument
from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.params import Command, as_json


@click.command(
    "set-baud",
    cls=Command,
    examples=(
        ("nuc bus set-baud dynamixel:///dev/ttyUSB0 --id 1 --to 1000000", "from the factory's 57,600 bit/s"),
        ("nuc bus set-baud 'feetech:///dev/ttyACM0?baud=1000000' --id 3 --to 500000 --yes", "without being asked"),
    ),
    output=(
        "To stdout: what was done, and how to go back. Exit status 1 when it was not, 2 when nobody was there to"
        " confirm it.",
    ),
)
@url_argument
@id_option
@click.option("--to", "rate", metavar="BAUD", type=click.IntRange(1), required=True, help="Its new rate, bit/s.")
@model_option
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json
def command(url: str, bus_id: int, rate: int, model: str | None, yes: bool, as_json: bool) -> int:
    """Burn another rate into one servo. It keeps it without power; at the old one it is not heard any more.

    Looks first that the servo answers at the rate of the URL, and afterwards, with the port opened anew, that it does
    at the other one. All servos of a line need the same rate: set them one after the other, then put it into the URL.
    """
    with Stopping() as stopping:
        line = open_line(url, ids=(bus_id,), model=model)
        try:
            done: dict[str, Any] = {"ok": False, "url": url, "id": bus_id, "baud": rate, "errors": []}
            old = line.spec.baud
            if rate not in line.family.bauds:
                rates = ", ".join(map(str, line.family.bauds))
                raise click.UsageError(f"--to {rate}: {line.family.name} servos can be set to {rates}")
            if rate == old:
                raise click.UsageError(f"--to {rate}: is the rate of the URL, at which it is spoken to")
            check_established(line)
            done["errors"] = _burn(line, bus_id, rate, stopping, yes=yes)
        finally:
            line.close()
        done["ok"] = not done["errors"]
        if done["ok"]:
            done["said"] = _said(url, bus_id, rate, old)
        report(done, as_json=as_json)
    return 0 if done["ok"] else BAD


def url_with_baud(url: str, baud: int) -> str:
    """Return the URL with another rate."""
    head, _, query = url.partition("?")
    others = [item for item in query.split("&") if item and not item.startswith("baud=")]
    return f"{head}?{'&'.join([f'baud={baud}', *others])}"


def _said(url: str, bus_id: int, rate: int, old: int) -> str:
    there = url_with_baud(url, rate)
    return (
        f"id {bus_id} is at {rate} bit/s now ({there}); back again: nuc bus set-baud '{there}' --id {bus_id} --to {old}"
    )


def _burn(line: BenchLine, bus_id: int, rate: int, stopping: Stopping, *, yes: bool) -> list[str]:
    """Do it; return why it was not done."""
    old = line.spec.baud
    if not present(line, bus_id):
        return [f"id {bus_id} does not answer at {old} bit/s: nothing was changed; try `nuc bus scan --all-rates`"]
    if Path(line.spec.path).resolve().is_relative_to("/dev/pts"):
        return [
            f"{line.spec.path} is a pseudo-terminal, whose other end keeps its rate: nothing was changed;"
            f" emulated servos get theirs from `nuc emulate ... --baud {rate}`"
        ]
    what = f"{line.url}: the servo of id {bus_id} will be at {rate} bit/s for good, and no longer answer at {old}"
    if not ask_for(str(rate), what, yes=yes):
        return ["not confirmed"]
    stop = stopping.from_now_on()
    line.family.burn_baud(line.port, line.pace, bus_id, rate)
    line.reopen(rate)
    there = present(line, bus_id)
    if there:
        return [f"stopped when asked to, too late: {_said(line.url, bus_id, rate, old)}"] if stop() else []
    line.reopen(old)
    if present(line, bus_id):
        return [f"id {bus_id} is still at {old} bit/s: it did not take the new rate"]
    where = f"neither at {rate} nor at {old} bit/s"
    return [f"id {bus_id} answers {where}; power it off and on, then `nuc bus scan --all-rates`"]
