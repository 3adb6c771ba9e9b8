"""What an emulated leg makes of what is done to it by hand: loads, kicks from the seed, being taken apart."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from nuc_engine.plants.events import Disconnect, Ground, Kick, Load, Reconnect
from nuc_engine.plants.hand import HandHold, between
from nuc_engine.plants.kicks import draw_kick
from nuc_engine.plants.mujoco_leg import MujocoLeg
from tests.plants.leg_plans import STICK, single
from tests.plants.specs import leg

MS = 1_000_000
S = 1000 * MS
CTR = 1


def standing(seed: int = 0, at: int = 2 * S) -> MujocoLeg:
    """Return the stick insect's leg on the ground, its servos holding it, its record so far taken away."""
    plant = leg(STICK, seed, {"Thorax-Coxa": 0.0, "Coxa-Trochanter": 40.0, "Femur-Tibia": 80.0}, world=WORLD)
    for servo in range(3):
        plant.command(servo, plant.sample(servo)[0], 1)
    plant.advance(at)
    plant.take_records()
    return plant


WORLD = {"base_height_cm": 20.0}


def run(plant: MujocoLeg, until: int) -> list[tuple[float, ...]]:
    plant.advance(until)
    return plant.take_records()


# loads


def test_a_load_presses_the_foot_down_for_as_long_as_it_lasts() -> None:
    still = run(standing(), 4 * S)[-1][4]
    plant = standing()
    plant.schedule(Load(3 * S, 1.5, S))
    force = {record[0]: record[4] for record in run(plant, 6 * S)}
    assert force[4 * S - 10 * MS] == pytest.approx(still + 1.5, abs=0.1)
    assert force[3 * S - 10 * MS] == pytest.approx(still, abs=0.1)
    assert force[6 * S - 10 * MS] == pytest.approx(still, abs=0.15)


def test_a_load_upwards_unloads_it() -> None:
    still = run(standing(), 4 * S)[-1][4]
    plant = standing()
    plant.schedule(Load(3 * S, -0.5, S))
    assert run(plant, 4 * S)[-1][4] == pytest.approx(still - 0.5, abs=0.1)


def test_loads_and_kicks_add_up() -> None:
    one, two = standing(), standing()
    one.schedule(Load(3 * S, 2.0, S))
    two.schedule(Load(3 * S, 0.5, S))
    two.schedule(Load(3 * S, 1.5, S))
    assert run(one, 4 * S)[-1][4] == pytest.approx(run(two, 4 * S)[-1][4], abs=1e-6)


def test_a_load_acts_on_the_foot_and_not_in_the_middle_of_the_segment() -> None:
    rod = {"Joint": {"link_mass_g": 40.0, "tip_mass_g": 0.0, "start_deg": 0.0}}

    def turned_deg(event: Load | Kick | None) -> float:
        plant = leg(single(), joint=rod, world={"foot_mass_g": 0.01})
        plant.command(0, plant.sample(0)[0], 0)
        if event is not None:
            plant.schedule(event)
        plant.advance(2 * S)
        return plant.sample(0)[0]

    still = turned_deg(None)
    at_foot = turned_deg(Load(0, 1.0, 3 * S)) - still
    in_middle = turned_deg(Kick(0, (0.0, 0.0, -1.0), 3 * S)) - still
    assert abs(in_middle) > 1.0
    assert at_foot / in_middle == pytest.approx(2.0, abs=0.3)


# kicks from the seed


def test_a_kick_left_to_the_seed_is_the_same_for_the_same_seed() -> None:
    plants = [standing(seed) for seed in (3, 3, 4)]
    given = [plant.schedule(Kick(3 * S)) for plant in plants]
    assert given[0] == given[1] == draw_kick(Kick(3 * S), 3, 0) != given[2]
    ends = [run(plant, 4 * S)[-1] for plant in plants]
    assert ends[0] == ends[1] != ends[2]


def test_the_next_kick_is_another_one() -> None:
    plant = standing()
    assert [plant.schedule(Kick(at * S)) for at in (3, 4)] == [draw_kick(Kick(at * S), 0, at - 3) for at in (3, 4)]


def test_a_kick_falls_off_as_the_leg_runs_away_from_the_hand() -> None:
    plant = standing()
    for servo in range(3):
        plant.release(servo)
    plant.schedule(Ground(2 * S, present=False))
    plant.schedule(Kick(2 * S, (0.0, 0.0, 100.0), 100 * MS))
    records = run(plant, 2 * S + 100 * MS)
    fastest = max((b[3] - a[3]) * 100 for a, b in pairwise(records))
    # In cm/s; the foot is further out than the segment's middle, which the hand pushes at 100 cm/s at most.
    assert 60.0 < fastest < 220.0


