"""`nuc bus latency`: how late replies come, and the bound on it that a line should be given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from nuc_engine.cli.bus.lines import open_line
from nuc_engine.cli.bus.params import FIRST_CYCLES, NOBODY, Counter, config_option, ids_option, url_argument
from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.output import heading, note, say, say_json
from nuc_engine.cli.terminal.params import Command, as_json

_MS = 1e6
PATIENCE_US = 150_000
"""How long replies are waited for here: a line that is later than that is of no use to a leg."""

MARGIN = 2.0
"""How much later than the latest that was seen the recommended bound allows for. Assumed."""

SHARES = (0.5, 0.9, 0.99, 0.999, 1.0)


@click.command(
    "latency",
    cls=Command,
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
@url_argument
@click.option("--count", "rounds", type=click.IntRange(1, 10_000_000), default=2000, help="Exchanges per servo.")
@ids_option
@config_option
@as_json
def command(url: str, rounds: int, ids: tuple[int, ...] | None, config: str | None, as_json: bool) -> int:
    """Read servos again and again and tell how late they answer; nothing moves. Without ids, whoever is there."""
    from drivers.bench.release import discover, measure, read_all

    line = open_line(url, ids=ids, config=config)
    try:
        servos = line.servos or line.named(discover(line.bus(()), line.pace))
        # Whoever is as patient as this never takes one reply for another.
        line.spec = replace(line.spec, options={**line.spec.options, "timeout_us": PATIENCE_US, "late_us": 0})
        bus = line.bus(servos)
        for _ in range(FIRST_CYCLES):
            read_all(bus, line.pace)
        late_ns: list[int] = []
        lost = 0
        counter = Counter()
        for done, trips in enumerate(measure(bus, line.pace, rounds) if servos else (), 1):
            counter.show(f"{done} of {rounds} ")
            if done == rounds:
                late_ns = [time - min(trip.times_ns) for trip in trips for time in trip.times_ns]
                lost = sum(trip.missed for trip in trips)
        counter.clear()
    finally:
        line.close()
    if not late_ns:
        note(f"{url}: {NOBODY}")
        if as_json:
            say_json({"ok": False, "url": url, "errors": [NOBODY]})
        return BAD
    return _report(url, line.remark, sorted(late_ns), lost, as_json=as_json)


def recommended_us(latest_ns: int) -> int:
    """Return `late_us` for a line whose latest reply was so late: whole milliseconds, a servo's own time among them."""
    return 1000 * (1 + math.ceil(MARGIN * latest_ns / _MS))


def _report(url: str, remark: str, late_ns: Sequence[int], lost: int, *, as_json: bool) -> int:
    from drivers.serial.lineoptions import LONGEST_LATE_US

    good = late_ns[-1] <= LONGEST_LATE_US * 1000 and not lost
    late_us = min(recommended_us(late_ns[-1]), round(LONGEST_LATE_US))
    by_share = {share: late_ns[max(0, math.ceil(share * len(late_ns)) - 1)] / _MS for share in SHARES}
    found: dict[str, Any] = {"ok": good, "url": url, "latency": remark, "replies": len(late_ns), "lost": lost}
    if as_json:
        shares = {f"{share:g}": value for share, value in by_share.items()}
        say_json({**found, "late_ms": shares, "late_us": late_us})
    else:
        say(heading("share of replies  no later than (ms)"))
        for share, value in by_share.items():
            say(f"{100 * share:>15.1f} %  {value:>18.3f}")
        say(f"{len(late_ns)} replies, {lost} lost; beyond the quickest of each servo")
        say(f"for the URL: late_us={late_us}")
        if not good:
            note("some replies came later than a bound can be, or never: see what holds adapter or computer up")
        if remark:
            say(remark)
    return 0 if good else BAD
