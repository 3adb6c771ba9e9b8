"""Regulated currents: the motor does not brake the joint it drives, and the supply bounds what it gives."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from drivers.factory import find_family
from nuc_engine.model.plan import Plan
from nuc_engine.plants.kinds import find_kind
from nuc_engine.plants.mujoco_leg import MujocoLeg
from nuc_engine.plants.servos import CurrentLoop
from nuc_engine.plants.spec import MotorSpec
from tests.plants.leg_plans import single
from tests.plants.specs import leg

MS = 1_000_000
TICK_DEG = 360 / 4096
HANGING = {"Joint": 90.0}
MODEL = find_family("dynamixel").models["XM430-W350"]


def on(plan: Plan, model: str) -> Plan:
    return replace(
        plan,
        motors=tuple(
            replace(
                motor, model=model, family="dynamixel", tick_deg=TICK_DEG, positions=(0, 4095), cal1=1024.0,
                cal2=1 / TICK_DEG,
            )
            for motor in plan.motors
        ),
    )  # fmt: skip


def pushed(model: str, n_m: float, ms: int = 60) -> tuple[MujocoLeg, float]:
    """Return a pendulum after a constant torque for a while, and its speed (rad/s)."""
    plant = leg(on(single(), model), start_deg=HANGING)
    plant.drive(0, 5000.0, 100.0, n_m)
    plant.advance(ms * MS)
    return plant, plant._qvel[0]


@pytest.mark.parametrize(("model", "regulated"), [("XM430-W350", True), ("XL330-M288", True), ("XL430-W250", False)])
def test_what_is_regulated_the_family_says_whoever_describes_the_motor(model, regulated):
    motor = on(single(), model).motors[0]
    assert find_kind(motor, {}).current_loop is regulated
    assert find_kind(motor, {model: MotorSpec(5.0, 1.0, 1.0)}).current_loop is regulated
    assert find_kind(motor, {model: MotorSpec(5.0, 1.0, 1.0)}).stall_torque_n_m == 1.0


def test_the_torque_there_can_be_shrinks_by_the_speed_along_and_grows_against():
    loop = CurrentLoop(joint=0, stall_n_m=4.0, no_load_rad_s=4.0, damping_n_m_s=0.3)
    assert loop.bounds(2.0, 0.0) == (-2.0, 2.0)
    assert loop.bounds(2.0, 3.0) == (-2.0, 1.0)
    assert loop.bounds(2.0, -3.0) == (-1.0, 2.0)
    # Turned faster than it can turn itself: it can but brake, with no more than its bound.
    assert loop.bounds(2.0, 5.0) == (-2.0, -1.0)
    assert loop.bounds(2.0, 9.0) == (-2.0, -2.0)


def test_a_driven_joint_is_not_braked_by_the_motor_and_one_with_its_voltage_is():
    _, free = pushed("XM430-W350", 0.2)
    _, braked = pushed("XL430-W250", 0.2)
    assert free > 1.2 * braked > 0.0


def test_released_it_is_as_hard_to_turn_as_before():
    plant, _ = pushed("XM430-W350", 0.2)
    damping = plant._model.dof_damping[0]
    plant.release(0)
    assert damping == 0.0
    spec = plant._spec.servo.damping_scale * MODEL.stall_torque_n_m / MODEL.no_load_rad_s
    assert plant._model.dof_damping[0] == pytest.approx(spec)
    plant.advance(200 * MS)
    plant.drive(0, 5000.0, 100.0, 0.2)
    assert plant._model.dof_damping[0] == 0.0


def test_the_speed_ends_where_the_voltage_does():
    plant = leg(on(single(), "XM430-W350"), start_deg=HANGING)
    plant.drive(0, 5000.0, 100.0, 4.1)
    fastest = 0.0
    for k in range(1, 200):
        plant.advance(k * MS)
        fastest = max(fastest, plant._qvel[0])
    assert 0.8 * MODEL.no_load_rad_s < fastest < 1.05 * MODEL.no_load_rad_s


def test_steps_do_not_depend_on_how_often_somebody_looks():
    often, rarely = (leg(on(single(), "XM430-W350"), start_deg=HANGING) for _ in range(2))
    for plant in (often, rarely):
        plant.drive(0, 5000.0, 100.0, 3.0)
    for k in range(1, 301):
        often.advance(k * MS)
    rarely.advance(300 * MS)
    assert often._qpos[0] == rarely._qpos[0]
    assert math.isfinite(rarely._qpos[0])


def test_the_current_is_that_of_the_torque_at_any_speed():
    plant, speed = pushed("XM430-W350", 0.5, ms=5)
    assert speed > 1.0
    assert plant.motion(0).current_a == pytest.approx(0.5 / MODEL.stall_torque_n_m * MODEL.stall_current_a, rel=0.05)


def test_it_is_still_regulated_when_the_leg_was_taken_apart_and_put_together():
    plant = leg(on(single(), "XM430-W350"), start_deg=HANGING)
    plant.drive(0, 5000.0, 100.0, 0.05)
    plant.advance(10 * MS)
    before = plant._model
    plant._go_on_with(plant._build(None))
    assert plant._model is not before
    assert plant._model.dof_damping[0] == 0.0
