"""`nuc bus ping`: how long an exchange takes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import click

from nuc_engine.cli.bus.bench import FIRST_CYCLES, NOBODY, Bench, on_bench
from nuc_engine.cli.terminal.output import TableColumn, count, table
from nuc_engine.cli.terminal.progress import Counter

if TYPE_CHECKING:
    from drivers.bench.release import RoundTrips

_MS = 1e6
_TIMES = ("min_ms", "median_ms", "max_ms")
_COLUMNS = (
    TableColumn("id", ">3"),
    TableColumn("exchanges", ">9"),
    TableColumn("missed", ">6"),
    TableColumn("refused", ">7"),
    *(TableColumn(title, ">7", ".3f") for title in ("min", "median", "max")),
)


@on_bench(
    "ids",
    "config",
    name="ping",
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
@click.option("--count", "rounds", type=click.IntRange(1, 1_000_000), default=100, help="Exchanges per servo.")
def command(bench: Bench, rounds: int) -> int:
    """Read servos again and again and tell how long it takes; nothing moves. Without ids, whoever is there."""
    from drivers.bench.release import measure, read_all

    servos = bench.whoever_is_there()
    if not servos:
        return bench.report({"latency": bench.remark, "servos": []}, (), [NOBODY])
    bus = bench.bus(servos)
    for _ in range(FIRST_CYCLES):
        read_all(bus, bench.pace)
    begin_ns = bench.pace.now_ns
    trips: tuple[RoundTrips, ...] = ()
    counter = Counter()
    for done, known in enumerate(measure(bus, bench.pace, rounds), 1):
        trips = known
        counter.show(f"{done} of {rounds} ")
    counter.clear()
    cycle_ms = (bench.pace.now_ns - begin_ns) / rounds / _MS
    rows = [_row(trip) for trip in trips]
    errors = [f"id {row['id']} never answered" for row in rows if row["min_ms"] is None]
    found = {"latency": bench.remark, "cycle_ms": cycle_ms, "servos": rows}
    return bench.report(found, _lines(rows, cycle_ms, bench.remark), errors)


def _lines(rows: Sequence[dict[str, Any]], cycle_ms: float, remark: str) -> list[str]:
    said = f"times in ms; one cycle with {count(len(rows), 'servo')} takes {cycle_ms:.3f} ms"
    return [*table(_COLUMNS, [tuple(row.values()) for row in rows]), said, *filter(None, [remark])]


def _row(trip: RoundTrips) -> dict[str, Any]:
    times = trip.times_ns
    values = (min(times), median(times), max(times)) if times else (None, None, None)
    in_ms = {key: None if value is None else value / _MS for key, value in zip(_TIMES, values, strict=True)}
    counts = {"exchanges": trip.exchanges, "missed": trip.missed, "implausible": trip.implausible}
    return {"id": trip.bus_id, **counts, **in_ms}
