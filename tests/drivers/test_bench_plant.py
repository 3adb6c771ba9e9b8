"""Servos on a bench: what their drive asks for, what speed costs, being held."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.bench.plant import FRICTION_N_M, BenchPlant
from drivers.servo import LEVEL_SHARE, ServoModel

MS = 1_000_000
MODEL = ServoModel(
    name="bench",
    family="none",
    number=-1,
    tick_deg=0.5,
    positions=(0, 400),
    load_unit="10 mA",
    load_range=(-400, 400),
    load_n_m=0.005,
    stall_torque_n_m=1.0,
    stall_current_a=2.0,
    no_load_rad_s=5.0,
    supply_v=9.0,
    default_gain=10,
    gain_unit=0.0025,
    gains=(1, 100),
    source="made up",
)
PER_DEG = 0.05


def test_a_shaft_begins_limp_in_the_middle_and_stays_there():
    plant = BenchPlant([MODEL, MODEL])
    plant.advance(1000 * MS)
    assert plant.sample(1) == (100.0, 0.0)
    assert plant.motion(0).torque_n_m == 0.0


def test_it_goes_where_it_is_driven_and_no_further_than_friction_lets_it():
    plant = BenchPlant([MODEL])
    plant.command(0, 120.0, 0)
    plant.advance(2000 * MS)
    assert plant.motion(0).angle_deg == pytest.approx(120.0, abs=1.001 * FRICTION_N_M / PER_DEG)
    assert plant.motion(0).speed_deg_s == pytest.approx(0.0, abs=1e-6)
    plant.release(0)
    plant.advance(3000 * MS)
    assert plant.motion(0).torque_n_m == 0.0


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.floats(-90.0, 90.0), st.integers(0, 4), st.floats(0.0, 5.0))
def test_held_it_gives_what_its_error_asks_for_up_to_its_level(error_deg, level, dead_deg):
    plant = BenchPlant([MODEL], dead_deg=dead_deg)
    plant.hold(0)
    plant.command(0, 100.0 + error_deg, level)
    plant.advance(50 * MS)
    angle, speed, torque, current = plant.motion(0)
    assert (angle, speed) == (100.0, 0.0)
    asked = max(abs(error_deg) - dead_deg, 0.0) * PER_DEG
    assert abs(torque) == pytest.approx(min(asked, LEVEL_SHARE[level]), abs=1e-9)
    assert torque * error_deg >= 0.0
    assert current == pytest.approx(2.0 * torque)


def test_turning_freely_it_reaches_the_speed_at_which_only_friction_is_left():
    plant = BenchPlant([MODEL])
    plant.drive(0, 1e6, PER_DEG, 0.5)
    plant.advance(40 * MS)
    motion = plant.motion(0)
    # Half the torque, half the no-load speed, less what friction takes.
    assert motion.speed_deg_s == pytest.approx((0.5 - FRICTION_N_M) * 286.48, rel=0.02)
    assert motion.torque_n_m == pytest.approx(FRICTION_N_M, abs=0.002)


def test_a_shaft_stops_at_the_ends_of_its_scale_and_is_pushed_off_them():
    plant = BenchPlant([MODEL])
    plant.drive(0, 1e6, PER_DEG, 1.0)
    plant.advance(2000 * MS)
    assert plant.sample(0)[0] == 200.0
    plant.command(0, 150.0, 0)
    plant.advance(4000 * MS)
    assert plant.sample(0)[0] == pytest.approx(150.0, abs=0.5)


def test_time_does_not_run_backwards_and_pieces_make_a_whole():
    whole, pieces = BenchPlant([MODEL]), BenchPlant([MODEL])
    for plant in (whole, pieces):
        plant.command(0, 130.0, 1)
    whole.advance(300 * MS)
    for k in range(1, 301):
        pieces.advance(k * MS)
        pieces.advance((k - 1) * MS)
    assert pieces.motion(0) == whole.motion(0)


def test_a_regulated_current_gives_what_is_asked_for_until_the_voltage_is_used_up():
    loop = replace(MODEL, current_loop=True)
    plant = BenchPlant([MODEL, loop])
    for servo in (0, 1):
        plant.drive(servo, 200.0, PER_DEG, 0.1)
    plant.advance(20 * MS)
    braked, free = plant.motion(0), plant.motion(1)
    assert free.torque_n_m == pytest.approx(0.1)
    assert braked.torque_n_m < 0.08
    assert free.speed_deg_s > braked.speed_deg_s
    for servo in (0, 1):
        plant.drive(servo, 200.0, 10.0, 1.0)
    fastest = 0.0
    for k in range(20, 400):
        plant.advance(k * MS)
        fastest = max(fastest, plant.motion(1).speed_deg_s)
    assert fastest < math.degrees(MODEL.no_load_rad_s)
    assert fastest > 0.8 * math.degrees(MODEL.no_load_rad_s)
