"""The loopback servo against numbers worked by hand."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.factory import find_family
from nuc_engine.plants.loopback import LoopbackPlant
from tests.plants.leg_plans import ROACH

MS = 1_000_000
MIDDLE = 127 * 0.654
Deed = tuple[str, float, int]


def test_shafts_start_at_rest_in_the_middle_of_the_scale() -> None:
    plant = LoopbackPlant(ROACH)
    plant.advance(500 * MS)
    assert [plant.sample(servo) for servo in range(4)] == [pytest.approx((MIDDLE, 0.0))] * 4


def test_the_step_response_is_the_critically_damped_one() -> None:
    plant = LoopbackPlant(ROACH)
    plant.command(2, MIDDLE + 10.0, 0)
    plant.advance(20 * MS)
    # w = 50/s, t = 0.02 s: w t = 1, so the error is 10 (1 + 1) exp(-1)
    assert plant.sample(2)[0] == pytest.approx(MIDDLE + 10.0 - 7.357588823428847)
    plant.advance(100 * MS)
    # w t = 5: 10 (1 + 5) exp(-5)
    assert plant.sample(2)[0] == pytest.approx(MIDDLE + 10.0 - 0.404276819945128)
    assert plant.sample(1)[0] == pytest.approx(MIDDLE)


def test_a_weaker_level_is_slower() -> None:
    plant = LoopbackPlant(ROACH)
    plant.command(0, MIDDLE + 10.0, 4)
    plant.advance(100 * MS)
    # w = 10/s, t = 0.1 s: the same error as level 0 after 20 ms
    assert plant.sample(0)[0] == pytest.approx(MIDDLE + 10.0 - 7.357588823428847)


def test_speed_carries_over_when_the_goal_changes() -> None:
    plant = LoopbackPlant(ROACH)
    plant.command(0, MIDDLE + 10.0, 0)
    plant.advance(20 * MS)
    plant.command(0, MIDDLE, 0)
    plant.advance(21 * MS)
    # e0 = 2.642411177, v0 = 10 w^2 t exp(-w t) = 183.939720586; e(1 ms) = (e0 + (v0 + w e0) t) exp(-0.05)
    error = (2.642411176571153 + (183.93972058572117 + 50.0 * 2.642411176571153) * 0.001) * math.exp(-0.05)
    assert plant.sample(0)[0] == pytest.approx(MIDDLE + error)


def test_a_released_shaft_coasts_to_a_stop() -> None:
    plant = LoopbackPlant(ROACH)
    plant.command(0, MIDDLE + 10.0, 0)
    plant.advance(20 * MS)
    plant.release(0)
    plant.advance(2000 * MS)
    # it coasts v0/20 = 9.197 degrees from where it was let go
    assert plant.sample(0) == pytest.approx((MIDDLE + 2.642411176571153 + 183.93972058572117 / 20.0, 0.0))


def test_current_follows_the_error_up_to_stall() -> None:
    plant = LoopbackPlant(ROACH)
    plant.command(0, MIDDLE - 20.0, 0)
    assert plant.sample(0)[1] == pytest.approx(0.2)
    plant.command(0, MIDDLE + 150.0, 0)
    assert plant.sample(0)[1] == 1.0


def test_only_whole_steps_count() -> None:
    plant = LoopbackPlant(ROACH)
    plant.command(0, 0.0, 0)
    plant.advance(MS - 1)
    assert plant.sample(0)[0] == pytest.approx(MIDDLE)
    plant.advance(MS)
    assert plant.sample(0)[0] < MIDDLE
    reached = plant.sample(0)
    plant.advance(0)
    plant.advance(MS)
    assert plant.sample(0) == reached


def test_a_goal_of_zero_is_a_goal() -> None:
    plant = LoopbackPlant(ROACH)
    plant.command(0, 0.0, 0)
    plant.advance(3000 * MS)
    assert plant.sample(0)[0] == pytest.approx(0.0, abs=1e-9)


def test_it_needs_no_physics_engine() -> None:
    code = (
        "import sys; sys.modules['mujoco'] = None\n"
        "from nuc_engine.plants import open_plant\n"
        "from tests.plants.leg_plans import ROACH\n"
        "assert open_plant(ROACH, None, 'loopback', 0).sample(0)[0] > 0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


MODELS = [(family, name) for family in ("aimotor", "dynamixel", "feetech") for name in find_family(family).models]


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(st.sampled_from(["command", "drive", "release"]), st.floats(-3600.0, 3600.0), st.integers(0, 4)),
        min_size=1,
        max_size=6,
    )
)
@pytest.mark.parametrize(("family", "name"), MODELS)
def test_no_servo_turns_faster_than_its_tables_no_load_speed(family: str, name: str, deeds: list[Deed]) -> None:
    model = find_family(family).models[name]
    motor = replace(ROACH.motors[0], family=family, model=name, tick_deg=model.tick_deg, positions=model.positions)
    plant = LoopbackPlant(replace(ROACH, motors=(motor,)))
    top_deg_s = math.degrees(model.no_load_rad_s)
    now = 0
    for what, goal, level in deeds:
        if what == "command":
            plant.command(0, goal, level)
        elif what == "drive":
            plant.drive(0, goal, model.tick_torque_n_m(model.default_gain) / model.tick_deg, model.stall_torque_n_m)
        else:
            plant.release(0)
        for _ in range(60):
            before = plant.sample(0)[0]
            now += MS
            plant.advance(now)
            assert abs(plant.sample(0)[0] - before) <= top_deg_s * 1e-3 * (1 + 1e-9)
            assert abs(plant.motion(0).speed_deg_s) <= top_deg_s * (1 + 1e-9)


def test_a_far_goal_is_reached_at_very_nearly_the_no_load_speed() -> None:
    plant = LoopbackPlant(ROACH)
    top_deg_s = math.degrees(find_family("aimotor").models[ROACH.motors[0].model].no_load_rad_s)
    plant.command(0, MIDDLE + 10 * top_deg_s, 0)
    plant.advance(5000 * MS)
    assert plant.motion(0).speed_deg_s == pytest.approx(top_deg_s, rel=0.01)
    plant.advance(12_000 * MS)
    assert plant.sample(0)[0] == pytest.approx(MIDDLE + 10 * top_deg_s)
