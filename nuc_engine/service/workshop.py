"""Work that may take long, beside the loop: reading and checking documents, files.

One thread does one piece after the other, so that the loop goes on answering, beating and following the core meanwhile.
What is done here must not touch anything the loop owns.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from nuc_engine.messages.errors import Refused
from nuc_engine.service.errands import Answer

T = TypeVar("T")

MAX_WAITING = 64
"""Pieces of work that may wait."""
MAX_BYTES = 16 << 20
"""Bytes of documents that may be at work, and again as many that wait to be."""

_JOIN_S = 2.0


class Workshop:
    """Does work in a thread; `wake` gets the loop to call `collect`."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._orders: SimpleQueue[tuple[Callable[[], Any], Answer[Any], int] | None] = SimpleQueue()
        self._finished: deque[tuple[Answer[Any], Any, Refused | None, int]] = deque()
        self._thread: threading.Thread | None = None
        self._waiting = self._bytes = self._held = 0

    def hold(self, size: int) -> bool:
        """Say whether a document of so many bytes may be kept until it is read, and count it then."""
        if self._held + size > MAX_BYTES:
            return False
        self._held += size
        return True

    def release(self, size: int) -> None:
        """Take back what `hold` counted."""
        self._held -= size

    def do(self, work: Callable[[], T], size: int = 0) -> Answer[T]:
        """Return what `work` will return, or its Refused; `size` is the bytes it keeps in memory. Raises Refused."""
        if self._waiting >= MAX_WAITING or self._bytes + size > MAX_BYTES:
            raise Refused("refused", "too many documents wait to be read", "try again later")
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="nuc-workshop", daemon=True)
            self._thread.start()
        self._waiting += 1
        self._bytes += size
        answer: Answer[T] = Answer()
        self._orders.put((work, answer, size))
        return answer

    def collect(self) -> None:
        """Give the answers that are there."""
        while self._finished:
            answer, value, error, size = self._finished.popleft()
            self._waiting -= 1
            self._bytes -= size
            if error is None:
                answer.give(value)
            else:
                answer.refuse(error)

    def close(self) -> None:
        """End the thread after what it does now."""
        if self._thread is not None:
            self._orders.put(None)
            self._thread.join(_JOIN_S)

    def _run(self) -> None:
        while (order := self._orders.get()) is not None:
            work, answer, size = order
            value, error = None, None
            try:
                value = work()
            except Refused as refused:
                error = refused
            except Exception as fault:  # it must reach whoever waits, whatever it is
                error = Refused("failed", f"{type(fault).__name__}: {fault}")
            self._finished.append((answer, value, error, size))
            self._wake()
