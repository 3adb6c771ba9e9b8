"""Lines that are held up, with servos of each family: `tests.realtime.latelines` says what has to hold."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.realtime.report import table, verdict
from tests.realtime.latelines import FAMILIES, HeldUp
from tests.realtime.served import Disturbances


def held(sequences: int) -> list[str]:
    """Play them and return the section of the report."""
    rows: list[list[object]] = []
    for family, (model, baud, limit) in FAMILIES.items():
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "stalls").mkdir()
            stalls = Disturbances(Path(name) / "stalls")
            leg, wrong = None, ""
            try:
                leg = HeldUp(Path(name), family, stalls)
                leg.play(sequences)
            except AssertionError as error:
                wrong = str(error).splitlines()[0][:120]
            finally:
                goals = sum(len(frame.goals()) for frame in leg.leg.log().frames) if leg else 0
                if leg:
                    leg.close()
                stalls.end()
            rows.append([model or "AI motor", f"{baud:,}", limit, sequences, goals, wrong or verdict(kept=True)])
    return [
        f"## Lines that are held up: {sequences} sequences of each family",
        "",
        "The emulator stands still for 20 to 32 ms, then twice for 3 to 12 ms, beside a stepping leg with a limit on "
        "every motor. No goal may be further than the limit from what its own servo had last said, by the emulator's "
        "byte log, and no bout may end. Bouts in which a CPU or a terminal stood still besides are played again.",
        "",
        *table(["servos", "baud", "limit, ticks", "sequences", "goals heard", "each within its limit"], rows),
    ]
