"""The bus of servos with registers, on the virtual clock: what it says, to whom, and what it believes."""

import itertools

import numpy as np
import pytest
from framed_rig import FAMILIES, FAR, IMPLAUSIBLE, MISSED, NONE, OK, START, TIMEOUT_NS, Leg
from framed_servos import MS

from drivers.bus import LIMP, READ_ONLY
from drivers.errors import BusError, BusUrlError, FrameError, PortError
from drivers.faults import FaultLayer, LineFaults
from drivers.framed.cycle import ARMINGS, BEYOND_TICKS, WATCH_CYCLES
from drivers.framed.packet import READ, SYNC_READ, SYNC_WRITE, WRITE
from drivers.framed.readings import DOUBT_NS
from drivers.framed.setup import Answer, Ask, NobodyAnswered, configure, identify
from drivers.port import NEVER, wire_ns
from drivers.servo import LEVEL_SHARE, ServoAddress

both = pytest.mark.parametrize("family", FAMILIES)
TURN_NS = 40_000


def sizes(leg):
    """Return the bytes of a cycle's request without goals, with goals, and of one reply."""
    dialect, count = leg.layout.dialect, len(leg.ids)
    width, goal = dialect.address_bytes, leg.layout.register("goal_position").size
    bare = len(dialect.instruction(0xFE, SYNC_READ))
    reads = bare + 2 * width + count
    return reads, reads + bare + 2 * width + count * (1 + goal), dialect.status_bytes(leg.layout.block[1])


# --- time ---


@both
@pytest.mark.parametrize("baud", [57_600, 1_000_000])
def test_a_cycle_takes_its_bytes_and_a_turnaround_for_each_reply(family, baud):
    leg = Leg(family, baud=baud, turnaround_ns=TURN_NS)
    leg.go(START)
    reads, all_of_it, reply = sizes(leg)
    for goals, request in ((READ_ONLY, reads), (START, all_of_it)):
        begun = leg.now_ns
        leg.cycle(goals)
        each = TURN_NS + wire_ns(reply, baud)
        stamps = [begun + wire_ns(request, baud) + k * each for k in range(1, 5)]
        assert leg.bus.stamp_ns == pytest.approx(stamps, abs=4)
        assert leg.now_ns == leg.bus.stamp_ns[-1]
    assert leg.bus.wake_ns == NEVER


@both
def test_proceed_at_each_wake_is_the_same_as_run_until(family):
    fast, slow = Leg(family), Leg(family)
    for k, goals in enumerate([READ_ONLY, START, START + 10, START + 10, LIMP, START, READ_ONLY] * 3):
        for leg in (fast, slow):
            leg.turn(k % 4, START + k)
        fast.cycle(goals)
        slow.bus.start(slow.now_ns, [goals] * 4)
        while not slow.bus.proceed(slow.now_ns):
            slow.now_ns = slow.bus.wake_ns
        assert slow.now_ns == fast.now_ns
        for name in ("position_raw", "current_raw", "status", "stamp_ns", "misses"):
            assert getattr(slow.bus, name) == getattr(fast.bus, name), name
    assert slow.plant.calls == fast.plant.calls


@both
def test_a_late_host_keeps_the_stamps(family):
    leg = Leg(family, turnaround_ns=TURN_NS)
    leg.bus.start(0, [READ_ONLY] * 4)
    assert not leg.bus.proceed(1000)
    leg.bus.proceed(FAR)
    reads, _, reply = sizes(leg)
    delay = 2000 * leg.memory(0)["return_delay"]
    first = wire_ns(reads, leg.baud) + delay + TURN_NS + wire_ns(reply, leg.baud)
    assert leg.bus.stamp_ns[0] == first
    assert leg.bus.status == [OK] * 4


@both
def test_run_until_stops_at_the_horizon_and_goes_on(family):
    leg = Leg(family)
    leg.cycle()
    leg.bus.start(leg.now_ns, [READ_ONLY] * 4)
    before = leg.bus.stamp_ns[:]
    wake = leg.bus.wake_ns
    assert leg.bus.run_until(wake - 1) == NEVER
    assert leg.bus.stamp_ns == before
    assert leg.bus.run_until(wake) == NEVER
    assert [a != b for a, b in zip(leg.bus.stamp_ns, before, strict=True)] == [True, False, False, False]
    end = leg.bus.run_until(FAR)
    assert end == leg.bus.stamp_ns[3]
    assert leg.bus.run_until(FAR) == NEVER
    assert leg.bus.proceed(FAR)


@both
def test_a_cycle_begun_in_the_past_of_the_wire_begins_when_the_last_one_is_over(family):
    leg = Leg(family)
    leg.cycle()
    leg.cycle()
    end = leg.now_ns
    whole = end - leg.bus.stamp_ns[0]
    leg.now_ns -= whole
    leg.cycle()
    assert leg.bus.stamp_ns[0] > end
    assert leg.bus.status == [OK] * 4


# --- reading ---


@both
def test_reading_reports_positions_and_loads_and_writes_nothing(family):
    leg = Leg(family)
    assert leg.bus.status == [NONE] * 4
    for k in range(4):
        leg.turn(k, START + 3 * k)
    for _ in range(2 * WATCH_CYCLES):
        assert leg.cycle() == [OK] * 4
    assert leg.bus.position_raw == [START, START + 3, START + 6, START + 9]
    assert leg.bus.current_raw == [0] * 4
    assert leg.reads_only()
    assert leg.driven() == {}
    assert leg.bus.refusals == ()


def test_a_position_beyond_the_scale_is_its_end():
    leg = Leg("dynamixel")
    leg.turn(0, -7)
    leg.turn(1, 4100)
    leg.cycle()
    assert leg.bus.position_raw[:2] == [0, 4095]
    assert leg.bus.status == [OK] * 4


