"""What the core sees of the processes around it, look by look: is there a guardian, a service, a main process?"""

from __future__ import annotations

from collections.abc import Callable

from nuc_engine.control.faults import FAULTS
from nuc_engine.daemon.block import Word

CHECK_MS = 4
"""Time between two looks."""


class PeerMonitor:
    """Judges heartbeats by `words`; `orphaned` says whether the main process is gone. A beat of 0: still starting."""

    def __init__(self, words: memoryview, now_ns: int, orphaned: Callable[[], bool]) -> None:
        self._words, self._orphaned = words, orphaned
        self._beat = self._still = 0
        self._service_ns = now_ns

    def check(self, *, on_time: bool) -> None:
        """Look once. A check that comes late counts against no process: then the whole machine was stalled."""
        beat = self._words[Word.GUARDIAN_BEAT]
        self._still = 0 if beat not in (0, self._beat) else self._still + on_time
        self._beat = beat
        self._service_ns = self._words[Word.SERVICE_BEAT] or self._service_ns

    @property
    def guardian_lost(self) -> bool:
        """Whether the core has no guardian."""
        return self._still >= max(FAULTS["guardian_lost"].after, self._words[Word.STALL_LIMIT_MS] // CHECK_MS)

    @property
    def unsupervised(self) -> bool:
        """Whether there is also no main process to start another guardian or to arm this core."""
        return self.guardian_lost and self._orphaned()

    def service_silent_ns(self, now_ns: int) -> int:
        """Return how long the service has not been heard of."""
        return now_ns - self._service_ns
