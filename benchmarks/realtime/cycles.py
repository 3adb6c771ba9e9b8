"""What it costs the core to write every cycle for other programs: two daemons in turn, one that does and one without.

Each stands still with its leg while the other is measured.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.realtime.edits import interval
from benchmarks.realtime.histogram import Histogram, execution, lateness
from benchmarks.realtime.report import ended, median, table, verdict
from benchmarks.realtime.served import Leg, Served
from benchmarks.realtime.wakeup import BAUD, BUSY, _engine

TASKS = ("state_transition", "motor_action", "motor_conversion")
NAMES = {"without": "benchmarks.realtime.without_cycles", "with": "nuc_engine.cli"}


def cycles(windows: int, seconds: float) -> list[str]:
    """Measure and return the section of the report."""
    found: dict[str, list[dict[str, tuple[Histogram, Histogram]]]] = {name: [] for name in NAMES}
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        served: dict[str, Served] = {}
        for which, module in NAMES.items():
            folder = Path(name, which)
            folder.mkdir()
            leg = stack.enter_context(Leg(folder, BAUD))
            served[which] = stack.enter_context(Served(folder, leg, module=module))
            served[which].run(BUSY)
            served[which].halt(leg=True)
        for _ in range(windows):
            for which, daemon in served.items():
                daemon.go_on(leg=True, check=False)
                if not daemon.alive:
                    daemon.run(BUSY)

                def window(which: str = which, daemon: Served = daemon) -> None:
                    tasks = _engine(daemon, seconds)
                    found[which].append({task: (lateness(*tasks[task]), execution(*tasks[task])) for task in TASKS})

                daemon.in_windows(1, window, BUSY)
                daemon.halt(leg=True)
        interrupted = [reason for daemon in served.values() for reason in daemon.interrupted]
    return [
        f"## Every cycle for other programs: the core with and without, {windows} pairs of windows of {seconds:g} s",
        "",
        "Microseconds; medians of the windows' quantiles, and the 95 % interval of the mean difference of a pair.",
        "",
        *table(["", "quantile", "without", "with", "difference, 95 %", "none seen"], _rows(found)),
        *ended(interrupted),
    ]


def _rows(found: dict[str, list[dict[str, tuple[Histogram, Histogram]]]]) -> list[list[object]]:
    rows: list[list[object]] = []
    for task in TASKS:
        for kind, what in enumerate(("lateness", "work")):
            for share in (0.5, 0.99):
                both = [[window[task][kind].quantile_us(share) for window in found[which]] for which in NAMES]
                low, high = interval([b - a for a, b in zip(*both, strict=True)])
                # Work is done: that it costs something is no surprise; that it makes others late would be.
                kept = verdict(low <= 0) if kind == 0 else ""
                numbers = [f"{median(values, float):.0f}" for values in both]
                rows.append([f"{task}, {what}", f"p{100 * share:g}", *numbers, f"{low:+.1f} to {high:+.1f}", kept])
    return rows
