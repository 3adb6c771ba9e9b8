"""Emulated STS3215 servos: what one does with its registers.

As the maker's pages have it: settings written while `eprom_lock` is 1 count until the supply goes; `max_torque`
becomes `torque_limit` at power-up; above `overload_torque` for `overload_time` the drive falls to `hold_torque`; a
restart takes 1.8 s and is not answered.

Assumed, since no page says it: torque coming on takes the present position for the goal; a value out of a register's
range, and a write to what can only be read, change nothing and are answered as if they had; goals are taken to the
nearer end of `min_position` to `max_position`; an overload lasts until a restart (clients of others report it on after
they switched the torque off), and a servo that tripped keeps its torque off as long; a factory reset without the lock
open does nothing.

Servos with some firmware turn their torque on by themselves when they get a goal (huggingface/lerobot issue 3585): so
do those whose `torque_by_goal` is set.

Not modelled: speeds and accelerations of the way to a goal, dead band, minimum start torque, D and I gain, turns, the
reversals of `phase`. In modes 1 to 3 (speed, PWM, steps) and with `torque_enable` 2 (damping) the shaft is free.
"""

from __future__ import annotations

from typing import Final

from drivers.feetech.codec import BACKUP, CALIBRATE, MAX_PARAMS, RECOVER, RESET
from drivers.feetech.table import (
    BAUD_CODES,
    BYTE_GAP_NS,
    COARSE_SPEED_DEG_S,
    CURRENT_A,
    FULL_DRIVE,
    OVERLOAD_BIT,
    PERSISTENT,
    PHASE_FINE_SPEED,
    SPEED_DEG_S,
    TABLES,
)
from drivers.framed.emulation.emulator import LineBehaviour
from drivers.framed.emulation.from_url import Emulation
from drivers.framed.emulation.memory import RegisterWrite
from drivers.framed.emulation.servo import ROOM_DEG_C, FramedServo, ShaftReading, StatusReply, nearest
from drivers.framed.packet import REBOOT, SYNC_READ, SYNC_WRITE
from drivers.servo import ServoAddress, ServoModel, ServoPlant

RESTART_NS: Final = 1_800_000_000
"""How long a servo is deaf after a restart it was told to make (maker's protocol page)."""

_TURN: Final = 4096
_MIDDLE: Final = 2048
_UNLIMITED: Final = (0, 0)
_POSITION_MODE: Final = 0
_ON, _HERE_IS_MIDDLE = 1, 128
_SWITCH: Final = (0, _ON, 2, _HERE_IS_MIDDLE)
_MOVING_DEG_S: Final = 1.0


