"""The servos of one emulated line: who hears a request, what they do to the plant, what they answer.

AI motors know sends, reads, torque off and break; wCKs know the rest as well. What a servo does not know it does not
obey and does not answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Final, NamedTuple

from drivers.aimotor.answers import encode_10bit
from drivers.aimotor.codec import MAX_ID, MAX_ID_10BIT, MAX_RAW, AiMotorRequest, Op
from drivers.aimotor.emulation.injection import ServoFaults
from drivers.aimotor.emulation.memory import OVERLOAD_AFTER_NS, AiMotorMemory
from drivers.aimotor.models import TICKS_PER_10BIT
from drivers.aimotor.table import ID_SET, MOST_10BIT, TICK_A, TICK_DEG, Family
from drivers.servo import LEVEL_SHARE, ServoAddress, ServoModel, ServoPlant

STEP_NS: Final = 10_000_000
"""The goal of a turning shaft moves on this often."""

MOST_SPEED: Final = 15
LEVEL: Final = 0
"""The torque level of a wheel: all it has (assumed)."""

_COUNTER_CLOCKWISE: Final = 3


class _Wheel(NamedTuple):
    from_deg: float
    since_ns: int
    deg_per_ns: float
    end_deg: float


def wheel_speed_deg_s(model: ServoModel, value: int) -> float:
    """Return how fast the second byte of a wheel request turns a shaft, counter-clockwise positive.

    Speed 15 is the model's no-load speed, and counter-clockwise is the sense of rising positions. Both are assumed.
    """
    share = (value & 0x0F) / MOST_SPEED
    return math.degrees(model.no_load_rad_s) * (share if value >> 4 == _COUNTER_CLOCKWISE else -share)


class Wheels:
    """Which servos turn, from where and how fast."""

    __slots__ = ("_done_ns", "_plant", "_wheels")

    def __init__(self, plant: ServoPlant) -> None:
        """Start with none."""
        self._plant = plant
        self._wheels: dict[int, _Wheel] = {}
        self._done_ns = 0

    def __bool__(self) -> bool:
        return bool(self._wheels)

    def start(self, servo: int, from_deg: float, deg_s: float, end_deg: float, now_ns: int) -> None:
        """Let a servo turn from where it is, no further than 0 and `end_deg` degrees."""
        if not self._wheels:
            self._done_ns = now_ns
        self._wheels[servo] = _Wheel(from_deg, now_ns, deg_s * 1e-9, end_deg)
        self._plant.command(servo, from_deg, LEVEL)

    def stop(self, servo: int) -> None:
        """Let it be a wheel no longer; nothing is commanded."""
        self._wheels.pop(servo, None)

    def turn(self, now_ns: int) -> None:
        """Move the goals on, in steps, while the plant runs as far as `now_ns`."""
        while self._wheels and self._done_ns + STEP_NS <= now_ns:
            self._done_ns += STEP_NS
            self._plant.advance(self._done_ns)
            for servo, wheel in self._wheels.items():
                goal_deg = wheel.from_deg + wheel.deg_per_ns * (self._done_ns - wheel.since_ns)
                self._plant.command(servo, min(max(goal_deg, 0.0), wheel.end_deg), LEVEL)


ROUND_OFF: Final = 1e-9
"""A current of whole ticks must not lose one to the last bit of a float."""

_NO_ROTATIONS = b"\x00"


class EmulatedServos:
    """Servos counted from 0 in the order given. `refused` counts requests that a servo heard and does not know."""

    __slots__ = ("_plant", "_tick_deg", "baud", "faults", "memories", "refused", "wheels")

    def __init__(
        self, servos: Sequence[ServoAddress], plant: ServoPlant, *, baud: int, tick_deg: float, wck: bool
    ) -> None:
        """Power them up: the plant's shafts are released. `wck`: servos without a model are wCKs."""
        self.baud = baud
        self.refused = 0
        self.faults = ServoFaults([servo.bus_id for servo in servos])
        self.memories = tuple(AiMotorMemory(servo.model, baud, wck=wck) for servo in servos)
        self.wheels = Wheels(plant)
        self._plant = plant
        self._tick_deg = tick_deg
        for index in range(len(servos)):
            plant.release(index)

    def addressed(self, bus_id: int) -> tuple[int, ...]:
        """Return the servos that a request to `bus_id` addresses."""
        return tuple(k for k in self.faults.listeners(bus_id) if self.memories[k].baud == self.baud)

    def advance(self, now_ns: int) -> None:
        """Let the plant run as far as `now_ns`, with what turns like a wheel turning."""
        if self.wheels:
            self.wheels.turn(now_ns)
        self._plant.advance(now_ns)

    def execute(self, request: AiMotorRequest, heard_ns: int) -> bytes:
        """Carry out a request on every servo it addresses; return the reply, empty without one."""
        self.advance(heard_ns)
        if request.op is Op.SYNC_SEND:
            for bus_id, target in enumerate(request.payload):
                for servo in self.addressed(bus_id):
                    self._drive(servo, target, request.level)
            return b""
        if request.op is Op.BREAK:
            return self._break()
        replies = [self._obey_one(servo, request, heard_ns) for servo in self.addressed(request.bus_id)]
        # An idle line is high, so of bits that two servos send at once the zeros win.
        return bytes(reduce(lambda a, b: a & b, values) for values in zip(*filter(None, replies), strict=True))

    def release(self, servo: int) -> None:
        """Take a servo's torque off."""
        self.wheels.stop(servo)
        self._plant.release(servo)

    def power_up(self, servo: int) -> None:
        """Let a servo start anew: no torque, no overload, and of its registers what they keep."""
        self.release(servo)
        self.faults.recover(servo)
        self.memories[servo].power_up()

    def trip(self, servo: int) -> None:
        """Let a servo go passive by itself."""
        self.faults.tripped.add(servo)
        self.release(servo)

    def rename(self, servo: int, bus_id: int) -> None:
        """Let a servo listen to another id. Raises `BusError` for one that its wire can not carry."""
        self.faults.check(servo)
        ten_bit = self.memories[servo].family is Family.WCK
        self.faults.rename(servo, bus_id, MAX_ID_10BIT if ten_bit else MAX_ID)

    def _obey_one(self, servo: int, request: AiMotorRequest, heard_ns: int) -> bytes:
        """Let one servo do what it is told; return its answer, nothing for what it refuses."""
        sample = self._plant.sample(servo)
        angle_deg, current_a = self.faults.stuck.get(servo, sample)
        position = min(max(int(angle_deg / self._tick_deg + 0.5), 0), MAX_RAW)
        current = min(max(int(current_a / TICK_A + ROUND_OFF), 0), MAX_RAW)
        self._watch_load(servo, sample[1], heard_ns)
        if request.op is Op.POSITION_SEND:
            self._drive(servo, request.value, request.level)
        elif request.op is Op.PASSIVE:
            self.release(servo)
            self.faults.recover(servo)
            # The manual's table names the position twice here.
            return bytes((position, position))
        elif request.op is not Op.POSITION_READ:
            answer = self._obey_wck(servo, request, angle_deg, heard_ns)
            self.refused += answer is None
            return answer or b""
        return bytes((current, position))

    def _obey_wck(self, servo: int, request: AiMotorRequest, angle_deg: float, heard_ns: int) -> bytes | None:
        """Let a wCK do what an AI motor does not know; return its answer, None for what it does not know either."""
        if self.memories[servo].family is not Family.WCK:
            return None
        if request.op is Op.SET:
            return self._set(servo, request)
        if request.op is Op.WHEEL:
            self._turn(servo, request.value, angle_deg, heard_ns)
            position = min(max(int(angle_deg / self._tick_deg + 0.5), 0), MAX_RAW)
            return _NO_ROTATIONS + bytes((position,))
        if request.op is Op.MOVE_10BIT:
            self._drive_10bit(servo, request.value, request.payload[0])
        elif request.op is not Op.READ_10BIT:
            return None
        position = int(angle_deg / (self._tick_deg * TICKS_PER_10BIT) + 0.5)
        return encode_10bit(min(max(position, 0), MOST_10BIT))

    def _set(self, servo: int, request: AiMotorRequest) -> bytes | None:
        d3, d4 = request.payload
        if request.value != ID_SET:
            return self.memories[servo].obey(request.value, d3, d4)
        if d3 != d4 or d3 > MAX_ID:
            return None
        self.rename(servo, d3)
        return bytes((d3, d4))

    def _drive(self, servo: int, target: int, level: int) -> None:
        memory = self.memories[servo]
        goal_deg = memory.within_bounds(target) * self._tick_deg
        if servo in self.faults.tripped:
            return
        self.wheels.stop(servo)
        if memory.factory_gain:
            self._plant.command(servo, goal_deg, level)
        else:
            self._plant.drive(servo, goal_deg, self._stiffness(memory), LEVEL_SHARE[level] * self._stall(memory))

    def _drive_10bit(self, servo: int, target: int, torque: int) -> None:
        """Drive a shaft with a share of the stall torque: 254 is all of it (assumed)."""
        memory = self.memories[servo]
        goal_deg = memory.within_bounds(target * TICKS_PER_10BIT) * self._tick_deg
        if servo in self.faults.tripped:
            return
        self.wheels.stop(servo)
        self._plant.drive(servo, goal_deg, self._stiffness(memory), torque / MAX_RAW * self._stall(memory))

    def _stiffness(self, memory: AiMotorMemory) -> float:
        """Return torque per degree of error (N m) at the P gain in force."""
        model = memory.model
        return model.tick_torque_n_m(memory["P"]) / model.tick_deg * (TICK_DEG / self._tick_deg)

    def _stall(self, memory: AiMotorMemory) -> float:
        return memory.model.stall_torque_n_m

    def _turn(self, servo: int, value: int, angle_deg: float, heard_ns: int) -> None:
        if servo not in self.faults.tripped:
            speed = wheel_speed_deg_s(self.memories[servo].model, value)
            self.wheels.start(servo, angle_deg, speed, MAX_RAW * self._tick_deg, heard_ns)

    def _watch_load(self, servo: int, current_a: float, heard_ns: int) -> None:
        troubles = self.faults
        limit_a, patience_ns = troubles.limit_a, troubles.overload_after_ns
        if limit_a is None:
            limit_a, patience_ns = self.memories[servo].limit_a, OVERLOAD_AFTER_NS
        if limit_a is not None and troubles.overloaded(servo, current_a, heard_ns, limit_a, patience_ns):
            self.trip(servo)

    def _break(self) -> bytes:
        there = [k for k in self.faults.powered_servos() if self.memories[k].baud == self.baud]
        for servo in there:
            self.release(servo)
        return bytes((self.faults.id_of(there[0]), 0)) if there else b""
