"""What every family's bus must do in front of servos: the same tests for all, in this process and over a pty.

A module that has a fixture `rig` imports all of it: `from tests.conformance.suite import *`. Nothing here knows how a
family does it. Angles are of the servo's shaft; a shaft of the loopback plant begins in the middle of its scale.
"""

from __future__ import annotations

import pytest

from drivers.bench.release import discover, finish
from drivers.bus import LIMP, READ_ONLY
from drivers.errors import BusError, FrameError
from drivers.port import NEVER
from tests.conformance.rig import (
    COUNT,
    MISSED,
    OK,
    Rig,
    cycle,
    go,
    middle,
    moving,
    others,
    read,
    settle,
    torque_off,
)

IDS = tuple(range(COUNT))
READ_ALL = [READ_ONLY] * COUNT


def test_it_finds_exactly_who_is_there(rig: Rig) -> None:
    assert discover(rig.bus, rig.pace) == IDS
    rig.tell("unplug", servo=1)
    assert discover(rig.bus, rig.pace) == (0, 2, 3)
    assert discover(rig.bus, rig.pace, (1, 2)) == (2,)


def test_reading_reports_the_shafts_and_moves_nothing(rig: Rig) -> None:
    settle(rig)
    before = rig.bus.position_raw[:]
    for _ in range(20):
        assert read(rig) == [OK] * COUNT
    tick = max(1, round(0.654 / rig.model.tick_deg))
    assert all(abs(at - middle(rig)) <= tick for at in before)
    assert all(abs(at - was) <= tick for at, was in zip(rig.bus.position_raw, before, strict=True))
    low, high = rig.model.load_range
    assert all(low <= load <= high for load in rig.bus.current_raw)
    assert rig.bus.misses == [0] * COUNT
    assert rig.bus.refusals == ()


def test_stamps_rise_within_a_cycle_and_from_one_to_the_next(rig: Rig) -> None:
    settle(rig)
    last = max(rig.bus.stamp_ns)
    for _ in range(5):
        begun_ns = rig.pace.now_ns
        read(rig)
        assert min(rig.bus.stamp_ns) > max(begun_ns, last - 1)
        assert rig.bus.stamp_ns == sorted(rig.bus.stamp_ns)
        assert max(rig.bus.stamp_ns) <= rig.pace.now_ns
        last = max(rig.bus.stamp_ns)


def test_goals_move_their_servos_and_no_others(rig: Rig) -> None:
    settle(rig)
    go(rig, [middle(rig, 12), READ_ONLY, middle(rig, -12), READ_ONLY])
    at = rig.bus.position_raw[:]
    tick = max(1, round(0.654 / rig.model.tick_deg))
    assert abs(at[1] - middle(rig)) <= tick
    assert abs(at[3] - middle(rig)) <= tick
    go(rig, [middle(rig, -12), middle(rig, 5), middle(rig, 12), middle(rig, -5)])


def test_a_servo_that_is_only_read_keeps_the_goal_it_has(rig: Rig) -> None:
    settle(rig)
    cycle(rig, [middle(rig, 15)] * COUNT)
    for _ in range(300):
        read(rig)
    near = 3 * max(1, round(0.654 / rig.model.tick_deg))
    assert all(abs(at - middle(rig, 15)) <= near for at in rig.bus.position_raw)


def test_limp_takes_one_servos_torque_off_and_a_goal_brings_it_back(rig: Rig) -> None:
    settle(rig)
    go(rig, [middle(rig)] * COUNT)
    assert cycle(rig, others(rig, 1, LIMP, middle(rig))) == [OK] * COUNT
    assert rig.bus.current_raw[1] == 0
    for _ in range(30):
        assert cycle(rig, others(rig, 1, READ_ONLY, middle(rig, 10))) == [OK] * COUNT
    assert 1 not in moving(rig)
    go(rig, [middle(rig, -10)] * COUNT)


