"""Emulated Dynamixel X servos: what one does with its registers; firmware 52.

As the maker's manual has it: settings (0 to 63) can be written while torque is off; a change of operating mode puts
gains, profiles and goal limits back; a shutdown clears `torque_enable`, and only a reboot brings it back; with torque
on, `bus_watchdog` times 20 ms without any instruction on the line stop the servo, the register reads -1 and goals are
refused (range error) until 0 is written to it; an action without a write that waits for it is an instruction error.

Assumed, since no page says it: torque coming on takes the present position for the goal; stopping, the servo holds the
place where it is; a write with anything wrong in it changes nothing; reading is allowed where no register is; current
above `OVERLOAD_SHARE` of the stall current for `OVERLOAD_NS` is the overload that shuts down; a reversed servo counts
down from 4095; a reboot takes no time; whole turns that are cleared are those of the shaft, whatever the homing
offset, and are taken off the goal as well. A ping for all is answered in slots as long as a status and the longest
return delay.

To its second id a servo obeys writes outside its settings, and answers nothing. Assumed: it obeys no other instruction
to it, and in a packet with a part for its own id only that.

Not modelled: profiles (a goal counts at once), D, I and feed-forward gains, heat, the startup configuration, the turns
that a restart forgets. In modes 0, 1 and 16 (current, velocity, PWM) the shaft is free, whatever the goals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from drivers.dynamixel import emulator_orders as orders
from drivers.dynamixel.codec import BULK_READ, BULK_WRITE, DIALECT, FAST_EACH_BYTES, FAST_HEAD_BYTES, FAST_SYNC_READ
from drivers.dynamixel.codec import fast_status as whole_fast_status
from drivers.dynamixel.emulator_indirect import Indirect
from drivers.dynamixel.emulator_orders import ACCESS, INSTRUCTION, LENGTH, LIMIT, RANGE
from drivers.dynamixel.table import (
    BAUD_CODES,
    BYTE_GAP_NS,
    FULL_PWM,
    SPEED_RPM,
    TABLES,
    WATCHDOG_STEP_NS,
)
from drivers.errors import FrameError
from drivers.framed.emulation.emulator import LineBehaviour
from drivers.framed.emulation.from_url import Emulation
from drivers.framed.emulation.groups import FAST_BULK_READ, GroupPart
from drivers.framed.emulation.memory import RegisterWrite
from drivers.framed.emulation.servo import ROOM_DEG_C, FramedServo, ShaftReading, StatusReply, nearest
from drivers.framed.packet import SYNC_READ, SYNC_WRITE, Packet
from drivers.framed.registers import Register
from drivers.port import NEVER
from drivers.servo import ServoAddress, ServoModel, ServoPlant

ALERT: Final = 0x80
"""The error byte's bit for a hardware error."""

OVERLOAD_BIT: Final = 5
"""In `hardware_error` and `shutdown`."""

OVERLOAD_SHARE: Final = 0.9
"""Share of the stall current that counts as too much."""

OVERLOAD_NS: Final = 1_000_000_000
"""For how long."""

_TRIPPED: Final = -1
_POSITION, _EXTENDED, _CURRENT_BASED = 3, 4, 5
_MODES: Final = (0, 1, _POSITION, _EXTENDED, _CURRENT_BASED, 16)
_CURRENT_MODES: Final = (0, _CURRENT_BASED)
_REVERSE, _TORQUE_BY_GOAL = 1, 8
_TOP, _TURN = 4095, 4096
_SPEED_DEG_S: Final = SPEED_RPM * 6.0
_CURRENT_UNIT_A: Final = {1200: 0.001, 1020: 0.00269}
_GOALS: Final = frozenset(("goal_pwm", "goal_current", "goal_velocity", "goal_position"))
_LIMITED: Final = {"goal_pwm": "pwm_limit", "goal_current": "current_limit", "goal_velocity": "velocity_limit"}
_RESET_BY_MODE: Final = (
    "velocity_i_gain",
    "velocity_p_gain",
    "position_d_gain",
    "position_i_gain",
    "position_p_gain",
    "feedforward_2nd_gain",
    "feedforward_1st_gain",
    "profile_acceleration",
    "profile_velocity",
)


