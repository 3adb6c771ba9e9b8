"""In which direction an action drives its joint: what tells which sensory event an action leads to (section 9.5.1.3).

From the configuration alone. A muscle's pull is that of equations 6-5 and 6-6 at rest; a joint's servo is driven when
the sum of its muscles rounds to at least one tick (equation 6-2). Muscles that weaken as they shorten pull one way at
one angle and the other way at another, so the directions of a joint's actions are compared where they differ most
evenly: between their resting positions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from nuc_engine.control.functions import bind_activation, bind_function
from nuc_engine.control.tasks.drive_scale import scale_of
from nuc_engine.model.plan import JointPlan, Plan, Slot
from nuc_engine.model.rulecheck import free_ranges
from nuc_engine.model.store import Store
from nuc_engine.model.values import Values

_ANGLES = 65
"""How many angles over the servo's scale are looked at."""


@dataclass(frozen=True, slots=True)
class DriveSigns:
    """What an action does to its joint: -1, 0 or 1 for a smaller, unchanged or larger angle, and for the load signal.

    The load signal has the sign of the raw servo delta (equation 6-4), so that it tells which way the servo pushes.
    """

    angle: int
    load: int


def drives(plan: Plan, values: tuple[Values | None, ...]) -> Mapping[int, DriveSigns]:
    """Return what each action drives, by state index; joints that no muscle moves are driven by none (0, 0)."""
    store = Store(plan)
    for index, held in enumerate(values):
        if held is not None:
            store.write(index, held)
    found: dict[int, DriveSigns] = {}
    for joint in plan.joints:
        found |= _joint_drives(plan, store, joint)
    return found


def _joint_drives(plan: Plan, store: Store, joint: JointPlan) -> dict[int, DriveSigns]:
    if joint.control_mode != "muscle" or joint.motor < 0 or not joint.states:
        return {state: DriveSigns(0, 0) for state in joint.states}
    motor = plan.motors[joint.motor]
    low, high = free_ranges(plan)[motor.angle]
    angles = [low + (high - low) * k / (_ANGLES - 1) for k in range(_ANGLES)]
    pulls = [{state: _mean_ticks(plan, store, joint, state, angle) for state in joint.states} for angle in angles]
    middle = (_ANGLES - 1) / 2
    best = min(range(_ANGLES), key=lambda k: (abs(max(pulls[k].values()) + min(pulls[k].values())), abs(k - middle)))
    raw = {state: motor.dir * _sign(pull) for state, pull in pulls[best].items()}
    return {state: DriveSigns(sign * _sign(motor.cal2), sign) for state, sign in raw.items()}


def _mean_ticks(plan: Plan, store: Store, joint: JointPlan, state: int, angle_deg: float) -> float:
    """Return the servo delta of an action at an angle, averaged over what else its activations depend on."""
    motor = plan.motors[joint.motor]
    windows = _windows(plan, store, state, motor.angle)
    scale = scale_of(motor)
    ticks: list[int] = []
    for point in product(*windows.values()):
        for slot, value in zip(windows, point, strict=True):
            _put(store, slot, value)
        _put(store, Slot(motor.angle), angle_deg)
        try:
            delta = _delta(plan, store, state, angle_deg)
            ticks.append(round(delta if scale is None else scale.ticks(delta)))
        except (ArithmeticError, ValueError):
            continue  # No number here: no drive either, as in the engine.
    return sum(ticks) / len(ticks) if ticks else 0.0


def _windows(plan: Plan, store: Store, state: int, own_angle: int) -> dict[Slot, tuple[float, float, float]]:
    """Return begin, middle and end of the window of every sensor the action's activations depend on."""
    found: dict[Slot, tuple[float, float, float]] = {}
    for activation in plan.states[state].activations:
        for k, sensor in enumerate(activation.sensors):
            if sensor.hdso != own_angle:
                low, high = (_get(store, slot) for slot in activation.parameters[5 * k + 3 : 5 * k + 5])
                found[sensor] = (low, (low + high) / 2, high)
    return found


def _delta(plan: Plan, store: Store, state: int, angle_deg: float) -> float:
    total = 0.0
    for activation in plan.states[state].activations:
        muscle = plan.muscles[activation.muscle]
        relative = (math.radians(muscle.alpha_deg - angle_deg) * muscle.r + muscle.l0) / muscle.l0
        scale = bind_function(muscle.force_length, store)(relative) * bind_function(muscle.force_velocity, store)(0.0)
        force = bind_function(muscle.passive_stiffness, store)(relative)
        total += muscle.r * (force + bind_activation(activation, store)() * scale * muscle.fmax)
    return total


def _put(store: Store, slot: Slot, value: float) -> None:
    view, at = store.locate(slot)
    view[at] = value


def _get(store: Store, slot: Slot) -> float:
    view, at = store.locate(slot)
    return float(view[at])


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