def test_a_servo_in_another_turn_of_its_shaft_is_none_to_drive():
    leg = Leg("dynamixel")
    leg.turn(0, 4095 + BEYOND_TICKS)
    leg.turn(1, 4095 + BEYOND_TICKS + 1)
    leg.turn(2, -BEYOND_TICKS)
    leg.turn(3, -BEYOND_TICKS - 1)
    for _ in range(3):
        leg.cycle()
        assert leg.bus.position_raw == [4095, 4095, 0, 0]
        assert leg.bus.status == [OK, IMPLAUSIBLE, OK, IMPLAUSIBLE]
    assert leg.bus.misses == [0, 3, 0, 3]
    leg.cycle(LIMP)
    assert leg.bus.status == [OK] * 4
    leg.turn(1, 4080)
    leg.turn(3, 10)
    leg.cycle()
    assert leg.bus.status == [OK] * 4


@both
def test_a_jump_is_refused_once_and_believed_when_it_is_confirmed(family):
    leg = Leg(family)
    leg.cycle()
    leg.turn(2, START + 500)
    assert leg.cycle() == [OK, OK, IMPLAUSIBLE, OK]
    assert leg.bus.position_raw[2] == START
    assert leg.bus.misses == [0, 0, 1, 0]
    assert leg.cycle() == [OK] * 4
    assert leg.bus.position_raw[2] == START + 500
    assert (leg.bus.implausible, leg.bus.misses) == (1, [0] * 4)


@both
def test_two_jumps_to_different_places_are_both_refused(family):
    leg = Leg(family)
    leg.cycle()
    for ticks in (500, -500, 900):
        leg.turn(0, START + ticks)
        assert leg.cycle()[0] == IMPLAUSIBLE
    assert leg.bus.position_raw[0] == START


@both
def test_what_a_shaft_can_do_in_the_time_is_believed(family):
    leg = Leg(family)
    for _ in range(3):
        leg.cycle()
    stamp = leg.bus.stamp_ns[0]
    leg.cycle()
    ticks = 1000.0 / leg.model.tick_deg * 1e-9 * (leg.bus.stamp_ns[0] - stamp + DOUBT_NS)
    assert ticks > 1
    leg.turn(0, START + int(ticks) + 1)
    leg.turn(1, START + int(ticks) + 2)
    assert leg.cycle() == [OK, IMPLAUSIBLE, OK, OK]


# --- setting up and driving ---


@both
def test_nobody_is_driven_before_everybody_is_set_up(family):
    leg = Leg(family)
    leg.cycle()
    leg.requests()
    seen = set()
    while not leg.driven():
        leg.plant.calls.clear()
        assert leg.cycle(START + 20) == [OK] * 4
        seen |= {(bus_id, name) for bus_id, name, _ in leg.writes()}
    settings = {name for name, _ in leg.layout.first.settings}
    written = {name for _, name in seen}
    assert {"position_i_gain", "operating_mode"} <= settings
    assert "goal_position" in written
    assert leg.driven() == {0: START + 20, 1: START + 20, 2: START + 20, 3: START + 20}
    for k in range(4):
        memory = leg.memory(k)
        assert all(memory[name] == value for name, value in leg.layout.first.settings)


@both
def test_what_is_set_already_is_not_written_again(family):
    leg = Leg(family)
    leg.go(START)
    leg.release()
    leg.requests()
    leg.bus = leg.another()
    leg.go(START)
    table = leg.layout.first.table
    kept = {name for _, name, _ in leg.writes() if table[name].access == "eeprom"}
    # Under a lock that is closed the gain lasts as long as the supply.
    assert kept == ({"position_p_gain"} if leg.layout.lock else set())


@both
def test_one_goal_is_enough_even_while_servos_are_set_up(family):
    leg = Leg(family)
    leg.cycle(START + 30)
    assert leg.driven() == {}
    for _ in range(30):
        leg.cycle()
    assert leg.driven() == dict.fromkeys(range(4), START + 30)


@both
def test_the_last_goal_counts_that_came_before_the_servo_was_ready(family):
    leg = Leg(family)
    leg.cycle(START + 30)
    leg.cycle([START - 30, READ_ONLY, LIMP, READ_ONLY])
    for _ in range(30):
        leg.cycle()
    assert leg.driven() == {0: START - 30, 1: START + 30, 3: START + 30}


@both
def test_torque_comes_on_with_a_goal_in_place_and_the_goal_follows(family):
    leg = Leg(family)
    leg.go(START + 5)
    names = [name for bus_id, name, value in leg.writes() if bus_id == 1 and (name, value) != ("torque_enable", 0)]
    on = names.index("torque_enable")
    assert names[on - 1] == names[on + 1] == "goal_position"
    first = next(call for call in leg.plant.calls if call[0] == "drive")
    # A Dynamixel stays where it is until the goal comes; a goal of before would be seen here.
    assert first[2] in (START, START + 5)


@both
def test_goals_reach_their_servos_and_readers_keep_theirs(family):
    leg = Leg(family)
    leg.go([START + 1, START + 2, START + 3, START + 4])
    leg.requests()
    leg.cycle([READ_ONLY, START + 9, READ_ONLY, READ_ONLY])
    assert leg.writes() == [(2, "goal_position", START + 9)]
    assert leg.driven() == {0: START + 1, 1: START + 9, 2: START + 3, 3: START + 4}


@both
def test_goals_are_kept_within_what_the_servo_is_set_to_take(family):
    model = "XL430-W250" if family == "dynamixel" else ""
    leg = Leg(family, model=model)
    leg.memory(1).restore({"min_position": 1000, "max_position": 3000})
    leg.go(START)
    leg.cycle(4000)
    assert leg.driven() == {0: 4000, 1: 3000, 2: 4000, 3: 4000}
    leg.cycle(10)
    assert leg.driven()[1] == 1000


