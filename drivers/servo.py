"""What a servo bus and the thing on its other end agree on: addresses, replies, the shaft.

Nothing here knows of joints, muscles or physics engines. Angles at the shaft are degrees of the servo's own scale
(raw 0 is 0 degrees); the calibration to joint angles belongs to the engine and to the plant.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

LEVEL_SHARE: Final = (1.0, 0.73, 0.49, 0.32, 0.19)
"""Share of a servo's torque limit at torque levels 0 (strongest) to 4, for families that have no levels of their own.
Assumed: the shares the emulated AI motors have."""


@dataclass(frozen=True, slots=True)
class ServoAddress:
    """One servo on a bus: its id on the wire, its name in the configuration, its model (`1001`, `XM430-W350`).

    `stiffness_n_m_deg` is the torque per degree of error its own position loop is to have; 0: what the factory's gain
    makes, whatever another program has set. `torque_limit_n_m` is the most torque it is to give at level 0; 0: as much
    as the model can, within what is set in the servo. Families that can not set them ignore them.
    """

    bus_id: int
    name: str
    model: str = ""
    stiffness_n_m_deg: float = 0.0
    torque_limit_n_m: float = 0.0


@dataclass(frozen=True, slots=True)
class ServoModel:
    """What is known of one model, as data.

    `number` is what the servo itself says it is, -1 where its wire does not tell. `positions` are the lowest and
    highest raw position it can be sent to. `load_unit` says in words what a count of the load reading is, `load_range`
    between which counts it lies; `load_n_m` is the torque a count stands for at standstill. Torques and speeds are the
    maker's, at `supply_v`. `gain_unit` is the share of full drive per tick of error and unit of P gain, and `gains`
    the P gains it can be set to (lowest, highest); 0 and (0, 0) where the gain is left alone.
    `current_loop` says that the servo, as the bus here sets it up, regulates its motor's current: its torque is what is
    asked for however fast it turns, as long as its supply can drive that current. One without is braked by its motor's
    own voltage.
    """

    name: str
    family: str
    number: int
    tick_deg: float
    positions: tuple[int, int]
    load_unit: str
    load_range: tuple[int, int]
    load_n_m: float
    stall_torque_n_m: float
    stall_current_a: float
    no_load_rad_s: float
    supply_v: float
    default_gain: int
    gain_unit: float
    gains: tuple[int, int]
    source: str
    current_loop: bool = False

    @property
    def load_signed(self) -> bool:
        """Whether the load reading says in which direction."""
        return self.load_range[0] < 0

    def gain_for(self, stiffness_n_m_deg: float) -> int:
        """Return the P gain that comes nearest to a stiffness (N m per degree); the factory's for 0."""
        low, high = self.gains
        if stiffness_n_m_deg <= 0.0 or high == 0:
            return self.default_gain
        per_gain = self.gain_unit * self.stall_torque_n_m / self.tick_deg
        return min(max(round(stiffness_n_m_deg / per_gain), low), high)

    def tick_torque_n_m(self, gain: int) -> float:
        """Return the torque at standstill per tick between goal and shaft, at a P gain (N m)."""
        return gain * self.gain_unit * self.stall_torque_n_m


class ReplyStatus(IntEnum):
    """What became of one servo's exchange."""

    NONE = 0
    """No exchange has been made yet."""
    OK = 1
    MISSED = 2
    """No complete reply before the timeout."""
    IMPLAUSIBLE = 3
    """A reply arrived that the servo cannot have meant; it is not used."""
    UNSURE = 4
    """It answered, but late, or as the first time after something went wrong: a second reply has to agree."""
    SILENT = 5
    """It was asked `ASKS` times, and nothing came for as long as a reply may be late."""


TRIES_WHEN_SILENT: Final = 5
"""Tries before a servo counts as silent, on a line where replies may come after their timeout."""


def count_misses(status: int, misses: int) -> int:
    """Return how many requests in a row had no usable answer, after an exchange that ended with `status`."""
    if status in _ANSWERED:
        return 0
    return misses + (TRIES_WHEN_SILENT if status == ReplyStatus.SILENT else 1)


_ANSWERED: Final = (ReplyStatus.OK, ReplyStatus.UNSURE)


class Motion(NamedTuple):
    """What a servo's own sensors can see of its shaft, all with the sign of rising angles.

    Angle in degrees of the servo's scale, speed in deg/s, the torque its drive gives in N m, the motor's current in A.
    """

    angle_deg: float
    speed_deg_s: float
    torque_n_m: float
    current_a: float


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
        """Let the servo's own loop drive its shaft to `goal_deg` with torque level 0 (strongest) to 4.

        How stiff the loop is, and what a level caps the torque at, the plant knows.
        """
        ...

    def drive(self, servo: int, goal_deg: float, stiffness_n_m_deg: float, limit_n_m: float) -> None:
        """The same for a servo that says itself how stiff its loop is and where its torque ends (at standstill)."""
        ...

    def release(self, servo: int) -> None:
        """Take the torque off: the shaft turns freely."""
        ...

    def sample(self, servo: int) -> tuple[float, float]:
        """Return (shaft angle in degrees, motor current in A, not negative) as the servo's own sensors see them."""
        ...

    def motion(self, servo: int) -> Motion:
        """Return all that a servo's own sensors can see of its shaft; as noisy as `sample`."""
        ...


class PlantFault(Exception):
    """The plant can not go on: the message says what diverged, and when."""
