"""Where a model's joints and foot are for given joint angles, as `nuc show --angles` tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nuc_engine.model.kinematics import joint_origins
from nuc_engine.model.plan import JointPlan, Plan
from nuc_engine.model.values import initial_values

Point = tuple[float, float, float]


class PoseError(ValueError):
    """Angles that do not make a pose; the message says what was expected."""


@dataclass(frozen=True, slots=True)
class JointPose:
    """One joint: its angle, the raw servo position that is (None: no motor), and where it is (cm)."""

    name: str
    angle_deg: float
    raw: float | None
    reachable: bool
    position_cm: Point


@dataclass(frozen=True, slots=True)
class Pose:
    """A whole model: its joints in document order, and the end of every chain (the foot), in cm.

    Frame: origin of the joint list's first A-matrix; x forward, y left, z up. `assumed` names the joints whose angle
    was not given.
    """

    joints: tuple[JointPose, ...]
    ends: Mapping[str, Point]
    assumed: tuple[str, ...]


def parse_angles(text: str, plan: Plan) -> dict[str, float]:
    """Return joint name -> degrees from `20,2.3,90,90` (one per joint, in order) or `NAME=20,NAME=90`.

    With names, joints that are held at a position may be left out. Raises PoseError.
    """
    names = [joint.name for joint in plan.joints]
    parts = [part.strip() for part in text.split(",")]
    if any("=" in part for part in parts):
        given: dict[str, float] = {}
        for part in parts:
            name, _, number = (item.strip() for item in part.partition("="))
            if name not in names:
                raise PoseError(f"no joint {name!r}; joints are {', '.join(names)}")
            if name in given:
                raise PoseError(f"{name} is given twice")
            given[name] = _degrees(number)
        return given
    if len(parts) != len(names):
        raise PoseError(f"{len(parts)} angles; expected {len(names)}, one for each of {', '.join(names)}")
    return {name: _degrees(part) for name, part in zip(names, parts, strict=True)}


def pose(plan: Plan, angles_deg: Mapping[str, float]) -> Pose:
    """Return where everything is. A joint without an angle stands where its servo is told to hold it.

    Raises PoseError when a joint's angle is neither given nor known from a position command.
    """
    complete = dict(angles_deg)
    assumed: list[str] = []
    for joint in plan.joints:
        if joint.name not in complete:
            complete[joint.name] = _held_angle(plan, joint)
            assumed.append(joint.name)
    angles = [complete[joint.name] for joint in plan.joints]
    positions: dict[int, Point] = {}
    ends: dict[str, Point] = {}
    for chain in _chains(plan):
        points = joint_origins(
            [None if j.amatrix is None else np.array(j.amatrix).reshape(4, 4) for j in chain],
            [j.dh_line for j in chain],
            [angles[j.index] for j in chain],
        )
        for joint, point in zip(chain, points, strict=False):
            positions[joint.index] = _point(point)
        ends[chain[-1].name] = _point(points[-1])
    joints = tuple(_joint_pose(plan, joint, angles[joint.index], positions[joint.index]) for joint in plan.joints)
    return Pose(joints, ends, tuple(assumed))


def _joint_pose(plan: Plan, joint: JointPlan, angle_deg: float, position: Point) -> JointPose:
    if joint.motor < 0:
        return JointPose(joint.name, angle_deg, None, True, position)
    motor = plan.motors[joint.motor]
    raw = motor.cal1 + motor.cal2 * angle_deg
    low, high = motor.goals
    return JointPose(joint.name, angle_deg, raw, low <= raw <= high, position)


def _held_angle(plan: Plan, joint: JointPlan) -> float:
    if joint.control_mode == "position" and joint.motor >= 0:
        motor = plan.motors[joint.motor]
        held = initial_values(plan)[motor.position_command] if motor.position_command >= 0 else None
        if held:
            return (held[0] - motor.cal1) / motor.cal2
    raise PoseError(f"the angle of {joint.name} is missing; only joints held at a position may be left out")


def _chains(plan: Plan) -> list[list[JointPlan]]:
    """Return every chain from the body to an end."""
    parents = {joint.parent for joint in plan.joints}
    chains: list[list[JointPlan]] = []
    for last in (joint for joint in plan.joints if joint.index not in parents):
        chain = [last]
        while chain[-1].parent >= 0:
            chain.append(plan.joints[chain[-1].parent])
        chains.append(chain[::-1])
    return chains


def _degrees(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not -3600 <= value <= 3600:
        raise PoseError(f"{text!r} is no angle; expected degrees, such as 90 or 2.5")
    return value


def _point(point: Sequence[float]) -> Point:
    return float(point[0]), float(point[1]), float(point[2])
