"""The emulated leg as its servos see it: time, goals, torque, meters, faults and things that happen to it."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from drivers.servo import PlantFault
from nuc_engine.model.kinematics import joint_origins
from nuc_engine.plants.events import BaseHeight, Disconnect, Ground, Kick, Reconnect
from nuc_engine.plants.mujoco_leg import MujocoLeg
from nuc_engine.plants.spec import parse_spec
from tests.plants.leg_plans import ROACH, STICK, single
from tests.plants.specs import data, leg

MS = 1_000_000
S = 1000 * MS
TICK_A = 0.0184
PENDULUM = single()
HANGING = {"Joint": 90.0}


def angle_deg(plant: MujocoLeg, servo: int = 0) -> float:
    """Return a joint's angle of a pendulum whose calibration starts at 0."""
    return plant.sample(servo)[0] / (1.529 * 0.654)


def drive(plant: MujocoLeg, servos: int, until_ms: int) -> list[tuple[float, float]]:
    """Send the servos to and fro, one exchange every 1.27 ms, and return all replies."""
    replies: list[tuple[float, float]] = []
    for k in range(int(until_ms / 1.27)):
        plant.advance(round(k * 1.27 * MS))
        servo = k % servos
        replies.append(plant.sample(servo))
        plant.command(servo, replies[-1][0] + (15.0 if (k // 200) % 2 else -15.0), 3)
    return replies


# calibration


def test_the_shaft_starts_at_the_pose_given_on_the_servos_own_scale() -> None:
    start = {"Thorax-Coxa1": 20.0, "Thorax-Coxa2": 2.0, "Coxa-Trochanter": 90.0, "Femur-Tibia": 80.0}
    plant = leg(ROACH, start_deg=start)
    for servo, motor in enumerate(ROACH.motors):
        raw = motor.cal1 + motor.cal2 * start[ROACH.joints[motor.joint].name]
        assert plant.sample(servo) == pytest.approx((raw * 0.654, 0.0))


@pytest.mark.parametrize(("cal1", "cal2"), [(0.0, 1.529), (200.0, -1.529)])
def test_a_servo_goes_to_its_goal_whatever_its_turning_sense(cal1: float, cal2: float) -> None:
    plant = leg(single(cal1, cal2), start_deg=HANGING)
    goal = (cal1 + cal2 * 85.0) * 0.654
    plant.command(0, goal, 0)
    plant.advance(2 * S)
    assert plant.sample(0)[0] == pytest.approx(goal, abs=4.0)
    assert plant.take_records()[-1][1] == pytest.approx(10.0 * math.cos(math.radians(85.0)), abs=0.7)


# time


def test_only_whole_steps_count_and_splitting_time_changes_nothing() -> None:
    plant, other = leg(PENDULUM), leg(PENDULUM)
    start = plant.sample(0)
    plant.advance(MS - 1)
    assert plant.sample(0) == start
    plant.advance(MS)
    assert plant.sample(0) != start
    for now in range(0, 200 * MS + 1, 333_333):
        plant.advance(now)
    plant.advance(200 * MS)
    other.advance(200 * MS)
    assert plant.sample(0) == other.sample(0)


def test_time_does_not_run_backwards() -> None:
    plant = leg(PENDULUM)
    plant.advance(20 * MS)
    reached = plant.sample(0)
    plant.advance(5 * MS)
    assert plant.sample(0) == reached


def test_a_goal_between_two_grid_points_acts_from_the_step_run_next() -> None:
    early, late, later = leg(PENDULUM), leg(PENDULUM), leg(PENDULUM)
    for plant, instant in ((early, 7 * MS), (late, 8 * MS - 1), (later, 8 * MS)):
        plant.advance(instant)
        plant.command(0, 100.0, 0)
        plant.advance(30 * MS)
    assert early.sample(0) == late.sample(0)
    assert early.sample(0) != later.sample(0)


def test_the_time_step_is_the_descriptions() -> None:
    plant = leg(PENDULUM, world={"timestep_us": 250})
    start = plant.sample(0)
    plant.advance(249_999)
    assert plant.sample(0) == start
    plant.advance(250_000)
    assert plant.sample(0) != start


# torque


def sag_deg(level: int) -> float:
    """Return how far a level lets the horizontal pendulum sink."""
    plant = leg(
        PENDULUM,
        start_deg={"Joint": 20.0},
        joint={"Joint": {"link_mass_g": 20.0, "tip_mass_g": 80.0, "start_deg": 20.0}},
    )
    plant.command(0, plant.sample(0)[0], level)
    plant.advance(2 * S)
    return angle_deg(plant) - 20.0


def test_a_strong_level_holds_the_leg_and_the_weakest_lets_it_sink() -> None:
    assert 0.0 < sag_deg(0) < 10.0
    assert sag_deg(1) == pytest.approx(sag_deg(0), abs=0.01)
    assert sag_deg(4) > 40.0


def test_the_level_can_be_changed_while_it_runs() -> None:
    plant = leg(
        PENDULUM,
        start_deg={"Joint": 20.0},
        joint={"Joint": {"link_mass_g": 20.0, "tip_mass_g": 80.0, "start_deg": 20.0}},
    )
    goal = plant.sample(0)[0]
    plant.command(0, goal, 4)
    plant.advance(2 * S)
    low = angle_deg(plant)
    plant.command(0, goal, 0)
    plant.advance(4 * S)
    assert low - angle_deg(plant) > 30.0


def test_a_released_servo_lets_go_until_it_is_commanded_again() -> None:
    plant = leg(PENDULUM, start_deg={"Joint": 45.0})
    goal = plant.sample(0)[0]
    plant.command(0, goal, 0)
    plant.advance(S)
    held = angle_deg(plant)
    plant.release(0)
    plant.advance(3 * S)
    hanging = angle_deg(plant)
    plant.command(0, goal, 0)
    plant.advance(5 * S)
    assert held == pytest.approx(45.0, abs=5.0)
    assert hanging == pytest.approx(90.0, abs=15.0)
    assert angle_deg(plant) == pytest.approx(held, abs=0.5)


def test_a_leg_starts_released() -> None:
    plant = leg(PENDULUM, start_deg={"Joint": 45.0})
    plant.advance(3 * S)
    assert angle_deg(plant) > 65.0
    assert plant.sample(0)[1] == 0.0


@pytest.mark.parametrize(("cal1", "cal2"), [(0.0, 1.529), (200.0, -1.529)])
@pytest.mark.parametrize(("goal", "end"), [(-300.0, 0.0), (400.0, 254 * 0.654)])
def test_the_shaft_does_not_leave_the_servos_scale(cal1: float, cal2: float, goal: float, end: float) -> None:
    plant = leg(single(cal1, cal2), start_deg=HANGING)
    plant.command(0, goal, 0)
    plant.advance(2 * S)
    assert plant.sample(0)[0] == pytest.approx(end, abs=1.0)


# current


def pressed_against_the_stop(level: int, **servo: object) -> float:
    """Return the current of a servo that pushes against the end of its scale, at rest."""
    plant = leg(PENDULUM, start_deg={"Joint": 150.0}, servo=servo)
    plant.command(0, 400.0, level)
    plant.advance(3 * S)
    return plant.sample(0)[1]


def test_stalled_the_winding_carries_the_stall_current_times_the_duty() -> None:
    assert pressed_against_the_stop(0) == pytest.approx(1.0 - 2 * TICK_A, abs=1e-4)
    assert pressed_against_the_stop(3) == pytest.approx(0.4 - 2 * TICK_A, abs=1e-4)


def test_stalled_the_supply_gives_the_duty_times_that() -> None:
    assert pressed_against_the_stop(3, current_model="supply") == pytest.approx(0.16 - 2 * TICK_A, abs=1e-4)


def test_what_lies_below_the_dead_band_reads_nothing() -> None:
    assert pressed_against_the_stop(3, dead_ticks=22.0) == 0.0
    assert pressed_against_the_stop(3, dead_ticks=21.0) == pytest.approx(0.4 - 21 * TICK_A, abs=1e-4)


def test_reversing_a_moving_motor_gives_a_spike() -> None:
    plant = leg(PENDULUM, start_deg={"Joint": 20.0}, servo={"dead_ticks": 0.0, "damping_scale": 1.0})
    plant.command(0, 160.0, 3)
    plant.advance(150 * MS)
    running = plant.sample(0)[1]
    plant.command(0, 0.0, 3)
    plant.advance(151 * MS)
    assert plant.sample(0)[1] > 0.5 > 0.3 > running


# what differs from bout to bout

NOISY = {"start_pose_deg": 5.0, "friction_fraction": 0.2, "position_noise_ticks": 0.3, "current_noise_ticks": 0.3}


def test_the_same_seed_gives_the_same_bout_to_the_bit() -> None:
    first, second = leg(ROACH, 7, variation=NOISY), leg(ROACH, 7, variation=NOISY)
    assert drive(first, 4, 2000) == drive(second, 4, 2000)
    assert first.take_records() == second.take_records()


@pytest.mark.parametrize("kind", sorted(NOISY))
def test_another_seed_gives_another_bout_whichever_quantity_varies(kind: str) -> None:
    first, second = (leg(ROACH, seed, variation={kind: NOISY[kind]}) for seed in (7, 8))
    assert drive(first, 4, 2000) != drive(second, 4, 2000)


def test_without_variation_the_seed_makes_no_difference() -> None:
    assert drive(leg(ROACH, 7), 4, 500) == drive(leg(ROACH, 8), 4, 500)


def test_the_start_pose_varies_within_its_bounds() -> None:
    starts = [angle_deg(leg(PENDULUM, seed, variation={"start_pose_deg": 5.0})) for seed in range(40)]
    assert 55.0 <= min(starts) < 57.0
    assert 63.0 < max(starts) <= 65.0


def test_position_noise_has_the_size_given_and_does_not_move_the_leg() -> None:
    plant = leg(PENDULUM, 3, variation={"position_noise_ticks": 0.5})
    ticks = [(plant.sample(0)[0] - 60.0 * 1.529 * 0.654) / 0.654 for _ in range(4000)]
    mean = sum(ticks) / len(ticks)
    assert mean == pytest.approx(0.0, abs=0.05)
    assert math.sqrt(sum((t - mean) ** 2 for t in ticks) / len(ticks)) == pytest.approx(0.5, rel=0.1)


def test_current_noise_never_makes_a_current_negative() -> None:
    plant = leg(PENDULUM, 3, variation={"current_noise_ticks": 4.0})
    currents = [plant.sample(0)[1] for _ in range(2000)]
    assert min(currents) == 0.0
    assert max(currents) > 4 * TICK_A


# truth


def test_the_record_has_the_foots_place_on_a_grid_of_10_ms() -> None:
    start = {"Thorax-Coxa": -12.0, "Coxa-Trochanter": 35.0, "Femur-Tibia": 100.0}
    plant = leg(STICK, start_deg=start, world={"base_height_cm": 100.0})
    plant.advance(35 * MS)
    records = plant.take_records()
    plant.advance(51 * MS)
    assert [record[0] for record in records + plant.take_records()] == [0, 10 * MS, 20 * MS, 30 * MS, 40 * MS, 50 * MS]
    assert plant.take_records() == []
    matrices = [None if j.amatrix is None else _square(j.amatrix) for j in STICK.joints]
    foot = joint_origins(matrices, [j.dh_line for j in STICK.joints], list(start.values()))[-1]
    assert records[0][1:4] == pytest.approx(tuple(foot))
    assert records[0][4] == 0.0


def _square(row: tuple[float, ...]) -> list[list[float]]:
    return [list(row[k : k + 4]) for k in range(0, 16, 4)]


def standing() -> MujocoLeg:
    """Return a stick leg that has been holding its pose on the ground for 2 s."""
    start = {"Thorax-Coxa": 0.0, "Coxa-Trochanter": 40.0, "Femur-Tibia": 90.0}
    plant = leg(STICK, start_deg=start, world={"base_height_cm": 20.0})
    for servo in range(3):
        plant.command(servo, plant.sample(servo)[0], 0)
    plant.advance(2 * S)
    return plant


def test_a_standing_leg_is_carried_by_the_ground() -> None:
    x, y, z, force = standing().take_records()[-1][1:]
    assert 0.5 < force < 5.0
    assert z == pytest.approx(-20.0 + 0.8, abs=0.1)
    assert y < 0.0
    assert abs(x) < 10.0


# things that happen


def test_the_ground_can_be_taken_away_and_put_back() -> None:
    plant = standing()
    plant.schedule(Ground(3 * S, present=False))
    plant.schedule(Ground(4 * S, present=True))
    plant.advance(6 * S)
    force = {record[0]: record[4] for record in plant.take_records()}
    assert force[3 * S - 10 * MS] > 0.5
    assert all(force[t] == 0.0 for t in range(3 * S + 10 * MS, 4 * S, 10 * MS))
    assert force[6 * S - 10 * MS] > 0.5


def test_ground_that_comes_back_lifts_a_foot_that_has_sunk_and_does_not_throw_it() -> None:
    plant = standing()
    plant.schedule(Ground(3 * S, present=False))
    plant.schedule(Ground(4 * S, present=True))
    plant.advance(3 * S)
    before = plant.take_records()[-1]
    for servo in range(3):
        plant.release(servo)
    plant.advance(4 * S)
    assert plant.take_records()[-1][3] < before[3] - 1.0, "the limp leg hangs below where the ground was"
    plant.advance(6 * S)
    records = plant.take_records()
    assert max(record[4] for record in records) < 15.0
    assert max(b[3] - a[3] for a, b in pairwise(records)) < 0.5, "50 cm/s"
    assert records[-1][3] == pytest.approx(-20.0 + 0.8, abs=0.3)


def test_the_body_can_be_raised() -> None:
    plant = standing()
    plant.schedule(BaseHeight(3 * S, 20.5))
    plant.advance(5 * S)
    records = plant.take_records()
    assert records[-1][3] == pytest.approx(-20.5 + 0.8, abs=0.1)
    assert records[-1][4] > 0.1


def test_a_kick_pushes_the_leg_where_it_points_for_as_long_as_it_lasts() -> None:
    plant = standing()
    still = standing()
    plant.schedule(Kick(3 * S, (6.0, 0.0, 0.0), 100 * MS))
    plant.advance(3 * S)
    still.advance(3 * S)
    assert plant.sample(0) == still.sample(0)
    plant.advance(3 * S + 100 * MS)
    still.advance(3 * S + 100 * MS)
    pushed = plant.sample(0)[0]
    assert pushed < still.sample(0)[0] - 2.0, "protraction lowers the raw angle of this motor"
    plant.advance(6 * S)
    assert plant.sample(0)[0] > pushed + 2.0


def test_what_is_scheduled_for_the_past_happens_now() -> None:
    plant = standing()
    plant.take_records()
    plant.schedule(Ground(S, present=False))
    plant.advance(3 * S)
    assert all(record[4] == 0.0 for record in plant.take_records() if record[0] > 2 * S + 10 * MS)


# divergence


def test_divergence_is_a_fault_that_says_what_and_when(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plant = standing()
    plant.schedule(Kick(int(2.5 * S), (1e13, 0.0, 0.0), 100 * MS))
    with pytest.raises(PlantFault, match=r"diverged before 2\.5[01]\d s: .*BADQ"):
        plant.advance(3 * S)
    assert list(tmp_path.iterdir()) == [], "no log file in the working folder"


def test_divergence_of_a_free_run_is_seen_too() -> None:
    servo = {"armature_kg_m2": 0.0, "damping_scale": 0.0, "frictionloss_n_m": 0.0, "saturation_ticks": 0.1}
    plant = leg(
        STICK,
        servo=servo,
        world={"timestep_us": 10_000},
        motor={"1001": {"omega0_rad_s": 5.0, "stall_torque_n_m": 900.0, "stall_current_a": 1.4}},
    )
    plant.command(1, 0.0, 0)
    plant.command(2, 160.0, 0)
    with pytest.raises(PlantFault, match="diverged"):
        plant.advance(20 * S)


# stops, links that give way, and what the ground's force is recorded as


def bent(flex: dict[str, float] | None = None, stop_deg: list[float] | None = None, **sections: Any) -> MujocoLeg:
    """Return the roach leg with ThC1's link giving way, or with a stop at CTr."""
    table = data(ROACH, {joint.name: 30.0 for joint in ROACH.joints}, **sections)
    if flex is not None:
        table["joint"]["Thorax-Coxa1"]["flex"] = flex
    if stop_deg is not None:
        table["joint"]["Coxa-Trochanter"]["stop_deg"] = stop_deg
    return MujocoLeg(ROACH, parse_spec(table, "test.toml"), 0)


@pytest.mark.parametrize("stop_deg", [[20.0, 60.0], [25.0, 40.0]])
def test_a_joint_is_stopped_before_the_ends_of_its_servos_scale(stop_deg: list[float]) -> None:
    motor = next(m for m in ROACH.motors if ROACH.joints[m.joint].name == "Coxa-Trochanter")
    for goal_deg in (0.0, 170.0):
        free, stopped = bent(), bent(stop_deg=stop_deg)
        reached = []
        for plant in (free, stopped):
            plant.command(motor.index, (motor.cal1 + motor.cal2 * goal_deg) * 0.654, 0)
            plant.advance(3 * S)
            reached.append((plant.sample(motor.index)[0] / 0.654 - motor.cal1) / motor.cal2)
        assert not stop_deg[0] - 5 < reached[0] < stop_deg[1] + 5, "without a stop it goes past"
        assert reached[1] == pytest.approx(stop_deg[goal_deg > 90.0], abs=2.0)


def test_a_link_that_gives_way_hangs_by_its_weight_over_its_stiffness() -> None:
    stiff = bent({"rest_deg": 0.0, "stiffness_n_m_rad": 200.0, "damping_n_m_s_rad": 1.0})
    soft = bent({"rest_deg": 0.0, "stiffness_n_m_rad": 5.0, "damping_n_m_s_rad": 0.3})
    softer = bent({"rest_deg": 0.0, "stiffness_n_m_rad": 2.5, "damping_n_m_s_rad": 0.3})
    height_cm = []
    for plant in (bent(), stiff, soft, softer):
        plant.schedule(Ground(0, present=False))
        for servo in range(len(ROACH.motors)):
            plant.command(servo, plant.sample(servo)[0], 0)
        plant.advance(3 * S)
        height_cm.append(plant.take_records()[-1][3])
    rigid, stiff_cm, soft_cm, softer_cm = height_cm
    assert stiff_cm == pytest.approx(rigid, abs=0.05)
    assert soft_cm < rigid - 0.2, "it sags"
    assert (rigid - softer_cm) / (rigid - soft_cm) == pytest.approx(2.0, rel=0.2), "twice as far when half as stiff"


def test_servos_and_hands_find_their_joints_behind_a_link_that_gives_way() -> None:
    rigid, bending = bent(), bent({"rest_deg": 0.0, "stiffness_n_m_rad": 200.0, "damping_n_m_s_rad": 1.0})
    for plant in (rigid, bending):
        plant.schedule(Disconnect(500 * MS, "Femur-Tibia", 500 * MS))
        plant.schedule(Reconnect(1500 * MS, 500 * MS))
    servos = len(ROACH.motors)
    replies = [drive(plant, servos, 3000) for plant in (rigid, bending)]
    angles = [[angle for angle, _ in reply] for reply in replies]
    assert max(abs(a - b) for a, b in zip(*angles, strict=True)) < 3.0


def test_the_grounds_force_is_recorded_as_its_mean_over_the_looks_since_the_last_record() -> None:
    # A stiff foot that is dropped bounces within milliseconds; looked at every millisecond, the mean of its force is
    # the momentum it gave to the ground.
    plant = leg(ROACH, start_deg={joint.name: 40.0 for joint in ROACH.joints})
    often = leg(ROACH, start_deg={joint.name: 40.0 for joint in ROACH.joints})
    for one, step in ((plant, 10), (often, 1)):
        for servo in range(len(ROACH.motors)):
            one.command(servo, one.sample(servo)[0], 4)
        for k in range(0, 1500, step):
            one.advance(k * MS)
    rare, dense = ([record[4] for record in one.take_records()] for one in (plant, often))
    assert sum(dense) > 0.0
    single = [b for a, b in zip(rare, dense, strict=False) if a == 0.0 and b > 0.0]
    assert single, "a single look misses touches that the mean has"
    assert dense[-20:] == pytest.approx(rare[-20:], rel=0.3), "and where the foot stands both say the same"


def test_a_meter_of_the_foots_force_shows_what_the_ground_gives_and_nothing_in_the_air() -> None:
    plant = leg(STICK, servo={"foot_ticks_n": 10.0})
    plant.advance(3 * S)
    shown_n = [plant.sample(servo)[1] / TICK_A / 10.0 for servo in range(len(STICK.motors))]
    recorded_n = plant.take_records()[-1][4]
    assert recorded_n > 0.1
    assert shown_n == pytest.approx([recorded_n] * len(shown_n), rel=0.1)
    plant.schedule(Ground(3 * S + MS, present=False))
    plant.advance(3 * S + 20 * MS)
    assert plant.sample(0)[1] == 0.0