class DynamixelServo(FramedServo):
    """One X servo (see `drivers.framed.emulation.servo.FramedServo`)."""

    __slots__ = ("_indirect", "_shut", "_turns", "_watchdog_ns", "backup")

    full_level = 2

    def __init__(self, number: int, address: ServoAddress, model: ServoModel, plant: ServoPlant, *, baud: int) -> None:
        """Power up without torque, at the line's rate. Raises `BusUrlError` for a rate the servo does not have."""
        self._indirect = Indirect(model.number)
        self._shut = False
        self._watchdog_ns = 0
        # Settings kept aside; ticks of the turns that were cleared.
        self.backup: dict[str, int] = {}
        self._turns = 0
        table = TABLES[model.name]
        bauds = {code: rate for code, rate in BAUD_CODES.items() if code <= table["baud_rate"].high}
        super().__init__(number, address, model, table, plant, bauds=bauds, baud=baud)
        unit_a = _CURRENT_UNIT_A.get(model.number, 1.0)
        self.senses = {
            "present_position": lambda sight: self._raw(sight.motion.angle_deg),
            "present_velocity": lambda sight: self._sign * nearest(sight.motion.speed_deg_s / _SPEED_DEG_S),
            "present_current": lambda sight: self._sign * nearest(self._current_a(sight) / unit_a),
            "present_load": lambda sight: self._sign * nearest(sight.duty * 1000),
            "present_pwm": lambda sight: self._sign * nearest(sight.duty * FULL_PWM),
            "present_voltage": lambda _: nearest(self.model.supply_v * 10),
            "present_temperature": lambda _: ROOM_DEG_C,
            "realtime_tick": lambda sight: sight.now_ns // 1_000_000 % 32_768,
            "moving": lambda sight: int(self._moving(sight)),
            "backup_ready": lambda _: int(bool(self.backup)),
            "registered_instruction": lambda _: self.action_pending,
        }

    @property
    def second_id(self) -> int:
        """The other id, where it is one, and not the servo's own."""
        second = self.memory["secondary_id"]
        return second if second <= DIALECT.max_id and second != self.bus_id else -1

    def write_second(self, address: int, data: bytes, now_ns: int) -> None:
        """Set registers that are no settings: those can not be reached this way."""
        places = [first for first, _ in self._indirect.runs(address, len(data))]
        if all(first >= self.memory.table["torque_enable"].address for first in places):
            self.write(address, data, now_ns)

    def _current_a(self, sight: ShaftReading) -> float:
        """Return the current: what the loop asks for where it regulates it, else what flows in the winding.

        No more flows than the supply drives against the motor's own voltage.
        """
        if self.memory["operating_mode"] in _CURRENT_MODES:
            own = math.radians(sight.motion.speed_deg_s) / self.model.no_load_rad_s
            return min(max(sight.duty, -1.0 - own), 1.0 - own) * self.model.stall_current_a
        return sight.motion.current_a

    # --- the watchdog ---

    @property
    def due_ns(self) -> int:
        """When the watchdog's patience ends."""
        return self.fed_ns + self._watchdog_ns if self._watchdog_ns and self.memory["torque_enable"] else NEVER

    def expire(self, now_ns: int) -> None:
        """Stop: nobody has said anything for too long."""
        self._watchdog_ns = 0
        self.memory["bus_watchdog"] = _TRIPPED
        self.memory["goal_position"] = self._raw(self.read_shaft(now_ns).motion.angle_deg)
        for name in ("profile_acceleration", "profile_velocity"):
            self.memory.set_default(name)
        self.drive_plant()

    # --- requests ---

    def error(self) -> int:
        """Return the alert's bit while there is a hardware error."""
        return ALERT if self.memory["hardware_error"] else 0

    def ping(self) -> StatusReply:
        """Say which model with which firmware is there."""
        return StatusReply(self.error(), self.memory.read(0, 2) + self.memory.read(6, 1))

    def read(self, address: int, count: int, now_ns: int) -> StatusReply:
        """Return registers; an access error where the table ends."""
        runs = self._indirect.runs(address, count)
        if not runs or max(sum(run) for run in runs) > self._indirect.end:
            return StatusReply(self.error() | ACCESS)
        data = bytearray()
        for first, length in runs:
            self.refresh_readings(first, length, now_ns)
            data += self._indirect.read(first, length) or self.memory.read(first, length)
        return StatusReply(self.error(), bytes(data))

    def write(self, address: int, data: bytes, now_ns: int) -> int:
        """Set registers, all or none."""
        if self._indirect.holds(address, data):
            return self.error() | (0 if self._indirect.write(address, data) else RANGE)
        at = 0
        changes: list[RegisterWrite] = []
        for first, length in self._indirect.runs(address, len(data)):
            piece = self.memory.changes(first, data[at : at + length])
            if sum(_shared(change.register, first, length) for change in piece) < length:
                return self.error() | ACCESS
            changes += piece
            at += length
        wrong = next((error for change in changes if (error := self._objection(change))), 0)
        if not wrong:
            for change in changes:
                self._apply(change, now_ns)
        return self.error() | wrong

    def action(self, now_ns: int) -> int:
        """Do the write that was kept; there must be one."""
        return super().action(now_ns) if self.action_pending else self.error() | INSTRUCTION

    def obey(self, instruction: int, params: bytes, now_ns: int, *, everybody: bool) -> StatusReply | None:
        """Do what only Dynamixels do, or say what is wrong with it."""
        wrong = orders.obey(self, instruction, params, now_ns, everybody=everybody)
        return StatusReply(self.error() | wrong)

    def clear_turns(self, now_ns: int) -> bool:
        """Take whole turns off the position of a shaft that stands still, and off the goal."""
        sight = self.read_shaft(now_ns)
        if self._moving(sight):
            return False
        turns = self._shaft(sight.motion.angle_deg) // _TURN * _TURN
        self.memory["goal_position"] -= turns - self._turns
        self._turns = turns
        return True

    # --- state ---

    def power_up(self) -> None:
        """Start anew; goals that are limits are what the limits are."""
        super().power_up()
        self._shut = False
        self._watchdog_ns = 0
        self._indirect.power_up()
        self._reset_goals()

    def trip(self) -> None:
        """Shut down as after an overload, until a reboot."""
        self.memory["hardware_error"] |= 1 << OVERLOAD_BIT
        self._shut = True
        self.memory["torque_enable"] = 0
        self.drive_plant()

    def recover(self) -> None:
        """Forget the hardware error."""
        self.memory["hardware_error"] = 0
        self._shut = False

    @property
    def driving(self) -> bool:
        """Whether torque is on, and the mode one of positions."""
        positions = self.memory["operating_mode"] in (_POSITION, _EXTENDED, _CURRENT_BASED)
        return bool(self.memory["torque_enable"]) and positions

    @property
    def goal_deg(self) -> float:
        """The goal less offset and reversal, on the servo's own scale."""
        goal = self.memory["goal_position"] + self._turns - self.memory["homing_offset"]
        return (_TOP - goal if self._sign < 0 else goal) * self.model.tick_deg

    @property
    def limit_share(self) -> float:
        """What PWM limit and goal leave of the drive, and in mode 5 the goal current too."""
        share = min(abs(self.memory["goal_pwm"]), self.memory["pwm_limit"]) / FULL_PWM
        if self.memory["operating_mode"] == _CURRENT_BASED:
            current_a = abs(self.memory["goal_current"]) * _CURRENT_UNIT_A[self.model.number]
            share = min(share, current_a / self.model.stall_current_a)
        return min(share, 1.0)

    def overload(self) -> tuple[float, int] | None:
        """Return the assumed share of the stall current and time, where the servo shuts down for it at all."""
        return (OVERLOAD_SHARE, OVERLOAD_NS) if self.memory["shutdown"] >> OVERLOAD_BIT & 1 else None

    def load_of(self, sight: ShaftReading) -> float:
        """Return the share of the stall current."""
        return abs(sight.motion.current_a) / self.model.stall_current_a

    def protect(self) -> None:
        """Shut down."""
        self.trip()

    # --- how ---

    @property
    def _sign(self) -> int:
        return -1 if self.memory["drive_mode"] & _REVERSE else 1

    def _raw(self, angle_deg: float) -> int:
        return self._shaft(angle_deg) - self._turns + self.memory["homing_offset"]

    def _shaft(self, angle_deg: float) -> int:
        raw = nearest(angle_deg / self.model.tick_deg)
        return _TOP - raw if self._sign < 0 else raw

    def _moving(self, sight: ShaftReading) -> bool:
        return abs(sight.motion.speed_deg_s) > self.memory["moving_threshold"] * _SPEED_DEG_S

    def _objection(self, change: RegisterWrite) -> int:
        """Return the error number of what is wrong with a change, 0 for nothing."""
        register, value, whole = change
        if register.access == "read" or (register.access == "eeprom" and self.memory["torque_enable"]):
            return ACCESS
        if not whole:
            return LENGTH
        tripped = self.memory["bus_watchdog"] == _TRIPPED
        if tripped and (register.name in _GOALS or (register.name == "bus_watchdog" and value)):
            return RANGE
        if not register.low <= value <= register.high or (register.name == "operating_mode" and not self._has(value)):
            return RANGE
        if register.name == "torque_enable" and value and self._shut:
            return ACCESS
        return self._over_limit(register.name, value)

    def _has(self, mode: int) -> bool:
        """Say whether the model has an operating mode: those of currents need one that measures its own."""
        return mode in _MODES and (mode not in _CURRENT_MODES or "goal_current" in self.memory)

    def _over_limit(self, name: str, value: int) -> int:
        limit = _LIMITED.get(name)
        if limit is not None and limit in self.memory and abs(value) > self.memory[limit]:
            return LIMIT
        if name == "goal_position" and self.memory["operating_mode"] == _POSITION:
            return 0 if self.memory["min_position"] <= value <= self.memory["max_position"] else LIMIT
        return 0

    def _apply(self, change: RegisterWrite, now_ns: int) -> None:
        register, value, _ = change
        name = register.name
        if name == "torque_enable" and value and not self.memory[name]:
            self.memory["goal_position"] = self._raw(self.read_shaft(now_ns).motion.angle_deg)
            if self._shut:
                # The look found one overload too many.
                return
        if name == "operating_mode" and value != self.memory[name]:
            self._reset_goals()
            for gain in _RESET_BY_MODE:
                self.memory.set_default(gain)
        self.memory[name] = value
        if register.access == "eeprom":
            self.memory.keep(name)
        if name == "bus_watchdog":
            self._watchdog_ns = value * WATCHDOG_STEP_NS
        if name == "goal_position" and self.memory["drive_mode"] & _TORQUE_BY_GOAL and not self._shut:
            self.memory["torque_enable"] = 1
        if self.driving or name == "torque_enable":
            self.drive_plant()

    def _reset_goals(self) -> None:
        for name, limit in _LIMITED.items():
            if name in self.memory:
                self.memory[name] = self.memory[limit]


def _shared(register: Register, first: int, length: int) -> int:
    """Return how many of the bytes from `first` on are of a register."""
    return min(register.address + register.size, first + length) - max(register.address, first)


def _fast_status(parts: Sequence[GroupPart], answers: Sequence[tuple[int, StatusReply]]) -> bytes:
    """Return the one packet of a fast reply as far as there are answers; nothing where it could not be that long."""
    given = [Packet(bus_id, -1, answer.data, answer.error) for bus_id, answer in answers]
    absent = [Packet(0, -1, bytes(part.length), 0) for part in parts[len(answers) :]]
    sent = FAST_HEAD_BYTES + sum(FAST_EACH_BYTES + len(packet.params) for packet in given)
    try:
        return whole_fast_status([*given, *absent])[:sent]
    except FrameError:
        return b""


EMULATION: Final = Emulation(
    DynamixelServo,
    LineBehaviour(
        groups=frozenset((SYNC_READ, SYNC_WRITE, FAST_SYNC_READ, BULK_READ, BULK_WRITE, FAST_BULK_READ)),
        ping_slots=True,
        byte_gap_ns=BYTE_GAP_NS,
        fast_status=_fast_status,
    ),
)
"""What emulated servos of the family are made of."""
