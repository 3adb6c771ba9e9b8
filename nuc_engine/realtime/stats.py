"""How punctual one task is: counts, periods, and histograms of wake-up lateness and execution time.

Everything lies in 64-bit words that the owner brings, so that another process can read along. One process writes, and
must be the only one; a reader takes a copy and computes from that. Quantiles since the start, and over the last whole
second of the clock.

A histogram is log-linear: 32 steps of 32 ns, then 32 steps to each doubling up to 16 s. A step is at most 3.2 % of its
value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from drivers.units import NS_PER_S
from nuc_engine.realtime.errors import RealtimeError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_UNIT_BITS, _STEP_BITS = 5, 5
_STEPS = 1 << _STEP_BITS
_BUCKETS = _STEPS * 25
_TOP = 1 << (_UNIT_BITS + _STEP_BITS + 24)
_TOP_UNITS = (_TOP >> _UNIT_BITS) - 1

_RUNS, _OVERRUNS, _SKIPPED, _FIRST, _START, _PERIOD, _SHORTEST, _LONGEST, _FILLING = range(9)
_HEAD = 9
"""Words of counts; then three blocks (whole life, even seconds, odd seconds) of `_BLOCK` words."""

_LATE_MAX, _EXEC_MAX, _SECOND = range(3)
_LATE, _EXEC = 3, 3 + _BUCKETS
_BLOCK = 3 + 2 * _BUCKETS

_EMPTY = memoryview(bytes(8 * _BLOCK)).cast("q")


def bucket_of(time_ns: int) -> int:
    """Return the step of the histogram that a time falls into; negative times into the first, above 16 s the last."""
    units = min(max(time_ns, 0) >> _UNIT_BITS, _TOP_UNITS)
    shift = max(units.bit_length() - _STEP_BITS - 1, 0)
    return (shift << _STEP_BITS) + (units >> shift)


def bucket_middle(bucket: int) -> float:
    """Return the time in nanoseconds that stands for a step: its middle."""
    shift = max((bucket >> _STEP_BITS) - 1, 0)
    return ((bucket - (shift << _STEP_BITS)) + 0.5) * (1 << (shift + _UNIT_BITS))


class TaskStatistics:
    """Statistics of one task in `WORDS` words of 64 bits; words that are all zero are a task that never ran.

    What the words hold at the first run is continued. Raises RealtimeError for memory of
    another size or kind.
    """

    WORDS = _HEAD + 3 * _BLOCK

    def __init__(self, words: memoryview) -> None:
        if words.format != "q" or len(words) != self.WORDS:
            found = f"{len(words)} items of format {words.format!r}"
            raise RealtimeError(f"statistics of a task need {self.WORDS} words of format 'q', got {found}")
        self._words = words
        self._filling = -1
        self._runs = self._start = self._shortest = self._longest = self._block = self._late_max = self._exec_max = 0

    def clear(self) -> None:
        """Forget everything: for a process that begins to write where another has written."""
        self._words[:] = memoryview(bytes(8 * self.WORDS)).cast("q")
        self._filling = -1

    def record(self, release_ns: int, start_ns: int, end_ns: int) -> None:
        """Count one run: when it was due, when it began, when it was done."""
        words = self._words
        second = start_ns // NS_PER_S
        if second != self._filling:
            self._turn(second)
        if self._runs:
            period = start_ns - self._start
            words[_PERIOD] = period
            if period > self._longest:
                words[_LONGEST] = self._longest = period
            if period < self._shortest or self._runs == 1:
                words[_SHORTEST] = self._shortest = period
        else:
            words[_FIRST] = start_ns
        words[_START] = self._start = start_ns
        self._runs += 1
        words[_RUNS] = self._runs

        # Both buckets are worked out here, as bucket_of would.
        late, took, block = start_ns - release_ns, end_ns - start_ns, self._block
        units = late >> _UNIT_BITS if 0 < late < _TOP else (_TOP_UNITS if late > 0 else 0)
        shift = units.bit_length() - _STEP_BITS - 1
        at = _LATE + ((shift << _STEP_BITS) + (units >> shift) if shift > 0 else units)
        words[_HEAD + at] += 1
        words[block + at] += 1
        units = took >> _UNIT_BITS if 0 < took < _TOP else (_TOP_UNITS if took > 0 else 0)
        shift = units.bit_length() - _STEP_BITS - 1
        at = _EXEC + ((shift << _STEP_BITS) + (units >> shift) if shift > 0 else units)
        words[_HEAD + at] += 1
        words[block + at] += 1
        if late > self._late_max:
            words[block + _LATE_MAX] = self._late_max = late
            words[_HEAD + _LATE_MAX] = max(words[_HEAD + _LATE_MAX], late)
        if took > self._exec_max:
            words[block + _EXEC_MAX] = self._exec_max = took
            words[_HEAD + _EXEC_MAX] = max(words[_HEAD + _EXEC_MAX], took)

    def _turn(self, second: int) -> None:
        words = self._words
        if self._filling < 0:
            # Only now: whoever wrote before this first run may have done so after this object was made.
            self._runs, self._start, self._filling = words[_RUNS], words[_START], words[_FILLING]
            self._shortest, self._longest = words[_SHORTEST], words[_LONGEST]
        self._block = block = _HEAD + _BLOCK + (second & 1) * _BLOCK
        if self._runs == 0 or second != self._filling:
            words[block : block + _BLOCK] = _EMPTY
            words[block + _SECOND] = words[_FILLING] = self._filling = second
        self._late_max, self._exec_max = words[block + _LATE_MAX], words[block + _EXEC_MAX]

    def overrun(self, skipped: int) -> None:
        """Count one overrun and the periods it cost."""
        self._words[_OVERRUNS] += 1
        self._words[_SKIPPED] += skipped

    def summary(self, now_ns: int) -> dict[str, object]:
        """Return all numbers as of `now_ns`: times in nanoseconds, None where there is nothing to tell.

        `runs`, `overruns`, `skipped`; `period_ns` with last, min, max, mean; `since_start` and `last_second`, each
        with `runs` and, for `lateness_ns` and `execution_ns`, p50, p99 and max. `last_second` is the last whole second
        of the clock, and None when the task did not run in it.
        """
        words = self._words
        head = words[:_HEAD].tolist()
        runs = head[_RUNS]
        second = now_ns // NS_PER_S - 1
        block = _HEAD + _BLOCK + (second & 1) * _BLOCK
        return {
            "runs": runs,
            "overruns": head[_OVERRUNS],
            "skipped": head[_SKIPPED],
            "period_ns": _periods(head),
            "since_start": _block(words, _HEAD) if runs else None,
            "last_second": _block(words, block) if runs > 0 and words[block + _SECOND] == second else None,
        }


def _periods(words: Sequence[int]) -> dict[str, int | float] | None:
    if words[_RUNS] < 2:
        return None
    mean = (words[_START] - words[_FIRST]) / (words[_RUNS] - 1)
    return {"last": words[_PERIOD], "min": words[_SHORTEST], "max": words[_LONGEST], "mean": mean}


def _block(words: memoryview, block: int) -> dict[str, object]:
    import numpy as np  # for who reads: the processes that write do without

    # A copy, and counted here: the writer may be in the middle of a run, with some of its numbers in and some not.
    copy = np.frombuffer(words[block : block + _BLOCK].tobytes(), np.int64)
    late, took = np.add.accumulate(copy[_LATE:].reshape(2, _BUCKETS), axis=1)
    lateness, execution = _quantiles(late, float(copy[_LATE_MAX])), _quantiles(took, float(copy[_EXEC_MAX]))
    return {"runs": int(late[-1]), "lateness_ns": lateness, "execution_ns": execution}


def _quantiles(seen: NDArray[np.int64], most: float) -> dict[str, float]:
    """Return the quantiles of a histogram; `seen` (steps) is how many runs lie in a step or before it."""
    runs = int(seen[-1])
    if not runs:
        return {"p50": most, "p99": most, "max": most}
    # Whole numbers: a search for others would make a copy of them all.
    p50, p99 = (int(seen.searchsorted(math.ceil(part * runs))) for part in (0.5, 0.99))
    return {"p50": min(bucket_middle(p50), most), "p99": min(bucket_middle(p99), most), "max": most}
