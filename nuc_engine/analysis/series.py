"""One log of a bout as arrays: parts of it, its values at other times, and what it holds as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.tracks import FloatArray, IntArray, median

Span = tuple[float, float]
"""Begin and end of a stretch of time, in seconds since engine start."""

_PERIODS = 4
"""So many periods of a log without a record are a gap in it, where these are longer than what else counts as one."""


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One log file: `t_s` (n,) seconds since engine start, `values` (n, k), and name and unit of the k columns."""

    t_s: FloatArray
    values: FloatArray
    columns: tuple[str, ...]
    units: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.t_s)

    def column(self, name: str) -> FloatArray:
        """Return one column, shape (n,). Raises KeyError, with the names there are, when there is none so named."""
        if name not in self.columns:
            raise KeyError(f"no column {name}; there are {', '.join(self.columns)}")
        return self.values[:, self.columns.index(name)]

    def between(self, begin_s: float, end_s: float) -> Series:
        """Return the records of [begin_s, end_s]."""
        first = int(np.searchsorted(self.t_s, begin_s, side="left"))
        last = int(np.searchsorted(self.t_s, end_s, side="right"))
        return Series(self.t_s[first:last], self.values[first:last], self.columns, self.units)

    def parted(self, gap_s: float = DEFAULT_CRITERIA.max_unrecorded_s) -> Series:
        """Return the same with a record of nothing (NaN) where each gap begins: for curves, which are to end there.

        A gap is longer than `gap_s`, and than a few of the log's own periods.
        """
        at, usual_s = self._gaps(gap_s)
        if not len(at):
            return self
        values = np.insert(self.values, at + 1, np.nan, axis=0)
        return replace(self, t_s=np.insert(self.t_s, at + 1, self.t_s[at] + usual_s), values=values)

    def stretches(self, gap_s: float = DEFAULT_CRITERIA.max_unrecorded_s) -> list[Series]:
        """Return the records between the gaps that `parted` marks."""
        edges = [0, *(self._gaps(gap_s)[0] + 1).tolist(), len(self)]
        return [replace(self, t_s=self.t_s[a:b], values=self.values[a:b]) for a, b in pairwise(edges)]

    def parted_within(self, begin_s: float, end_s: float, gap_s: float = DEFAULT_CRITERIA.max_unrecorded_s) -> Series:
        """Return what `parted` does, as if there were records at `begin_s` and `end_s`, too.

        For what holds until the next record: where the log ends by a gap before `end_s`, nothing does from there on.
        """
        log = self.parted(gap_s)
        if not len(self):
            return log
        usual_s, least_s = self._bounds(gap_s)
        nothing = np.full((1, self.values.shape[1]), np.nan)
        if self.t_s[0] - begin_s > least_s:
            log = replace(log, t_s=np.append(begin_s, log.t_s), values=np.concatenate([nothing, log.values]))
        if end_s - self.t_s[-1] > least_s:
            after_s = self.t_s[-1] + usual_s
            log = replace(log, t_s=np.append(log.t_s, after_s), values=np.concatenate([log.values, nothing]))
        return log

    def _gaps(self, gap_s: float) -> tuple[IntArray, float]:
        """Return the places of the records after which there are gaps, and the usual time between two records."""
        usual_s, least_s = self._bounds(gap_s)
        return np.flatnonzero(np.diff(self.t_s) > least_s), usual_s

    def _bounds(self, gap_s: float) -> tuple[float, float]:
        """Return the usual time between two records, and the time above which there is a gap between them."""
        pauses = np.diff(self.t_s)
        usual_s = median(pauses) if len(pauses) else 0.0
        return usual_s, max(gap_s, _PERIODS * usual_s)

    def shifted(self, by_s: float) -> Series:
        """Return the same records, so much later."""
        return replace(self, t_s=self.t_s + by_s)

    def unit(self, name: str) -> str:
        """Return a column's unit, "" where the log does not tell. Raises KeyError as `column` does."""
        self.column(name)
        return self.units[self.columns.index(name)]

    def describe(self) -> str:
        """Return a table of the columns as text: unit, number of values, least, mean and largest one."""
        return "\n".join(_series_lines(self))


def interpolate(log: Series, times_s: FloatArray, max_gap_s: float = math.inf) -> FloatArray:
    """Return a log's values at other times, linearly between its records, shape (n, k); NaN outside of it."""
    found = np.full((len(times_s), len(log.columns)), np.nan)
    if not len(log):
        return found
    for k in range(found.shape[1]):
        found[:, k] = np.interp(times_s, log.t_s, log.values[:, k], left=np.nan, right=np.nan)
    after = np.clip(np.searchsorted(log.t_s, times_s, side="left"), 0, len(log) - 1)
    before = np.where(log.t_s[after] == times_s, after, np.maximum(after - 1, 0))
    found[log.t_s[after] - log.t_s[before] > max_gap_s] = np.nan
    return found


def hold(log: Series, times_s: FloatArray, end_s: float, max_gap_s: float = math.inf) -> FloatArray:
    """Return a log's values at other times, each until the next record or `end_s`; NaN before the first."""
    found = np.full((len(times_s), len(log.columns)), np.nan)
    if not len(log):
        return found
    at = np.searchsorted(log.t_s, times_s, side="right") - 1
    known = (at >= 0) & (times_s <= end_s)
    known[known] &= times_s[known] - log.t_s[at[known]] <= max_gap_s
    found[known] = log.values[at[known]]
    return found


def aligned(rows: Sequence[Sequence[str]], gap: int = 2) -> list[str]:
    """Return rows of cells as lines: the first column to the left, and all others that hold numbers to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    right = [k > 0 and all(_numeric(row[k]) for row in rows[1:]) for k in range(len(rows[0]))]
    lines: list[str] = []
    for row in rows:
        cells = [f"{cell:>{w}}" if r else f"{cell:<{w}}" for cell, w, r in zip(row, widths, right, strict=True)]
        lines.append((" " * gap).join(cells).rstrip())
    return lines


def _numeric(cell: str) -> bool:
    return not cell or cell[0].isdigit() or (cell[0] in "-+." and len(cell) > 1)


def _series_lines(series: Series) -> list[str]:
    """Return a table of a log's columns: unit, number of values, least, mean and largest one."""
    rows: list[Sequence[str]] = [("column", "unit", "values", "min", "mean", "max")]
    for k, name in enumerate(series.columns):
        values = series.values[:, k]
        values = values[np.isfinite(values)]
        numbers = ("", "", "") if not values.size else (values.min(), values.mean(), values.max())
        told = [f"{number:.5g}" if number != "" else "" for number in numbers]
        rows.append((name, series.units[k], str(values.size), *told))
    return aligned(rows)
