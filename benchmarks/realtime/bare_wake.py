"""A loop in Python that wakes every millisecond and does nothing: `python -m benchmarks.realtime.bare_wake`.

Clock, statistics and privileges are the engine's. Reads a number of seconds per line, and answers with the number of
wake-ups and their lateness: `N microseconds:count ...`.
"""

from __future__ import annotations

import sys

from benchmarks.realtime.histogram import copied, lateness
from nuc_engine.realtime import RealClock, RealtimePolicy, acquire
from nuc_engine.realtime.stats import TaskStatistics

PERIOD_NS = 1_000_000


def main() -> None:
    """Measure as often as asked."""
    words = memoryview(bytearray(8 * TaskStatistics.WORDS)).cast("q")
    statistics = TaskStatistics(words)
    clock = RealClock()
    for line in sys.stdin:
        rights = acquire(RealtimePolicy())
        before = copied(statistics)
        _wake(clock, statistics, float(line))
        found = lateness(before, copied(statistics))
        rights.close()
        counts = " ".join(f"{time_us}:{count}" for time_us, count in found.counts)
        sys.stdout.write(f"{found.total} {counts}\n")
        sys.stdout.flush()


def _wake(clock: RealClock, statistics: TaskStatistics, seconds: float) -> None:
    release = clock.now_ns + PERIOD_NS
    for _ in range(round(seconds * 1e9 / PERIOD_NS)):
        while clock.now_ns < release:
            clock.wait(release, ())
        now = clock.now_ns
        statistics.record(release, now, clock.now_ns)
        release += PERIOD_NS * max(1, -(-(now - release) // PERIOD_NS))


if __name__ == "__main__":
    main()
