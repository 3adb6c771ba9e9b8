"""`nuc bus set-id`: give a servo another id, for good."""

from __future__ import annotations

from shlex import quote
from typing import Any

import click

from nuc_engine.cli.bus.eeprom import ALONE, Stopping, ask_for, check_established, check_id, present, report
from nuc_engine.cli.bus.lines import BenchLine, open_line
from nuc_engine.cli.bus.params import id_option, model_option, url_argument
from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.params import Command, as_json


@click.command(
    "set-id",
    cls=Command,
    examples=(
        ("nuc bus set-id dynamixel:///dev/ttyUSB0 --id 1 --to 12", "a servo as delivered becomes number 12"),
        ("nuc bus set-id feetech:///dev/ttyACM0 --id 1 --to 3 --yes", "without being asked"),
        ("nuc bus set-id 'aimotor:///dev/ttyUSB0?baud=115200&wck=1' --id 0 --to 4", "a wCK; AI motors are refused"),
    ),
    output=(
        "To stdout: what was done, and how to go back. Exit status 1 when it was not, 2 when nobody was there to"
        " confirm it.",
    ),
)
@url_argument
@id_option
@click.option("--to", "new_id", metavar="ID", type=click.IntRange(0), required=True, help="Its new id.")
@model_option
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json
def command(url: str, bus_id: int, new_id: int, model: str | None, yes: bool, as_json: bool) -> int:
    """Burn another id into one servo. It keeps it without power, until it is given another one.

    Looks first that the old id answers and the new one does not; afterwards that it is the other way round. Hang one
    servo alone on the line: servos as delivered have all the same id, and all would change.
    """
    if bus_id == new_id:
        raise click.UsageError(f"--to {new_id}: is the id it has")
    with Stopping() as stopping:
        line = open_line(url, ids=(bus_id,), model=model)
        try:
            done: dict[str, Any] = {"ok": False, "url": url, "id": bus_id, "new_id": new_id, "errors": []}
            check_established(line)
            done["errors"] = _burn(line, bus_id, new_id, stopping, yes=yes)
        finally:
            line.close()
        done["ok"] = not done["errors"]
        if done["ok"]:
            done["said"] = _said(url, bus_id, new_id)
        report(done, as_json=as_json)
    return 0 if done["ok"] else BAD


def _said(url: str, bus_id: int, new_id: int) -> str:
    return f"id {bus_id} is id {new_id} now; back again: nuc bus set-id {quote(url)} --id {new_id} --to {bus_id}"


def _burn(line: BenchLine, bus_id: int, new_id: int, stopping: Stopping, *, yes: bool) -> list[str]:
    """Do it; return why it was not done."""
    check_id(line, new_id)
    if not present(line, bus_id):
        return [f"id {bus_id} does not answer at {line.spec.baud} bit/s: nothing was changed; try `nuc bus scan`"]
    if present(line, new_id):
        return [f"id {new_id} answers already: two servos can not share an id; nothing was changed"]
    what = f"{line.url}: the servo of id {bus_id} will have id {new_id} for good; {ALONE}"
    if not ask_for(str(new_id), what, yes=yes):
        return ["not confirmed"]
    errors: list[str] = []
    stop = stopping.from_now_on()
    line.family.burn_id(line.port, line.pace, bus_id, new_id)
    if not present(line, new_id):
        errors.append(f"id {new_id} does not answer; look for it with `nuc bus scan {line.url} --all-rates`")
    if present(line, bus_id):
        errors.append(f"id {bus_id} still answers: did two servos have it?")
    if stop() and not errors:
        errors.append(f"stopped when asked to, too late: {_said(line.url, bus_id, new_id)}")
    return errors
