"""Gravity compensation: the torque that holds a leg still is MuJoCo's own, and it is added in the motors' units."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.bout.run import prepare_bout
from nuc_engine.control.tasks.board import Board
from nuc_engine.control.tasks.muscle_conversion import MuscleConversion
from nuc_engine.control.tasks.weight import Weight, holding_torques
from nuc_engine.model.plan import LinkPlan, PlanError
from nuc_engine.model.store import Store
from nuc_engine.plants.gravity import compensated, read_plant, with_gravity
from nuc_engine.plants.mjcf import coordinates, leg_xml
from nuc_engine.plants.spec import PlantSpecError, load_spec

CONFIGS = ("lin_roach", "lin_stickmiddle")
PLANS = {config: prepare_bout(config, None).plan for config in CONFIGS}
SPECS = {config: load_spec(Path("configs") / config / "plant.toml") for config in CONFIGS}
MODELS = {config: mujoco.MjModel.from_xml_string(leg_xml(PLANS[config], SPECS[config])) for config in CONFIGS}

ANGLES = st.lists(st.floats(-180, 180), min_size=4, max_size=4)


@pytest.mark.parametrize("config", CONFIGS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(angles=ANGLES)
def test_the_torque_that_holds_a_leg_still_is_the_physics_engines(config, angles):
    plan, model = PLANS[config], MODELS[config]
    angles = angles[: len(plan.joints)]
    gravity = with_gravity(plan, SPECS[config], 1.0).gravity
    assert gravity is not None
    data = mujoco.MjData(model)
    # Where a link of the plant gives way, gravity compensation knows the stiff leg: its hinge stands at 0.
    places = coordinates(plan, SPECS[config])
    data.qpos[places] = np.radians(angles)
    mujoco.mj_forward(model, data)
    assert holding_torques(gravity.links, angles) == pytest.approx(data.qfrc_bias[places], abs=1e-9)


def height_of_mass(links, angles_deg):
    """Return the sum of mass times height, kg m: frames and turns about z as matrices."""
    place, total = np.eye(4), 0.0
    for link, angle in zip(links, angles_deg, strict=True):
        turn = np.eye(4)
        sine, cosine = np.sin(np.radians(angle)), np.cos(np.radians(angle))
        turn[:2, :2] = [[cosine, -sine], [sine, cosine]]
        place = place @ np.vstack([np.reshape(link.frame, (3, 4)), [0, 0, 0, 1]]) @ turn
        total += link.mass_kg * (place @ [*link.centre_m, 1.0])[2]
    return total


def test_of_any_chain_it_is_the_slope_of_the_potential_energy():
    rng = np.random.default_rng(9)
    for count in (1, 2, 3, 5):
        for _ in range(20):
            links = []
            for joint in range(count):
                rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
                rotation *= np.sign(np.linalg.det(rotation))
                frame = np.hstack([rotation, rng.normal(size=(3, 1))])
                links.append(LinkPlan(tuple(frame.ravel()), rng.random(), tuple(rng.normal(size=3)), joint, -1, 1.0))
            angles = rng.uniform(-180, 180, count)
            slopes = []
            for step in np.eye(count) * 1e-3:
                rise = height_of_mass(links, angles + step) - height_of_mass(links, angles - step)
                slopes.append(9.81 * rise / np.radians(2e-3))
            assert holding_torques(links, list(angles)) == pytest.approx(slopes, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("config", CONFIGS)
def test_weight_is_not_nothing(config):
    gravity = with_gravity(PLANS[config], SPECS[config], 1.0).gravity
    assert gravity is not None
    assert max(map(abs, holding_torques(gravity.links, [90.0] * len(gravity.links)))) > 0.01


def deltas(plan, share, angles):
    plan = with_gravity(plan, SPECS["lin_roach"], share) if share else plan
    store = Store(plan)
    for write in plan.initial:
        store.write(write.hdso, write.values)
    for motor, angle in zip(plan.motors, angles, strict=True):
        store.write(motor.angle, (angle,))
        store.write(motor.current, (0.0,))
    board = Board(plan, lambda *_: None)
    MuscleConversion(plan, store, board).run(0)
    return np.array(board.deltas)


def test_the_share_is_added_to_muscles_in_ticks_where_a_tick_is_the_unit():
    plan, angles = PLANS["lin_roach"], (20.0, 2.3, 60.0, 80.0)
    spec = SPECS["lin_roach"]
    gravity = with_gravity(plan, spec, 1.0).gravity
    assert gravity is not None
    added = deltas(plan, 0.5, angles) - deltas(plan, 0.0, angles)
    torques = holding_torques(gravity.links, angles)
    for motor, ticks in zip(plan.motors, added, strict=True):
        muscles = plan.joints[motor.joint].muscles
        unit = spec.motors[motor.model].stall_torque_n_m / spec.servo.saturation_ticks
        expected = 0.5 * torques[motor.joint] / unit if muscles else 0.0
        assert ticks == pytest.approx(expected, abs=1e-6)
    assert np.count_nonzero(added) == 3


@pytest.mark.parametrize(("direction", "slope", "sign"), [(1, 1, 1), (-1, -1, 1), (-1, 1, -1), (1, -1, -1)])
def test_weight_is_carried_where_deltas_and_angles_turn_in_opposite_ways_too(direction, slope, sign):
    plan, angles = PLANS["lin_roach"], (20.0, 2.3, 60.0, 80.0)
    as_it_is = deltas(plan, 1.0, angles) - deltas(plan, 0.0, angles)
    motors = [*plan.motors]
    motors[2] = replace(motors[2], dir=direction, cal2=slope * abs(motors[2].cal2))
    turned = replace(plan, motors=tuple(motors))
    added = deltas(turned, 1.0, angles) - deltas(turned, 0.0, angles)
    assert abs(as_it_is[2]) > 0.1
    assert added == pytest.approx(as_it_is * [1, 1, sign, 1], abs=1e-6)


def test_where_a_unit_is_a_torque_it_is_that_torque():
    plan = PLANS["lin_roach"]
    motors = tuple(replace(motor, delta_torque_n_m=1.0) for motor in plan.motors)
    in_newton_metres, angles = replace(plan, motors=motors), (20.0, 2.3, 60.0, 80.0)
    gravity = with_gravity(plan, SPECS["lin_roach"], 1.0).gravity
    assert gravity is not None
    added = deltas(in_newton_metres, 1.0, angles) - deltas(in_newton_metres, 0.0, angles)
    assert added[2] == pytest.approx(holding_torques(gravity.links, angles)[2], abs=1e-6)


def test_an_angle_that_is_no_number_makes_the_delta_none():
    added = deltas(PLANS["lin_roach"], 1.0, (math.nan, 2.3, 60.0, 80.0))
    assert math.isnan(added[3])


def test_none_of_it_changes_nothing():
    plan = PLANS["lin_roach"]
    assert compensated(plan, Path("nowhere"), 0.0) is plan


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan])
def test_a_share_is_from_none_to_all(share):
    with pytest.raises(PlanError, match="from 0 to 1"):
        with_gravity(PLANS["lin_roach"], SPECS["lin_roach"], share)


def test_without_masses_there_is_no_compensation():
    with pytest.raises(PlanError, match=r"needs the masses in plant\.toml"):
        compensated(PLANS["lin_roach"], Path("nowhere") / "plant.toml", 0.5)


def test_of_a_motor_nobody_knows_no_weight_is_worked_out():
    plan = PLANS["lin_roach"]
    for family in ("aimotor", "nobody"):
        motors = tuple(replace(motor, model="X-1", family=family) for motor in plan.motors)
        with pytest.raises(PlantSpecError, match=r"motor\.X-1: missing"):
            with_gravity(replace(plan, motors=motors), SPECS["lin_roach"], 0.5)


def test_the_weight_is_added_to_what_muscles_say():
    plan, angles = PLANS["lin_roach"], (20.0, 2.3, 60.0, 80.0)
    plan = with_gravity(plan, SPECS["lin_roach"], 1.0)
    assert plan.gravity is not None
    store = Store(plan)
    for motor, angle in zip(plan.motors, angles, strict=True):
        store.write(motor.angle, (angle,))
    weight, from_nothing, from_muscles = Weight(plan.gravity, store), [0.0] * 4, [10.0, 20.0, -30.0, -40.0]
    weight.add(from_nothing)
    weight.add(from_muscles)
    assert max(map(abs, from_nothing)) > 0.1
    assert np.array(from_muscles) - from_nothing == pytest.approx([10.0, 20.0, -30.0, -40.0])


def test_a_plant_that_is_none_is_refused():
    for data in (b"[world", b"\xff", b""):
        with pytest.raises(PlantSpecError, match=r"plant\.toml"):
            read_plant(data, "plant.toml")


def test_heavier_legs_need_more():
    plan, path = PLANS["lin_roach"], Path("configs") / "lin_roach" / "plant.toml"
    light = compensated(plan, path, 1.0).gravity
    heavy = compensated(plan, path, 1.0, {"world.foot_mass_g": 100.0}).gravity
    assert light is not None
    assert heavy is not None
    angles = [20.0, 2.3, 60.0, 80.0]
    assert abs(holding_torques(heavy.links, angles)[2]) > abs(holding_torques(light.links, angles)[2])
