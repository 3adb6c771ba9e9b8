"""Servos without a world: each shaft follows its goal as a critically damped second-order system.

For tests, and for trying the engine without physics. The response is exact at the grid points (1 ms): with the error
e = shaft - goal and the natural frequency w, e(t) = (e0 + (v0 + w e0) t) exp(-w t).
"""

from __future__ import annotations

import math

from nuc_engine.plan import Plan
from nuc_engine.plants.errors import PlantWithoutWorldError
from nuc_engine.plants.events import PlantEvent, kind_of
from nuc_engine.plants.shaft import AI_MOTOR_TICK_DEG, FULL_SCALE_TICKS

STEP_NS = 1_000_000
"""The grid: 1 ms."""

NATURAL_FREQUENCY_RAD_S = (50.0, 40.0, 30.0, 20.0, 10.0)
"""By torque level: a weaker servo is a slower one. Assumed; no servo was measured."""

COAST_RATE_PER_S = 20.0
"""How fast a released shaft loses its speed. Assumed."""

AMPERE_PER_DEG = 0.01
"""Current per degree of position error, up to the stall current. Assumed."""

STALL_CURRENT_A = 1.0

_Step = tuple[float, float, float, float]


def _response(omega: float, time_s: float) -> _Step:
    """Return the matrix that takes (error, speed) over `time_s`, row-major."""
    decay = math.exp(-omega * time_s)
    return (
        decay * (1.0 + omega * time_s),
        decay * time_s,
        -decay * omega * omega * time_s,
        decay * (1.0 - omega * time_s),
    )


def _coast(rate: float, time_s: float) -> _Step:
    """Return the matrix that takes (angle, speed) of a released shaft over `time_s`, row-major."""
    decay = math.exp(-rate * time_s)
    return 1.0, (1.0 - decay) / rate, 0.0, decay


class LoopbackPlant:
    """Independent servos, all at mid-scale and released at the start; a `drivers.servo.ServoPlant`."""

    def __init__(self, plan: Plan) -> None:
        """Make one shaft for each of the plan's motors."""
        middle = FULL_SCALE_TICKS / 2 * AI_MOTOR_TICK_DEG
        count = len(plan.motors)
        self._angle = [middle] * count
        self._speed = [0.0] * count
        self._goal: list[float | None] = [None] * count
        self._steps = [_response(omega, STEP_NS * 1e-9) for omega in NATURAL_FREQUENCY_RAD_S]
        self._released = _coast(COAST_RATE_PER_S, STEP_NS * 1e-9)
        self._step = [self._released] * count
        self._done = 0

    def advance(self, now_ns: int) -> None:
        """Run all whole steps that end at or before `now_ns`."""
        target = now_ns // STEP_NS
        steps = target - self._done
        if steps <= 0:
            return
        for servo, (a, b, c, d) in enumerate(self._step):
            zero = self._goal[servo] or 0.0
            error, speed = self._angle[servo] - zero, self._speed[servo]
            for _ in range(steps):
                error, speed = a * error + b * speed, c * error + d * speed
            self._angle[servo], self._speed[servo] = error + zero, speed
        self._done = target

    def command(self, servo: int, goal_deg: float, level: int) -> None:
        """Let servo `servo` go to `goal_deg`, at the speed of torque level 0 (strongest) to 4."""
        self._goal[servo] = goal_deg
        self._step[servo] = self._steps[level]

    def release(self, servo: int) -> None:
        """Take the torque off: the shaft coasts to a stop."""
        self._goal[servo] = None
        self._step[servo] = self._released

    def sample(self, servo: int) -> tuple[float, float]:
        """Return (shaft angle in degrees, current in A, in proportion to the position error)."""
        angle, goal = self._angle[servo], self._goal[servo]
        if goal is None:
            return angle, 0.0
        return angle, min(abs(goal - angle) * AMPERE_PER_DEG, STALL_CURRENT_A)

    def take_records(self) -> list[tuple[float, ...]]:
        """Return nothing: there is no foot and no ground."""
        return []

    def schedule(self, event: PlantEvent) -> PlantEvent:
        """Refuse: there is no leg that anything could happen to. Raises PlantWithoutWorldError."""
        raise PlantWithoutWorldError(f"{kind_of(event)}: servos without a leg take nothing; expected an emulated leg")
