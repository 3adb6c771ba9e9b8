"""Servos on a bench: nothing bolted to their horns, or their horns held against a stop.

What emulated servos turn when `nuc bus` is tried out without a leg. A shaft is a DC motor behind a gear: its drive asks
for a torque in proportion to the error, up to a limit; the faster it turns, the less of it arrives (the maker's
no-load speed is where nothing is left), except where electronics regulate the current: what is asked for arrives then
as long as the supply's voltage drives it. Inertia and friction are assumed: those found for the emulated cockroach leg.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from drivers.servo import LEVEL_SHARE, Motion, ServoModel

STEP_NS: Final = 250_000
INERTIA_KG_M2: Final = 0.001
FRICTION_N_M: Final = 0.015
"""Coulomb friction of gear and bearing."""


@dataclass(slots=True)
class _Shaft:
    model: ServoModel
    angle_deg: float
    stiffness_n_m_deg: float
    speed_deg_s: float = 0.0
    goal_deg: float | None = None
    limit_n_m: float = 0.0
    held: bool = False

    @property
    def damping_n_m_s_deg(self) -> float:
        """The torque that is lost per speed, or by which the most there can be shrinks."""
        return self.model.stall_torque_n_m / math.degrees(self.model.no_load_rad_s)


class BenchPlant:
    """Shafts at the middle of their scales, without torque (a `drivers.servo.ServoPlant`).

    `dead_deg` is how far a shaft may be from its goal before its drive does anything.
    """

    def __init__(self, models: Sequence[ServoModel], *, dead_deg: float = 0.0) -> None:
        self._dead_deg = dead_deg
        self._shafts = [
            _Shaft(model, sum(model.positions) / 2 * model.tick_deg, _own_stiffness(model)) for model in models
        ]
        self._done = 0

    def hold(self, servo: int, *, held: bool = True) -> None:
        """Hold a shaft where it is, against whatever torque, or let it go."""
        shaft = self._shafts[servo]
        shaft.held = held
        shaft.speed_deg_s = 0.0

    def advance(self, now_ns: int) -> None:
        """Run all whole steps that end at or before `now_ns`."""
        target = now_ns // STEP_NS
        steps = target - self._done
        self._done = max(self._done, target)
        for shaft in self._shafts:
            if shaft.held or (shaft.goal_deg is None and shaft.speed_deg_s == 0.0):
                continue
            for _ in range(steps):
                self._step(shaft)

    def command(self, servo: int, goal_deg: float, level: int) -> None:
        """Drive to a goal with the model's own stiffness and its level's share of the torque."""
        shaft = self._shafts[servo]
        limit = LEVEL_SHARE[level] * shaft.model.stall_torque_n_m
        self.drive(servo, goal_deg, _own_stiffness(shaft.model), limit)

    def drive(self, servo: int, goal_deg: float, stiffness_n_m_deg: float, limit_n_m: float) -> None:
        """Drive to a goal, this stiff, with this much torque at most."""
        shaft = self._shafts[servo]
        shaft.goal_deg, shaft.stiffness_n_m_deg = goal_deg, stiffness_n_m_deg
        shaft.limit_n_m = min(limit_n_m, shaft.model.stall_torque_n_m)

    def release(self, servo: int) -> None:
        """Take the torque off."""
        self._shafts[servo].goal_deg = None

    def sample(self, servo: int) -> tuple[float, float]:
        """Return shaft angle (degrees) and the amount of current (A)."""
        found = self.motion(servo)
        return found.angle_deg, abs(found.current_a)

    def motion(self, servo: int) -> Motion:
        """Return what can be seen of a shaft."""
        shaft = self._shafts[servo]
        torque = self._torque_n_m(shaft)
        current = torque / shaft.model.stall_torque_n_m * shaft.model.stall_current_a
        return Motion(shaft.angle_deg, shaft.speed_deg_s, torque, current)

    def _asked_n_m(self, shaft: _Shaft) -> float:
        """Return what the drive makes of the error; a regulated current is bounded by what the voltage leaves."""
        if shaft.goal_deg is None:
            return 0.0
        error = shaft.goal_deg - shaft.angle_deg
        driven = max(abs(error) - self._dead_deg, 0.0) * shaft.stiffness_n_m_deg
        torque = math.copysign(min(driven, shaft.limit_n_m), error)
        if not shaft.model.current_loop:
            return torque
        stall, lost = shaft.model.stall_torque_n_m, shaft.damping_n_m_s_deg * shaft.speed_deg_s
        return min(max(torque, -stall - lost), stall - lost)

    def _torque_n_m(self, shaft: _Shaft) -> float:
        return self._asked_n_m(shaft) - self._braking(shaft) * shaft.speed_deg_s

    def _braking(self, shaft: _Shaft) -> float:
        """Return the torque that the motor's own voltage costs per speed (N m per deg/s)."""
        return 0.0 if shaft.goal_deg is None or shaft.model.current_loop else shaft.damping_n_m_s_deg

    def _step(self, shaft: _Shaft) -> None:
        step_s = STEP_NS * 1e-9
        # Of degrees per second per N m.
        gain = math.degrees(step_s / INERTIA_KG_M2)
        speed = shaft.speed_deg_s + gain * self._asked_n_m(shaft)
        left = max(abs(speed) - gain * FRICTION_N_M, 0.0)
        shaft.speed_deg_s = math.copysign(left / (1.0 + gain * self._braking(shaft)), speed)
        shaft.angle_deg += shaft.speed_deg_s * step_s
        self._meet_ends(shaft)

    def _meet_ends(self, shaft: _Shaft) -> None:
        """Stop at the ends of the scale: a servo has stops there, or the bench has."""
        low, high = (tick * shaft.model.tick_deg for tick in shaft.model.positions)
        if not low <= shaft.angle_deg <= high:
            shaft.angle_deg = min(max(shaft.angle_deg, low), high)
            shaft.speed_deg_s = 0.0


def _own_stiffness(model: ServoModel) -> float:
    return model.tick_torque_n_m(model.default_gain) / model.tick_deg
