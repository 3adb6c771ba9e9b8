"""HDSO server: answers requests for HDSO data at the lowest priority (section 6.2.2)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from nuc_engine.model.changes import DataRequest
from nuc_engine.model.plan import Plan
from nuc_engine.model.store import Store

DataSink = Callable[[int, int, tuple[int | float, ...], int], None]
"""Receives (time_ns, HDSO index, values, origin) of one HDSO that was asked for."""


class HdsoServer:
    """Reads the live store for each request; an HDSO without a value is answered with no values."""

    def __init__(self, plan: Plan, store: Store, requests: deque[tuple[int, DataRequest]], answer: DataSink) -> None:
        self._plan, self._store, self._requests, self._answer = plan, store, requests, answer

    def run(self, now_ns: int) -> None:
        """Answer the first of what has been asked for; the others have to wait for more urgent tasks."""
        if self._requests:
            origin, request = self._requests.popleft()
            wanted = range(len(self._plan.hdsos)) if request.hdso < 0 else (request.hdso,)
            for index in wanted:
                values = self._store.values(index) or ()
                self._answer(now_ns, index, values[: request.count] if request.count else values, origin)