# taken apart


def test_nothing_changes_before_the_leg_is_taken_apart() -> None:
    plant, other = standing(), standing()
    plant.schedule(Disconnect(3 * S, "Coxa-Trochanter", S))
    assert run(plant, 3 * S) == run(other, 3 * S)
    assert [plant.sample(k) for k in range(3)] == [other.sample(k) for k in range(3)]


def test_the_motor_loses_the_leg_and_gets_it_back() -> None:
    plant = standing()
    held = plant.sample(CTR)
    assert held[1] > 0.02
    plant.schedule(Disconnect(3 * S, "Coxa-Trochanter", S))
    plant.schedule(Reconnect(6 * S, 2 * S))
    run(plant, 5 * S)
    assert plant.sample(CTR)[1] == 0.0, "its horn weighs nothing"
    goal = plant.sample(CTR)[0]
    assert abs(goal - held[0]) > 1.0, "without load it comes closer to its goal"
    run(plant, 10 * S)
    assert plant.sample(CTR) == (pytest.approx(held[0], abs=0.5), pytest.approx(held[1], abs=0.02))


def test_the_piece_is_lifted_clear_of_the_ground_held_still_and_put_back() -> None:
    plant = standing()
    plant.schedule(Disconnect(3 * S, "Coxa-Trochanter", S))
    plant.schedule(Reconnect(6 * S, 2 * S))
    records = {record[0]: record[1:] for record in run(plant, 10 * S)}
    before, lifted, held = records[3 * S - 10 * MS], records[4 * S + 10 * MS], records[6 * S - 10 * MS]
    assert before[3] > 0.5
    assert lifted[2] == pytest.approx(before[2] + 10.0, abs=0.5)
    assert lifted[3] == held[3] == 0.0
    assert held[:3] == pytest.approx(lifted[:3], abs=0.05)
    assert records[10 * S - 10 * MS][:3] == pytest.approx(before[:3], abs=0.7)
    assert records[10 * S - 10 * MS][3] > 0.5


def test_the_piece_moves_smoothly_and_the_leg_does_not_jump_when_it_is_whole_again() -> None:
    plant = standing()
    plant.schedule(Disconnect(3 * S, "Coxa-Trochanter", S))
    plant.schedule(Reconnect(6 * S, 2 * S))
    plant.schedule(Ground(2 * S, present=False))
    records = [record for record in run(plant, 8 * S + 100 * MS) if record[0] > 3 * S]
    steps_cm = [math.dist(a[1:4], b[1:4]) for a, b in pairwise(records)]
    assert max(steps_cm) < 0.5, "50 cm/s"


def test_the_horn_turns_as_it_is_told_and_the_piece_is_put_on_where_it_is() -> None:
    plant = standing()
    plant.schedule(Disconnect(3 * S, "Coxa-Trochanter", S))
    run(plant, 4 * S)
    plant.command(CTR, plant.sample(CTR)[0] - 20.0, 1)
    knee = plant.sample(2)[0]
    run(plant, 6 * S)
    turned = plant.sample(CTR)[0]
    plant.schedule(Ground(6 * S, present=False))
    plant.schedule(Reconnect(6 * S, S))
    run(plant, 7 * S)
    assert plant.sample(CTR)[0] == pytest.approx(turned, abs=1.0)
    assert plant.sample(2)[0] == pytest.approx(knee, abs=2.0)
    foot = run(plant, 7 * S + 20 * MS)[-1][1:4]
    whole = leg(
        STICK,
        0,
        {name: float(np.degrees(plant._qpos[k])) for k, name in enumerate(j.name for j in STICK.joints)},
        world=WORLD,
    )
    assert foot == pytest.approx(run(whole, 2 * MS)[-1][1:4], abs=0.2)


def test_motors_in_the_piece_go_on_working() -> None:
    plant = standing()
    plant.schedule(Disconnect(3 * S, "Coxa-Trochanter", S))
    run(plant, 5 * S)
    before = plant.sample(2)[0]
    plant.command(2, before + 30.0, 0)
    run(plant, 6 * S)
    assert plant.sample(2)[0] == pytest.approx(before + 30.0, abs=3.0)


def test_a_servo_that_went_limp_while_apart_is_limp_when_the_leg_is_whole() -> None:
    plant = standing()
    plant.schedule(Disconnect(3 * S, "Coxa-Trochanter", 0))
    run(plant, 4 * S)
    held = plant.sample(CTR)[0]
    plant.schedule(Ground(4 * S, present=False))
    plant.release(CTR)
    plant.schedule(Reconnect(4 * S, 0))
    run(plant, 4 * S + 500 * MS)
    fallen = plant.sample(CTR)
    assert fallen[1] == 0.0
    assert fallen[0] - held > 5.0, "it hangs down: larger shaft angles are lower ones"


