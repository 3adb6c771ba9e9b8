"""How late things were: counts, the worst, and quantiles of the last two thousand."""

from __future__ import annotations

from array import array
from typing import Final

KEPT: Final = 2048


class DelayStatistics:
    """Collects delays in ns; noting one costs well under a microsecond, the quantiles are worked out when asked for."""

    __slots__ = ("_at", "_kept", "count", "late", "limit_ns", "max_ns")

    def __init__(self, limit_ns: int) -> None:
        """Count what is later than `limit_ns` as late."""
        self.limit_ns = limit_ns
        self.count = 0
        self.late = 0
        self.max_ns = 0
        self._kept = array("q", bytes(8 * KEPT))
        self._at = 0

    def note(self, delay_ns: int) -> None:
        """Take one delay; being early is no delay."""
        at = self._at
        self._kept[at] = delay_ns
        self._at = at + 1 if at + 1 < KEPT else 0
        self.count += 1
        if delay_ns > self.limit_ns:
            self.late += 1
        self.max_ns = max(self.max_ns, delay_ns)

    def quantiles_ns(self, *shares: float) -> tuple[int, ...]:
        """Return for each share (0 to 1) the delay that so much of the last `KEPT` do not exceed; 0 without any."""
        kept = sorted(self._kept[: min(self.count, KEPT)]) or [0]
        return tuple(kept[min(int(share * len(kept)), len(kept) - 1)] for share in shares)

    def summary(self) -> dict[str, float]:
        """Return count, number of late ones, p50, p99 and maximum in microseconds."""
        p50, p99 = self.quantiles_ns(0.5, 0.99)
        return {
            "count": self.count,
            "late": self.late,
            "p50_us": p50 / 1000,
            "p99_us": p99 / 1000,
            "max_us": self.max_ns / 1000,
        }
