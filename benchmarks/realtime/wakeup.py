"""Lateness of the 1 kHz state transition beside cyclictest, in alternating windows of one run, under each load.

While the yardsticks measure, daemon and emulated leg stand still, every process of them (SIGSTOP).
"""

from __future__ import annotations

import tempfile
import time  # noqa: TID251  benchmarks are about real time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.realtime import cyclictest
from benchmarks.realtime.audience import Audience
from benchmarks.realtime.children import Child, python
from benchmarks.realtime.histogram import Histogram, copied, execution, joined, lateness
from benchmarks.realtime.loads import load
from benchmarks.realtime.report import ended, median, table, verdict
from benchmarks.realtime.served import Leg, Served
from nuc_engine.control.tasks import TASKS

BAUD = 115_200
PERIOD_NS = 1_000_000
MOST_RATIO = 3.0
"""The median of the windows' p99 may be this many times cyclictest's."""
MOST_MORE_US = 30.0
"""The median of the windows' p50 may be this much above cyclictest's."""

BUSY = {"statetrans_period_ns": PERIOD_NS, "motor_control_delay_ns": 0}
QUIET = {"statetrans_period_ns": PERIOD_NS, "motor_control_delay_ns": 1_000_000_000}


@dataclass(frozen=True, slots=True)
class Situation:
    """One row: a load for stress-ng, listeners of the telemetry, and whether servos are exchanged with all the time."""

    name: str
    load: str = ""
    audience: bool = False
    exchanging: bool = True


SITUATIONS = (
    Situation("idle"),
    Situation("CPU load", "cpu"),
    Situation("memory load", "memory"),
    Situation("disk load", "disk"),
    Situation("telemetry load", audience=True),
    Situation("idle, bus at rest", exchanging=False),
)


@dataclass(slots=True)
class Windows:
    """What was measured in the windows of one situation."""

    engine: list[Histogram] = field(default_factory=list)
    python: list[Histogram] = field(default_factory=list)
    machine: list[Histogram] = field(default_factory=list)
    work: dict[str, list[Histogram]] = field(default_factory=dict)

    def add(self, engine: dict[str, tuple[list[int], list[int]]], python_: Histogram, machine: Histogram) -> None:
        """Add a window."""
        self.engine.append(lateness(*engine["state_transition"]))
        self.python.append(python_)
        self.machine.append(machine)
        for task, copies in engine.items():
            self.work.setdefault(task, []).append(execution(*copies))


def wakeup(windows: int, seconds: float, only: str = "") -> list[str]:
    """Measure and return the section of the report."""
    head = [
        f"## Wake-up of the 1 kHz state transition beside cyclictest: {windows} alternating windows of {seconds:g} s",
        "",
    ]
    if not cyclictest.there():
        return [*head, f"Not measured: {cyclictest.HOW_TO_GET}.", ""]
    found: dict[str, Windows] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            Leg(folder, BAUD) as leg,
            Served(folder, leg) as served,
            Child(python("benchmarks.realtime.bare_wake"), folder / "bare.out", talks=True) as bare,
        ):
            served.run(BUSY)
            for situation in SITUATIONS:
                if only in situation.name:
                    found[situation.name] = _measure(situation, served, bare, windows, seconds)
            interrupted = served.interrupted
    return [*head, *_words(), *_lateness_table(found), *ended(interrupted), *_work_table(found)]


def _measure(situation: Situation, served: Served, bare: Child, windows: int, seconds: float) -> Windows:
    mix = BUSY if situation.exchanging else QUIET
    served.client.set(mix)
    found = Windows()

    def window() -> None:
        engine = _engine(served, seconds)
        served.halt(leg=True, service=not situation.audience)
        try:
            machine = cyclictest.measure(seconds)
            python_ = _read(bare.ask(f"{seconds}", 10 * seconds + 30))
        finally:
            served.go_on(leg=True)
        found.add(engine, python_, machine)

    most_s = windows * (3 * seconds + 10)
    with load(situation.load, served.folder, most_s), Audience(served, present=situation.audience):
        time.sleep(1.0)
        served.in_windows(windows, window, mix)
    return found


