"""What carries a leg's own weight: the torque at each joint that holds its links still, from masses and geometry.

A robot leg is an order of magnitude larger than an insect's and relatively much heavier (section 9.2.2.4). Gravity
compensation adds a share of that torque to what muscles say, so that a leg whose muscles do nothing keeps its pose.
Masses and geometry are the plant's (plant.toml): a rod from each joint to the next, a point at its end, the foot. What
turns them into torques while the leg moves is `nuc_engine.control.tasks.weight`.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nuc_engine.model.kinematics import dh_transform
from nuc_engine.model.plan import GravityPlan, JointPlan, LinkPlan, MotorPlan, Plan, PlanError
from nuc_engine.plants.fit import overridden
from nuc_engine.plants.mjcf import kind_of
from nuc_engine.plants.spec import NO_OVERRIDES, PlantSpec, PlantSpecError, load_spec, parse_spec

_CM: Final = 0.01
_G: Final = 1e-3
_NO_LINE: Final = (0.0, 0.0, 0.0, 0.0)

Frame = NDArray[np.float64]


def compensated(plan: Plan, plant: Path, share: float, overrides: Mapping[str, float] = NO_OVERRIDES) -> Plan:
    """Return the plan with a share (0 to 1) of its leg's weight carried; 0 leaves it as it is.

    `plant` is the plant.toml, `overrides` what replaces numbers of it. Raises PlanError where there is no plant.toml,
    PlantSpecError for one that cannot be used.
    """
    if share == 0.0:
        return plan
    if not plant.exists():
        raise PlanError(f"{plan.name}: gravity compensation needs the masses in {plant.name}, which it does not have")
    return with_gravity(plan, load_spec(plant, overrides), share)


def read_plant(data: bytes, name: str) -> PlantSpec:
    """Return the description in the bytes of a plant.toml. Raises PlantSpecError with everything that is wrong."""
    try:
        table = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlantSpecError((f"{name}: {error}; expected TOML",)) from error
    return parse_spec(table, name)


def with_gravity(plan: Plan, spec: PlantSpec, share: float) -> Plan:
    """Return the plan with a share of its leg's weight carried.

    Raises PlantSpecError for a plant of another leg, PlanError for a share that is none.
    """
    if not 0.0 <= share <= 1.0:
        raise PlanError(f"gravity compensation {share:g}; expected a share from 0 to 1")
    built = overridden(plan, spec)
    links = tuple(_link(built, joint, spec) for joint in built.joints)
    return replace(plan, gravity=GravityPlan(share, links))


def _link(plan: Plan, joint: JointPlan, spec: PlantSpec) -> LinkPlan:
    part, last = spec.joints[joint.name], joint.index + 1 == len(plan.joints)
    tip = dh_transform(joint.dh_line or _NO_LINE, 0.0)[:3, 3] * _CM
    at_tip = part.tip_mass_g + (spec.world.foot_mass_g if last else 0.0)
    mass = part.link_mass_g + at_tip
    centre = tip * (part.link_mass_g / 2 + at_tip) / mass
    motor = plan.motors[joint.motor]
    return LinkPlan(
        frame=tuple(float(value) for value in _frame(plan, joint)[:3].ravel()),
        mass_kg=mass * _G,
        centre_m=(float(centre[0]), float(centre[1]), float(centre[2])),
        angle=motor.angle,
        motor=motor.index if joint.muscles else -1,
        unit_n_m=_unit_n_m(motor, spec),
    )


def _unit_n_m(motor: MotorPlan, spec: PlantSpec) -> float:
    """Return the torque of a unit of muscle output, towards rising angles: raw positions may fall with them."""
    return math.copysign(_amount_n_m(motor, spec), motor.dir * motor.cal2)


def _amount_n_m(motor: MotorPlan, spec: PlantSpec) -> float:
    if motor.delta_torque_n_m > 0.0:
        return motor.delta_torque_n_m
    # On an AI motor a unit is a tick, and the plant knows after how many the servo gives all it has.
    return kind_of(motor, spec).stall_torque_n_m / spec.servo.saturation_ticks


def _frame(plan: Plan, joint: JointPlan) -> Frame:
    """Return a joint's frame in that of the link before it at angle 0, in metres."""
    frame = np.eye(4)
    if joint.index:
        frame = dh_transform(plan.joints[joint.index - 1].dh_line or _NO_LINE, 0.0)
    if joint.amatrix is not None:
        frame = frame @ np.array(joint.amatrix, dtype=np.float64).reshape(4, 4)
    frame[:3, 3] *= _CM
    return frame
