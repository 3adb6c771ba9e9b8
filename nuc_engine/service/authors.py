"""Whose edits are whose, as the log has it: told once for every run of edits by one author, before the first of them.

An edit whose author cannot be told, or whose record may find no room, is refused: what takes effect is logged whole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from nuc_engine.daemon.ring import Ring
from nuc_engine.datalogger.interface import DataLogger
from nuc_engine.datalogger.logger import LogRefused
from nuc_engine.messages.errors import Refused

MOST_RUNS = 64
"""Runs of edits that may be told apart while one of the first still waits for its time."""

_FULL = 0.75
"""How much of the ring of records may wait for the disk before no edit is taken any more."""


class Authors:
    """Tells the logger who makes edits. `records` is the ring that tells of them; `refused` counts those not taken."""

    def __init__(self, logger: DataLogger, records: Ring) -> None:
        self._logger, self._records = logger, records
        self._runs: deque[tuple[int, str]] = deque()
        self.refused = 0

    def announce(self, request: int, author: str, oldest: Callable[[], int]) -> None:
        """Say that edits from this request's number on are an author's; `oldest` tells the first that is not done yet.

        Raises Refused, kind busy.
        """
        if self._records.written - self._records.kept > _FULL * self._records.capacity:
            self._refuse("the log is behind, and an edit that is not logged is not made")
        if self._runs and self._runs[-1][1] == author:
            return
        first = oldest()
        while len(self._runs) > 1 and self._runs[1][0] <= first:
            self._runs.popleft()
        if len(self._runs) >= MOST_RUNS:
            self._refuse(f"the edits of {MOST_RUNS} turns of control wait for their time")
        self.tell(lambda: self._logger.tell_author(request, author, first))
        self._runs.append((request, author))

    def tell(self, what: Callable[[], None]) -> None:
        """Tell the logger what an edit cannot be logged without. Raises Refused, kind busy."""
        try:
            what()
        except LogRefused as error:
            self._refuse(str(error))

    def _refuse(self, why: str) -> None:
        self.refused += 1
        raise Refused("busy", why, "try again when the disk has room")
