"""A MuJoCo model (MJCF) of a leg, from a plan's geometry and a plant description.

The world's frame is the one the first joint's A-matrix is given in, in metres: x forward, y left, z up. Each joint
is a hinge about z of its own Denavit-Hartenberg frame; the segment behind it is a rod to the next joint. Only the
foot touches anything, and only the ground.
"""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from nuc_engine.model.kinematics import dh_transform
from nuc_engine.model.plan import JointPlan, MotorPlan, Plan
from nuc_engine.plants.fit import overridden
from nuc_engine.plants.kinds import find_kind
from nuc_engine.plants.shaft import ShaftConversion
from nuc_engine.plants.spec import FlexSpec, MotorSpec, PlantSpec, PlantSpecError

Frame = NDArray[np.float64]

GROUND = "ground"
FOOT = "foot"
HAND = "hand"

_CM = 0.01
_ROD_RADIUS_M = 0.004
_MOTOR_RADIUS_M = 0.018
_STUB_G, _STUB_RADIUS_M = 5.0, 0.01
"""What stays on a motor when the leg is taken off: its horn. Assumed."""


def leg_xml(plan: Plan, spec: PlantSpec, held: int | None = None) -> str:
    """Return the MJCF of the leg; the joints, motors and actuators have the plan's names. Raises PlantSpecError.

    With `held`, the leg is taken apart below the motor of the joint of this index: that joint turns a stub, and what
    was behind it is a body of its own, `HAND`, that is held wherever it is put. Joints, motors and actuators are the
    same, in the same order.
    """
    plan = overridden(plan, spec)
    root = ElementTree.Element("mujoco", model=plan.name)
    ElementTree.SubElement(root, "compiler", angle="radian", autolimits="true", discardvisual="true")
    _options(root, spec)
    world = ElementTree.SubElement(root, "worldbody")
    frame = _base_frame(plan)
    ground = float(frame[2, 3]) * _CM - spec.world.base_height_cm * _CM
    ElementTree.SubElement(
        world, "geom", name=GROUND, type="plane", size="1 1 1", pos=_row((0, 0, ground)), contype="0", conaffinity="0"
    )
    body, tip = world, np.zeros(3)
    for joint in plan.joints:
        body = _hinge(body, frame, joint, plan.motors[joint.motor], spec)
        if joint.index == held:
            _mass(body, "sphere", _STUB_G, size=_number(_STUB_RADIUS_M))
            body = ElementTree.SubElement(world, "body", name=HAND, mocap="true")
        tip = _tip_m(joint)
        _link(body, joint, spec, tip)
        frame = _next_frame(plan, joint)
        if (flex := spec.joints[joint.name].flex) is not None:
            body, tip = _flex(body, joint, flex, tip), np.zeros(3)
            frame[:3, 3] = 0.0
        _far_end(body, joint, spec, tip)
    _foot(body, tip, spec)
    _contact(root, spec)
    _actuators(root, plan, spec)
    return ElementTree.tostring(root, encoding="unicode")


def _options(root: ElementTree.Element, spec: PlantSpec) -> None:
    option = ElementTree.SubElement(
        root,
        "option",
        timestep=_number(spec.world.timestep_us * 1e-6),
        integrator="implicitfast",
        solver=spec.world.solver,
        iterations="4",
        ls_iterations="8",
    )
    # A divergence must stay visible in the state, not be wiped out by a silent reset.
    ElementTree.SubElement(option, "flag", autoreset="disable", sensor="disable", energy="disable")


def _base_frame(plan: Plan) -> Frame:
    """Return the frame the first joint turns in (cm)."""
    first = plan.joints[0].amatrix
    return np.eye(4) if first is None else np.array(first, dtype=np.float64).reshape(4, 4)


def _next_frame(plan: Plan, joint: JointPlan) -> Frame:
    """Return the next joint's frame in this joint's body, at angle 0 (cm)."""
    frame = dh_transform(joint.dh_line or (0.0, 0.0, 0.0, 0.0), 0.0)
    if joint.index + 1 < len(plan.joints):
        following = plan.joints[joint.index + 1].amatrix
        if following is not None:
            frame = frame @ np.array(following, dtype=np.float64).reshape(4, 4)
    return frame


