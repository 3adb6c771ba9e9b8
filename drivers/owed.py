"""Bytes still owed on a line whose replies carry no id: while there are any, no byte can be assigned to a servo.

A line has a bound on lateness, D: a reply is complete no later than D after the time it needs on the wire, or it never
comes. So a debt that is not paid by then is none any more, and what comes when nothing is owed belongs to whoever was
asked since. Replies come in the order of their requests, so bytes pay the oldest debt first.
"""

from __future__ import annotations

from collections import deque


class OwedBytes:
    """What is owed: bytes, each lot with the instant after which it does not come any more."""

    __slots__ = ("_lots",)

    def __init__(self) -> None:
        """Start with nothing owed."""
        self._lots: deque[tuple[int, int]] = deque()

    def __bool__(self) -> bool:
        """Whether anything is owed."""
        return bool(self._lots)

    @property
    def bytes(self) -> int:
        """How many bytes are owed."""
        return sum(count for count, _ in self._lots)

    @property
    def until_ns(self) -> int:
        """When the last of it has expired; 0 when nothing is owed."""
        return max((until_ns for _, until_ns in self._lots), default=0)

    def owe(self, count: int, until_ns: int) -> None:
        """Expect `count` bytes more, until `until_ns` at the latest."""
        if count > 0:
            self._lots.append((count, until_ns))

    def pay(self, count: int) -> int:
        """Take note that `count` bytes came; return how many more they are than were owed."""
        while count and self._lots:
            owed, until_ns = self._lots.popleft()
            if owed > count:
                self._lots.appendleft((owed - count, until_ns))
                return 0
            count -= owed
        return count

    def expire(self, now_ns: int) -> None:
        """Give up what does not come any more."""
        if self._lots:
            self._lots = deque(lot for lot in self._lots if lot[1] > now_ns)

    def extend(self, until_ns: int) -> None:
        """Expect all of it until then: whoever looks was held up, and so may the line have been."""
        self._lots = deque((count, max(until_ns, end_ns)) for count, end_ns in self._lots)