class FeetechServo(FramedServo):
    """One STS3215 (see `drivers.framed.emulation.servo.FramedServo`).

    `torque_by_goal` is whether a goal turns its torque on.
    """

    __slots__ = ("_backup", "_limp", "_overloaded", "torque_by_goal")

    full_level = 1

    def __init__(self, number: int, address: ServoAddress, model: ServoModel, plant: ServoPlant, *, baud: int) -> None:
        """Power up without torque, at the line's rate. Raises `BusUrlError` for a rate the servo does not have."""
        self._backup: dict[str, int] | None = None
        self._limp = self._overloaded = self.torque_by_goal = False
        super().__init__(number, address, model, TABLES[model.name], plant, bauds=BAUD_CODES, baud=baud)
        self.senses = {
            "present_position": lambda sight: self._position(sight.motion.angle_deg),
            "present_velocity": lambda sight: nearest(sight.motion.speed_deg_s / self._speed_unit),
            "present_load": lambda sight: nearest(sight.duty * FULL_DRIVE),
            "present_voltage": lambda _: nearest(self.model.supply_v * 10),
            "present_temperature": lambda _: ROOM_DEG_C,
            "action_pending": lambda _: self.action_pending,
            "servo_status": lambda _: self.error(),
            "moving": lambda sight: int(abs(sight.motion.speed_deg_s) > _MOVING_DEG_S),
            "present_goal": lambda _: self.memory["goal_position"],
            "present_current": lambda sight: nearest(sight.motion.current_a / CURRENT_A),
        }

    def error(self) -> int:
        """Return the load's bit while the servo protects itself."""
        return (self._overloaded or self._limp) << OVERLOAD_BIT

    def read(self, address: int, count: int, now_ns: int) -> StatusReply:
        """Return registers, as many as a packet holds; addresses without any read as 0 (assumed)."""
        count = min(count, MAX_PARAMS)
        self.refresh_readings(address, count, now_ns)
        return StatusReply(self.error(), self.memory.read(address, count))

    def write(self, address: int, data: bytes, now_ns: int) -> int:
        """Set those registers that may be set to what is written."""
        for change in self.memory.changes(address, data):
            self._write_one(change, now_ns)
        return self.error()

    def obey(self, instruction: int, params: bytes, now_ns: int, *, everybody: bool) -> StatusReply | None:
        """Restart, calibrate, keep settings or go back to them; nothing for what is no instruction."""
        if instruction == REBOOT and not params:
            self.power_up()
            self.wakes_ns = now_ns + RESTART_NS
            return None
        if instruction == CALIBRATE and len(params) in (0, 2):
            self._call_here(int.from_bytes(params, "little") if params else _MIDDLE, now_ns)
        elif instruction == BACKUP and not params:
            self._backup = self.memory.kept() if self.memory["eprom_lock"] == PERSISTENT else self._backup
        elif instruction == RECOVER and not params:
            self._recover_settings()
        elif instruction != RESET or params:
            return None
        return StatusReply(self.error())

    def power_up(self) -> None:
        """Start anew; the torque's limit is what is kept as the highest."""
        super().power_up()
        self._limp = self._overloaded = False
        self.memory["torque_limit"] = self.memory["max_torque"]

    def trip(self) -> None:
        """Take the torque off, until a restart."""
        self._limp = True
        self.memory["torque_enable"] = 0
        self.drive_plant()

    def recover(self) -> None:
        """Let the torque be switched on again."""
        self._limp = self._overloaded = False

    @property
    def driving(self) -> bool:
        """Whether torque is on, and the mode one of positions."""
        return self.memory["torque_enable"] == _ON and self.memory["operating_mode"] == _POSITION_MODE

    @property
    def goal_deg(self) -> float:
        """The goal within the position limits, less the offset, on the servo's own scale."""
        low, high, goal = self.memory["min_position"], self.memory["max_position"], self.memory["goal_position"]
        if low <= high and (low, high) != _UNLIMITED:
            goal = min(max(goal, low), high)
        return (goal + self.memory["position_offset"]) * self.model.tick_deg

    @property
    def limit_share(self) -> float:
        """The torque limit, or what is left of it in an overload."""
        share = min(self.memory["torque_limit"], self.memory["max_torque"]) / FULL_DRIVE
        return min(share, self.memory["hold_torque"] / 100.0) if self._overloaded else share

    def overload(self) -> tuple[float, int] | None:
        """Return the share of full drive and the time the registers name, where they unload for it at all."""
        if not self.memory["unload_mask"] >> OVERLOAD_BIT & 1:
            return None
        return self.memory["overload_torque"] / 100.0, self.memory["overload_time"] * 10_000_000

    def load_of(self, sight: ShaftReading) -> float:
        """Return the share of full drive."""
        return abs(sight.duty)

    def protect(self) -> None:
        """Hold with less torque."""
        self._overloaded = True
        self.drive_plant()

    @property
    def _speed_unit(self) -> float:
        return SPEED_DEG_S if self.memory["phase"] & PHASE_FINE_SPEED else COARSE_SPEED_DEG_S

    def _position(self, angle_deg: float) -> int:
        """Return what a sensor of one turn says."""
        return (nearest(angle_deg / self.model.tick_deg) - self.memory["position_offset"]) % _TURN

    def _write_one(self, change: RegisterWrite, now_ns: int) -> None:
        register, value, _ = change
        name = register.name
        if register.access == "read" or not register.low <= value <= register.high:
            return
        if name == "torque_enable":
            self._switch(value, now_ns)
            return
        self.memory[name] = value
        if register.access == "eeprom" and self.memory["eprom_lock"] == PERSISTENT:
            self.memory.keep(name)
        if name == "goal_position" and self.torque_by_goal and not self._limp:
            self.memory["torque_enable"] = _ON
        if self.driving:
            self.drive_plant()

    def _switch(self, value: int, now_ns: int) -> None:
        if value == _HERE_IS_MIDDLE:
            self._call_here(_MIDDLE, now_ns)
        elif value in _SWITCH and not self._limp:
            if value == _ON and self.memory["torque_enable"] != _ON:
                self.memory["goal_position"] = self._position(self.read_shaft(now_ns).motion.angle_deg)
            self.memory["torque_enable"] = value
            self.drive_plant()

    def _call_here(self, position: int, now_ns: int) -> None:
        """Set the offset so that the shaft is at `position`, the shorter way round."""
        at = nearest(self.read_shaft(now_ns).motion.angle_deg / self.model.tick_deg)
        offset = (at - position + _MIDDLE) % _TURN - _MIDDLE
        self.memory["position_offset"] = offset
        if self.memory["eprom_lock"] == PERSISTENT:
            self.memory.keep("position_offset")
        if self.driving:
            self.memory["goal_position"] = position
            self.drive_plant()

    def _recover_settings(self) -> None:
        if self.memory["eprom_lock"] != PERSISTENT:
            return
        factory = {r.name: r.default for r in self.memory.table.all.values() if r.access == "eeprom"}
        self.memory.restore({**(self._backup or factory), "id": self.memory["id"]})
        self.drive_plant()


EMULATION: Final = Emulation(
    FeetechServo, LineBehaviour(groups=frozenset((SYNC_READ, SYNC_WRITE)), ping_slots=False, byte_gap_ns=BYTE_GAP_NS)
)
"""What emulated servos of the family are made of."""