def _hinge(
    parent: ElementTree.Element, frame: Frame, joint: JointPlan, motor: MotorPlan, spec: PlantSpec
) -> ElementTree.Element:
    """Append one joint; return the body behind it."""
    kind, servo = kind_of(motor, spec), spec.servo
    body = ElementTree.SubElement(
        parent, "body", name=joint.name, pos=_row(frame[:3, 3] * _CM), quat=_row(quaternion(frame[:3, :3]))
    )
    low, high = _range(joint, motor, spec)
    ElementTree.SubElement(
        body,
        "joint",
        name=joint.name,
        axis="0 0 1",
        range=_row((low, high)),
        solreflimit=_row((spec.world.stop_soft_s, 1.0)),
        damping=_number(braking_n_m_s(kind, spec)),
        frictionloss=_number(servo.frictionloss_n_m),
        armature=_number(servo.armature_kg_m2),
    )
    return body


def _range(joint: JointPlan, motor: MotorPlan, spec: PlantSpec) -> tuple[float, float]:
    """Return how far a joint can turn (rad): as its segments let it, and never off the servo's scale."""
    low, high = ShaftConversion.of_motor(motor).joint_range(motor)
    stop = spec.joints[joint.name].stop_deg
    if stop is None:
        return low, high
    return max(low, math.radians(stop[0])), min(high, math.radians(stop[1]))


def _tip_m(joint: JointPlan) -> Frame:
    """Return where a joint's link ends, in the joint's own frame (m)."""
    return dh_transform(joint.dh_line or (0.0, 0.0, 0.0, 0.0), 0.0)[:3, 3] * _CM


def _link(body: ElementTree.Element, joint: JointPlan, spec: PlantSpec, tip: Frame) -> None:
    """Append a joint's link, as far as the next one."""
    mass = spec.joints[joint.name].link_mass_g
    _mass(body, "capsule", mass, fromto=_row((0.0, 0.0, 0.0, *tip)), size=_number(_ROD_RADIUS_M))


def _far_end(body: ElementTree.Element, joint: JointPlan, spec: PlantSpec, tip: Frame) -> None:
    """Append what sits at the link's far end: the next joint's motor."""
    if (mass := spec.joints[joint.name].tip_mass_g) > 0.0:
        _mass(body, "sphere", mass, pos=_row(tip), size=_number(_MOTOR_RADIUS_M))


def _flex(body: ElementTree.Element, joint: JointPlan, flex: FlexSpec, tip: Frame) -> ElementTree.Element:
    """Append the hinge by which a link gives way, about its own x; return the body behind it."""
    behind = ElementTree.SubElement(body, "body", name=f"{joint.name} flex", pos=_row(tip))
    ElementTree.SubElement(
        behind,
        "joint",
        name=f"{joint.name} flex",
        axis="1 0 0",
        stiffness=_number(flex.stiffness_n_m_rad),
        springref=_number(math.radians(flex.rest_deg)),
        damping=_number(flex.damping_n_m_s_rad),
    )
    return behind


def coordinates(plan: Plan, spec: PlantSpec) -> list[int]:
    """Return at which place of the model's coordinates each joint of the plan stands; links that give way have one."""
    places: list[int] = []
    for joint in plan.joints:
        flexes = sum(spec.joints[before.name].flex is not None for before in plan.joints[: joint.index])
        places.append(joint.index + flexes)
    return places


def flex_angles(plan: Plan, spec: PlantSpec) -> dict[int, float]:
    """Return the angle (rad) without any moment of each link that gives way, by its place among the coordinates."""
    places = coordinates(plan, spec)
    flexes = ((joint, spec.joints[joint.name].flex) for joint in plan.joints)
    return {places[joint.index] + 1: math.radians(flex.rest_deg) for joint, flex in flexes if flex is not None}


