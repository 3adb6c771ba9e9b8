"""Setting up the servos of a bus, exchange by exchange, between the cycles' own."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from drivers.framed.layout import TORQUE, FamilyLayout
from drivers.framed.servo_state import Readiness, ReplyTiming, ServoEvent
from drivers.framed.servos import BusServo, Procedure
from drivers.framed.setup import (
    Ask,
    Identity,
    NobodyAnswered,
    RegisterReply,
    Setup,
    answer_of,
    configure,
    exchange_of,
    identify,
    twin_of,
)
from drivers.framed.transactions import Exchange, StatusesById

_TRIES: Final = 3


class Commissioning:
    """The set-ups of one bus. `refusals` says why servos cannot be driven."""

    __slots__ = ("_dialect", "_layout", "_servos", "refusals")

    def __init__(self, layout: FamilyLayout, servos: Sequence[BusServo]) -> None:
        """Start with nobody refused."""
        self.refusals: tuple[str, ...] = ()
        self._layout, self._dialect, self._servos = layout, layout.dialect, servos

    def run(self, steps: int) -> Generator[Exchange, StatusesById, None]:
        """Go on finding out about servos and setting them up, for so many exchanges."""
        # No servo is written to before it is known which other servos obey the same id.
        for known in (False, True):
            for servo in self._servos:
                while steps > 0 and servo.wants and (servo.state.readiness is Readiness.KNOWN) is known:
                    steps -= 1
                    yield from self._step(servo)

    def refuse(self, servo: BusServo, why: str) -> None:
        """Refuse to drive a servo until it has restarted, and say why."""
        servo.why = why
        servo.happen(ServoEvent.REFUSE)
        self._say_refusals()

    def _step(self, servo: BusServo) -> Generator[Exchange, StatusesById, None]:
        """Make one exchange of a servo's set-up."""
        procedure, ask = servo.pending or self._begin(servo)
        # Should the cycle be broken off here, the set-up begins anew.
        servo.pending = None
        packet = (yield exchange_of(self._dialect, servo.bus_id, ask)).get(servo.bus_id)
        try:
            servo.pending = procedure, procedure.send(packet)
        except NobodyAnswered:
            servo.happen(ServoEvent.UNANSWERED)
        except StopIteration as stop:
            outcome: Identity | Setup = stop.value
            if isinstance(outcome, Identity):
                yield from self._pair(servo, outcome.second)
            self._settle(servo, outcome)

    def _begin(self, servo: BusServo) -> tuple[Procedure, Ask]:
        procedure = self._insist(servo)
        return procedure, next(procedure)

    def _insist(self, servo: BusServo) -> Procedure:
        """Ask what a set-up asks until it is answered; raises `NobodyAnswered` where it is not."""
        procedure = self._procedure(servo)
        ask = next(procedure)
        tries, heard = 0, None
        while True:
            packet = yield ask
            tries += 1
            # EEPROM is read before it is written again: the first answer may have been lost.
            stores = ask.value is not None and ask.register.access == "eeprom"
            if packet is None:
                servo.happen(ServoEvent.SILENT)
                if tries < _TRIES and not stores:
                    continue
            answer: RegisterReply | None = answer_of(ask, packet)
            if answer is None and ask.value is None:
                raise NobodyAnswered
            # After a time-out one answer may be late, and about another register: two in a row are not.
            if servo.state.replies is ReplyTiming.LATE and ask.value is None and answer != heard:
                tries, heard = 0, answer
                continue
            tries, heard = 0, None
            try:
                ask = procedure.send(answer)
            except StopIteration as stop:
                return stop.value

    def _procedure(self, servo: BusServo) -> Generator[Ask, RegisterReply | None, Identity | Setup]:
        state = servo.state
        if state.readiness is Readiness.KNOWN:
            return configure(self._layout, servo.address, servo.kind)
        servo.happen(ServoEvent.ASKED)
        return identify(self._layout, servo.address, state)

    def _pair(self, servo: BusServo, second: int) -> Generator[Exchange, StatusesById, None]:
        """Note which id a servo obeys beside its own, and look anew at the servo that has it, or had it."""
        before, servo.second = servo.second, second
        if second == before:
            return
        for twin in self._servos:
            readiness = twin.state.readiness
            if twin.bus_id not in (before, second) or readiness in (Readiness.NEW, Readiness.LOOSEN):
                continue
            if readiness is not Readiness.READY or twin.bus_id != second:
                twin.happen(ServoEvent.RESTARTED)
                continue
            twin.happen(ServoEvent.LOOSENED)
            # Nobody waits for the set-up to come to it: both of them hear it.
            yield exchange_of(self._dialect, twin.bus_id, Ask(self._layout.register(TORQUE), 0))

    def _settle(self, servo: BusServo, outcome: Identity | Setup) -> None:
        """Note what became of a set-up."""
        if isinstance(outcome, Identity):
            servo.kind = outcome.kind
            servo.happen(ServoEvent.IDENTIFIED)
        else:
            servo.setup, servo.attempts = outcome, 0
            servo.happen(ServoEvent.CONFIGURED)
        if why := outcome.refusal or self._twin(servo):
            self.refuse(servo, why)
            if isinstance(outcome, Identity) and outcome.alert:
                servo.happen(ServoEvent.SHUT_DOWN)
        elif servo.why:
            servo.why = ""
            self._say_refusals()

    def _twin(self, servo: BusServo) -> str:
        """Say who else does what a servo is told, "" for nobody."""
        others = [other for other in self._servos if other.second == servo.bus_id]
        return twin_of(self._layout, servo.address, others[0].address) if others else ""

    def _say_refusals(self) -> None:
        self.refusals = tuple(servo.why for servo in self._servos if servo.why)
