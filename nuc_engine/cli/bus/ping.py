"""`nuc bus ping`: how long an exchange takes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import click

from nuc_engine.cli.bus.lines import open_line
from nuc_engine.cli.bus.params import FIRST_CYCLES, NOBODY, Counter, config_option, ids_option, url_argument
from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.output import count, heading, note, say, say_json
from nuc_engine.cli.terminal.params import Command, as_json

if TYPE_CHECKING:
    from drivers.bench.release import RoundTrips

_MS = 1e6
_TIMES = ("min_ms", "median_ms", "max_ms")


@click.command(
    "ping",
    cls=Command,
    examples=(
        ("nuc bus ping aimotor:///dev/ttyUSB0", "100 exchanges with everybody who is there"),
        ("nuc bus ping aimotor:///dev/ttyUSB0?baud=115200 --ids 10 --count 1000 --json", "one servo, for a program"),
        ("nuc bus ping emulated: --ids 0-3", "what an exchange takes at least"),
    ),
    output=(
        "To stdout: per servo the exchanges, how many were missed or not believed, and the shortest, middle and"
        " longest time from a request to its whole reply, in ms.",
        "Exit status 1 when a servo never answered.",
    ),
)
@url_argument
@click.option("--count", "rounds", type=click.IntRange(1, 1_000_000), default=100, help="Exchanges per servo.")
@ids_option
@config_option
@as_json
def command(url: str, rounds: int, ids: tuple[int, ...] | None, config: str | None, as_json: bool) -> int:
    """Read servos again and again and tell how long it takes; nothing moves. Without ids, whoever is there."""
    from drivers.bench.release import discover, measure, read_all

    line = open_line(url, ids=ids, config=config)
    try:
        servos = line.servos or line.named(discover(line.bus(()), line.pace))
        if not servos:
            note(f"{url}: {NOBODY}")
            if as_json:
                say_json({"ok": False, "url": url, "latency": line.remark, "servos": [], "errors": [NOBODY]})
            return BAD
        bus = line.bus(servos)
        for _ in range(FIRST_CYCLES):
            read_all(bus, line.pace)
        begin_ns = line.pace.now_ns
        trips: tuple[RoundTrips, ...] = ()
        counter = Counter()
        for done, known in enumerate(measure(bus, line.pace, rounds), 1):
            trips = known
            counter.show(f"{done} of {rounds} ")
        counter.clear()
        cycle_ms = (line.pace.now_ns - begin_ns) / rounds / _MS
    finally:
        line.close()
    return _report(url, line.remark, trips, cycle_ms, as_json=as_json)


def _report(url: str, remark: str, trips: Sequence[RoundTrips], cycle_ms: float, *, as_json: bool) -> int:
    rows = [_row(trip) for trip in trips]
    silent = [trip.bus_id for trip in trips if not trip.answered]
    errors = [f"id {bus_id} never answered" for bus_id in silent]
    for error in errors:
        note(f"{url}: {error}")
    if as_json:
        say_json(
            {"ok": not silent, "url": url, "latency": remark, "cycle_ms": cycle_ms, "servos": rows, "errors": errors}
        )
    else:
        _print(rows, cycle_ms, remark)
    return BAD if silent else 0


def _print(rows: Sequence[dict[str, Any]], cycle_ms: float, remark: str) -> None:
    times = f"{'min':>7}  {'median':>7}  {'max':>7}"
    say(heading(f"{'id':>3}  {'exchanges':>9}  {'missed':>6}  {'refused':>7}  {times}"))
    for row in rows:
        times = "  ".join("      -" if row[key] is None else f"{row[key]:7.3f}" for key in _TIMES)
        say(f"{row['id']:>3}  {row['exchanges']:>9}  {row['missed']:>6}  {row['implausible']:>7}  {times}")
    say(f"times in ms; one cycle with {count(len(rows), 'servo')} takes {cycle_ms:.3f} ms")
    if remark:
        say(remark)


def _row(trip: RoundTrips) -> dict[str, Any]:
    times = trip.times_ns
    values = (min(times), median(times), max(times)) if times else (None, None, None)
    in_ms = {key: None if value is None else value / _MS for key, value in zip(_TIMES, values, strict=True)}
    counts = {"exchanges": trip.exchanges, "missed": trip.missed, "implausible": trip.implausible}
    return {"id": trip.bus_id, **counts, **in_ms}