@both
def test_limits_that_are_out_of_order_are_refused(family):
    model = "XL430-W250" if family == "dynamixel" else ""
    leg = Leg(family, model=model)
    leg.memory(1).restore({"min_position": 3000, "max_position": 1000})
    for _ in range(30):
        leg.cycle(START)
    assert sorted(leg.driven()) == [0, 2, 3]
    (why,) = leg.bus.refusals
    assert "servo 2" in why
    assert "3000 to 1000" in why


@both
def test_another_model_is_not_driven_and_says_why(family):
    leg = Leg(family)
    leg.memory(2)["model_number"] = 4242
    for _ in range(30):
        assert leg.cycle(START + 8) == [OK] * 4
    assert sorted(leg.driven()) == [0, 1, 3]
    (why,) = leg.bus.refusals
    assert "'servo 3' (bus id 3)" in why
    assert "4242" in why
    assert leg.model.name in why
    assert all(bus_id != 3 for bus_id, _, _ in leg.writes())
    leg.emulator.unplug(2)
    leg.cycle()
    leg.emulator.plug(2)
    leg.go(START + 9)
    assert leg.bus.refusals == ()


@both
def test_a_servo_whose_model_nobody_says_is_what_it_says_it_is(family):
    anonymous = [ServoAddress(bus_id, f"id {bus_id}") for bus_id in (1, 2)]
    leg = Leg(family, (1, 2), addresses=anonymous)
    leg.memory(1)["model_number"] = 4242
    for _ in range(30):
        leg.cycle(START)
    assert leg.driven() == {0: START}
    (why,) = leg.bus.refusals
    assert "not known" in why


@pytest.mark.parametrize(("family", "name"), [("dynamixel", "return_delay"), ("feetech", "position_i_gain")])
def test_a_setting_that_does_not_take_is_a_refusal(family, name):
    leg = Leg(family)
    register = leg.layout.first.table[name]
    leg.memory(0).restore({name: 9})
    dialect = leg.layout.dialect
    address = register.address.to_bytes(dialect.address_bytes, "little")

    def change(data):
        wrong, right = (dialect.instruction(1, WRITE, address + register.encode(value)) for value in (7, 0))
        return data.replace(right, wrong)

    leg.port.change = change
    for _ in range(40):
        leg.cycle(START)
    assert sorted(leg.driven()) == [1, 2, 3]
    (why,) = leg.bus.refusals
    assert f"{name} stays 7 where 0 was written" in why


@both
def test_a_servo_that_does_not_turn_its_torque_on_is_refused_in_the_end(family):
    leg = Leg(family)
    leg.go(START)
    leg.cycle([LIMP, START, START, START])
    servo = leg.emulator.servos[0]
    dialect = leg.layout.dialect
    torque = leg.layout.register("torque_enable")
    numbers = b"".join(n.to_bytes(dialect.address_bytes, "little") for n in (torque.address, 1))
    on = dialect.instruction(0xFE, SYNC_WRITE, numbers + b"\x01\x01")
    off = dialect.instruction(0xFE, SYNC_WRITE, numbers + b"\x01\x00")
    leg.port.change = lambda data: data.replace(on, off)
    for count in range(ARMINGS):
        assert leg.bus.refusals == (), count
        leg.cycle(START)
    assert servo.memory["torque_enable"] == 0
    assert "does not turn its torque on" in leg.bus.refusals[0]
    leg.requests()
    leg.cycle(START)
    assert all(bus_id != 1 for bus_id, _, _ in leg.writes())


@both
def test_stiffness_sets_the_gain(family):
    stiff = [ServoAddress(1, "a", "", 0.1), ServoAddress(2, "b", "", 0.0)]
    leg = Leg(family, (1, 2), addresses=stiff)
    leg.go(START)
    assert leg.memory(0)["position_p_gain"] == leg.model.gain_for(0.1) != leg.model.default_gain
    assert leg.memory(1)["position_p_gain"] == leg.model.default_gain


@both
def test_levels_and_limits_bound_the_torque(family):
    stall = Leg(family).model.stall_torque_n_m
    bounded = [ServoAddress(1, "a", "", 0.0, stall / 4), ServoAddress(2, "b", "", 0.0, 9 * stall), ServoAddress(3, "c")]
    leg = Leg(family, (1, 2, 3), addresses=bounded)
    leg.go(START)
    for level in (0, 4, 2):
        leg.bus.set_level(level)
        leg.cycle(START)
        limits = {call[1]: call[4] for call in leg.plant.calls if call[0] == "drive"}
        share = LEVEL_SHARE[level]
        assert limits == pytest.approx({0: share * stall / 4, 1: share * stall, 2: share * stall}, rel=0.02)


@both
def test_a_bound_is_sent_twice_and_then_no_more(family):
    leg = Leg(family)
    leg.go(START)
    cap = leg.layout.first.cap[0]
    leg.cycle(START)
    leg.requests()
    leg.bus.set_level(1)
    for expected in (True, True, False):
        leg.cycle(START)
        assert (cap in {name for _, name, _ in leg.writes()}) is expected
    leg.bus.set_level(1)
    leg.cycle(START)
    assert cap not in {name for _, name, _ in leg.writes()}


# --- silence and what follows it ---


@both
def test_a_missing_servo_costs_its_time_out_and_hides_nobody(family):
    leg = Leg(family)
    leg.go(START)
    leg.cycle(START)
    whole = -leg.now_ns
    leg.cycle(START)
    whole += leg.now_ns
    leg.emulator.unplug(1)
    for missed in range(1, 5):
        begun = leg.now_ns
        assert leg.cycle(START + 1) == [OK, MISSED, OK, OK]
        assert leg.now_ns - begun < whole + TIMEOUT_NS + 1.5 * MS
        assert leg.bus.misses == [0, missed, 0, 0]
    assert leg.bus.missed == 4
    assert leg.driven() == {0: START + 1, 2: START + 1, 3: START + 1}


