"""`nuc bus latency`: how late replies come, and the bound on it that a line should be given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from nuc_engine.cli.bus.bench import FIRST_CYCLES, NOBODY, Bench, on_bench
from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.output import heading, note, say, say_json
from nuc_engine.cli.terminal.progress import Counter

_MS = 1e6
PATIENCE_US = 150_000
"""How long replies are waited for here: a line that is later than that is of no use to a leg."""

MARGIN = 2.0
"""How much later than the latest that was seen the recommended bound allows for. Assumed."""

SHARES = (0.5, 0.9, 0.99, 0.999, 1.0)


@on_bench(
    "ids",
    "config",
    name="latency",
    examples=(
        ("nuc bus latency aimotor:///dev/ttyUSB0 --count 20000", "some minutes, beside whatever else will run then"),
        ("nuc bus latency dynamixel:///dev/ttyACM0 --ids 10 --json", "one servo, for a program"),
    ),
    output=(
        "To stdout: how many replies came no later than so much, in ms beyond the quickest; what was lost; and late_us"
        " for the URL: twice the latest, and as much as the time-out at least.",
        "It counts the computer's own delays as the line's, at ordinary priority. A bound is as good as the time it was"
        " measured in: do it under the load that will be there.",
        "Exit status 1 when nobody answered, or a reply was lost, or later than a line may be.",
    ),
)
@click.option("--count", "rounds", type=click.IntRange(1, 10_000_000), default=2000, help="Exchanges per servo.")
def command(bench: Bench, rounds: int) -> int:
    """Read servos again and again and tell how late they answer; nothing moves. Without ids, whoever is there."""
    from drivers.bench.release import measure, read_all

    servos = bench.whoever_is_there()
    # With a timeout this long one reply is never taken for another.
    bench.spec = replace(bench.spec, options={**bench.spec.options, "timeout_us": PATIENCE_US, "late_us": 0})
    bus = bench.bus(servos)
    for _ in range(FIRST_CYCLES):
        read_all(bus, bench.pace)
    late_ns: list[int] = []
    lost = 0
    counter = Counter()
    for done, trips in enumerate(measure(bus, bench.pace, rounds) if servos else (), 1):
        counter.show(f"{done} of {rounds} ")
        if done == rounds:
            late_ns = [time - min(trip.times_ns) for trip in trips for time in trip.times_ns]
            lost = sum(trip.missed for trip in trips)
    counter.clear()
    return _report(bench, sorted(late_ns), lost) if late_ns else bench.report({}, (), [NOBODY])


def recommended_us(latest_ns: int) -> int:
    """Return `late_us` for a line whose latest reply was so late: whole milliseconds, a servo's own time among them."""
    return 1000 * (1 + math.ceil(MARGIN * latest_ns / _MS))


def _report(bench: Bench, late_ns: Sequence[int], lost: int) -> int:
    from drivers.serial.lineoptions import LONGEST_LATE_US

    good = late_ns[-1] <= LONGEST_LATE_US * 1000 and not lost
    late_us = min(recommended_us(late_ns[-1]), round(LONGEST_LATE_US))
    by_share = {share: late_ns[max(0, math.ceil(share * len(late_ns)) - 1)] / _MS for share in SHARES}
    found: dict[str, Any] = {"ok": good, "url": bench.url, "latency": bench.remark}
    if bench.as_json:
        shares = {f"{share:g}": value for share, value in by_share.items()}
        say_json({**found, "replies": len(late_ns), "lost": lost, "late_ms": shares, "late_us": late_us})
    else:
        say(heading("share of replies  no later than (ms)"))
        for share, value in by_share.items():
            say(f"{100 * share:>15.1f} %  {value:>18.3f}")
        say(f"{len(late_ns)} replies, {lost} lost; beyond the quickest of each servo")
        say(f"for the URL: late_us={late_us}")
        if not good:
            note("some replies came later than a bound can be, or never: see what holds adapter or computer up")
        if bench.remark:
            say(bench.remark)
    return 0 if good else BAD
