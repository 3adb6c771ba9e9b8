"""One table on one time base out of logs that were written at their own times (appendix 10.3: unified data).

What the engine sets holds until it sets it anew: states, activations, muscle forces and lengths, what was sent to the
motors, and raw replies, which are whole ticks. What is measured and has no steps of its own is interpolated linearly:
joint angles, filtered loads, and the simulated foot and its contact force.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from nuc_engine.analysis.errors import AnalysisError

if TYPE_CHECKING:
    from nuc_engine.analysis.bout import Bout, Series
    from nuc_engine.analysis.tracks import FloatArray

MOST_TIMES = 20_000_000


def grid_times(bout: Bout, period_s: float) -> FloatArray:
    """Return the whole multiples of a period from the first to the last record of a bout, in s.

    Bouts on grids of one period have their times in common. Raises AnalysisError for a period that is none.
    """
    if not (math.isfinite(period_s) and period_s > 0):
        raise AnalysisError(f"period {period_s} s; expected more than 0")
    first, last = math.ceil(bout.begin_s / period_s - 1e-9), math.floor(bout.end_s / period_s + 1e-9)
    if last - first > MOST_TIMES:
        raise AnalysisError(f"period {period_s} s gives {last - first} times; expected at most {MOST_TIMES}")
    return np.arange(first, last + 1, dtype=np.float64) * period_s


def unify(bout: Bout, times_s: FloatArray, max_gap_s: float = math.inf) -> Series:
    """Return all logs of a bout as one table at the given times.

    nan stands before a log's first record, after the last one (what holds does so to the end of the bout), and
    between records that are farther apart than `max_gap_s`. Columns and units are those of the logs.
    """
    from nuc_engine.analysis.bout import Series

    parts = list(_parts(bout))
    blocks = [
        _held(log, times_s, bout.end_s, max_gap_s) if holds else _linear(log, times_s, max_gap_s)
        for log, holds in parts
    ]
    return Series(
        times_s,
        np.concatenate(blocks, axis=1) if blocks else np.zeros((len(times_s), 0)),
        tuple(column for log, _ in parts for column in log.columns),
        tuple(unit for log, _ in parts for unit in log.units),
    )


def interpolate(log: Series, times_s: FloatArray, max_gap_s: float = math.inf) -> FloatArray:
    """Return a log's values at other times, linearly between its records, shape (n, k); nan outside of it."""
    return _linear(log, times_s, max_gap_s)


def _parts(bout: Bout) -> Iterator[tuple[Series, bool]]:
    """Yield every log, and whether its values hold until the next record."""
    yield bout.sensors, False
    yield bout.states, True
    yield bout.muscles, True
    yield bout.motor, True
    if bout.plant is not None:
        yield bout.plant, False


def _linear(log: Series, times_s: FloatArray, max_gap_s: float) -> FloatArray:
    found = np.full((len(times_s), len(log.columns)), np.nan)
    if not len(log):
        return found
    for k in range(found.shape[1]):
        found[:, k] = np.interp(times_s, log.t_s, log.values[:, k], left=np.nan, right=np.nan)
    after = np.clip(np.searchsorted(log.t_s, times_s, side="left"), 0, len(log) - 1)
    before = np.where(log.t_s[after] == times_s, after, np.maximum(after - 1, 0))
    found[log.t_s[after] - log.t_s[before] > max_gap_s] = np.nan
    return found


def _held(log: Series, times_s: FloatArray, end_s: float, max_gap_s: float) -> FloatArray:
    found = np.full((len(times_s), len(log.columns)), np.nan)
    if not len(log):
        return found
    at = np.searchsorted(log.t_s, times_s, side="right") - 1
    known = (at >= 0) & (times_s <= end_s)
    known[known] &= times_s[known] - log.t_s[at[known]] <= max_gap_s
    found[known] = log.values[at[known]]
    return found
