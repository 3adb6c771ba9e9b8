"""Servos that say themselves how stiff and how strong they are, and sensors that know signs."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.factory import find_family
from drivers.servo import ServoModel
from nuc_engine.model.plan import Plan
from nuc_engine.plants.kinds import find_kind
from nuc_engine.plants.loopback import INERTIA_KG_M2, UNKNOWN, LoopbackPlant
from nuc_engine.plants.mujoco_leg import MujocoLeg
from nuc_engine.plants.shaft import ShaftConversion
from tests.plants.leg_plans import ROACH, single
from tests.plants.specs import leg

MS = 1_000_000
S = 1000 * MS
TICK_DEG = 360 / 4096
STRONG = ServoModel(
    name="strong", family="hands", number=9, tick_deg=TICK_DEG, positions=(0, 4095), load_unit="mA",
    load_range=(-900, 900), load_n_m=0.0, stall_torque_n_m=2.0, stall_current_a=3.0, no_load_rad_s=8.0,
    supply_v=12.0, default_gain=100, gain_unit=0.0, gains=(0, 0), source="the test",
)  # fmt: skip


@pytest.fixture(autouse=True)
def hands(monkeypatch: pytest.MonkeyPatch) -> None:
    """A family of one model, beside those there are."""

    class Hands:
        models = {"strong": STRONG}  # noqa: RUF012

    def find(name: str) -> object:
        return Hands() if name == "hands" else find_family(name)

    monkeypatch.setattr("nuc_engine.plants.kinds.find_family", find)


def strong(plan: Plan, sense: int = 1, cal1: float = 1024.0) -> Plan:
    """Return the plan with servos of the strong model: raw = cal1 + sense * angle."""
    motors = tuple(
        replace(
            motor,
            model="strong",
            family="hands",
            tick_deg=TICK_DEG,
            positions=(0, 4095),
            cal1=cal1,
            cal2=sense / TICK_DEG,
        )
        for motor in plan.motors
    )
    return replace(plan, motors=motors)


HANGING = {"Joint": 90.0}


def pendulum(sense: int = 1, **sections: dict[str, float]) -> MujocoLeg:
    return leg(strong(single(), sense, 1024.0 if sense > 0 else 3000.0), start_deg=HANGING, **sections)


def shaft_deg(plant: MujocoLeg, joint_deg: float, sense: int) -> float:
    return (1024.0 if sense > 0 else 3000.0) * TICK_DEG + sense * joint_deg


# kinds and scales


def test_what_a_plant_describes_goes_before_what_the_maker_says() -> None:
    motor = strong(ROACH).motors[0]
    maker = find_kind(motor, {})
    assert maker is not None
    assert (maker.omega0_rad_s, maker.stall_torque_n_m, maker.stall_current_a) == (8.0, 2.0, 3.0)
    assert find_kind(motor, {"strong": UNKNOWN}) is UNKNOWN
    assert find_kind(replace(motor, model="weak"), {}) is None
    assert find_kind(replace(motor, family="nobody's"), {}) is None


@pytest.mark.parametrize("sense", [1, -1])
def test_a_joint_ends_where_its_own_servos_scale_does(sense: int) -> None:
    motor = strong(single(), sense, 1024.0).motors[0]
    low, high = ShaftConversion.of_motor(motor).joint_range(motor)
    ends = sorted(sense * (raw - 1024.0) * TICK_DEG for raw in (0, 4095))
    assert [math.degrees(low), math.degrees(high)] == pytest.approx(ends)


def test_a_shaft_begins_where_its_own_scale_says() -> None:
    plant = pendulum()
    assert plant.sample(0)[0] == pytest.approx(1024 * TICK_DEG + 90.0)
    assert LoopbackPlant(strong(ROACH)).sample(2)[0] == pytest.approx(4095 / 2 * TICK_DEG)


def test_position_noise_is_in_the_servos_own_ticks() -> None:
    noise = {"variation": {"position_noise_ticks": 0.5}}
    fine = leg(strong(single()), 3, HANGING, **noise)
    coarse = leg(single(), 3, HANGING, **noise)
    off = [
        ([plant.sample(0)[0] - still for _ in range(50)])
        for plant, still in ((fine, 1024 * TICK_DEG + 90.0), (coarse, 90.0 * 1.529 * 0.654))
    ]
    assert off[0] == pytest.approx([value * TICK_DEG / 0.654 for value in off[1]])


def test_what_ai_motors_do_not_see_of_a_current_other_meters_do() -> None:
    plant = pendulum(servo={"dead_ticks": 50.0})
    plant.drive(0, shaft_deg(plant, 90.0, 1) + 20.0, 0.02, 0.1)
    plant.advance(2 * S)
    assert plant.sample(0)[1] == pytest.approx(plant.motion(0).torque_n_m / 2.0 * 3.0, abs=1e-3)
    assert 0.01 < plant.sample(0)[1] < 50 * 0.0184


# the leg


@pytest.mark.parametrize("sense", [1, -1])
def test_a_servo_is_as_stiff_as_it_says(sense: int) -> None:
    heavy = {"Joint": {"link_mass_g": 0.01, "tip_mass_g": 100.0, "start_deg": 0.0}}
    plant = pendulum(sense, joint=heavy, world={"foot_mass_g": 0.01}, servo={"frictionloss_n_m": 0.0})
    goal = shaft_deg(plant, 0.0, sense)
    plant.drive(0, goal, 0.02, 1.0)
    plant.advance(4 * S)
    # 100 g at 10 cm held out level: 0.0981 N m, at 0.02 N m per degree some five degrees of sag.
    sag = sense * (plant.sample(0)[0] - goal)
    assert sag * 0.02 == pytest.approx(0.0981 * math.cos(math.radians(sag)), rel=0.02)
    seen = plant.motion(0)
    assert seen.torque_n_m == pytest.approx(-sense * sag * 0.02, rel=0.01)
    assert seen.current_a == pytest.approx(-sense * sag * 0.02 / 2.0 * 3.0, rel=0.01)
    assert seen.speed_deg_s == pytest.approx(0.0, abs=0.1)


def test_a_servo_is_no_stronger_than_it_says_nor_than_it_is() -> None:
    for limit, torque in ((0.05, 0.05), (9.0, 2.0)):
        plant = pendulum(servo={"frictionloss_n_m": 0.0})
        plant.drive(0, shaft_deg(plant, 90.0, 1) + 1000.0, 1.0, limit)
        plant.advance(3 * MS)
        assert plant.motion(0).torque_n_m == pytest.approx(torque)


def test_stiffness_and_limit_can_change_and_levels_and_release_end_them() -> None:
    plant = pendulum()
    goal = shaft_deg(plant, 90.0, 1) + 30.0
    forces = []
    for do in (
        lambda: plant.drive(0, goal, 1.0, 0.05),
        lambda: plant.drive(0, goal, 1.0, 0.08),
        lambda: plant.drive(0, goal, 0.0, 0.08),
        lambda: plant.drive(0, goal, 1.0, 0.0),
        lambda: plant.command(0, goal, 0),
        lambda: plant.drive(0, goal, 1.0, 0.05),
        lambda: plant.release(0),
        lambda: plant.drive(0, goal, 1.0, 0.05),
    ):
        do()
        at = round(len(forces) + 1) * MS
        plant.advance(at)
        forces.append(plant.motion(0).torque_n_m)
    assert forces[:4] == pytest.approx([0.05, 0.08, 0.0, 0.0], abs=1e-9)
    assert forces[4] > 0.5
    assert forces[5:] == pytest.approx([0.05, 0.0, 0.05], abs=1e-9)


@pytest.mark.parametrize("sense", [1, -1])
def test_speed_has_the_sign_of_rising_angles(sense: int) -> None:
    plant = pendulum(sense)
    plant.drive(0, shaft_deg(plant, 90.0, sense) + 40.0, 0.02, 0.5)
    plant.advance(20 * MS)
    before = plant.sample(0)[0]
    plant.advance(21 * MS)
    seen = plant.motion(0)
    assert seen.speed_deg_s > 5.0
    assert seen.angle_deg - before == pytest.approx(seen.speed_deg_s * 0.001, rel=0.1)


@pytest.mark.parametrize("sense", [1, -1])
def test_a_motor_that_is_turned_faster_than_it_drives_is_a_generator(sense: int) -> None:
    plant = pendulum(sense, servo={"frictionloss_n_m": 0.0})
    goal = shaft_deg(plant, 90.0, sense) + 1000.0
    plant.drive(0, goal, 1.0, 0.3)
    plant.advance(MS)
    assert plant.motion(0).current_a > 0.0
    plant.advance(10 * MS)
    plant.drive(0, goal, 1.0, 0.01)
    plant.advance(11 * MS)
    seen = plant.motion(0)
    assert seen.speed_deg_s > 0.0
    assert seen.torque_n_m == pytest.approx(0.01)
    assert seen.current_a == pytest.approx(3.0 * (0.005 - math.radians(seen.speed_deg_s) / 8.0), rel=1e-6)
    assert seen.current_a < 0.0


def test_motion_draws_the_noise_that_sample_draws() -> None:
    noise = {"variation": {"position_noise_ticks": 0.5, "current_noise_ticks": 0.5}}
    one, other = (leg(strong(ROACH), 5, **noise) for _ in range(2))
    for k in range(40):
        for plant in (one, other):
            plant.advance(k * 2 * MS)
            plant.drive(k % 4, 90.0, 0.02, 0.3)
        seen = one.motion(k % 4)
        assert (seen.angle_deg, abs(seen.current_a)) == other.sample(k % 4)
    assert one.sample(0) == other.sample(0)


def test_a_leg_taken_apart_keeps_its_servos_stiffness() -> None:
    from nuc_engine.plants.events import Disconnect

    plant = leg(strong(ROACH), 1)
    plant.schedule(Disconnect(10 * MS, "Femur-Tibia", 10 * MS))
    for servo in range(4):
        plant.drive(servo, plant.sample(servo)[0] + 30.0, 1.0, 0.07)
    plant.advance(30 * MS)
    assert plant.motion(1).torque_n_m == pytest.approx(0.07)


# servos without a world


def test_a_free_shaft_answers_at_the_frequency_of_its_stiffness() -> None:
    plant = LoopbackPlant(strong(ROACH))
    middle = plant.sample(0)[0]
    stiffness = math.radians(50.0**2 * INERTIA_KG_M2)
    plant.drive(0, middle + 10.0, stiffness, 100.0)
    plant.advance(20 * MS)
    # w = 50/s, t = 0.02 s: as a servo at level 0
    assert plant.sample(0)[0] == pytest.approx(middle + 10.0 - 7.357588823428847)
    assert plant.motion(0).torque_n_m == pytest.approx(stiffness * 7.357588823428847)
    assert plant.motion(0).current_a == pytest.approx(plant.motion(0).torque_n_m / 2.0 * 3.0)


def test_a_torque_limit_bounds_the_speed_and_the_servo_still_arrives() -> None:
    plant = LoopbackPlant(strong(ROACH))
    middle = plant.sample(0)[0]
    stiffness = math.radians(50.0**2 * INERTIA_KG_M2)
    plant.drive(0, middle - 100.0, stiffness, 2.0 * stiffness)
    plant.advance(500 * MS)
    # w/2 times an error of two degrees; the error that counts is renewed at each step of 1 ms.
    assert plant.motion(0).speed_deg_s == pytest.approx(-50.0, rel=0.02)
    assert plant.motion(0).torque_n_m == pytest.approx(-2.0 * stiffness)
    plant.advance(5000 * MS)
    assert plant.sample(0) == pytest.approx((middle - 100.0, 0.0), abs=1e-6)


@pytest.mark.parametrize(("stiffness", "limit"), [(0.0, 1.0), (1.0, 0.0), (-1.0, -1.0)])
def test_no_stiffness_or_no_torque_is_a_shaft_that_stays(stiffness: float, limit: float) -> None:
    plant = LoopbackPlant(strong(ROACH))
    before = plant.sample(0)
    plant.drive(0, 10.0, stiffness, limit)
    plant.advance(1000 * MS)
    assert plant.sample(0) == pytest.approx(before)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.floats(0.0, 360.0), st.floats(0.0, 1.0), st.floats(0.0, 3.0), st.integers(0, 30)), max_size=8)
)
def test_a_free_shaft_gives_no_more_than_its_limit_and_splitting_time_changes_nothing(
    deeds: list[tuple[float, float, float, int]],
) -> None:
    plan = replace(ROACH, motors=ROACH.motors[:1])
    one, other, now = LoopbackPlant(plan), LoopbackPlant(plan), 0
    for goal, stiffness, limit, steps in deeds:
        for plant in (one, other):
            plant.drive(0, goal, stiffness, limit)
        for _ in range(steps):
            now += 1
            one.advance(now * MS)
        other.advance(now * MS)
        assert one.motion(0) == other.motion(0)
        assert abs(one.motion(0).torque_n_m) <= limit + 1e-12
        assert math.isfinite(one.motion(0).angle_deg)


def test_a_free_shafts_motion_is_its_sample_with_signs() -> None:
    plant = LoopbackPlant(ROACH)
    middle = plant.sample(0)[0]
    plant.command(0, middle - 20.0, 0)
    assert plant.motion(0) == pytest.approx((middle, 0.0, plant.motion(0).torque_n_m, -0.2))
    assert plant.motion(0).torque_n_m < 0.0
    plant.advance(5 * MS)
    assert plant.motion(0).speed_deg_s < 0.0
    assert (plant.motion(0).angle_deg, abs(plant.motion(0).current_a)) == pytest.approx(plant.sample(0))
    plant.release(0)
    assert plant.motion(0)[2:] == (0.0, 0.0)


def test_a_level_or_a_release_ends_what_a_free_shaft_was_told_of_its_stiffness() -> None:
    plant = LoopbackPlant(ROACH)
    middle = plant.sample(0)[0]
    plant.drive(0, middle, 0.02, 1e-4)
    plant.command(0, middle + 10.0, 4)
    plant.advance(100 * MS)
    # w = 10/s, t = 0.1 s, as if it had never been driven otherwise
    assert plant.sample(0)[0] == pytest.approx(middle + 10.0 - 7.357588823428847)
    plant.drive(0, middle + 100.0, 0.02, 1.0)
    plant.advance(120 * MS)
    at, speed = plant.sample(0)[0], plant.motion(0).speed_deg_s
    plant.release(0)
    plant.advance(3000 * MS)
    assert plant.sample(0)[0] == pytest.approx(at + speed / 20.0)
