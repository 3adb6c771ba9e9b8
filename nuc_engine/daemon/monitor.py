"""What the core looks after every 4 ms, since nobody wakes it for it.

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
from nuc_engine.daemon.orders import try_again
from nuc_engine.daemon.requests import asked, begun, confirm, still_open
from nuc_engine.daemon.state import EngineState
from nuc_engine.daemon.wire import Kind

AGAIN_NS = 2_000_000_000
"""How often what can not be driven, and what was counted, is told again."""

COUNTS_NS = 500_000_000
"""How often what the buses count is told while it changes."""


class Monitor:
    """Looks after one engine; `slept` returns for how many nanoseconds the machine was suspended since it last did."""

    def __init__(self, core: EngineState, slept: Callable[[], int]) -> None:
        self._core, self._slept = core, slept
        self._refusals: tuple[str, ...] = ()
        self._counts: dict[str, int] = {}
        self._refusals_told_ns = self._counts_told_ns = 0

    def look_around(self, now: int, *, on_time: bool) -> None:
        """Look once, and do what has to be done. A look that is not `on_time` blames nobody for standing still."""
        core, words = self._core, self._core.words
        core.neighbours.look(on_time=on_time)
        if core.neighbours.guardian_lost and core.mode is not Mode.FAULT:
            core.fault("guardian_lost", "the guardian's heart stands still")
        self._heed_requests()
        if words[Word.LATCHED] and not core.latched:
            self._heed_latch(latched(words))
        slept = self._slept()
        if slept:
            core.fault("suspended", f"the machine was suspended for {slept / 1e9:.1f} s")
        self._note_torque()
        try_again(core)
        self._note_refusals(now)
        self._note_counts(now)
        self._miss_service(now)

    def _heed_requests(self) -> None:
        core, words = self._core, self._core.words
        before = asked(words)
        if all(begun(words, asker) for asker in still_open(words)):
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
        if limp and still_open(words):
            # No more than was begun: what was asked since has not been looked at.
            confirm(words, Word.OFF_DONE_CORE, asked(words, Word.OFF_BEGUN))
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
        if refusals == self._refusals and (not refusals or now - self._refusals_told_ns < AGAIN_NS):
            return
        for text in refusals:
            if text not in self._refusals:
                core.event("servo_refused", text)
        self._refusals, self._refusals_told_ns = refusals, now
        core.recorder.tell(Kind.REFUSALS, now, list(refusals))

    def _note_counts(self, now: int) -> None:
        """Tell the service what the buses have counted: what is new, not too often, and all of it again and again."""
        waited_ns = now - self._counts_told_ns
        if waited_ns < COUNTS_NS:
            return
        counts = all_counts(self._core.bus)
        if counts != self._counts or waited_ns >= AGAIN_NS:
            self._counts, self._counts_told_ns = counts, now
            self._core.recorder.tell(Kind.BUS, now, counts)

    def _miss_service(self, now: int) -> None:
        core = self._core
        silent = core.neighbours.service_silent_ns(now)
        lost = silent > FAULTS["service_lost"].delay_ns and core.options.on_service_loss == "stop"
        if lost and core.mode is Mode.RUNNING:
            core.fault("service_lost", f"the service has been silent for {silent / 1e9:.1f} s")
