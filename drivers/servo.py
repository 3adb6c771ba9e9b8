"""What a servo bus and the thing on its other end agree on: addresses, replies, the shaft.

Nothing here knows of joints, muscles or physics engines. Angles at the shaft are degrees of the servo's own scale
(raw 0 is 0 degrees); the calibration to joint angles belongs to the engine and to the plant.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ServoAddress:
    """One servo on a bus: its id on the wire, its name in the configuration, its model number (`701`, `1001`)."""

    bus_id: int
    name: str
    model: str = ""


class ReplyStatus(IntEnum):
    """What became of one servo's exchange."""

    NONE = 0
    """No exchange has been made yet."""
    OK = 1
    MISSED = 2
    """No complete reply before the timeout."""
    IMPLAUSIBLE = 3
    """A reply arrived that the servo cannot have meant; it is not used."""


class ServoPlant(Protocol):
    """The mechanics behind an emulated bus: what the servos' shafts are bolted to.

    Servos are counted from 0 in the order the bus was given them. Time is nanoseconds on the bus's clock. A plant
    steps on its own fixed grid: `advance(t)` runs every step that ends at or before `t`, so that `sample` reports
    the last completed step and a `command` acts from the first step after the instant it was given.
    """

    def advance(self, now_ns: int) -> None:
        """Run all whole steps that end at or before `now_ns`. Raises `PlantFault` when the physics diverges."""
        ...

    def command(self, servo: int, goal_deg: float, level: int) -> None:
        """Let the servo's own loop drive its shaft to `goal_deg` with torque level 0 (strongest) to 4."""
        ...

    def release(self, servo: int) -> None:
        """Take the torque off: the shaft turns freely."""
        ...

    def sample(self, servo: int) -> tuple[float, float]:
        """Return (shaft angle in degrees, motor current in A, not negative) as the servo's own sensors see them."""
        ...


class PlantFault(Exception):
    """The plant can not go on: the message says what diverged, and when."""