@both
@pytest.mark.parametrize("gone", [(0,), (3,), (0, 1), (1, 2), (0, 1, 2), (0, 1, 2, 3)])
def test_whoever_is_gone_the_others_are_read(family, gone):
    leg = Leg(family)
    leg.cycle()
    for k in gone:
        leg.emulator.unplug(k)
    expected = [MISSED if k in gone else OK for k in range(4)]
    for _ in range(3):
        assert leg.cycle() == expected
    for k in gone:
        leg.emulator.plug(k)
    leg.cycle()
    assert leg.cycle() == [OK] * 4
    assert leg.bus.misses == [0] * 4


@both
def test_a_servo_that_comes_back_is_limp_until_a_goal_and_set_up_before(family):
    leg = Leg(family)
    leg.go(START)
    leg.emulator.unplug(1)
    leg.cycle([START, READ_ONLY, START, START])
    leg.emulator.plug(1)
    leg.requests()
    for _ in range(30):
        leg.cycle([START, READ_ONLY, START, START])
    assert all(bus_id != 2 for bus_id, _, _ in leg.writes())
    assert sorted(leg.driven()) == [0, 2, 3]
    leg.go(START + 4)
    for name, value in leg.layout.first.settings:
        assert leg.memory(1)[name] == value


@both
def test_setting_one_up_takes_the_others_one_exchange_per_cycle(family):
    leg = Leg(family)
    leg.go(START)
    leg.emulator.unplug(1)
    leg.cycle(START)
    leg.emulator.plug(1)
    for _ in range(4):
        leg.cycle(START)
    leg.requests()
    for _ in range(10):
        leg.cycle(START)
        singles = [packet for packet in leg.requests() if packet.instruction in (READ, WRITE)]
        assert len(singles) == 1
    leg.go(START + 1)


@both
def test_a_lost_reply_drops_nobody(family):
    leg = Leg(family)
    leg.go(START)
    leg.plant.calls.clear()
    leg.port.lose = 1
    assert MISSED in leg.cycle(START)
    for _ in range(3):
        leg.cycle(START + 2)
    assert [call for call in leg.plant.calls if call[0] == "release"] == []
    assert leg.driven() == dict.fromkeys(range(4), START + 2)


@both
def test_a_supply_that_dipped_unseen_is_found_out(family):
    leg = Leg(family)
    leg.go(START)
    leg.emulator.brown_out(3)
    assert 3 not in leg.driven()
    assert leg.go(START + 1, most=WATCH_CYCLES + 60)
    memory = leg.memory(3)
    assert all(memory[name] == value for name, value in leg.layout.first.settings)


@both
def test_a_servo_that_was_off_and_dipped_gets_gain_and_bound_with_its_torque(family):
    leg = Leg(family, addresses=[ServoAddress(1, "a", "", 0.05)], ids=(1,))
    leg.go(START)
    leg.cycle(LIMP)
    leg.emulator.brown_out(0)
    leg.go(START)
    assert leg.memory(0)["position_p_gain"] == leg.model.gain_for(0.05)
    cap, full = leg.layout.first.cap
    assert leg.memory(0)[cap] == round(full * LEVEL_SHARE[3])


@both
def test_a_servo_that_shut_down_is_released_not_well_and_says_why(family):
    leg = Leg(family)
    leg.go(START)
    leg.emulator.trip(2)
    for _ in range(10):
        leg.cycle(START + 3)
    assert leg.bus.status == [OK, OK, IMPLAUSIBLE, OK]
    assert leg.bus.misses[2] == 10
    (why,) = leg.bus.refusals
    assert "servo 3" in why
    assert "overload" in why
    assert sorted(leg.driven()) == [0, 1, 3]
    assert leg.memory(2)["torque_enable"] == 0
    leg.turn(2, START + 2)
    leg.cycle(START + 3)
    assert leg.bus.position_raw[2] == START + 2
    leg.emulator.trip(2, tripped=False)
    leg.go(START + 5)
    assert leg.bus.refusals == ()
    assert leg.bus.status == [OK] * 4


@both
def test_a_tripped_servo_confirms_that_it_is_limp(family):
    leg = Leg(family)
    leg.go(START)
    leg.emulator.trip(2)
    for _ in range(5):
        leg.cycle(START)
    assert leg.cycle(LIMP) == [OK] * 4
    assert leg.release() == [OK] * 4


# --- torque off ---


@both
def test_limp_is_confirmed_and_its_load_is_nothing(family):
    leg = Leg(family)
    leg.go(START)
    leg.turn(1, START - 30, a=0.5)
    leg.emulator.stick(1)
    leg.cycle(START)
    assert leg.bus.current_raw[1] != 0
    assert leg.cycle([START, LIMP, START, START]) == [OK] * 4
    assert sorted(leg.driven()) == [0, 2, 3]
    assert leg.bus.current_raw[1] == 0
    leg.emulator.stick(1, stuck=False)
    leg.requests()
    leg.cycle([READ_ONLY, LIMP, READ_ONLY, READ_ONLY])
    assert leg.reads_only()
    assert leg.go(START) <= 2


@both
def test_limp_needs_no_set_up(family):
    leg = Leg(family)
    assert leg.cycle(LIMP) == [OK] * 4
    assert {name for _, name, _ in leg.writes()} == {"torque_enable"}