def test_torque_off_is_confirmed_by_all_and_nothing_drives_until_a_goal_comes(rig: Rig) -> None:
    settle(rig)
    cycle(rig, [middle(rig, 40)] * COUNT)
    torque_off(rig)
    assert not moving(rig)
    assert max(rig.bus.position_raw) < middle(rig, 38)
    go(rig, [middle(rig, -5)] * COUNT)


def test_torque_off_gets_in_while_a_cycle_is_under_way(rig: Rig) -> None:
    settle(rig)
    rig.bus.start(rig.pace.now_ns, [middle(rig, 40)] * COUNT)
    rig.bus.torque_off(rig.pace.now_ns)
    finish(rig.bus, rig.pace)
    torque_off(rig)
    assert not moving(rig)


def test_torque_goes_off_where_nothing_was_said_before(rig: Rig) -> None:
    torque_off(rig)
    settle(rig)


def test_a_servo_that_is_gone_is_missed_and_the_others_are_not(rig: Rig) -> None:
    settle(rig)
    rig.tell("unplug", servo=2)
    missed = rig.bus.missed
    for _ in range(5):
        assert others(rig, 2, MISSED, OK) == [MISSED if s == MISSED else OK for s in read(rig)]
    assert rig.bus.misses[2] >= 5
    assert rig.bus.missed >= missed + 5
    go(rig, others(rig, 2, READ_ONLY, middle(rig, 8)))


def test_a_servo_that_comes_back_is_limp_until_it_gets_a_goal(rig: Rig) -> None:
    settle(rig)
    go(rig, [middle(rig, 10)] * COUNT)
    rig.tell("unplug", servo=2)
    read(rig)
    rig.tell("plug", servo=2)
    settle(rig)
    assert 2 not in moving(rig)
    go(rig, [middle(rig, -10)] * COUNT)


def test_a_supply_that_was_lost_leaves_everybody_limp(rig: Rig) -> None:
    settle(rig)
    cycle(rig, [middle(rig, 60)] * COUNT)
    rig.tell("supply", on=False)
    for _ in range(3):
        assert read(rig) == [MISSED] * COUNT
    rig.tell("supply", on=True)
    settle(rig)
    assert not moving(rig)
    assert max(rig.bus.position_raw) < middle(rig, 58)


def test_a_servo_whose_supply_dipped_is_driven_again_by_the_next_goals(rig: Rig) -> None:
    settle(rig)
    go(rig, [middle(rig, 10)] * COUNT)
    rig.tell("brown_out", servo=1)
    go(rig, [middle(rig, -10)] * COUNT)


def test_a_servo_that_reports_the_same_for_ever_is_read_as_it_says(rig: Rig) -> None:
    settle(rig)
    rig.tell("stick", servo=0)
    read(rig)
    at = rig.bus.position_raw[0]
    for _ in range(40):
        cycle(rig, [middle(rig, 20)] * COUNT)
    assert rig.bus.position_raw[0] == at
    rig.tell("unstick", servo=0)
    go(rig, [middle(rig, 20)] * COUNT)


def test_a_servo_with_another_id_is_missed(rig: Rig) -> None:
    settle(rig)
    rig.tell("wrong_id", servo=3, id=7)
    for _ in range(5):
        read(rig)
    assert rig.bus.status == [OK, OK, OK, MISSED]


def test_of_two_servos_with_one_id_nothing_is_believed_where_the_wire_says_who_speaks(rig: Rig) -> None:
    settle(rig)
    go(rig, [middle(rig, 20), middle(rig, 20), middle(rig, -20), middle(rig, 20)])
    believed = rig.bus.position_raw[2]
    rig.tell("wrong_id", servo=3, id=2)
    for _ in range(10):
        read(rig)
        if rig.model.number >= 0:
            # Bits of an AI motor's replies on top of each other, twice the same, are a reply like any other.
            assert rig.bus.status[2] != OK or abs(rig.bus.position_raw[2] - believed) <= 5 / rig.model.tick_deg
    assert rig.bus.status[:2] == [OK, OK]
    torque_off(rig, servos=(0, 1))


