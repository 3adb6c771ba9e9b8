"""Turning servos at the bench, on the virtual clock: nothing blind, nothing too far, nothing for too long."""

from itertools import pairwise

import pytest

from drivers.aimotor import FAMILY, AiMotorBus
from drivers.bench import VirtualPace, answers
from drivers.bench_motion import Ending, Move, Push, check_raw, read_first, watch
from drivers.bench_plant import BenchPlant
from drivers.bus import READ_ONLY
from drivers.errors import BusError
from drivers.inprocess import InProcessPort
from drivers.servo import ServoAddress

MS = 1_000_000
MODEL = FAMILY.models["1001"]
TICK = MODEL.tick_deg


class Rig:
    """Emulated AI motors on a bench, and their bus."""

    def __init__(self, *ids):
        servos = [ServoAddress(bus_id, f"id {bus_id}", "1001") for bus_id in ids]
        self.plant = BenchPlant([MODEL] * len(ids))
        self.emulator = FAMILY.emulator("emulated:", servos, self.plant, 0)
        self.bus = AiMotorBus(InProcessPort(self.emulator, self.emulator.baud), servos)
        self.pace = VirtualPace()
        self.bus.set_level(0)

    def move(self, targets, rate=40.0, lag=20.0, tolerance=3.0):
        count = len(targets)
        return Move(self.bus, self.pace, targets, [rate] * count, [lag] * count, [tolerance] * count, 10 * MS)

    def push(self, delta, seconds=1.0, most=1000.0):
        return Push(self.bus, self.pace, delta, round(seconds * 1e9), most, MODEL.positions, 10 * MS)


def never():
    return False


def after(looks):
    """Return a question that is answered with yes from the n-th time on."""
    left = [looks]

    def asked():
        left[0] -= 1
        return left[0] < 0

    return asked


def test_servos_go_to_their_places_no_faster_than_allowed():
    rig = Rig(0, 5)
    move = rig.move([167, 107])
    looks = list(move.run(never))
    assert move.ending is Ending.DONE
    assert looks[-1].positions[0] == pytest.approx(167, abs=3)
    assert looks[-1].positions[1] == pytest.approx(107, abs=3)
    # 40 ticks away at 40 ticks per second.
    assert looks[-1].time_ns == pytest.approx(1.0e9, rel=0.1)
    for before, later in pairwise(looks):
        assert abs(later.goals[0] - before.goals[0]) <= 2
    # The first goal is where the shaft was, not where it is to go.
    assert abs(looks[0].goals[0] - 127) <= 1


def test_a_move_that_is_told_to_stop_stops():
    rig = Rig(3)
    move = rig.move([200])
    looks = list(move.run(lambda: rig.pace.now_ns > 0.5e9))
    assert move.ending is Ending.STOPPED
    assert 127 < looks[-1].goals[0] < 127 + 0.5 * 40
    # Asked while it is still held where it is, nothing moves.
    rig = Rig(3)
    move = rig.move([200])
    assert list(move.run(after(5))) == []
    assert (move.ending, rig.plant.sample(0)[0]) == (Ending.STOPPED, 127 * TICK)


def test_a_goal_does_not_run_away_from_a_shaft_that_is_held():
    rig = Rig(3)
    rig.plant.hold(0)
    move = rig.move([250])
    looks = list(move.run(never))
    assert move.ending is Ending.BLOCKED
    assert max(look.goals[0] for look in looks) <= 127 + 22
    assert looks[-1].time_ns < 3e9


def test_a_shaft_that_is_let_go_again_arrives():
    rig = Rig(3)
    rig.plant.hold(0)
    move = rig.move([180])
    for look in move.run(never):
        if look.time_ns > 0.8e9:
            rig.plant.hold(0, held=False)
    assert move.ending is Ending.DONE