@both
def test_a_limp_servo_that_was_missed_is_told_again(family):
    leg = Leg(family)
    for _ in range(2):
        leg.cycle(LIMP)
    leg.emulator.unplug(1)
    leg.cycle(LIMP)
    leg.emulator.plug(1)
    leg.cycle(LIMP)
    assert leg.cycle(LIMP) == [OK] * 4
    leg.requests()
    leg.cycle(LIMP)
    assert leg.reads_only()
    leg.emulator.unplug(1)
    leg.cycle(LIMP)
    leg.requests()
    leg.cycle(LIMP)
    assert {bus_id for bus_id, _, _ in leg.writes()} == {2}


@both
def test_limp_that_was_not_confirmed_is_not_ok_and_said_again(family):
    leg = Leg(family)
    leg.go(START)
    dialect = leg.layout.dialect
    torque = leg.layout.register("torque_enable")
    numbers = b"".join(n.to_bytes(dialect.address_bytes, "little") for n in (torque.address, 1))
    off = dialect.instruction(0xFE, SYNC_WRITE, numbers + b"\x02\x00")
    leg.port.change = lambda data: data.replace(off, bytes(len(off)))
    assert leg.cycle([START, LIMP, START, START]) == [OK, MISSED, OK, OK]
    leg.port.change = None
    assert leg.cycle([START, LIMP, START, START]) == [OK] * 4
    assert 1 not in leg.driven()


@both
def test_torque_goes_off_for_everybody_at_once_and_is_confirmed(family):
    leg = Leg(family)
    leg.go(START)
    leg.requests()
    assert leg.release() == [OK] * 4
    assert leg.driven() == {}
    first = leg.requests()[0]
    assert (first.bus_id, first.instruction) == (0xFE, WRITE)
    assert leg.go(START) == 1


@both
def test_torque_goes_off_on_a_bus_that_has_said_nothing_yet(family):
    leg = Leg(family)
    leg.go(START)
    other = leg.another()
    other.torque_off(leg.now_ns)
    other.run_until(FAR)
    assert other.status == [OK] * 4
    assert leg.driven() == {}


@both
def test_a_torque_off_that_was_not_heard_is_said_to_each(family):
    leg = Leg(family)
    leg.go(START)
    everybody = torque_write(leg, 0xFE)
    leg.port.change = lambda data: data.replace(everybody, bytes(len(everybody)))
    assert leg.release() == [OK] * 4
    assert leg.driven() == {}


@both
def test_whoever_is_gone_does_not_confirm(family):
    leg = Leg(family)
    leg.go(START)
    leg.emulator.unplug(0)
    leg.emulator.unplug(2)
    assert leg.release() == [MISSED, OK, MISSED, OK]
    assert leg.release() == [MISSED, OK, MISSED, OK]


def torque_write(leg, bus_id):
    dialect = leg.layout.dialect
    address = leg.layout.register("torque_enable").address.to_bytes(dialect.address_bytes, "little")
    return dialect.instruction(bus_id, WRITE, address + b"\x00")


@both
def test_a_servo_whose_torque_stays_on_has_not_confirmed(family):
    leg = Leg(family)
    leg.go(START)
    everybody, third = torque_write(leg, 0xFE), torque_write(leg, 3)
    leg.port.change = lambda data: data.replace(everybody, bytes(len(everybody))).replace(third, bytes(len(third)))
    assert leg.release() == [OK, OK, IMPLAUSIBLE, OK]
    assert leg.driven() == {2: START}
    leg.port.change = None
    assert leg.release() == [OK] * 4


@both
def test_torque_off_comes_after_the_exchange_under_way(family):
    leg = Leg(family)
    leg.go(START)
    leg.bus.start(leg.now_ns, [START + 50] * 4)
    leg.requests()
    leg.bus.torque_off(leg.now_ns + 1000)
    leg.bus.torque_off(leg.now_ns + 2000)
    end = leg.bus.run_until(FAR)
    assert leg.bus.wake_ns == NEVER
    assert leg.driven() == {}
    assert leg.bus.status == [OK] * 4
    assert end < leg.now_ns + 5 * MS
    leg.now_ns = end
    assert leg.cycle() == [OK] * 4


@both
def test_torque_off_in_the_middle_of_a_set_up_leaves_it_to_be_done_anew(family):
    for steps in range(1, 40, 3):
        leg = Leg(family, (1, 2))
        leg.bus.start(0, [START] * 2)
        now = 0
        for _ in range(steps):
            now = leg.bus.wake_ns
            if leg.bus.proceed(now):
                break
        leg.bus.torque_off(now)
        leg.now_ns = leg.bus.run_until(FAR)
        assert leg.bus.status == [OK] * 2
        assert leg.driven() == {}
        for _ in range(3):
            leg.cycle()
        assert leg.driven() == {}
        leg.go(START)


@both
def test_the_volley_takes_the_torque_off_first_of_all(family):
    leg = Leg(family)

    class Silent:
        hold_ns = 0
        written = b""

        def write(self, data, now_ns):
            self.written += data

        def read(self, now_ns):
            return b""

        def flush_input(self, now_ns):
            return 0

        def ready_ns(self, expected):
            return NEVER

    leg.port = Silent()
    bus = leg.another()
    bus.torque_off(0)
    bus.run_until(FAR)
    assert bus.status == [MISSED] * 4
    first, *rest = leg.requests()
    torque = leg.layout.register("torque_enable").address
    assert (first.bus_id, first.instruction, first.params[0], first.params[-1]) == (0xFE, WRITE, torque, 0)
    # And again and again: the first time may meet what servos still say.
    assert {packet.instruction for packet in rest} == {READ, SYNC_READ, WRITE}
    assert {packet.bus_id for packet in rest if packet.instruction == WRITE} == {0xFE}


# --- noise ---