def _mass(body: ElementTree.Element, shape: str, mass_g: float, **where: str) -> None:
    """Append a shape that weighs but touches nothing; the compiler turns it into inertia and drops it."""
    ElementTree.SubElement(
        body, "geom", type=shape, mass=_number(mass_g * 1e-3), contype="0", conaffinity="0", attrib=where
    )


def _foot(body: ElementTree.Element, tip: Frame, spec: PlantSpec) -> None:
    _mass(
        body,
        "sphere",
        spec.world.foot_mass_g,
        name=FOOT,
        pos=_row(tip),
        size=_number(spec.world.foot_radius_mm * 1e-3),
    )


def _contact(root: ElementTree.Element, spec: PlantSpec) -> None:
    contact = ElementTree.SubElement(root, "contact")
    slide = spec.world.friction
    ElementTree.SubElement(
        contact,
        "pair",
        geom1=GROUND,
        geom2=FOOT,
        condim="3",
        friction=_row((slide, slide, 0, 0, 0)),
        solref=_row((spec.world.contact_soft_s, 1.0)),
    )


def _actuators(root: ElementTree.Element, plan: Plan, spec: PlantSpec) -> None:
    """Append the servos in the plan's motor order, at the strongest level; they hold the start pose."""
    actuators = ElementTree.SubElement(root, "actuator")
    for motor in plan.motors:
        kind = kind_of(motor, spec)
        gain = servo_gain(kind, spec)
        cap = spec.servo.torque_cap_by_level[0] * kind.stall_torque_n_m
        ElementTree.SubElement(
            actuators,
            "general",
            name=motor.name,
            joint=plan.joints[motor.joint].name,
            gainprm=_row((gain, 0, 0)),
            biastype="affine",
            biasprm=_row((0, -gain, 0)),
            forcerange=_row((-cap, cap)),
        )


def kind_of(motor: MotorPlan, spec: PlantSpec) -> MotorSpec:
    """Return what kind of motor turns a joint. Raises PlantSpecError for a model that nobody describes."""
    kind = find_kind(motor, spec.motors)
    if kind is None:
        raise PlantSpecError((f"{spec.source}: motor.{motor.model}: missing; expected, since {motor.name} is one",))
    return kind


def braking_n_m_s(kind: MotorSpec, spec: PlantSpec) -> float:
    """Return the torque that a motor's own voltage costs, per rad/s: stall torque over no-load speed, scaled."""
    return spec.servo.damping_scale * kind.stall_torque_n_m / kind.omega0_rad_s


def servo_gain(kind: MotorSpec, spec: PlantSpec) -> float:
    """Return the position loop's stiffness in N m/rad: the stall torque over the error that saturates the servo."""
    return kind.stall_torque_n_m / math.radians(spec.servo.saturation_ticks * spec.servo.tick_deg)


def quaternion(rotation: Frame) -> tuple[float, float, float, float]:
    """Return (w, x, y, z) of a 3 x 3 rotation matrix, by its largest component so that nothing cancels."""
    r = rotation
    four = (
        1.0 + r[0, 0] + r[1, 1] + r[2, 2],
        1.0 + r[0, 0] - r[1, 1] - r[2, 2],
        1.0 - r[0, 0] + r[1, 1] - r[2, 2],
        1.0 - r[0, 0] - r[1, 1] + r[2, 2],
    )
    rows = (
        (four[0], r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]),
        (r[2, 1] - r[1, 2], four[1], r[1, 0] + r[0, 1], r[0, 2] + r[2, 0]),
        (r[0, 2] - r[2, 0], r[1, 0] + r[0, 1], four[2], r[2, 1] + r[1, 2]),
        (r[1, 0] - r[0, 1], r[0, 2] + r[2, 0], r[2, 1] + r[1, 2], four[3]),
    )
    row = rows[max(range(4), key=lambda k: float(four[k]))]
    length = math.sqrt(sum(float(q) ** 2 for q in row))
    w, x, y, z = (float(q) / length for q in row)
    return w, x, y, z


def _number(value: float) -> str:
    return repr(float(value))


def _row(values: tuple[float, ...] | Frame) -> str:
    return " ".join(_number(value) for value in values)
