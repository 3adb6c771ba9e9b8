"""Edits at 76 a second: how many periods of the 1 kHz state transition are skipped with them and without, in pairs."""

from __future__ import annotations

import tempfile
import time  # noqa: TID251  benchmarks are about real time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy import stats

from benchmarks.realtime.report import ended, table, verdict
from benchmarks.realtime.served import Leg, Served
from benchmarks.realtime.wakeup import BAUD, BUSY

EDITS_HZ = 76.0
MOST = 1e-3
"""Periods that edits may cost, of all: the upper end of the interval of the difference."""

CONFIDENCE = 0.95
_EDITED = "CTr_lev_TC1_load"


def edits(pairs: int, seconds: float, seed: int = 1) -> list[str]:
    """Measure and return the section of the report."""
    order = np.random.default_rng(seed)
    found: list[tuple[float, float]] = []
    made = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Leg(folder, BAUD) as leg, Served(folder, leg) as served:
            served.run(BUSY)
            time.sleep(1.0)

            def pair() -> None:
                nonlocal made
                shares, edited = [0.0, 0.0], 0
                for with_edits in order.permutation([0, 1]):
                    share, count = _window(served, seconds, edit=bool(with_edits))
                    shares[with_edits], edited = share, edited + count
                    served.check()
                found.append((shares[0], shares[1]))
                made += edited

            served.in_windows(pairs, pair, BUSY)
            interrupted = served.interrupted
    without, with_ = ([pair[k] for pair in found] for k in (0, 1))
    low, high = interval([b - a for a, b in found])
    rate = made / (pairs * seconds)
    more = float(np.mean(with_)) - float(np.mean(without))
    rows = [
        ["without", f"{1000 * float(np.mean(without)):.3f}", f"{1000 * max(without):.3f}", "", ""],
        [f"with {rate:.0f} edits/s", f"{1000 * float(np.mean(with_)):.3f}", f"{1000 * max(with_):.3f}", "", ""],
        ["difference", f"{1000 * more:+.3f}", "", f"{1000 * low:+.3f} to {1000 * high:+.3f}", verdict(high < MOST)],
    ]
    head = ["", "mean", "most", f"{CONFIDENCE:.0%} interval", f"below {1000 * MOST:g}"]
    return [
        f"## Edits at {EDITS_HZ:g} a second: skipped periods of 1000, {pairs} pairs of windows of {seconds:g} s",
        "",
        f"State transition at 1 kHz beside exchanges at {BAUD:,} baud, all logs on; which window of a pair comes "
        f"first is drawn (seed {seed}). The interval is Student's, of the pairs' differences.",
        "",
        *table(head, rows),
        *ended(interrupted),
    ]


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """Return the interval of the mean."""
    mean, half = float(np.mean(differences)), 0.0
    if len(differences) > 1:
        spread = float(np.std(differences, ddof=1)) / len(differences) ** 0.5
        half = spread * float(stats.t.ppf((1 + CONFIDENCE) / 2, len(differences) - 1))
    return mean - half, mean + half


def _window(served: Served, seconds: float, *, edit: bool) -> tuple[float, int]:
    """Return the share of periods that were skipped, and how many edits were made."""
    begun, count = time.monotonic(), 0
    before = _counts(served)
    while (now := time.monotonic()) < begun + seconds:
        due = begun + count / EDITS_HZ
        if edit and now >= due:
            served.client.set({_EDITED: -0.2 - 0.001 * (count % 10)})
            count += 1
        else:
            time.sleep(min(due - now if edit else seconds, begun + seconds - now))
    ran, skipped = (after - old for after, old in zip(_counts(served), before, strict=True))
    return skipped / (ran + skipped), count


def _counts(served: Served) -> tuple[int, int]:
    summary = served.block.statistics["state_transition"].summary(0)
    return int(str(summary["runs"])), int(str(summary["skipped"]))
