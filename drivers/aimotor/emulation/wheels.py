"""Emulated servos that were told to turn like a wheel.

The shafts of a plant have ends, so a wheel does not go round: its goal moves at the wheel's speed until the end of the
position scale and stays there; the count of rotations stays 0.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from drivers.servo import ServoModel, ServoPlant

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
