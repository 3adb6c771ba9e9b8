"""`nuc bus set-id`: give a servo another id, for good."""

from __future__ import annotations

from shlex import quote

import click

from nuc_engine.cli.bus.bench import ALONE, Bench, on_bench


@on_bench(
    "id!",
    "model",
    "yes",
    name="set-id",
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
@click.option("--to", "new_id", metavar="ID", type=click.IntRange(0), required=True, help="Its new id.")
def command(bench: Bench, bus_id: int, new_id: int, yes: bool) -> int:
    """Burn another id into one servo. It keeps it without power, until it is given another one.

    Looks first that the old id answers and the new one does not; afterwards that it is the other way round. Hang one
    servo alone on the line: servos as delivered have all the same id, and all would change.
    """
    if bus_id == new_id:
        raise click.UsageError(f"--to {new_id}: is the id it has")
    bench.check_established()
    errors = _store(bench, bus_id, new_id, yes=yes)
    said = {} if errors else {"said": _said(bench.url, bus_id, new_id)}
    return bench.report({"id": bus_id, "new_id": new_id, "errors": errors, **said}, said.values(), errors)


def _said(url: str, bus_id: int, new_id: int) -> str:
    return f"id {bus_id} is id {new_id} now; back again: nuc bus set-id {quote(url)} --id {new_id} --to {bus_id}"


def _store(bench: Bench, bus_id: int, new_id: int, *, yes: bool) -> list[str]:
    """Do it; return why it was not done."""
    bench.address(new_id)
    if not bench.present(bus_id):
        return [f"id {bus_id} does not answer at {bench.spec.baud} bit/s: nothing was changed; try `nuc bus scan`"]
    if bench.present(new_id):
        return [f"id {new_id} answers already: two servos can not share an id; nothing was changed"]
    what = f"the servo of id {bus_id} will have id {new_id} for good; {ALONE}"
    if not bench.confirmed(new_id, what, yes=yes):
        return ["not confirmed"]
    errors: list[str] = []
    stop = bench.stop.noting()
    bench.family.write_id(bench.port, bench.pace, bus_id, new_id)
    if not bench.present(new_id):
        errors.append(f"id {new_id} does not answer; look for it with `nuc bus scan {bench.url} --all-rates`")
    if bench.present(bus_id):
        errors.append(f"id {bus_id} still answers: did two servos have it?")
    if stop() and not errors:
        errors.append(f"stopped when asked to, too late: {_said(bench.url, bus_id, new_id)}")
    return errors
