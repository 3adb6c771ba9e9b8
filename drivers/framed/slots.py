"""What a bus knows of each of its servos, beside their readings."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from drivers.bus import READ_ONLY
from drivers.errors import BusUrlError
from drivers.framed.layout import Kind, Layout
from drivers.framed.setup import Answer, Ask, Identity, Setup
from drivers.servo import ServoAddress

Procedure: TypeAlias = Generator[Ask, Answer | None, Identity | Setup]


class State(Enum):
    """How far a servo is from being driven."""

    NEW = 0
    """Nothing is known of it yet, or nothing any more."""
    KNOWN = 1
    """It is the model it should be."""
    READY = 2
    """It is set up."""
    REFUSED = 3
    """It can not be driven as it is."""
    FAULT = 4
    """It has shut down."""


class Torque(Enum):
    """What is known of a servo's torque."""

    UNKNOWN = 0
    OFF = 1
    ON = 2


@dataclass(slots=True)
class Slot:
    """One servo.

    `goal` is what it is to be sent, `READ_ONLY` when there is nothing to send. `gone` says that it was missed last
    time, `doubt` that it was and has not been looked at since. `alert` is what its last status said of itself, `beyond`
    that it stands beyond its scale. `checked` says that it was seen to hold what it was told, since that was last to be
    known, `bounded` that this is so of the bound it was told last. `release` asks for its torque to be taken off when
    it is asked who it is. `second` is the id beside its own that it obeys, -1 for none. `late` says that an answer may
    still be under way; `heard` is the last one in a set-up then.
    """

    number: int
    bus_id: int
    address: ServoAddress
    kind: Kind
    state: State = State.NEW
    torque: Torque = Torque.UNKNOWN
    goal: int = READ_ONLY
    gone: bool = False
    doubt: bool = False
    alert: bool = False
    beyond: bool = False
    checked: bool = False
    bounded: bool = False
    release: bool = False
    second: int = -1
    why: str = ""
    setup: Setup = field(default_factory=Setup)
    armings: int = 0
    procedure: Procedure | None = None
    ask: Ask | None = None
    tries: int = 0
    late: bool = False
    heard: Answer | None = None

    @property
    def wants(self) -> bool:
        """Whether there is something to find out about it, or to set, before it can be driven."""
        new = self.state is State.NEW
        return not self.gone and (new or (self.state is State.KNOWN and self.goal != READ_ONLY))

    @property
    def drivable(self) -> bool:
        """Whether it is set up, there, and well, as far as that is known."""
        return self.state is State.READY and not (self.gone or self.doubt or self.alert)

    @property
    def driven(self) -> bool:
        """Whether all is as it should be, and its torque is on."""
        return self.torque is Torque.ON and self.drivable

    def restart(self) -> None:
        """Forget how it is set: it has started anew, or something ails it."""
        self.state = State.NEW
        self.torque = Torque.UNKNOWN
        self.doubt = False
        self.abandon()

    def abandon(self) -> None:
        """Drop the goal that waits, and a set-up that is half done."""
        self.goal = READ_ONLY
        self.procedure = None

    def start_over(self) -> None:
        """Begin anew to find out about it and to set it up, for the goal that waits."""
        self.state = State.NEW
        self.procedure = None

    def lose(self) -> None:
        """Note that it did not answer."""
        self.gone = self.doubt = self.late = True
        self.abandon()
        if self.state is not State.READY:
            self.state = State.NEW
        if self.torque is not Torque.ON:
            self.torque = Torque.UNKNOWN


def make_slots(servos: Sequence[ServoAddress], layout: Layout) -> tuple[Slot, ...]:
    """Return a slot for each servo. Raises `BusUrlError` for none, ids that are double or none, unknown models."""
    if not servos:
        raise BusUrlError("a bus needs at least one servo")
    seen: dict[int, str] = {}
    for servo in servos:
        if not 0 <= servo.bus_id <= layout.dialect.max_id:
            raise BusUrlError(f"servo {servo.name!r} has bus id {servo.bus_id}: expected 0 to {layout.dialect.max_id}")
        if servo.bus_id in seen:
            raise BusUrlError(f"servos {seen[servo.bus_id]!r} and {servo.name!r} share bus id {servo.bus_id}")
        if servo.model and servo.model not in layout.kinds:
            known = ", ".join(layout.kinds)
            raise BusUrlError(f"servo {servo.name!r} is of unknown model {servo.model!r}: expected {known}")
        seen[servo.bus_id] = servo.name
    return tuple(
        Slot(k, servo.bus_id, servo, layout.kinds.get(servo.model, layout.first)) for k, servo in enumerate(servos)
    )
