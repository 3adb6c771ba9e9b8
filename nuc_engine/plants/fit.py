"""A plan with the geometry of a plant, as far as the two fit. Without numpy: documents are checked with it."""

from __future__ import annotations

import math
from dataclasses import replace

from nuc_engine.model.plan import JointPlan, Plan
from nuc_engine.plants.kinds import find_kind
from nuc_engine.plants.spec import JointSpec, PlantSpec, PlantSpecError


def overridden(plan: Plan, spec: PlantSpec) -> Plan:
    """Return the plan with the plant's geometry in place of the configuration's.

    Raises PlantSpecError when the plant does not fit the plan: a joint without a table or a table without a joint, a
    motor model that nobody describes, a joint without motor or geometry, or joints that are not one chain from the
    body outwards.
    """
    problems = [*_names_that_differ(plan, spec), *_joints_that_can_not_be_built(plan)]
    if problems:
        raise PlantSpecError(tuple(f"{spec.source}: {problem}" for problem in problems))
    joints = tuple(_overridden_joint(joint, spec.joints[joint.name]) for joint in plan.joints)
    return replace(plan, joints=joints)


def as_drawn(plan: Plan, spec: PlantSpec) -> Plan:
    """Return the plan with the plant's geometry for pictures: links that give way as they are without a moment.

    Nothing measures how far they have given way. Raises PlantSpecError as `overridden` does.
    """
    built = overridden(plan, spec)
    return replace(built, joints=tuple(_at_rest(joint, spec) for joint in built.joints))


def _at_rest(joint: JointPlan, spec: PlantSpec) -> JointPlan:
    flex, line = spec.joints[joint.name].flex, joint.dh_line
    if flex is None or line is None:
        return joint
    a, d, alpha, scale = line
    return replace(joint, dh_line=(a, d, alpha + math.radians(flex.rest_deg), scale))


def _names_that_differ(plan: Plan, spec: PlantSpec) -> list[str]:
    named = {joint.name for joint in plan.joints}
    strangers = {motor.model: motor.family for motor in plan.motors if find_kind(motor, spec.motors) is None}
    return [
        *(
            f"joint.{name}: missing; expected, since {plan.name} has this joint"
            for name in sorted(named - set(spec.joints))
        ),
        *(
            f"joint.{name}: unknown; expected one of {', '.join(sorted(named))}"
            for name in sorted(set(spec.joints) - named)
        ),
        *(
            f"motor.{model}: missing; expected, since {plan.name} has this model and {family} knows nothing of it"
            for model, family in sorted(strangers.items())
        ),
    ]


def _joints_that_can_not_be_built(plan: Plan) -> list[str]:
    problems: list[str] = []
    for position, joint in enumerate(plan.joints):
        if joint.parent != position - 1:
            problems.append(f"{joint.name}: its parent is not the joint before it; expected one chain of joints")
        if joint.motor < 0:
            problems.append(f"{joint.name}: has no motor; expected one")
        if joint.dh_line is None:
            problems.append(f"{joint.name}: has no Denavit-Hartenberg line; expected one")
    return problems


def _overridden_joint(joint: JointPlan, spec: JointSpec) -> JointPlan:
    over, line = spec.override, joint.dh_line
    if over is None or line is None:
        return joint
    a, d, alpha, scale = line
    return replace(
        joint,
        dh_line=(
            a if over.a_cm is None else over.a_cm,
            d if over.d_cm is None else over.d_cm,
            alpha if over.alpha_deg is None else math.radians(over.alpha_deg),
            scale,
        ),
    )
