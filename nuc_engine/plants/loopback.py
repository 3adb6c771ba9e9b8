"""Servos without a world: each shaft follows its goal as a critically damped second-order system.

For tests, and for trying the engine without physics. The response is exact at the grid points (1 ms): with the error
e = shaft - goal and the natural frequency w, e(t) = (e0 + (v0 + w e0) t) exp(-w t).

A servo that is told a torque level has the level's frequency. One that says itself how stiff it is has the frequency of
that stiffness on a small inertia, and a torque limit bounds the error that counts: the shaft then turns no faster than
w/2 times that error. So does the motor's no-load speed, for every servo: no error counts that would make it faster.
"""

from __future__ import annotations

import math
from typing import Final

from drivers.servo import Motion
from nuc_engine.model.plan import Plan
from nuc_engine.plants.errors import PlantWithoutWorldError
from nuc_engine.plants.events import PlantEvent, kind_of
from nuc_engine.plants.kinds import find_kind
from nuc_engine.plants.spec import MotorSpec

STEP_NS = 1_000_000
"""The grid: 1 ms."""

_STEP_S: Final = STEP_NS * 1e-9

NATURAL_FREQUENCY_RAD_S = (50.0, 40.0, 30.0, 20.0, 10.0)
"""By torque level: a weaker servo is a slower one. Assumed; no servo was measured."""

INERTIA_KG_M2 = 6e-4
"""What a servo turns that says how stiff it is: 50 rad/s at 0.026 N m per degree, as an AI-701 has. Assumed."""

COAST_RATE_PER_S = 20.0
"""How fast a released shaft loses its speed. Assumed."""

AMPERE_PER_DEG = 0.01
"""Current per degree of position error of a servo at a torque level, up to the stall current. Assumed."""

STALL_CURRENT_A = 1.0

UNKNOWN: Final = MotorSpec(omega0_rad_s=5.0, stall_torque_n_m=1.0, stall_current_a=STALL_CURRENT_A)
"""What a motor is taken for whose model is not known. Assumed."""

_SLOWEST_RAD_S = 1e-3

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


def _reach_deg(step: _Step, time_s: float, top_deg_s: float) -> float:
    """Return the largest error that counts, so that neither the speed nor the way in `time_s` exceeds the top speed."""
    a, b, c, d = step
    return top_deg_s * min((1.0 - d) / -c, (time_s - b) / (1.0 - a))


