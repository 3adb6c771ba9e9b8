"""Requests for data that wait for their time, each for the first snapshot found to be of that time or later. Pure."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush

from nuc_engine.messages.errors import Refused
from nuc_engine.service.mirror import Moment
from nuc_engine.service.waiting import Awaited

MOST_PENDING = 64
"""Requests of one client that may wait for their time."""

AT_ONCE = 64
"""Requests whose time has come that are taken up in one step of the service."""

WATCHING_NS = 2_000_000
"""How often a snapshot is looked for that is due."""

_Waiting = tuple[int, int, bytes, Awaited[Moment]]


class Reads:
    """What clients wait to read; `key` tells a client. Times are of the engine, in ns, of this bout or the next one."""

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []
        self._ready: deque[tuple[Awaited[Moment], Moment]] = deque()
        self._pending: Counter[bytes] = Counter()
        self._number = self._bout = 0

    def pending(self, key: bytes) -> int:
        """Return how many requests of a client wait."""
        return self._pending[key]

    def check(self, key: bytes, more: int) -> None:
        """Raise Refused where a client cannot have so many more wait."""
        if more and self._pending[key] + more > MOST_PENDING:
            what = f"{self._pending[key]} requests for data wait for their time, and {more} more would"
            raise Refused("refused", f"{what}; at most {MOST_PENDING}", "ask again once some were answered")

    def wait(self, key: bytes, due_ns: int, count: int = 1) -> Awaited[Moment]:
        """Return the moment to read at, for so many requests of one time. Raises Refused."""
        self.check(key, count)
        self._number += 1
        self._pending[key] += count
        answer: Awaited[Moment] = Awaited()
        heappush(self._waiting, (due_ns, self._number, key, answer))
        answer.tell(lambda: self._forget(key, count))
        return answer

    def next_ns(self, start_ns: int | None, now_ns: int) -> int | None:
        """Return when to look, None while nothing can be due; the bout began at `start_ns`."""
        if self._ready:
            return now_ns
        if start_ns is None or not self._waiting:
            return None
        due_ns = start_ns + self._waiting[0][0]
        return due_ns if due_ns > now_ns else now_ns + WATCHING_NS

    def step(self, bout: int, elapsed_ns: int, look: Callable[[], tuple[Moment, int] | None]) -> None:
        """Give what is there to some of those whose time it is.

        `look` returns a moment and the engine time of its snapshot, None where there is none.
        """
        before, self._bout = self._bout, bout
        if before not in (0, bout):
            gone, self._waiting = self._waiting, []
            for *_, answer in gone:
                answer.refuse(Refused("forgotten", "the bout ended before its time"))
        if bout and self._waiting and self._waiting[0][0] <= elapsed_ns and (seen := look()) is not None:
            moment, seen_ns = seen
            while self._waiting and self._waiting[0][0] <= seen_ns:
                self._ready.append((heappop(self._waiting)[-1], moment))
        for _ in range(min(AT_ONCE, len(self._ready))):
            answer, moment = self._ready.popleft()
            answer.give(moment)

    def drop(self, key: bytes) -> None:
        """Forget what a client that is gone has asked for."""
        gone = [item for item in self._waiting if item[2] == key]
        self._waiting = [item for item in self._waiting if item[2] != key]
        heapify(self._waiting)
        for *_, answer in gone:
            answer.refuse(Refused("forgotten", "its client is gone"))

    def _forget(self, key: bytes, count: int) -> None:
        self._pending[key] -= count
        if not self._pending[key]:
            del self._pending[key]
