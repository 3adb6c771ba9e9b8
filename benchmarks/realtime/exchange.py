"""Rounds of exchanges with four motors per second, beside a bare loop on the same line of the same emulator.

In alternating windows of one run; the daemon stands still while the bare loop drives.
"""

from __future__ import annotations

import tempfile
import time  # noqa: TID251  benchmarks are about real time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.realtime.bare_line import REPLY_BYTES
from benchmarks.realtime.children import Child, python
from benchmarks.realtime.report import median, table, verdict
from benchmarks.realtime.served import CONFIG, Leg, Served
from nuc_engine.bout.run import prepare_bout
from nuc_engine.daemon.block import Word

BAUDS = (57_600, 115_200, 460_800)
SPINS_US = (0, 200)
TURNAROUND_NS = 230_000
_REQUEST_BYTES = 4
_BITS = 10


def share_wanted(baud: int) -> float:
    """Return the share of the bare loop's rate that is promised."""
    return 0.95 if baud <= 115_200 else 0.85


def wire_limit_hz(baud: int, motors: int) -> float:
    """Return the rate at which the wire is never idle but for the servos' turnaround."""
    return 1e9 / (motors * ((_REQUEST_BYTES + REPLY_BYTES) * _BITS * 1e9 / baud + TURNAROUND_NS))


@dataclass(slots=True)
class Rates:
    """Rounds per second in each window, and what went wrong: bouts that ended, replies the bare loop missed."""

    interrupted: list[str]
    engine: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    missed: int = 0


def exchange(windows: int, seconds: float) -> list[str]:
    """Measure and return the section of the report."""
    ids = [str(motor.bus_id) for motor in prepare_bout(CONFIG, None).plan.motors]
    rows: list[list[object]] = []
    for baud in BAUDS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            with Leg(folder, baud) as leg, Child(_bare(leg, ids), folder / "bare.out", talks=True) as bare:
                bare.ask("0", 20)
                for spin in SPINS_US:
                    with Served(folder, leg, "--spin", str(spin)) as served:
                        served.run()
                        time.sleep(0.5)
                        rows.append(_row(baud, spin, len(ids), _measure(served, bare, windows, seconds)))
    head = [
        "baud",
        "--spin",
        "wire limit Hz",
        "bare loop Hz",
        "engine Hz",
        "of bare",
        "of wire",
        "missed by bare",
        "bouts ended",
        "promise",
    ]
    return [
        f"## Exchanges with 4 motors: {windows} alternating windows of {seconds:g} s",
        "",
        "Rounds of four exchanges per second, medians of the windows. Wire limit: 6 bytes of 10 bits and 230 us of "
        "turnaround per motor. The bare loop is `select`, `read`, `write` in Python and nothing else, at the same "
        "priority; the engine is the whole daemon with all logs on. Same emulator process for both.",
        "",
        *table(head, rows),
    ]


def _bare(leg: Leg, ids: list[str]) -> list[str | Path]:
    return python("benchmarks.realtime.bare_line", leg.pty, *ids)


def _measure(served: Served, bare: Child, windows: int, seconds: float) -> Rates:
    rates = Rates(served.interrupted)
    words = served.block.words

    def window() -> None:
        before, begun = words[Word.CYCLE], time.monotonic_ns()
        time.sleep(seconds)
        engine = (words[Word.CYCLE] - before) * 1e9 / (time.monotonic_ns() - begun)
        served.check()
        served.halt(leg=False)
        try:
            rounds, took, missed = bare.ask(f"{seconds}", seconds + 20).split()
        finally:
            served.go_on(leg=False)
        rates.engine.append(engine)
        rates.bare.append(int(rounds) / float(took))
        rates.missed += int(missed)

    served.in_windows(windows, window)
    return rates


def _row(baud: int, spin: int, motors: int, rates: Rates) -> list[object]:
    limit = wire_limit_hz(baud, motors)
    bare, engine = median(rates.bare, float), median(rates.engine, float)
    wanted = share_wanted(baud)
    ratio = median(zip(rates.engine, rates.bare, strict=True), lambda pair: pair[0] / pair[1])
    return [
        f"{baud:,}",
        f"{spin} us" if spin else "off",
        f"{limit:.0f}",
        f"{bare:.0f}",
        f"{engine:.0f}",
        f"{ratio:.1%}",
        f"{engine / limit:.1%}",
        rates.missed,
        len(rates.interrupted),
        f"{wanted:.0%}: {verdict(ratio >= wanted)}",
    ]