@both
def test_a_line_full_of_faults_ends_nothing_and_refuses_nobody(family):
    faults = LineFaults(drop=0.03, flip=0.1, insert=0.03, truncate=0.03, delay=0.05, babble=0.03)
    leg = Leg(family, faults=FaultLayer(faults, np.random.default_rng(5)), rng=np.random.default_rng(6))
    for k in range(300):
        leg.cycle(START + k % 3)
    assert leg.bus.missed > 0
    assert leg.bus.refusals == ()
    assert set(leg.bus.position_raw) == {START}
    leg.emulator.set_faults(LineFaults())
    leg.go(START + 7, most=200)
    assert leg.cycle(START + 7) == [OK] * 4


@both
def test_bytes_nobody_asked_for_are_counted(family):
    leg = Leg(family)
    leg.cycle()
    before = leg.bus.stray_bytes
    leg.port.deliver(b"noise!", leg.now_ns)
    leg.now_ns += 10 * MS
    assert leg.bus.proceed(leg.now_ns)
    assert leg.bus.stray_bytes == before + 6
    assert leg.cycle() == [OK] * 4


@both
def test_statuses_of_others_and_second_ones_are_not_believed(family):
    leg = Leg(family, (1, 2))
    leg.cycle()
    dialect = leg.layout.dialect
    length = leg.layout.block[1]
    leg.emulator.unplug(1)
    before = leg.bus.stray_bytes
    leg.bus.start(leg.now_ns, [READ_ONLY] * 2)
    # While the second one is waited for, a third says something, and the first one says it again.
    for bus_id in (9, 1):
        leg.port.deliver(dialect.status(bus_id, 0, bytes(length)), leg.now_ns)
    leg.now_ns = leg.bus.run_until(FAR)
    assert leg.bus.status == [OK, MISSED]
    assert leg.bus.position_raw == [START] * 2
    assert leg.bus.stray_bytes - before == 2 * dialect.status_bytes(length)


@both
def test_a_status_that_comes_too_early_is_one_of_before(family):
    leg = Leg(family, (1,))
    leg.cycle()
    late = leg.layout.dialect.status(1, 0, bytes(leg.layout.block[1]))
    before = leg.bus.stray_bytes
    reads, _, reply = sizes(leg)
    # Whole just before the request and the shortest status can have crossed the wire.
    earliest = wire_ns(reads, leg.baud) + wire_ns(leg.layout.dialect.status_bytes(0), leg.baud)
    leg.port.deliver(late, leg.now_ns + earliest - wire_ns(reply, leg.baud) - 2000)
    assert leg.cycle() == [OK]
    assert leg.bus.position_raw == [START]
    assert leg.bus.stray_bytes == before + len(late)


@both
def test_a_garbled_status_costs_no_time_when_those_behind_it_come(family):
    leg = Leg(family)
    for _ in range(3):
        leg.cycle()
    whole = leg.bus.stamp_ns[3] - leg.bus.stamp_ns[0]
    second = leg.layout.dialect.status(2, 0)[: 5 if family == "dynamixel" else 3]
    leg.port.hear = lambda data: data[:-1] + bytes((data[-1] ^ 1,)) if data.startswith(second) else data
    begun = leg.now_ns
    assert leg.cycle() == [OK, MISSED, OK, OK]
    assert leg.now_ns - begun < 2 * whole
    leg.port.hear = None
    assert leg.cycle() == [OK] * 4


@both
def test_a_status_of_another_length_is_not_believed(family):
    leg = Leg(family, (1,))
    leg.cycle()
    leg.port.change = lambda data: b""
    leg.bus.start(leg.now_ns, [READ_ONLY])
    leg.port.deliver(leg.layout.dialect.status(1, 0, b"\x01"), leg.now_ns + MS)
    leg.now_ns = leg.bus.run_until(FAR)
    assert leg.bus.status == [IMPLAUSIBLE]
    assert leg.bus.position_raw == [START]


@both
def test_checksums_that_are_wrong_are_counted(family):
    leg = Leg(family, (1,))
    leg.cycle()
    leg.port.change = lambda data: b""
    leg.bus.start(leg.now_ns, [READ_ONLY])
    frame = bytearray(leg.layout.dialect.status(1, 0, bytes(leg.layout.block[1])))
    frame[-3] ^= 4
    leg.port.deliver(bytes(frame), leg.now_ns + MS)
    leg.bus.run_until(FAR)
    assert leg.bus.status == [MISSED]
    assert leg.bus.bad_checksums == 1


# --- one by one ---


@both
def test_single_exchanges_write_to_and_read_each_by_itself(family):
    leg = Leg(family, single=True)
    leg.go([START + 1, START + 2, START + 3, START + 4])
    leg.requests()
    leg.cycle([START + 5, READ_ONLY, START + 6, READ_ONLY])
    asked = [(packet.instruction, packet.bus_id) for packet in leg.requests()]
    assert asked == [(WRITE, 1), (READ, 1), (READ, 2), (WRITE, 3), (READ, 3), (READ, 4)]
    assert leg.driven() == {0: START + 5, 1: START + 2, 2: START + 6, 3: START + 4}
    leg.bus.set_level(0)
    leg.cycle(START)
    leg.emulator.unplug(0)
    assert leg.cycle(START) == [MISSED, OK, OK, OK]


# --- contract ---


@both
@pytest.mark.parametrize("goals", [[], [START] * 3, [START] * 5, [-3] * 4, [0, 0, 0, 4096]])
def test_goals_the_wire_can_not_carry_are_refused_before_anything_is_said(family, goals):
    leg = Leg(family)
    with pytest.raises(FrameError):
        leg.bus.start(0, goals)
    assert leg.requests() == []
    assert leg.cycle() == [OK] * 4


