"""Errands: coroutines that wait for the core, a client or a moment, all on the one thread of the service.

An errand awaits `Answer`s. It is resumed by whoever gives the answer, or by `Errands.step` once its time is over.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from heapq import heappop, heappush
from itertools import count
from typing import Any, Generic, TypeVar

from nuc_engine.messages.errors import Refused

T = TypeVar("T")

_NS = 1_000_000_000
_AT_ONCE = 256
"""Deadlines of answers long given that are put away at one time."""


class Answer(Generic[T]):
    """Something that will be known later: a value, or a Refused. The first of them stays."""

    __slots__ = ("_error", "_listeners", "_value", "done")

    def __init__(self) -> None:
        self.done = False
        self._value: T | None = None
        self._error: Refused | None = None
        self._listeners: list[Callable[[], None]] = []

    def give(self, value: T) -> None:
        """Say what it is."""
        if not self.done:
            self._value = value
            self._finish()

    def refuse(self, error: Refused) -> None:
        """Say that there will be no value."""
        if not self.done:
            self._error = error
            self._finish()

    def result(self) -> T:
        """Return the value. Raises the Refused that was given instead of one."""
        if self._error is not None:
            raise self._error
        value: Any = self._value
        return value

    def tell(self, listener: Callable[[], None]) -> None:
        """Call `listener` once the answer is there, at once when it is."""
        if self.done:
            listener()
        else:
            self._listeners.append(listener)

    def __await__(self) -> Generator[Answer[T], None, T]:
        """Wait for it in an errand."""
        if not self.done:
            yield self
        return self.result()

    def _finish(self) -> None:
        self.done = True
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()


Errand = Coroutine[Answer[Any], None, T]


class Errands:
    """Runs errands and keeps their deadlines. `now_ns` is a monotonic clock in nanoseconds."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self.now_ns = now_ns
        self._deadlines: list[tuple[int, int, Answer[Any], Refused | None]] = []
        self._number = count()
        self._conditions: list[tuple[Callable[[], bool], Answer[None]]] = []

    def start(self, errand: Errand[T], done: Callable[[T | None, Exception | None], None]) -> None:
        """Run an errand up to its first wait, and on from there later; `done` gets its value or what it raised."""

        def resume() -> None:
            try:
                waits_for = errand.send(None)
            except StopIteration as end:
                done(end.value, None)
            except Exception as error:
                done(None, error)
            else:
                waits_for.tell(resume)

        resume()

    def within(self, answer: Answer[T], timeout_s: float, late: Refused) -> Answer[T]:
        """Refuse an answer that is not there in time."""
        if not answer.done:
            self._set(timeout_s, answer, late)
        return answer

    def sleep(self, seconds: float) -> Answer[None]:
        """Return an answer that is given after some time."""
        answer: Answer[None] = Answer()
        self._set(seconds, answer, None)
        return answer

    def _set(self, seconds: float, answer: Answer[Any], late: Refused | None) -> None:
        heappush(self._deadlines, (self.now_ns() + round(seconds * _NS), next(self._number), answer, late))

    def until(self, condition: Callable[[], bool], timeout_s: float, late: Refused) -> Answer[None]:
        """Return an answer that is given once a condition holds; it is looked at in every step."""
        answer: Answer[None] = Answer()
        if condition():
            answer.give(None)
        else:
            self._conditions.append((condition, answer))
        return self.within(answer, timeout_s, late)

    @property
    def watching(self) -> bool:
        """Whether a condition is waited for, which nothing but looking again can tell."""
        return bool(self._conditions)

    def next_ns(self) -> int | None:
        """Return the earliest deadline."""
        for _ in range(_AT_ONCE):
            if not self._deadlines or not self._deadlines[0][2].done:
                break
            heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def step(self) -> None:
        """Look at conditions and deadlines."""
        for condition, answer in self._conditions.copy():
            if not answer.done and condition():
                answer.give(None)
        self._conditions = [item for item in self._conditions if not item[1].done]
        now_ns = self.now_ns()
        due: list[tuple[Answer[Any], Refused | None]] = []
        while self._deadlines and self._deadlines[0][0] <= now_ns:
            due.append(heappop(self._deadlines)[2:])
        # Who sleeps for no time in an errand has its turn in the next step.
        for answer, late in due:
            if late is None:
                answer.give(None)
            else:
                answer.refuse(late)
