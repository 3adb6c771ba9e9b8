"""Setting up the servos of a bus, exchange by exchange, between the cycles' own."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from drivers.framed.layout import TORQUE, Layout
from drivers.framed.setup import (
    Ask,
    Identity,
    NobodyAnswered,
    Setup,
    answer_of,
    configure,
    exchange_of,
    identify,
    twin_of,
)
from drivers.framed.slots import Procedure, Slot, State, Torque
from drivers.framed.talk import Answers, Exchange

_TRIES: Final = 3


class SetUps:
    """The set-ups of one bus. `refusals` says why servos can not be driven."""

    __slots__ = ("_dialect", "_layout", "_slots", "refusals")

    def __init__(self, layout: Layout, slots: Sequence[Slot]) -> None:
        """Start with nobody refused."""
        self.refusals: tuple[str, ...] = ()
        self._layout, self._dialect, self._slots = layout, layout.dialect, slots

    def run(self, steps: int) -> Generator[Exchange, Answers, None]:
        """Go on finding out about servos and setting them up, for so many exchanges."""
        # Nobody is told anything before it is known who else obeys it.
        for state in (State.NEW, State.KNOWN):
            for slot in self._slots:
                while steps > 0 and slot.wants and slot.state is state:
                    steps -= 1
                    yield from self._step(slot)

    def refuse(self, slot: Slot, why: str) -> None:
        """Let nobody drive a servo until it has started anew, and say why."""
        slot.state, slot.why = State.REFUSED, why
        slot.abandon()
        self._say_refusals()

    def _step(self, slot: Slot) -> Generator[Exchange, Answers, None]:
        """Make one exchange of a servo's set-up."""
        procedure, ask = slot.procedure, slot.ask
        if procedure is None or ask is None:
            procedure = self._procedure(slot)
            ask = next(procedure)
            slot.tries, slot.heard = 0, None
        # Should the cycle be broken off here, the set-up begins anew.
        slot.procedure = None
        packet = (yield exchange_of(self._dialect, slot.bus_id, ask)).get(slot.bus_id)
        slot.tries += 1
        slot.late |= packet is None
        # What is burnt in is looked at before it is burnt in again: its answer may have been lost.
        burns = ask.value is not None and ask.register.access == "eeprom"
        if packet is None and slot.tries < _TRIES and not burns:
            slot.procedure, slot.ask = procedure, ask
            return
        answer = answer_of(ask, packet)
        if answer is None and ask.value is None:
            slot.start_over()
            return
        # After a time-out one answer may be late, and about another register: two in a row are not.
        if slot.late and ask.value is None and answer != slot.heard:
            slot.procedure, slot.ask, slot.heard, slot.tries = procedure, ask, answer, 0
            return
        slot.tries, slot.heard = 0, None
        try:
            slot.ask = procedure.send(answer)
            slot.procedure = procedure
        except NobodyAnswered:
            slot.start_over()
        except StopIteration as stop:
            outcome: Identity | Setup = stop.value
            if isinstance(outcome, Identity):
                yield from self._pair(slot, outcome.second)
            self._settle(slot, outcome)

    def _pair(self, slot: Slot, second: int) -> Generator[Exchange, Answers, None]:
        """Note which id a servo obeys beside its own, and look anew at the servo that has it, or had it."""
        before, slot.second = slot.second, second
        if second == before:
            return
        for twin in self._slots:
            if twin.bus_id not in (before, second) or twin.state is State.NEW:
                continue
            ready = twin.state is State.READY
            twin.restart()
            if ready and twin.bus_id == second:
                twin.release = True
                # Nobody waits for the set-up to come to it: both of them hear it.
                yield exchange_of(self._dialect, twin.bus_id, Ask(self._layout.register(TORQUE), 0))

    def _procedure(self, slot: Slot) -> Procedure:
        if slot.state is State.NEW:
            release, slot.release = slot.release, False
            return identify(self._layout, slot.address, alert=slot.alert, release=release)
        return configure(self._layout, slot.address, slot.kind)

    def _settle(self, slot: Slot, outcome: Identity | Setup) -> None:
        """Note what became of a set-up."""
        if isinstance(outcome, Identity):
            slot.kind = outcome.kind
            slot.state = State.KNOWN
        else:
            slot.setup = outcome
            slot.state, slot.torque, slot.late = State.READY, Torque.OFF, False
            slot.doubt, slot.armings = False, 0
        if why := outcome.refusal or self._twin(slot):
            self.refuse(slot, why)
            if isinstance(outcome, Identity) and outcome.alert:
                slot.state = State.FAULT
        elif slot.why:
            slot.why = ""
            self._say_refusals()

    def _twin(self, slot: Slot) -> str:
        """Say who else does what a servo is told, "" for nobody."""
        others = [other for other in self._slots if other.second == slot.bus_id]
        return twin_of(self._layout, slot.address, others[0].address) if others else ""

    def _say_refusals(self) -> None:
        self.refusals = tuple(slot.why for slot in self._slots if slot.why)
