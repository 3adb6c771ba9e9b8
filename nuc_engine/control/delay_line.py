"""A delay line: what a value was some time ago, from those that were put in."""

from __future__ import annotations

from typing import Final

LONGEST_NS: Final = 60_000_000_000
"""How far back a line can remember: `sccils_schemas.signals.LONGEST_S`."""
_SHED: Final = 1024


class DelayLine:
    """Remembers the values of one signal for as long as it is told to, at most LONGEST_NS.

    A value holds from the time it was put in until the next one: a step at t arrives, `d` later, at the first look at
    or after t + d. Before the first value that is remembered the line says this one. Times that are put in do not fall;
    those that are asked for may, since a delay can change. Looks at rising times take no longer with a longer line.
    """

    def __init__(self, keep_ns: int = LONGEST_NS) -> None:
        self._keep_ns = min(keep_ns, LONGEST_NS)
        self._times: list[int] = []
        self._values: list[float] = []
        self._first = 0
        self._at = 0

    def __len__(self) -> int:
        """Return how many values are remembered."""
        return len(self._times) - self._first

    def put(self, time_ns: int, value: float) -> None:
        """Let the value be this one from now on."""
        times, values = self._times, self._values
        if values and values[-1] == value:
            return
        times.append(time_ns)
        values.append(value)
        # The one that was in force at the far end stays.
        first, oldest_ns, last = self._first, time_ns - self._keep_ns, len(times) - 1
        while first < last and times[first + 1] <= oldest_ns:
            first += 1
        self._first = first
        if first > _SHED and 2 * first > last:
            del times[:first], values[:first]
            self._at = max(self._at - first, 0)
            self._first = 0

    def at(self, time_ns: int) -> float:
        """Return what the value was then. Raises IndexError while none was put in."""
        times, at = self._times, max(self._at, self._first)
        last = len(times) - 1
        while at < last and times[at + 1] <= time_ns:
            at += 1
        first = self._first
        while at > first and times[at] > time_ns:
            at -= 1
        self._at = at
        return self._values[at]
