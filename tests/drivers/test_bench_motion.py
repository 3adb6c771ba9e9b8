"""Turning servos at the bench, on the virtual clock: nothing blind, nothing too far, nothing for too long."""

from itertools import pairwise

import numpy as np
import pytest

from drivers.aimotor import FAMILY, AiMotorBus, AiMotorEmulator
from drivers.bench.motion import Ending, Move, Push, check_raw, read_first, wait_for_next, watch
from drivers.bench.plant import BenchPlant
from drivers.bench.release import answers
from drivers.bus import READ_ONLY
from drivers.clock import VirtualPace
from drivers.errors import BusError
from drivers.injection import FaultLayer, LineFaults
from drivers.inprocess import InProcessPort
from drivers.servo import ReplyStatus, ServoAddress

MS = 1_000_000
OK = int(ReplyStatus.OK)
MODEL = FAMILY.models["1001"]
TICK = MODEL.tick_deg


class Rig:
    """Emulated AI motors on a bench, and their bus."""

    def __init__(self, *ids, **options):
        servos = [ServoAddress(bus_id, f"id {bus_id}", "1001") for bus_id in ids]
        self.plant = BenchPlant([MODEL] * len(ids))
        self.emulator = AiMotorEmulator(servos, self.plant, **options)
        self.bus = AiMotorBus(InProcessPort(self.emulator, self.emulator.baud), servos)
        self.pace = VirtualPace()
        self.bus.set_level(0)
        self.plugged: list[bool] = []

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
    # Up and down, each at most two ticks in a cycle.
    for before, later in pairwise(looks):
        for k in range(2):
            assert abs(later.goals[k] - before.goals[k]) <= 2
    # The first goal is where the shaft was, not where it is to go.
    assert looks[0].goals == (pytest.approx(127, abs=1), pytest.approx(127, abs=1))


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


def test_a_goal_that_was_overtaken_goes_back_to_the_target_without_waiting_for_the_shaft():
    rig = Rig(3)
    move = rig.move([200])
    looks = []
    for look in move.run(never):
        looks.append(look)
        if look.time_ns > 0.5e9:
            # Somebody turns the shaft past its target, slowly enough to be believed, and holds it there.
            rig.plant.hold(0)
            rig.plant._shafts[0].angle_deg = min(rig.plant._shafts[0].angle_deg + 4 * TICK, 230 * TICK)
    assert looks[-1].positions == (230,)
    # Not torn back: two lags from the shaft at most, then on to the target at its rate.
    driven = [look.goals[0] for look in looks if look.goals[0] != READ_ONLY]
    assert driven[-1] == 200
    assert move.ending is Ending.SHORT


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


@pytest.mark.parametrize("make", [lambda rig: rig.move([200]), lambda rig: rig.push(3, seconds=5.0)])
def test_four_lost_replies_in_a_row_are_borne_and_five_are_silence(make):
    for lost, ending in ((4, Ending.DONE), (5, Ending.SILENT)):
        rig = Rig(3)
        motion = make(rig)
        bad = 0
        for look in motion.run(never):
            bad += look.statuses[0] == ReplyStatus.MISSED
            if len(rig.plugged) == 0 and look.time_ns > 0.1e9:
                rig.emulator.unplug(0)
                rig.plugged.append(False)
            if bad == lost and len(rig.plugged) == 1:
                rig.emulator.plug(0)
                rig.plugged.append(True)
        assert motion.ending is ending
        assert bad == lost


class Spy:
    """A bus that writes down what was known of its servos when it was told to go somewhere."""

    def __init__(self, bus):
        self._bus, self.told = bus, []

    def __getattr__(self, name):
        return getattr(self._bus, name)

    def start(self, now_ns, goals):
        self.told.append((now_ns, tuple(self._bus.status), tuple(goals)))
        self._bus.start(now_ns, goals)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("what", ["move", "push"])
def test_whoever_was_not_read_is_only_asked(what, seed):
    faults = FaultLayer(LineFaults(drop=0.1), np.random.default_rng(seed))
    rig = Rig(*((3, 4) if what == "move" else (3,)), faults=faults)
    rig.bus = spy = Spy(rig.bus)
    motion = rig.move([150, 100]) if what == "move" else rig.push(3)
    assert list(motion.run(never))
    unread = 0
    for _, statuses, goals in spy.told:
        for status, goal in zip(statuses, goals, strict=True):
            if status != OK:
                unread += 1
                assert goal == READ_ONLY
    assert unread > 5


def test_when_it_is_asked_to_stop_nothing_more_is_said():
    for asked in range(1, 12):
        rig = Rig(3)
        rig.bus = spy = Spy(rig.bus)
        stopped_ns = []
        stop = after(asked)

        def asking(stop=stop, rig=rig, stopped_ns=stopped_ns):
            if said := stop():
                stopped_ns.append(rig.pace.now_ns)
            return said

        assert list(rig.move([200]).run(asking)) == []
        assert stopped_ns
        assert all(now_ns <= stopped_ns[0] for now_ns, _, _ in spy.told)


def test_a_long_pause_is_broken_off_when_asked_to():
    rig = Rig(3)
    looks = list(watch(rig.bus, rig.pace, 60_000 * MS, lambda: rig.pace.now_ns > 500 * MS))
    assert len(looks) == 1
    assert rig.pace.now_ns <= 600 * MS + MS


def test_a_cycle_that_is_late_begins_at_once_and_none_is_made_up_for():
    pace = VirtualPace()
    pace.wait(35 * MS, ())
    due_ns = wait_for_next(pace, 0, 10 * MS, never)
    assert (due_ns, pace.now_ns) == (35 * MS, 35 * MS)
    assert [due_ns := wait_for_next(pace, due_ns, 10 * MS, never) for _ in range(3)] == [45 * MS, 55 * MS, 65 * MS]
    assert pace.now_ns == 65 * MS


@pytest.mark.parametrize("make", [lambda rig: rig.move([200]), lambda rig: rig.push(3, seconds=5.0)])
def test_a_servo_that_turns_out_to_be_another_one_ends_a_motion(make):
    rig = Rig(3)
    motion = make(rig)
    refused_ns = None
    for look in motion.run(never):
        assert refused_ns is None, "driven on"
        if look.time_ns > 0.1e9:
            rig.bus.refusals = ("id 3: expected a 1001, found a 701",)
            refused_ns = look.time_ns
    assert motion.ending is Ending.REFUSED
    # And does not begin another one.
    began = rig.pace.now_ns
    with pytest.raises(BusError, match="found a 701"):
        list(make(rig).run(never))
    assert rig.pace.now_ns - began < 50 * MS


def test_what_can_not_be_driven_is_said_before_anybody_is_silent():
    rig = Rig(1, 2)
    rig.emulator.unplug(1)
    rig.bus.refusals = ("id 1: expected a 1001",)
    with pytest.raises(BusError, match="id 1: expected a 1001"):
        read_first(rig.bus, rig.pace)
    # One cycle of both, not two hundred.
    assert rig.pace.now_ns < 20 * MS


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
