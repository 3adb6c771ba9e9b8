"""Lateness in histograms: quantiles, and what was added to a task's statistics between two looks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nuc_engine.realtime.stats import _BUCKETS, _EXEC, _HEAD, _LATE, TaskStatistics, bucket_middle


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts at times in microseconds, in ascending order of time."""

    counts: tuple[tuple[float, int], ...]

    @property
    def total(self) -> int:
        return sum(count for _, count in self.counts)

    def quantile_us(self, share: float) -> float:
        """Return the time that this share of all do not exceed; NaN without any."""
        wanted, seen = share * self.total, 0
        for time_us, count in self.counts:
            seen += count
            if count and seen >= wanted:
                return time_us
        return float("nan")

    @property
    def max_us(self) -> float:
        return max((time_us for time_us, count in self.counts if count), default=float("nan"))


def joined(parts: Iterable[Histogram]) -> Histogram:
    """Return the sum of histograms."""
    counts: dict[float, int] = {}
    for part in parts:
        for time_us, count in part.counts:
            counts[time_us] = counts.get(time_us, 0) + count
    return Histogram(tuple(sorted(counts.items())))


def copied(statistics: TaskStatistics) -> list[int]:
    """Return a copy of a task's words."""
    return statistics._words.tolist()


def lateness(before: Sequence[int], after: Sequence[int]) -> Histogram:
    """Return the wake-up lateness counted between two copies."""
    return _between(before, after, _HEAD + _LATE)


def execution(before: Sequence[int], after: Sequence[int]) -> Histogram:
    """Return the execution times counted between two copies."""
    return _between(before, after, _HEAD + _EXEC)


def _between(before: Sequence[int], after: Sequence[int], at: int) -> Histogram:
    added = [(bucket_middle(k) / 1000, after[at + k] - before[at + k]) for k in range(_BUCKETS)]
    return Histogram(tuple((time_us, count) for time_us, count in added if count))
