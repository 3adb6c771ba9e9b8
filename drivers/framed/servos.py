"""What a bus keeps of each of its servos, beside their readings."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from drivers.bus import READ_ONLY
from drivers.errors import BusUrlError
from drivers.framed.layout import FamilyLayout, ModelLayout
from drivers.framed.packet import Packet
from drivers.framed.servo_state import DROPS, Contact, Readiness, ServoEvent, ServoState, step
from drivers.framed.setup import Ask, Identity, Setup
from drivers.servo import ServoAddress

Procedure: TypeAlias = Generator[Ask, Packet | None, Identity | Setup]
"""A set-up under way: it says what is asked next, and gets the status that came."""


@dataclass(slots=True, eq=False)
class BusServo:
    """One servo of a bus; its `state` changes by `happen` alone.

    `goal` is what it is to be sent, `READ_ONLY` when there is nothing to send. `second` is the id beside its own that
    it obeys, -1 for none. `why` says why it is refused. `attempts` counts how often in a row it did not take what goes
    before its torque, or the torque. `pending` is a set-up that is half done, and what it asks next.
    """

    number: int
    bus_id: int
    address: ServoAddress
    kind: ModelLayout
    state: ServoState = field(default_factory=ServoState)
    goal: int = READ_ONLY
    second: int = -1
    why: str = ""
    setup: Setup = field(default_factory=Setup)
    attempts: int = 0
    pending: tuple[Procedure, Ask] | None = None

    def happen(self, event: ServoEvent) -> None:
        """Take note of an event."""
        self.state = step(self.state, event)
        if event in DROPS:
            self.goal = READ_ONLY
            self.pending = None

    @property
    def wants(self) -> bool:
        """Whether there is something to find out about it, or to set, before it can be driven."""
        state = self.state
        known = state.readiness is Readiness.KNOWN and state.contact is not Contact.GONE
        return state.unknown or (known and self.goal != READ_ONLY)


def make_servos(addresses: Sequence[ServoAddress], layout: FamilyLayout) -> tuple[BusServo, ...]:
    """Return a record of each servo. Raises `BusUrlError` for none, ids that are double or invalid, unknown models."""
    if not addresses:
        raise BusUrlError("a bus needs at least one servo")
    seen: dict[int, str] = {}
    for servo in addresses:
        if not 0 <= servo.bus_id <= layout.dialect.max_id:
            raise BusUrlError(f"servo {servo.name!r} has bus id {servo.bus_id}: expected 0 to {layout.dialect.max_id}")
        if servo.bus_id in seen:
            raise BusUrlError(f"servos {seen[servo.bus_id]!r} and {servo.name!r} share bus id {servo.bus_id}")
        if servo.model and servo.model not in layout.kinds:
            known = ", ".join(layout.kinds)
            raise BusUrlError(f"servo {servo.name!r} is of unknown model {servo.model!r}: expected {known}")
        seen[servo.bus_id] = servo.name
    kinds = (layout.kinds.get(servo.model, layout.first) for servo in addresses)
    return tuple(BusServo(k, a.bus_id, a, kind) for k, (a, kind) in enumerate(zip(addresses, kinds, strict=True)))
