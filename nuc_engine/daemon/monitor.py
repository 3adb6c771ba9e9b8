"""What the core checks every 4 ms, since no event announces it.

Its neighbours, requests and latches in the block, torque that has gone off, and whether the machine slept.
"""

from __future__ import annotations

from collections.abc import Callable

from drivers.bus import all_counts
from drivers.servo import ReplyStatus
from nuc_engine.control.faults import FAULTS, OFF
from nuc_engine.daemon.block import Word
from nuc_engine.daemon.latch import latched
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.off_requests import begun, confirm, pending_requesters, requested
from nuc_engine.daemon.orders import retry_deferred
from nuc_engine.daemon.state import EngineState
from nuc_engine.daemon.wire import RecordKind

REPEAT_NS = 2_000_000_000
"""How often refusals and counts are reported again."""

COUNTS_NS = 500_000_000
"""How often the bus counts are reported while they change."""


class Monitor:
    """Looks after one engine; `slept` returns for how many nanoseconds the machine was suspended since it last did."""

    def __init__(self, core: EngineState, slept: Callable[[], int]) -> None:
        self._core, self._slept = core, slept
        self._refusals: tuple[str, ...] = ()
        self._counts: dict[str, int] = {}
        self._refusals_told_ns = self._counts_told_ns = 0

    def look_around(self, now: int, *, on_time: bool) -> None:
        """Look once, and do what has to be done. A check that is not `on_time` counts no process as stalled."""
        core, words = self._core, self._core.words
        core.neighbours.check(on_time=on_time)
        if core.neighbours.guardian_lost and core.mode is not Mode.FAULT:
            core.fault("guardian_lost", "the guardian's heart stands still")
        self._heed_requests()
        if words[Word.LATCHED] and not core.latched:
            self._heed_latch(latched(words))
        slept = self._slept()
        if slept:
            core.fault("suspended", f"the machine was suspended for {slept / 1e9:.1f} s")
        self._note_torque()
        retry_deferred(core)
        self._note_refusals(now)
        self._note_counts(now)
        self._miss_service(now)

    def _heed_requests(self) -> None:
        core, words = self._core, self._core.words
        before = requested(words)
        if all(begun(words, asker) for asker in pending_requesters(words)):
            return
        confirm(words, Word.OFF_BEGUN, before)
        if words[Word.SHUTDOWN]:
            core.shut_down()
        else:
            core.off("torque off was asked for")

    def _heed_latch(self, reason: str) -> None:
        if reason == OFF:
            self._core.off("the guardian has latched it")
        else:
            self._core.take_off(reason, "the guardian has latched it")

    def _note_torque(self) -> None:
        core, words, limp = self._core, self._core.words, self._core.live.limp
        if words[Word.TORQUE] and limp:
            words[Word.TORQUE] = 0
        if limp and pending_requesters(words):
            # Only requests that were begun: later ones have not been seen yet.
            confirm(words, Word.OFF_DONE_CORE, requested(words, Word.OFF_BEGUN))
        bits = 0
        for motor, status in enumerate(core.bus.status):
            if status != ReplyStatus.OK:
                bits |= 1 << motor
        words[Word.UNCONFIRMED] = bits

    def _note_refusals(self, now: int) -> None:
        """Tell the service what servos can not be driven: what is new as events, and all of it again and again.

        A service that was started anew has not heard it.
        """
        core, refusals = self._core, self._core.bus.refusals
        if refusals == self._refusals and (not refusals or now - self._refusals_told_ns < REPEAT_NS):
            return
        for text in refusals:
            if text not in self._refusals:
                core.event("servo_refused", text)
        self._refusals, self._refusals_told_ns = refusals, now
        core.recorder.tell(RecordKind.REFUSALS, now, list(refusals))

    def _note_counts(self, now: int) -> None:
        """Tell the service what the buses have counted: what is new, not too often, and all of it again and again."""
        waited_ns = now - self._counts_told_ns
        if waited_ns < COUNTS_NS:
            return
        counts = all_counts(self._core.bus)
        if counts != self._counts or waited_ns >= REPEAT_NS:
            self._counts, self._counts_told_ns = counts, now
            self._core.recorder.tell(RecordKind.BUS, now, counts)

    def _miss_service(self, now: int) -> None:
        core = self._core
        silent = core.neighbours.service_silent_ns(now)
        lost = silent > FAULTS["service_lost"].delay_ns and core.options.on_service_loss == "stop"
        if lost and core.mode is Mode.RUNNING:
            core.fault("service_lost", f"the service has been silent for {silent / 1e9:.1f} s")