def _engine(served: Served, seconds: float) -> dict[str, tuple[list[int], list[int]]]:
    """Return the statistics of each task before and after a window."""
    tasks = served.block.statistics
    before = {name: copied(tasks[name]) for name in TASKS}
    time.sleep(seconds)
    after = {name: copied(tasks[name]) for name in TASKS}
    served.check()
    return {name: (before[name], after[name]) for name in TASKS}


def _read(line: str) -> Histogram:
    pairs = (pair.split(":") for pair in line.split()[1:])
    return Histogram(tuple((float(time_us), int(count)) for time_us, count in pairs))


def _words() -> list[str]:
    return [
        "Whole daemon beside the emulated leg, all logs on; task mix: state transition and muscles at 1 kHz, "
        f"exchanges with 4 motors back to back at {BAUD:,} baud, all in one thread at SCHED_FIFO 50, which cannot "
        "preempt itself. cyclictest: same priority and period, `-m`; *Python* is a loop with the engine's clock and "
        "privileges and no work at all. Medians of the windows' quantiles, in microseconds.",
        "",
    ]


def _lateness_table(found: dict[str, Windows]) -> list[str]:
    rows: list[list[object]] = []
    for name, windows in found.items():
        series = (windows.engine, windows.python, windows.machine)
        p50 = [median(one, lambda h: h.quantile_us(0.5)) for one in series]
        p99 = [median(one, lambda h: h.quantile_us(0.99)) for one in series]
        kept = p99[0] <= MOST_RATIO * p99[2] and p50[0] <= p50[2] + MOST_MORE_US
        worst = [max((h.max_us for h in one), default=float("nan")) for one in series]
        rows.append(
            [
                name,
                *(f"{a:.0f}" for a in p50),
                f"{p50[0] - p50[2]:+.0f}",
                *(f"{a:.0f}" for a in p99),
                f"{p99[0] / p99[2]:.1f}",
                " / ".join(f"{a:.0f}" for a in worst),
                verdict(kept),
            ]
        )
    head = ["", "p50 engine", "Python", "cyclictest", "engine - cyclictest"]
    head += [
        "p99 engine",
        "Python",
        "cyclictest",
        "engine / cyclictest",
        "worst",
        f"at most {MOST_RATIO:g} x and +30 us",
    ]
    return table(head, rows)


def _work_table(found: dict[str, Windows]) -> list[str]:
    windows = next(iter(found.values()), None)
    if windows is None:
        return []
    rows: list[list[object]] = []
    for task in TASKS:
        whole = joined(windows.work[task])
        if whole.total:
            rows.append([task, whole.total, f"{whole.quantile_us(0.5):.0f}", f"{whole.quantile_us(0.99):.0f}"])
    text = (
        f"What the tasks take ({next(iter(found))}), in microseconds: a state transition that becomes due meanwhile "
        "waits for the rest of it."
    )
    return [text, "", *table(["task", "runs", "p50", "p99"], rows), *_compiled(windows)]


def _compiled(windows: Windows) -> list[str]:
    def parts(share: float) -> str:
        engine, python_, machine = (
            median(series, lambda h: h.quantile_us(share))
            for series in (windows.engine, windows.python, windows.machine)
        )
        return (
            f"{engine:.0f} us, of which {machine:.0f} are the machine's, {python_ - machine:.0f} the interpreter's and "
            f"{engine - python_:.0f} waiting for other tasks"
        )

    return [
        "What a compiled core would win: cyclictest is C that does nothing, so no core in any language wakes earlier "
        f"on this machine. The engine's p50 is {parts(0.5)}; its p99 {parts(0.99)}. The last two of each are the most "
        "that a compiled core could save, of a period of 1000 us.",
        "",
    ]
