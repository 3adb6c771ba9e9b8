"""The MuJoCo model is the leg of the configuration: same joints, same places, same turning senses."""

from __future__ import annotations

import math
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.factory import find_family
from nuc_engine.model.kinematics import joint_origins
from nuc_engine.model.plan import Plan
from nuc_engine.plants.fit import overridden
from nuc_engine.plants.mjcf import FOOT, GROUND, leg_xml, quaternion
from nuc_engine.plants.spec import PlantSpec, PlantSpecError, parse_spec
from tests.plants.leg_plans import ROACH, STICK
from tests.plants.specs import data, spec

ANGLES = st.floats(-180.0, 180.0)


def build(plan: Plan, description: PlantSpec | None = None) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_string(leg_xml(plan, description or spec(plan)))
    return model, mujoco.MjData(model)


MODELS = {plan.name: build(plan) for plan in (ROACH, STICK)}


def points_cm(plan: Plan, angles_deg: tuple[float, ...]) -> np.ndarray:
    """Return where MuJoCo puts the joints and the foot."""
    model, state = MODELS[plan.name]
    state.qpos[:] = np.radians(angles_deg)
    mujoco.mj_kinematics(model, state)
    foot = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, FOOT)
    return np.vstack([state.xanchor, state.geom_xpos[foot]]) * 100.0


def printed_cm(plan: Plan, angles_deg: tuple[float, ...]) -> np.ndarray:
    matrices = [None if j.amatrix is None else np.array(j.amatrix).reshape(4, 4) for j in plan.joints]
    return joint_origins(matrices, [j.dh_line for j in plan.joints], angles_deg)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(angles=st.tuples(ANGLES, ANGLES, ANGLES, ANGLES))
def test_roach_joints_and_foot_are_where_the_kinematics_puts_them(angles: tuple[float, ...]) -> None:
    np.testing.assert_allclose(points_cm(ROACH, angles), printed_cm(ROACH, angles), atol=1e-6)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(angles=st.tuples(ANGLES, ANGLES, ANGLES))
def test_stick_joints_and_foot_are_where_the_kinematics_puts_them(angles: tuple[float, ...]) -> None:
    np.testing.assert_allclose(points_cm(STICK, angles), printed_cm(STICK, angles), atol=1e-6)


def test_turning_senses_of_the_roach_leg() -> None:
    pose = np.array([20.0, 2.3, 90.0, 90.0])
    foot = points_cm(ROACH, tuple(pose))[-1]
    lower, levated, flexed = (points_cm(ROACH, tuple(pose + 5.0 * np.eye(4)[j]))[-1] for j in (0, 2, 3))
    assert lower[2] < foot[2], "ThC1+ lowers the foot"
    assert levated[0] > foot[0], "CTr+ moves it forward"
    assert flexed[1] < foot[1], "FTi+ flexes: the foot comes closer to the body"


def test_turning_senses_of_the_stick_leg() -> None:
    pose = np.array([0.0, 30.0, 90.0])
    foot = points_cm(STICK, tuple(pose))[-1]
    protracted, levated, flexed = (points_cm(STICK, tuple(pose + 5.0 * np.eye(3)[j]))[-1] for j in (0, 1, 2))
    assert protracted[0] > foot[0], "ThC+ protracts"
    assert levated[2] > foot[2], "CTr+ levates"
    assert flexed[1] > foot[1], "FTi+ flexes: a right leg's foot comes closer to the body"


def test_the_plant_may_override_geometry() -> None:
    described = data(ROACH)
    described["joint"]["Thorax-Coxa1"]["override"] = {"alpha_deg": -80.0, "reason": "loose"}
    described["joint"]["Femur-Tibia"]["override"] = {"a_cm": 7.0, "d_cm": 0.5, "reason": "shorter"}
    plan = overridden(ROACH, parse_spec(described, "x.toml"))
    assert plan.joints[0].dh_line == pytest.approx((1.0, 0.0, math.radians(-80.0), math.pi / 180))
    assert plan.joints[3].dh_line == pytest.approx((7.0, 0.5, 0.0, math.pi / 180))
    assert plan.joints[1:3] == ROACH.joints[1:3]