@both
def test_a_cycle_within_a_cycle_is_refused(family):
    leg = Leg(family)
    leg.bus.start(0, [READ_ONLY] * 4)
    for begin in (lambda: leg.bus.start(0, [READ_ONLY] * 4), lambda: leg.bus.discover(0)):
        with pytest.raises(BusError):
            begin()
    leg.bus.run_until(FAR)
    with pytest.raises(FrameError):
        leg.bus.set_level(5)


@both
@pytest.mark.parametrize(
    "servos",
    [
        [],
        [ServoAddress(1, "a"), ServoAddress(1, "b")],
        [ServoAddress(254, "a")],
        [ServoAddress(-1, "a")],
        [ServoAddress(1, "a", "nix")],
    ],
)
def test_servos_that_can_not_be_are_refused(family, servos):
    leg = Leg(family)
    leg.addresses = servos
    with pytest.raises(BusUrlError):
        leg.another()


@both
def test_discovery_finds_who_is_there_and_their_models(family):
    ids = (0, 7, leg_max(family))
    leg = Leg(family, ids)
    leg.bus.discover(0)
    leg.now_ns = leg.bus.run_until(FAR)
    assert leg.bus.found == ids
    assert leg.bus.found_models == dict.fromkeys(ids, leg.model.number)
    leg.emulator.unplug(1)
    leg.bus.discover(leg.now_ns)
    leg.bus.run_until(FAR)
    assert leg.bus.found == (ids[0], ids[2])


def leg_max(family):
    return FAMILIES[family][0].dialect.max_id


@both
def test_a_port_that_is_gone_is_said_and_the_bus_can_still_be_told_to_stop(family):
    leg = Leg(family)
    leg.go(START)
    leg.bus.close()
    leg.bus.close()
    with pytest.raises(PortError):
        leg.bus.start(leg.now_ns, [START] * 4)
    leg.bus.torque_off(leg.now_ns)
    with pytest.raises(PortError):
        leg.bus.run_until(FAR)


@both
def test_many_servos_are_asked_in_groups(family):
    ids = tuple(range(70))
    leg = Leg(family, ids)
    assert leg.cycle() == [OK] * 70
    leg.go(START, most=300)
    # Past the cycle in which it is looked whether they have their torque.
    leg.cycle(START)
    leg.requests()
    assert leg.cycle(START + 1) == [OK] * 70
    counts = [packet.instruction for packet in leg.requests()]
    assert counts == [SYNC_WRITE, SYNC_WRITE, SYNC_READ, SYNC_READ]
    assert set(leg.driven().values()) == {START + 1}


@both
def test_what_a_bus_says_is_the_same_on_every_run(family):
    said = []
    for _ in range(2):
        leg = Leg(
            family, rng=np.random.default_rng(1), faults=FaultLayer(LineFaults(flip=0.05), np.random.default_rng(2))
        )
        for goal in itertools.chain([START] * 20, [READ_ONLY] * 5, [LIMP] * 3):
            leg.cycle(goal)
        said.append((leg.port.written, leg.now_ns))
    assert said[0] == said[1]


# --- what is asked before driving, register by register ---


def play(procedure, answers):
    """Run a procedure of `drivers.framed.setup` on `answers` (values by register, or what to say to each ask)."""
    asked = []
    answer = None
    while True:
        try:
            ask = procedure.send(answer)
        except StopIteration as stop:
            return stop.value, asked
        asked.append((ask.register.name, ask.value))
        answer = answers(ask)


def registers(layout, **changed):
    """Return what answers like a servo from the factory, with some registers otherwise; they change when written."""
    values = {register.name: register.default for register in layout.first.table.all.values()} | changed

    def answer(ask):
        if ask.value is not None:
            values[ask.register.name] = ask.value
            return Answer(0, 0)
        return Answer(values[ask.register.name], 0)

    return answer


@both
def test_an_alert_that_is_over_when_it_is_asked_for_is_none(family):
    layout = FAMILIES[family][0]
    found, asked = play(identify(layout, ServoAddress(1, "a"), alert=True, release=False), registers(layout))
    assert (found.refusal, found.alert) == ("", False)
    assert asked[:2] == [("model_number", None), (layout.alert_register, None)]


@both
def test_torque_that_does_not_go_off_is_a_refusal(family):
    layout = FAMILIES[family][0]
    factory = registers(layout, torque_enable=1)

    def stubborn(ask):
        return Answer(0, 0) if ask == Ask(layout.register("torque_enable"), 0) else factory(ask)

    found, asked = play(configure(layout, ServoAddress(1, "a"), layout.first), stubborn)
    assert "torque_enable stays 1 where 0 was written" in found.refusal
    assert {name for name, _ in asked} == {"torque_enable"}


def test_a_refusal_says_what_the_servo_said():
    layout = FAMILIES["dynamixel"][0]
    factory = registers(layout)

    def refuses(ask):
        if ask.register.name == "operating_mode":
            return Answer(layout.register("operating_mode").default, 0x80 | 7 if ask.value is not None else 0x80)
        return factory(ask)

    found, _ = play(configure(layout, ServoAddress(1, "a"), layout.first), refuses)
    assert "operating_mode stays 3 where 5 was written (the register can not be written now)" in found.refusal
    assert layout.explain(0x80 | 99) == "error 99"
    assert layout.explain_alert(0b100010) == "bit 1, overload"


@both
def test_writes_that_nobody_answers_and_that_do_not_take_are_no_refusal(family):
    layout = FAMILIES[family][0]
    factory = registers(layout, torque_enable=1)

    def silent(ask):
        return None if ask.value is not None else factory(ask)

    with pytest.raises(NobodyAnswered):
        play(configure(layout, ServoAddress(1, "a"), layout.first), silent)


@both
def test_a_read_that_nobody_answers_ends_it(family):
    layout = FAMILIES[family][0]
    with pytest.raises(NobodyAnswered):
        play(identify(layout, ServoAddress(1, "a"), alert=False, release=False), lambda ask: None)