def test_a_horn_that_is_turned_too_far_for_the_leg_to_fit_is_turned_back_by_hand() -> None:
    plant = standing()
    plant.schedule(Disconnect(3 * S, "Coxa-Trochanter", S))
    run(plant, 4 * S)
    # Put on at this angle, the foot would be some 11 cm in the ground.
    plant.command(CTR, 80.0, 1)
    run(plant, 6 * S)
    turned = plant.sample(CTR)[0]
    plant.schedule(Reconnect(6 * S, S))
    shaft_deg: list[float] = []
    for k in range(300):
        plant.advance(6 * S + k * 10 * MS)
        shaft_deg.append(plant.sample(CTR)[0])
    assert max(abs(b - a) for a, b in pairwise(shaft_deg)) < 1.5, "turned slowly"
    assert abs(shaft_deg[-1] - turned) > 20.0
    records = plant.take_records()
    on_the_way = [record for record in records if record[0] < 7500 * MS]
    assert max(record[4] for record in on_the_way) == 0.0, "the foot is not pressed down"
    assert min(record[3] for record in records) > -20.0 + 0.8 - 0.3
    assert 0.5 < max(record[4] for record in records) < 10.0, "in the end it stands"


@pytest.mark.parametrize("joint", [joint.name for joint in STICK.joints])
def test_any_joint_can_be_taken_off_at_once_and_put_on_at_once(joint: str) -> None:
    plant = standing()
    before = run(plant, 3 * S)[-1]
    for at in (3, 5):
        plant.schedule(Disconnect(at * S, joint, 0))
        plant.schedule(Reconnect((at + 1) * S, 0))
    assert run(plant, 9 * S)[-1][1:4] == pytest.approx(before[1:4], abs=0.7)


def test_hands_that_can_not_are_refused() -> None:
    plant = standing()
    with pytest.raises(ValueError, match="expected one of Thorax-Coxa"):
        plant.schedule(Disconnect(3 * S, "Knee", 0))
    with pytest.raises(ValueError, match="nothing is taken off"):
        plant.schedule(Reconnect(3 * S, 0))
    plant.schedule(Disconnect(3 * S, "Femur-Tibia", 0))
    with pytest.raises(ValueError, match="apart already"):
        plant.schedule(Disconnect(4 * S, "Coxa-Trochanter", 0))


def test_a_kick_while_apart_does_no_harm() -> None:
    plant = standing()
    plant.schedule(Disconnect(3 * S, "Femur-Tibia", 0))
    plant.schedule(Kick(3 * S + 500 * MS, (5.0, 0.0, 0.0), 100 * MS))
    plant.schedule(Load(3 * S + 900 * MS, 1.0, 500 * MS))
    plant.schedule(Reconnect(4 * S, 200 * MS))
    assert run(plant, 5 * S)[-1][4] > 0.1


# the hand


def test_rotations_in_between_take_the_shortest_way() -> None:
    none, quarter = np.array((1.0, 0.0, 0.0, 0.0)), np.array((math.cos(math.pi / 4), 0.0, 0.0, math.sin(math.pi / 4)))
    eighth = (math.cos(math.pi / 8), 0.0, 0.0, math.sin(math.pi / 8))
    assert between(none, quarter, 0.5) == pytest.approx(eighth)
    assert between(none, -quarter, 0.5) == pytest.approx(eighth)
    assert between(none, quarter, 1.0) == pytest.approx(tuple(quarter))
    assert between(none, none, 0.3) == pytest.approx(tuple(none))


def test_a_hand_follows_what_it_brings_the_piece_to() -> None:
    hand, turn = HandHold(np.zeros(3), np.array((1.0, 0.0, 0.0, 0.0)), 0, 10), np.array((0.0, 1.0, 0.0, 0.0))
    hand.lift(10)
    assert not hand.moves(10)
    assert hand.place == pytest.approx((0.0, 0.0, 0.1))
    hand.bring(20, 10)
    assert hand.moves(29)
    hand.follow(25, np.array((1.0, 0.0, 0.1)), turn)
    assert hand.place == pytest.approx((0.5, 0.0, 0.1))
    hand.follow(30, np.array((2.0, 0.0, 0.1)), turn)
    assert hand.place == pytest.approx((2.0, 0.0, 0.1))
    assert hand.turn == pytest.approx(tuple(turn))