def test_an_amatrix_on_an_inner_joint_stands_before_its_rotation() -> None:
    matrix = (0.0, -1.0, 0.0, 2.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.5, 0.0, 0.0, 0.0, 1.0)
    inner = replace(STICK.joints[1], amatrix=matrix)
    plan = replace(STICK, name="bent", joints=(STICK.joints[0], inner, STICK.joints[2]))
    MODELS["bent"] = build(plan)
    angles = (11.0, -23.0, 47.0)
    np.testing.assert_allclose(points_cm(plan, angles), printed_cm(plan, angles), atol=1e-6)


def test_the_first_joint_stands_at_the_base_height_above_the_ground() -> None:
    for plan, height in ((ROACH, 10.5), (STICK, 0.0)):
        model, _ = MODELS[plan.name]
        ground = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, GROUND)
        assert model.geom_pos[ground, 2] * 100.0 == pytest.approx(height - 12.0)


def test_masses_are_the_ones_given_and_only_the_foot_touches_anything() -> None:
    model, _ = MODELS["lin_roach"]
    assert model.body_mass.tolist() == pytest.approx([0.0, 0.06, 0.06, 0.06, 0.064])
    assert model.ngeom == 2
    assert model.npair == 1
    assert not model.geom_contype.any()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["joint"].pop("Femur-Tibia"), "joint.Femur-Tibia: missing"),
        (lambda d: d["joint"].update(Knee=d["joint"]["Femur-Tibia"]), "joint.Knee: unknown"),
    ],
)
def test_a_description_has_to_fit_the_plan(change: object, said: str) -> None:
    described = data(ROACH)
    change(described)  # type: ignore[operator]
    with pytest.raises(PlantSpecError, match=said):
        leg_xml(ROACH, parse_spec(described, "x.toml"))


def test_a_motor_that_the_description_leaves_out_is_as_its_maker_says() -> None:
    described = data(ROACH)
    whole, _ = build(ROACH, parse_spec(described, "x.toml"))
    del described["motor"]["1001"]
    model, _ = build(ROACH, parse_spec(described, "x.toml"))
    maker = find_family("aimotor").models["1001"]
    assert model.dof_damping[0] == pytest.approx(0.3 * maker.stall_torque_n_m / maker.no_load_rad_s)
    assert model.actuator_forcerange[0].tolist() == pytest.approx([-maker.stall_torque_n_m, maker.stall_torque_n_m])
    assert model.dof_damping[1:].tolist() == whole.dof_damping[1:].tolist()


@pytest.mark.parametrize("family", ["aimotor", "hands"])
def test_a_motor_that_nobody_knows_is_refused(family: str) -> None:
    motors = (replace(ROACH.motors[0], model="999", family=family), *ROACH.motors[1:])
    with pytest.raises(PlantSpecError, match=f"motor.999: missing; .* {family} knows nothing"):
        leg_xml(replace(ROACH, motors=motors), spec(ROACH))


def test_a_leg_has_to_be_one_chain_of_driven_joints() -> None:
    first, second, third = STICK.joints
    broken = replace(STICK, joints=(first, replace(second, parent=-1, motor=-1), replace(third, dh_line=None)))
    with pytest.raises(PlantSpecError) as caught:
        leg_xml(broken, spec(STICK))
    assert len(caught.value.problems) == 3


@settings(max_examples=100, deadline=None, derandomize=True)
@given(axis=st.tuples(*[st.floats(-1.0, 1.0)] * 3), angle=st.floats(-math.pi, math.pi))
def test_quaternions_turn_as_their_matrices(axis: tuple[float, float, float], angle: float) -> None:
    length = math.sqrt(sum(a * a for a in axis))
    if length < 1e-3:
        return
    given_quat = np.array([math.cos(angle / 2), *(math.sin(angle / 2) * a / length for a in axis)])
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, given_quat)
    back = np.zeros(9)
    mujoco.mju_quat2Mat(back, np.array(quaternion(matrix.reshape(3, 3))))
    np.testing.assert_allclose(back, matrix, atol=1e-12)