def test_a_lock_that_stays_open_is_a_refusal():
    layout = FAMILIES["feetech"][0]
    factory = registers(layout, eprom_lock=0)

    def open_lock(ask):
        return Answer(0, 0) if ask.register.name == "eprom_lock" else factory(ask)

    found, _ = play(configure(layout, ServoAddress(1, "a"), layout.first), open_lock)
    assert "eprom_lock stays 0 where 1 was written" in found.refusal


def test_settings_are_locked_again():
    leg = Leg("feetech")
    leg.go(START)
    assert leg.memory(0)["eprom_lock"] == 1
    assert leg.memory(0).kept()["position_i_gain"] == 0


@pytest.mark.parametrize(
    ("low", "high", "positions"), [(0, 0, (0, 4095)), (5, 4095, (5, 4095)), (100, 5000, (100, 4095))]
)
def test_limits_narrow_the_scale_and_equal_ones_are_none(low, high, positions):
    layout = FAMILIES["feetech"][0]
    factory = registers(layout, min_position=low, max_position=high)
    found, _ = play(configure(layout, ServoAddress(1, "a"), layout.first), factory)
    assert (found.refusal, found.positions) == ("", positions)


def test_limits_beyond_the_scale_are_a_refusal():
    layout = FAMILIES["feetech"][0]
    factory = registers(layout, min_position=5000, max_position=6000)
    found, _ = play(configure(layout, ServoAddress(1, "a"), layout.first), factory)
    assert "takes no position of 0 to 4095" in found.refusal


@both
def test_a_bound_of_the_torque_that_is_set_in_the_servo_holds(family):
    leg = Leg(family)
    name, full = leg.layout.first.cap
    leg.memory(0).restore({leg.layout.first.cap_limit: full // 2})
    leg.emulator.brown_out(0)
    leg.bus.set_level(0)
    leg.go(START)
    assert leg.memory(0)[name] == full // 2
    assert leg.memory(1)[name] == full


@both
def test_a_set_up_whose_servo_falls_silent_begins_anew(family):
    leg = Leg(family, (1, 2))
    leg.cycle()
    real, count = leg.port.change, [0]

    def deaf(data):
        # The servo with id 2 hears requests for several only.
        count[0] += 1
        dialect = leg.layout.dialect
        packets = [p for _, p in dialect.parser(status=False).feed(data)]
        return bytes(len(data)) if any(p.bus_id == 2 for p in packets) else data

    leg.port.change = deaf
    for _ in range(10):
        leg.cycle(START)
    assert leg.driven() == {}
    assert leg.bus.refusals == ()
    leg.port.change = real
    leg.go(START)


@both
def test_an_ailing_servo_with_nothing_to_say_about_it_is_not_driven(family):
    leg = Leg(family, (1,))
    leg.go(START)
    servo = leg.emulator.servos[0]
    register = leg.layout.register(leg.layout.alert_register)
    leg.emulator.trip(0)
    real = leg.layout.dialect
    clean = real.instruction(1, READ, b"".join(n.to_bytes(real.address_bytes, "little") for n in (register.address, 1)))
    # What is asked for instead of the alert's register is 0.
    zero = leg.layout.register("position_i_gain").address
    other = real.instruction(1, READ, b"".join(n.to_bytes(real.address_bytes, "little") for n in (zero, 1)))
    leg.port.change = lambda data: data.replace(clean, other)
    for _ in range(40):
        leg.cycle(START)
    assert leg.bus.status == [IMPLAUSIBLE]
    assert leg.driven() == {}
    assert servo.memory["torque_enable"] == 0


def test_a_servo_that_does_not_say_its_model_is_not_driven():
    leg = Leg("dynamixel", (1,))
    dialect = leg.layout.dialect
    asked, nowhere = (dialect.instruction(1, READ, n.to_bytes(2, "little") + b"\x02\x00") for n in (0, 60_000))
    leg.port.change = lambda data: data.replace(asked, nowhere)
    for _ in range(5):
        assert leg.cycle(START) == [OK]
    assert leg.driven() == {}
    leg.bus.discover(leg.now_ns)
    leg.now_ns = leg.bus.run_until(FAR)
    assert (leg.bus.found, leg.bus.found_models) == ((1,), {})
    leg.port.change = None
    leg.go(START)


@both
def test_registers_take_what_fits_and_nothing_else(family):
    for register in FAMILIES[family][0].first.table.all.values():
        for data in (b"", bytes(register.size + 1)):
            with pytest.raises(FrameError):
                register.decode(data)
        for value in (1 << 8 * register.size, -(1 << 8 * register.size)):
            with pytest.raises(FrameError):
                register.encode(value)


@both
def test_a_goal_for_an_ailing_servo_is_not_kept_until_it_is_well(family):
    leg = Leg(family)
    leg.go(START)
    leg.emulator.trip(2)
    for _ in range(10):
        leg.cycle(START + 3)
    leg.emulator.trip(2, tripped=False)
    for _ in range(40):
        leg.cycle()
    assert leg.bus.status == [OK] * 4
    assert sorted(leg.driven()) == [0, 1, 3]
    leg.go(START + 4)


@both
def test_a_servo_that_hears_no_write_is_set_up_when_it_does(family):
    leg = Leg(family, (1, 2))
    leg.cycle()

    def deaf(data):
        packets = [packet for _, packet in leg.layout.dialect.parser(status=False).feed(data)]
        return bytes(len(data)) if any(p.bus_id == 2 and p.instruction == WRITE for p in packets) else data

    leg.port.change = deaf
    for _ in range(20):
        assert leg.cycle(START) == [OK] * 2
    assert (leg.driven(), leg.bus.refusals) == ({}, ())
    leg.port.change = None
    leg.go(START)
    assert leg.bus.filenos() == ()
