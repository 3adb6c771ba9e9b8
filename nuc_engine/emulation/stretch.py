"""How late things were: counts, the worst, and quantiles of the last few thousand."""

from __future__ import annotations

from array import array
from typing import Final

KEPT: Final = 4096


class Lateness:
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

    def quantile_ns(self, share: float) -> int:
        """Return the delay that `share` (0 to 1) of the last `KEPT` do not exceed; 0 when there were none."""
        kept = sorted(self._kept[: min(self.count, KEPT)])
        return kept[min(int(share * len(kept)), len(kept) - 1)] if kept else 0

    def summary(self) -> dict[str, float]:
        """Return count, number of late ones, p50, p99 and maximum in microseconds."""
        return {
            "count": self.count,
            "late": self.late,
            "p50_us": self.quantile_ns(0.5) / 1000,
            "p99_us": self.quantile_ns(0.99) / 1000,
            "max_us": self.max_ns / 1000,
        }
