"""`nuc bus set-baud`: set a servo to another rate, for good."""

from __future__ import annotations

from pathlib import Path

import click

from nuc_engine.cli.bus.bench import Bench, on_bench


@on_bench(
    "id!",
    "model",
    "yes",
    name="set-baud",
    examples=(
        ("nuc bus set-baud dynamixel:///dev/ttyUSB0 --id 1 --to 1000000", "from the factory's 57,600 bit/s"),
        ("nuc bus set-baud 'feetech:///dev/ttyACM0?baud=1000000' --id 3 --to 500000 --yes", "without being asked"),
    ),
    output=(
        "To stdout: what was done, and how to go back. Exit status 1 when it was not, 2 when nobody was there to"
        " confirm it.",
    ),
)
@click.option("--to", "rate", metavar="BAUD", type=click.IntRange(1), required=True, help="Its new rate, bit/s.")
def command(bench: Bench, bus_id: int, rate: int, yes: bool) -> int:
    """Burn another rate into one servo. It keeps it without power; at the old one it is not heard any more.

    Looks first that the servo answers at the rate of the URL, and afterwards, with the port opened anew, that it does
    at the other one. All servos of a line need the same rate: set them one after the other, then put it into the URL.
    """
    old = bench.spec.baud
    if rate not in bench.family.bauds:
        rates = ", ".join(map(str, bench.family.bauds))
        raise click.UsageError(f"--to {rate}: {bench.family.name} servos can be set to {rates}")
    if rate == old:
        raise click.UsageError(f"--to {rate}: is the rate of the URL, at which it is spoken to")
    bench.check_established()
    errors = _store(bench, bus_id, rate, yes=yes)
    said = {} if errors else {"said": _said(bench.url, bus_id, rate, old)}
    return bench.report({"id": bus_id, "baud": rate, "errors": errors, **said}, said.values(), errors)


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


def _store(bench: Bench, bus_id: int, rate: int, *, yes: bool) -> list[str]:
    """Do it; return why it was not done."""
    old = bench.spec.baud
    if not bench.present(bus_id):
        return [f"id {bus_id} does not answer at {old} bit/s: nothing was changed; try `nuc bus scan --all-rates`"]
    if Path(bench.spec.path).resolve().is_relative_to("/dev/pts"):
        return [
            f"{bench.spec.path} is a pseudo-terminal, whose other end keeps its rate: nothing was changed;"
            f" emulated servos get theirs from `nuc emulate ... --baud {rate}`"
        ]
    what = f"the servo of id {bus_id} will be at {rate} bit/s for good, and no longer answer at {old}"
    if not bench.confirmed(rate, what, yes=yes):
        return ["not confirmed"]
    stop = bench.stop.noting()
    bench.family.write_baud(bench.port, bench.pace, bus_id, rate)
    bench.open(rate)
    there = bench.present(bus_id)
    if there:
        return [f"stopped when asked to, too late: {_said(bench.url, bus_id, rate, old)}"] if stop() else []
    bench.open(old)
    if bench.present(bus_id):
        return [f"id {bus_id} is still at {old} bit/s: it did not take the new rate"]
    where = f"neither at {rate} nor at {old} bit/s"
    return [f"id {bus_id} answers {where}; power it off and on, then `nuc bus scan --all-rates`"]
