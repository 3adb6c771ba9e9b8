"""How long until the last servo's torque-off is on the wire, for each row with deeds and each pair of deaths."""

from __future__ import annotations

import json
import signal
import tempfile
from pathlib import Path

from benchmarks.faults.page import MEASURED
from benchmarks.faults.table import TABLES
from benchmarks.realtime.report import machine
from tests.realtime.deaths import Deed, Outcome, every_pair, play_all
from tests.realtime.served import Disturbances

Case = tuple[Deed, ...]


def measure(runs: int, pair_runs: int, side_by_side: int) -> None:
    """Measure and write the file. Raises AssertionError when a case did not hold what is promised."""
    named = {
        row.what: tuple(Deed(process, signal.Signals[f"SIG{name}"], at) for process, name, at in row.deeds)
        for rows in TABLES.values()
        for row in rows
        if row.deeds
    }
    pairs = every_pair()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "stalls").mkdir()
        stalls = Disturbances(folder / "stalls")
        try:
            cases = [case for case in named.values() for _ in range(runs)]
            cases += [case for case in pairs for _ in range(pair_runs)]
            outcomes = play_all(cases, folder, stalls, side_by_side)
        finally:
            stalls.end()
    told = {
        "runs": runs,
        "pair_runs": pair_runs,
        "machine": machine(),
        "rows": {what: _times(outcomes, case) for what, case in named.items()},
        "pairs": [[_told(first), _told(second), _times(outcomes, (first, second))] for first, second in pairs],
    }
    MEASURED.write_text(json.dumps(told, indent=1) + "\n")


def _times(outcomes: list[Outcome], case: Case) -> list[float | None]:
    return [None if o.limp_ms is None else round(o.limp_ms, 1) for o in outcomes if o.deeds == case]


def _told(deed: Deed) -> str:
    how = {signal.SIGKILL: "killed", signal.SIGSTOP: "stopped", signal.SIGSEGV: "crashed"}[deed.number]
    return f"{deed.process} {how}"
