"""One emulated servo with registers: what all families have in common.

A family says in a subclass which instructions it has, who may write what and when, and what its registers mean. The
shaft is the plant's: a servo tells it where to go, how stiffly and how strongly (`ServoPlant.drive`), and sees of it
what `ServoPlant.motion` says. What a servo says of itself beside that is simple: its voltage is its supply's, its
temperature the room's.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, Final, NamedTuple

from drivers.errors import BusUrlError
from drivers.framed.emulation.memory import RegisterMemory
from drivers.framed.packet import PING, READ
from drivers.framed.registers import RegisterTable
from drivers.port import NEVER
from drivers.servo import Motion, ServoAddress, ServoModel, ServoPlant

REG_WRITE, ACTION = 0x04, 0x05
"""Instructions all dialects have beside those in `packet`: write later, now."""

ROOM_DEG_C: Final = 25
"""What every emulated servo's temperature is: the motor's heat is not modelled."""

NOTHING_WRONG: Final = 0


class StatusReply(NamedTuple):
    """A status to be sent: the error byte, and data."""

    error: int
    data: bytes = b""


class ShaftReading(NamedTuple):
    """What a servo knows when it is read: its shaft, the share of full drive it gives (-1 to 1), the time in ns."""

    motion: Motion
    duty: float
    now_ns: int


class FramedServo(ABC):
    """Registers of one servo, and what follows from them. What is abstract is the family's.

    `number` counts servos from 0 in the plant's order. Everything that is heard is heard at `now_ns`, to which the
    plant has been advanced. `full_level` is the status level at which everything is answered; one below it, reads are.
    """

    full_level: ClassVar[int]

    __slots__ = (
        "_bauds",
        "_course",
        "_frozen",
        "_over_since_ns",
        "_pending",
        "_plant",
        "_sensed",
        "fed_ns",
        "limit_a",
        "memory",
        "model",
        "number",
        "patience_ns",
        "plugged",
        "senses",
        "wakes_ns",
    )

    def __init__(
        self,
        number: int,
        address: ServoAddress,
        model: ServoModel,
        table: RegisterTable,
        plant: ServoPlant,
        *,
        bauds: Mapping[int, int],
        baud: int,
    ) -> None:
        """Power up without torque, set to the line's rate. Raises `BusUrlError` for a rate the servo does not have."""
        codes = {rate: code for code, rate in bauds.items()}
        if baud not in codes:
            rates = ", ".join(map(str, sorted(codes)))
            raise BusUrlError(f"{model.name} can not be set to {baud} bit/s: expected one of {rates}")
        self.number, self.model = number, model
        self.memory = RegisterMemory(table)
        self.plugged = True
        # Deaf until then; when something was last heard.
        self.wakes_ns = self.fed_ns = 0
        self.limit_a: float | None = None
        self.patience_ns = 0
        self.senses: dict[str, Callable[[ShaftReading], int]] = {}
        self._bauds, self._plant = bauds, plant
        self._frozen: ShaftReading | None = None
        # What the plant was told last: goal in degrees, stiffness, share of full drive; None for a free shaft.
        self._course: tuple[float, float, float] | None = None
        # What to bring up to date for a read of a stretch of addresses asked for before.
        self._sensed: dict[tuple[int, int], tuple[tuple[str, Callable[[ShaftReading], int]], ...]] = {}
        self._pending: tuple[int, bytes] | None = None
        self._over_since_ns = -1
        self.memory.restore({"id": address.bus_id, "baud_rate": codes[baud]})
        self.power_up()

    @property
    def bus_id(self) -> int:
        """The id the servo listens to."""
        return self.memory["id"]

    @property
    def second_id(self) -> int:
        """Another id whose writes the servo obeys, without a word; -1 for none."""
        return -1

    @property
    def baud(self) -> int:
        """The rate the servo listens at, bit/s."""
        return self._bauds.get(self.memory["baud_rate"], 0)

    @property
    def return_delay_ns(self) -> int:
        """How long the servo is told to wait before it answers."""
        return 2000 * self.memory["return_delay"]

    @property
    def due_ns(self) -> int:
        """When the servo next does something by itself."""
        return NEVER

    def expire(self, now_ns: int) -> None:
        """Do what was due."""
        self.fed_ns = now_ns

    def answers(self, instruction: int) -> bool:
        """Whether the servo is set to answer an instruction that is for it alone."""
        level = self.memory["status_level"]
        return instruction == PING or level >= self.full_level or (level == self.full_level - 1 and instruction == READ)

    @abstractmethod
    def error(self) -> int:
        """Return the error byte of a status when nothing is wrong with the request."""
        ...

    def ping(self) -> StatusReply:
        """Say that the servo is there."""
        return StatusReply(self.error())

    @abstractmethod
    def read(self, address: int, count: int, now_ns: int) -> StatusReply:
        """Return registers."""
        ...

    @abstractmethod
    def write(self, address: int, data: bytes, now_ns: int) -> int:
        """Set registers; return the error byte."""
        ...

    def write_second(self, address: int, data: bytes, now_ns: int) -> None:
        """Set registers for what is written to the second id."""
        self.write(address, data, now_ns)

    @abstractmethod
    def obey(self, instruction: int, params: bytes, now_ns: int, *, everybody: bool) -> StatusReply | None:
        """Do something else; None where the servo says nothing to it. `everybody` is whether all are told."""
        ...

    def reg_write(self, address: int, data: bytes) -> int:
        """Keep a write for later; return the error byte."""
        self._pending = address, data
        return self.error()

    def action(self, now_ns: int) -> int:
        """Do the write that was kept; return the error byte."""
        if self._pending is None:
            return self.error()
        address, data = self._pending
        self._pending = None
        return self.write(address, data, now_ns)

    @property
    def action_pending(self) -> int:
        """1 while a write is kept for later."""
        return int(self._pending is not None)

    def power_up(self) -> None:
        """Start anew: no torque, what is kept is taken, everything else as from the factory."""
        self.memory.power_up()
        self._pending = None
        self._over_since_ns = -1
        self._course = None
        self._plant.release(self.number)

    @abstractmethod
    def trip(self) -> None:
        """Shut the torque off by itself, as if overloaded."""
        ...

    @abstractmethod
    def recover(self) -> None:
        """Let the servo be driven again."""
        ...

    def freeze(self, now_ns: int, *, frozen: bool) -> None:
        """Let what the servo sees of its shaft stay as it is, or change again."""
        self._frozen = self._look(now_ns) if frozen else None

    # --- for subclasses ---

    @property
    @abstractmethod
    def driving(self) -> bool:
        """Whether the servo drives its shaft to a goal."""
        ...

    @property
    @abstractmethod
    def goal_deg(self) -> float:
        """Where to, in degrees of the servo's scale."""
        ...

    @property
    @abstractmethod
    def limit_share(self) -> float:
        """The share of full drive at which the servo stops pulling harder."""
        ...

    @property
    def stiffness_n_m_deg(self) -> float:
        """What the P gain makes of a degree of error."""
        return self.model.tick_torque_n_m(self.memory["position_p_gain"]) / self.model.tick_deg

    def drive_plant(self) -> None:
        """Let the plant do what the registers say."""
        if not self.driving:
            self._course = None
            self._plant.release(self.number)
            return
        self._course = goal_deg, stiffness, share = self.goal_deg, self.stiffness_n_m_deg, self.limit_share
        self._plant.drive(self.number, goal_deg, stiffness, share * self.model.stall_torque_n_m)

    def read_shaft(self, now_ns: int) -> ShaftReading:
        """Look at the shaft, and see whether that has been too much for too long."""
        sight = self._frozen or self._look(now_ns)
        self._watch_load(sight, now_ns)
        return sight

    def refresh_readings(self, address: int, count: int, now_ns: int) -> None:
        """Bring the readings among these bytes up to date, all from one look."""
        wanted = self._sensed.get((address, count))
        if wanted is None:
            names = [register.name for register in self.memory.touched(address, count)]
            wanted = tuple((name, self.senses[name]) for name in names if name in self.senses)
            self._sensed[address, count] = wanted
        if wanted:
            sight = self.read_shaft(now_ns)
            for name, sense in wanted:
                self.memory[name] = sense(sight)

    @abstractmethod
    def overload(self) -> tuple[float, int] | None:
        """Return the load above which, and for how many ns, the servo protects itself.

        None: never. The load is what `load_of` says.
        """
        ...

    @abstractmethod
    def load_of(self, sight: ShaftReading) -> float:
        """Return what is compared with the limit of `overload`."""
        ...

    @abstractmethod
    def protect(self) -> None:
        """Do what the servo does about an overload."""
        ...

    def _look(self, now_ns: int) -> ShaftReading:
        motion = self._plant.motion(self.number)
        if self._course is None:
            return ShaftReading(motion, 0.0, now_ns)
        goal_deg, stiffness, limit = self._course
        share = stiffness * (goal_deg - motion.angle_deg) / self.model.stall_torque_n_m
        return ShaftReading(motion, min(max(share, -limit), limit), now_ns)

    def _watch_load(self, sight: ShaftReading, now_ns: int) -> None:
        """Time what the servo itself sees: at its own exchanges, so a servo nobody reads does not protect itself."""
        if self.limit_a is not None:
            load, limit = abs(sight.motion.current_a), (self.limit_a, self.patience_ns)
        else:
            load, limit = self.load_of(sight), self.overload()
        if limit is None or load <= limit[0]:
            self._over_since_ns = -1
        elif self._over_since_ns < 0:
            self._over_since_ns = now_ns
        if limit is not None and 0 <= self._over_since_ns <= now_ns - limit[1]:
            self._over_since_ns = -1
            if self.limit_a is not None:
                self.trip()
            else:
                self.protect()


def nearest(value: float) -> int:
    """Return the nearest whole number, halves upwards."""
    return math.floor(value + 0.5)
