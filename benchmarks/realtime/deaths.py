"""Random deaths of the daemon's processes, two and three at a time: `tests.realtime.deaths` says what has to hold."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from benchmarks.realtime.report import table, verdict
from tests.realtime.deaths import deeds_of, play_each
from tests.realtime.served import Disturbances

FIRST = 1000
"""Seed of the first; those of the tests are below."""


def deaths(cases: int) -> list[str]:
    """Play them and return the section of the report."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "stalls").mkdir()
        stalls = Disturbances(Path(name) / "stalls")
        try:
            outcomes, wrong = play_each([deeds_of(FIRST + k) for k in range(cases)], Path(name), stalls)
        finally:
            stalls.end()
    limp = sorted(o.limp_ms for o in outcomes if o.limp_ms is not None)
    held = f"{len(wrong)} did not" if wrong else "all"
    rows: list[list[object]] = [["held", held, verdict(not wrong)]]
    if limp:
        spread = f"{statistics.median(limp):.0f}, {limp[-1]:.0f}"
        rows += [
            ["torque went off", len(limp), ""],
            ["first signal to torque-off, ms: median, most", spread, ""],
            ["the daemon ended by itself", sum(outcome.ended for outcome in outcomes), ""],
        ]
    return [
        f"## {cases} random deaths, seeds {FIRST} to {FIRST + cases - 1}",
        "",
        "Two or three processes killed, crashed or stopped for a second, 0 to 100 ms apart, beside a stepping leg; "
        "then the daemon is ended. The torque goes off as docs/faults.md says, nothing is left, the next one begins.",
        "",
        *table(["", "found", ""], rows),
        *(["```text", *wrong, "```", ""] if wrong else []),
    ]
