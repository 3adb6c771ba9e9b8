"""How long until the last servo's torque-off is on the wire: each row that can be done often, and pairs of deaths."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.faults.page import MEASURED
from benchmarks.faults.table import TABLES
from benchmarks.realtime.report import machine
from nuc_engine.client import ClientError
from tests.realtime.deaths import Deed, Outcome, every_pair, play_each
from tests.realtime.served import Disturbances, repeat_disturbed
from tests.realtime.troubles import TroubledLeg

Case = tuple[Deed, ...]
Times = list[float | None]


def measure(runs: int, pair_runs: int, side_by_side: int) -> list[str]:
    """Measure, and return what did not hold: the page tells the rest all the same.

    Everything is done once, then once more, and the file written after each round: whoever ends it early has the rounds
    so far.
    """
    rows = [row for table in TABLES.values() for row in table]
    named = {
        row.what: tuple(Deed(process, signal.Signals[f"SIG{name}"], at) for process, name, at in row.deeds)
        for row in rows
        if row.deeds
    }
    troubles = {row.what: row.trouble for row in rows if row.trouble}
    pairs, busy = every_pair(), os.getloadavg()[0]
    outcomes: list[Outcome] = []
    troubled: dict[str, Times] = {what: [] for what in troubles}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "stalls").mkdir()
        stalls = Disturbances(Path(name) / "stalls")
        try:
            for number in range(max(runs, pair_runs)):
                folder = Path(name) / str(number)
                (folder / "troubles").mkdir(parents=True)
                cases = (list(named.values()) if number < runs else []) + (pairs if number < pair_runs else [])
                found, other = play_each(cases, folder, stalls, side_by_side)
                outcomes += found
                wrong += other
                if number < runs:
                    wrong += _trouble(troubles, folder / "troubles", stalls, troubled)
                told = {
                    "runs": min(number + 1, runs),
                    "pair_runs": min(number + 1, pair_runs),
                    "machine": f"Load average before it {busy:.1f}. {machine()}",
                    "rows": {**{what: _times(outcomes, case) for what, case in named.items()}, **troubled},
                    "pairs": [
                        [_told(first), _told(second), _times(outcomes, (first, second))] for first, second in pairs
                    ],
                    "wrong": [line.partition(":")[0] for line in wrong],
                }
                MEASURED.write_text(json.dumps(told, indent=1) + "\n")
        finally:
            stalls.end()
    return wrong


def _trouble(troubles: Mapping[str, str], folder: Path, stalls: Disturbances, found: dict[str, Times]) -> list[str]:
    """Trouble a leg with each of them in turn; return what did not hold."""
    wrong: list[str] = []
    leg = TroubledLeg(folder)
    try:
        for what, trouble in troubles.items():

            def trial(what: str = what, trouble: str = trouble) -> None:
                found[what].append(round(leg.limp_ms(trouble), 1))

            try:
                repeat_disturbed(stalls, trial)
            except (AssertionError, ClientError) as error:
                wrong.append(f"{trouble}: {str(error)[:500]}")
    finally:
        leg.close()
    return wrong


def _times(outcomes: Sequence[Outcome], case: Case) -> Times:
    return [None if o.limp_ms is None else round(o.limp_ms, 1) for o in outcomes if o.deeds == case]


def _told(deed: Deed) -> str:
    how = {signal.SIGKILL: "killed", signal.SIGSTOP: "stopped", signal.SIGSEGV: "crashed"}[deed.number]
    return f"{deed.process} {how}"