def test_a_shaft_that_fell_while_its_servo_was_without_power_is_not_torn_back():
    rig = Rig(3)
    move = rig.move([200], lag=5.0)
    looks, fell_at = [], None
    for look in move.run(never):
        looks.append(look)
        if fell_at is None and look.positions[0] > 160:
            fell_at = len(looks)
            rig.emulator.unplug(0)
            rig.plant._shafts[0].angle_deg -= 25 * TICK
        elif fell_at is not None and len(looks) == fell_at + 4:
            rig.emulator.plug(0)
    after_it = [(before, look) for before, look in pairwise(looks[fell_at:]) if look.goals[0] != READ_ONLY]
    assert after_it[0][0].positions[0] < 145
    assert all(look.goals[0] - before.positions[0] <= 2 * 5 + 1 for before, look in after_it)
    assert move.ending is Ending.DONE


def test_short_of_a_goal_that_is_within_the_lag_is_told():
    rig = Rig(3)
    rig.plant.hold(0)
    move = rig.move([140])
    assert list(move.run(never))
    assert move.ending is Ending.SHORT


def test_nothing_is_driven_without_a_reading():
    rig = Rig(1, 2)
    rig.emulator.unplug(1)
    with pytest.raises(BusError, match="no believable reading from id 2"):
        list(rig.move([128, 128]).run(never))
    with pytest.raises(BusError, match="id 2"):
        read_first(rig.bus, rig.pace, rounds=3)
    assert rig.plant.motion(0).torque_n_m == 0.0


def test_a_servo_that_falls_silent_ends_a_motion():
    for make in (lambda rig: rig.move([200]), lambda rig: rig.push(3, seconds=5.0)):
        rig = Rig(3)
        motion = make(rig)
        goals = []
        for look in motion.run(never):
            goals.append(look.goals[0])
            if look.time_ns > 0.1e9:
                rig.emulator.unplug(0)
        assert motion.ending is Ending.SILENT
        # Unread, it is only asked.
        assert goals[-1] == READ_ONLY


def test_a_constant_delta_is_a_constant_torque():
    for delta in (8, -8):
        rig = Rig(3)
        rig.plant.hold(0)
        push = rig.push(delta)
        looks = list(push.run(never))
        assert push.ending is Ending.DONE
        assert {look.goals[0] - 127 for look in looks} == {delta}
        assert rig.plant.motion(0).torque_n_m == pytest.approx(delta * MODEL.tick_torque_n_m(10), rel=0.1)
        assert looks[-1].time_ns == pytest.approx(1e9, rel=0.05)


def test_a_shaft_that_runs_away_is_stopped_at_once():
    rig = Rig(3)
    push = rig.push(15, seconds=5.0, most=20.0)
    looks = list(push.run(never))
    assert push.ending is Ending.RAN_AWAY
    assert push.begun_raw == 127
    # One cycle of 10 ms at the speed it has, and no more.
    assert 20 < looks[-1].positions[0] - 127 < 30
    # Limp already, before anybody has come to release it.
    assert rig.plant.motion(0).torque_n_m == 0.0


def test_a_push_ends_at_the_end_of_the_scale():
    rig = Rig(3)
    looks = list(rig.push(200, seconds=1.0).run(never))
    assert max(look.goals[0] for look in looks) == 254


def test_watching_reads_and_nothing_else():
    rig = Rig(0, 1)
    looks = []
    for look in watch(rig.bus, rig.pace, 20 * MS, after(50)):
        looks.append(look)
        if len(looks) == 11:
            break
    assert all(look.good and set(look.goals) == {READ_ONLY} for look in looks)
    assert looks[10].time_ns - looks[0].time_ns == 200 * MS
    assert rig.plant.motion(0).torque_n_m == 0.0
    assert len(list(watch(rig.bus, rig.pace, 0, after(3)))) <= 3


def test_who_answers():
    rig = Rig(4)
    assert answers(rig.bus, rig.pace)
    rig.emulator.unplug(0)
    assert not answers(rig.bus, rig.pace)


def test_places_outside_the_scale_are_refused():
    check_raw(MODEL, 0)
    check_raw(MODEL, 254)
    for raw in (-1, 255):
        with pytest.raises(BusError, match=r"0 to 254, 0\.0 to 166\.1 degrees"):
            check_raw(MODEL, raw)
