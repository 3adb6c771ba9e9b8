"""What the guardian watches for: a pure judge that is shown the block's words at each wake-up.

Time is counted in the guardian's own wake-ups, one every `PERIOD_NS`. When the whole machine stands still the guardian
does too, and counts one wake-up for all that time, so that nobody is blamed for it. When the core alone stands still
the wake-ups go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nuc_engine.control.faults import FAULTS, OFF
from nuc_engine.daemon.block import REQUESTERS, Word
from nuc_engine.daemon.off_requests import begun, pending_requesters, requested

PERIOD_NS = 4_000_000
"""Time between two wake-ups of the guardian."""

STALL_NS = FAULTS["core_stalled"].delay_ns

BEGIN_NS = 20_000_000
"""How long the core has to begin to take the torque off when it is asked to; more where it may stand still longer."""

FINISH_NS = 60_000_000
"""How long after the request every servo should have confirmed."""

SUPERVISOR_NS = FAULTS["supervisor_lost"].delay_ns


@dataclass(frozen=True, slots=True)
class LatchCause:
    """Why the guardian has to take the torque off: a name out of LATCH_REASONS, and what was seen."""

    reason: str
    text: str


class CoreWatch:
    """Judges one core after the other by `words`, which are indexed by `Word` and only read here."""

    def __init__(self, words: Sequence[int]) -> None:
        self._words = words
        self.generation = 0
        """Generation of the core that is watched; 0: none."""
        self._beat = 0
        self._still = 0
        self._asked = requested(words)
        self._waited = [0] * REQUESTERS  # looks since this request was first seen, by asker; 0 for one that is done
        self._main_beat: int = 0
        self._main_still = 0

    def begin(self, generation: int) -> None:
        """Watch a core from now on; it must have had its first heartbeat."""
        self.generation = generation
        self._beat = self._words[Word.CORE_BEAT]
        self._still = 0

    def end(self) -> None:
        """Watch no core: the last one is dead, and what it was asked is done."""
        self.generation = 0
        self._still = 0
        self._waited = [0] * REQUESTERS

    def look(self, *, core_dead: bool, supervisor_dead: bool, counted: bool = True) -> LatchCause | None:
        """Return why the torque must be taken off now, or None.

        `core_dead` and `supervisor_dead`: their pidfds are readable. `counted`: a wake-up at the end of a period;
        false when something woke the guardian before.
        """
        self._count(counted)
        if self.generation and core_dead and not self._ended_well():
            if self._words[Word.BUS_LOST]:
                return LatchCause("bus_lost", "the core has lost a bus and has ended")
            return LatchCause("core_dead", f"core {self.generation} is dead")
        stood_still = self.generation and self._main_still * PERIOD_NS >= SUPERVISOR_NS
        if supervisor_dead or stood_still:
            how = "is dead" if supervisor_dead else f"stood still for {SUPERVISOR_NS / 1e6:g} ms"
            return LatchCause("supervisor_lost", f"the main process {how}")
        if self.generation and self._words[Word.BUS_LOST]:
            return LatchCause("bus_lost", "the port of a bus is gone")
        if self.generation and self._still * PERIOD_NS >= self._limit_ns:
            limit = f"{self._limit_ns / 1e6:g} ms"
            return LatchCause("core_stalled", f"the heart of core {self.generation} stood still for {limit}")
        return self._judge_request()

    @property
    def _limit_ns(self) -> int:
        return self._words[Word.STALL_LIMIT_MS] * 1_000_000 or STALL_NS

    def _ended_well(self) -> bool:
        """Whether everything is being shut down, and the core ended with nothing under torque."""
        words = self._words
        return bool(words[Word.SHUTDOWN]) and not words[Word.TORQUE] and not pending_requesters(words)

    def _count(self, counted: bool) -> None:
        beat: int = self._words[Word.CORE_BEAT]
        if beat != self._beat:
            self._beat, self._still = beat, 0
        elif counted:
            self._still += 1
        main: int = self._words[Word.SUPERVISOR_BEAT]
        if main != self._main_beat:
            self._main_beat, self._main_still = main, 0
        elif counted and main:
            self._main_still += 1
        before, self._asked = self._asked, requested(self._words)
        waiting = pending_requesters(self._words)
        for asker, (old, new) in enumerate(zip(before, self._asked, strict=True)):
            if asker not in waiting or old != new:
                self._waited[asker] = 0
            elif counted:
                self._waited[asker] += 1

    def _judge_request(self) -> LatchCause | None:
        more_ns = self._limit_ns - STALL_NS
        for asker in pending_requesters(self._words):
            waited_ns = self._waited[asker] * PERIOD_NS
            if waited_ns >= BEGIN_NS + more_ns and not begun(self._words, asker):
                return LatchCause(OFF, "torque off was asked for and the core did not begin")
            if waited_ns >= FINISH_NS + more_ns:
                return LatchCause(OFF, "torque off was asked for and is not confirmed yet")
        return None