class LoopbackPlant:
    """Independent servos, all at mid-scale and released at the start; a `drivers.servo.ServoPlant`."""

    def __init__(self, plan: Plan) -> None:
        """Make one shaft for each of the plan's motors."""
        self._kinds = [find_kind(motor, {}) or UNKNOWN for motor in plan.motors]
        self._angle = [sum(motor.positions) / 2 * motor.tick_deg for motor in plan.motors]
        count = len(plan.motors)
        self._speed = [0.0] * count
        self._goal: list[float | None] = [None] * count
        self._steps = [_response(omega, _STEP_S) for omega in NATURAL_FREQUENCY_RAD_S]
        self._top_deg_s = [math.degrees(kind.omega0_rad_s) for kind in self._kinds]
        # How large an error counts of servos that are driven.
        self._reach = [0.0] * count
        self._released = _coast(COAST_RATE_PER_S, _STEP_S)
        self._step = [self._released] * count
        # Of servos that say so themselves: stiffness in N m per degree and torque limit in N m.
        self._own: list[tuple[float, float] | None] = [None] * count
        self._done = 0

    def advance(self, now_ns: int) -> None:
        """Run all whole steps that end at or before `now_ns`."""
        target = now_ns // STEP_NS
        steps = target - self._done
        if steps <= 0:
            return
        for servo, (a, b, c, d) in enumerate(self._step):
            if self._own[servo] is not None:
                self._creep(servo, steps)
                continue
            zero, reach = self._goal[servo], self._reach[servo]
            if zero is None:
                zero, reach = 0.0, math.inf
            error, speed = self._angle[servo] - zero, self._speed[servo]
            for _ in range(steps):
                counts = min(max(error, -reach), reach)
                error, speed = error - counts + (a * counts + b * speed), c * counts + d * speed
            self._angle[servo], self._speed[servo] = error + zero, speed
        self._done = target

    def command(self, servo: int, goal_deg: float, level: int) -> None:
        """Let servo `servo` go to `goal_deg`, at the speed of torque level 0 (strongest) to 4."""
        self._goal[servo] = goal_deg
        self._own[servo] = None
        self._respond(servo, self._steps[level])

    def drive(self, servo: int, goal_deg: float, stiffness_n_m_deg: float, limit_n_m: float) -> None:
        """Let servo `servo` go to `goal_deg` with this stiffness and no more torque than this."""
        self._goal[servo] = goal_deg
        own = (max(stiffness_n_m_deg, 0.0), min(max(limit_n_m, 0.0), self._kinds[servo].stall_torque_n_m))
        if own != self._own[servo]:
            self._own[servo] = own
            omega = math.sqrt(math.degrees(own[0]) / INERTIA_KG_M2)
            self._respond(servo, _response(max(omega, _SLOWEST_RAD_S), _STEP_S))

    def _respond(self, servo: int, step: _Step) -> None:
        self._step[servo] = step
        self._reach[servo] = _reach_deg(step, _STEP_S, self._top_deg_s[servo])

    def release(self, servo: int) -> None:
        """Take the torque off: the shaft coasts to a stop."""
        self._goal[servo] = None
        self._own[servo] = None
        self._step[servo] = self._released

    def sample(self, servo: int) -> tuple[float, float]:
        """Return (shaft angle in degrees, current in A, in proportion to the torque)."""
        angle, goal = self._angle[servo], self._goal[servo]
        if goal is None:
            return angle, 0.0
        if self._own[servo] is not None:
            kind = self._kinds[servo]
            return angle, abs(self._torque_n_m(servo)) / kind.stall_torque_n_m * kind.stall_current_a
        return angle, min(abs(goal - angle) * AMPERE_PER_DEG, STALL_CURRENT_A)

    def motion(self, servo: int) -> Motion:
        """Return angle, speed, torque and current; the last two point to the goal."""
        angle, current = self.sample(servo)
        goal = self._goal[servo]
        if goal is None:
            return Motion(angle, self._speed[servo], 0.0, 0.0)
        if self._own[servo] is None:
            torque = math.copysign(current / STALL_CURRENT_A * self._kinds[servo].stall_torque_n_m, goal - angle)
        else:
            torque = self._torque_n_m(servo)
        return Motion(angle, self._speed[servo], torque, math.copysign(current, goal - angle))

    def take_records(self) -> list[tuple[float, ...]]:
        """Return nothing: there is no foot and no ground."""
        return []

    def schedule(self, event: PlantEvent) -> PlantEvent:
        """Refuse: there is no leg that anything could happen to. Raises PlantWithoutWorldError."""
        raise PlantWithoutWorldError(f"{kind_of(event)}: servos without a leg take nothing; expected an emulated leg")

    def _torque_n_m(self, servo: int) -> float:
        """Return what a servo that says itself how stiff it is gives at standstill."""
        own, goal = self._own[servo], self._goal[servo]
        if own is None or goal is None:
            return 0.0
        stiffness, limit = own
        return min(max(stiffness * (goal - self._angle[servo]), -limit), limit)

    def _creep(self, servo: int, steps: int) -> None:
        """Run steps of a servo whose torque has an end: as if the goal were no further than the torque reaches."""
        (a, b, c, d), goal, own = self._step[servo], self._goal[servo], self._own[servo]
        if goal is None or own is None:
            return
        stiffness, limit = own
        reach = min(limit / stiffness if stiffness > 0.0 else 0.0, self._reach[servo])
        angle, speed = self._angle[servo], self._speed[servo]
        for _ in range(steps):
            error = min(max(angle - goal, -reach), reach)
            moved = a * error + b * speed
            angle, speed = angle - error + moved, c * error + d * speed
        self._angle[servo], self._speed[servo] = angle, speed