def test_a_servo_that_never_stops_talking_is_survived_and_obeys_torque_off(rig: Rig) -> None:
    settle(rig)
    cycle(rig, [middle(rig, 50)] * COUNT)
    rig.tell("babble", servo=0, on=True)
    for _ in range(5):
        read(rig)
    rig.bus.torque_off(rig.pace.now_ns)
    finish(rig.bus, rig.pace)
    rig.tell("babble", servo=0, on=False)
    settle(rig)
    assert not moving(rig)
    assert max(rig.bus.position_raw) < middle(rig, 48)


def test_a_line_that_loses_and_garbles_never_moves_a_shaft_that_is_only_read(rig: Rig) -> None:
    settle(rig)
    truth = rig.bus.position_raw[:]
    before = rig.bus.missed + rig.bus.implausible + rig.bus.stray_bytes
    rig.tell("faults", drop=0.05, insert=0.05, truncate=0.05, delay=0.05)
    for _ in range(100):
        read(rig)
    assert rig.bus.missed + rig.bus.implausible + rig.bus.stray_bytes > before
    rig.tell("faults")
    settle(rig)
    tick = max(1, round(0.654 / rig.model.tick_deg))
    assert all(abs(at - was) <= tick for at, was in zip(rig.bus.position_raw, truth, strict=True))


def test_flipped_bits_end_nothing(rig: Rig) -> None:
    settle(rig)
    rig.tell("faults", flip=0.2)
    for k in range(100):
        cycle(rig, [middle(rig, 5 if k % 2 else -5)] * COUNT)
    rig.tell("faults")
    settle(rig)
    go(rig, [middle(rig, 10)] * COUNT)


def test_a_tripped_servo_is_not_driven(rig: Rig) -> None:
    settle(rig)
    rig.tell("trip", servo=1, on=True)
    for _ in range(60):
        cycle(rig, [middle(rig, 20)] * COUNT)
    tick = max(1, round(0.654 / rig.model.tick_deg))
    assert abs(rig.bus.position_raw[1] - middle(rig)) <= 2 * tick


@pytest.mark.parametrize("goals", [[], [100], [100] * (COUNT + 1), [-3] * COUNT, [100, 100, 100, 1_000_000]])
def test_goals_that_the_wire_can_not_carry_are_refused(rig: Rig, goals: list[int]) -> None:
    settle(rig)
    with pytest.raises(FrameError):
        rig.bus.start(rig.pace.now_ns, goals)
    assert read(rig) == [OK] * COUNT


def test_a_cycle_within_a_cycle_is_refused(rig: Rig) -> None:
    settle(rig)
    rig.bus.start(rig.pace.now_ns, READ_ALL)
    with pytest.raises(BusError):
        rig.bus.start(rig.pace.now_ns, READ_ALL)
    with pytest.raises(BusError):
        rig.bus.discover(rig.pace.now_ns)
    finish(rig.bus, rig.pace)
    assert rig.bus.wake_ns == NEVER
    assert rig.bus.proceed(rig.pace.now_ns)


@pytest.mark.parametrize("level", [-1, 5])
def test_a_level_that_is_none_is_refused(rig: Rig, level: int) -> None:
    with pytest.raises(FrameError):
        rig.bus.set_level(level)


def test_levels_can_be_changed_between_cycles(rig: Rig) -> None:
    settle(rig)
    for level in (4, 0, 3):
        rig.bus.set_level(level)
        go(rig, [middle(rig, 10 - 5 * level)] * COUNT, most=1500)


def test_closing_twice_is_allowed(rig: Rig) -> None:
    rig.bus.close()
    rig.bus.close()


__all__ = [name for name in dir() if name.startswith("test_")]
