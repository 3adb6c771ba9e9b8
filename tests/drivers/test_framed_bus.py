"""The bus of servos with registers, on the virtual clock: what it says, to whom, when, and what it believes."""

import itertools

import numpy as np
import pytest
from framed_rig import FAMILIES, FAR, IMPLAUSIBLE, MISSED, NONE, OK, START, Leg, both
from framed_servos import MS

from drivers.bus import LIMP, READ_ONLY
from drivers.errors import BusError, BusUrlError, FrameError, PortError
from drivers.framed.cycle import BEYOND_TICKS, WATCH_CYCLES
from drivers.framed.packet import READ, SYNC_READ, SYNC_WRITE, WRITE
from drivers.framed.readings import DOUBT_NS
from drivers.injection import FaultLayer, LineFaults
from drivers.port import NEVER, wire_ns
from drivers.servo import ServoAddress

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
    for _ in range(3):
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
    leg.port.receive = lambda data: data[:-1] + bytes((data[-1] ^ 1,)) if data.startswith(second) else data
    begun = leg.now_ns
    assert leg.cycle() == [OK, MISSED, OK, OK]
    assert leg.now_ns - begun < 2 * whole
    leg.port.receive = None
    assert leg.cycle() == [OK] * 4


@both
def test_an_error_in_place_of_what_was_asked_for_is_no_reading(family):
    leg = Leg(family)
    for _ in range(3):
        leg.cycle()
    status = leg.layout.dialect.status
    second = status(2, 0, bytes(leg.layout.block[1]))
    begin = second[: 5 if family == "dynamixel" else 3]
    refusal = status(2, leg.layout.refusal_mask & -leg.layout.refusal_mask or 1)
    leg.port.receive = lambda data: refusal if data.startswith(begin) and len(data) == len(second) else data
    assert leg.cycle() == [OK, IMPLAUSIBLE, OK, OK]
    assert leg.bus.position_raw == [START] * 4
    leg.port.receive = None
    assert leg.cycle() == [OK] * 4


@both
def test_a_status_of_another_length_is_not_believed(family):
    leg = Leg(family, (1,))
    leg.cycle()
    leg.port.change = lambda data: b""
    leg.bus.start(leg.now_ns, [READ_ONLY])
    leg.port.deliver(leg.layout.dialect.status(1, 0, b"\x01"), leg.now_ns + MS)
    leg.now_ns = leg.bus.run_until(FAR)
    assert leg.bus.status == [MISSED]
    assert leg.bus.position_raw == [START]
    assert leg.bus.stray_bytes == leg.layout.dialect.status_bytes(1)


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


@both
def test_only_named_ids_are_asked_where_some_are_named(family):
    leg = Leg(family, (0, 7, leg_max(family)))
    leg.bus.discover(0, (7, 9))
    leg.now_ns = leg.bus.run_until(FAR)
    assert leg.bus.found == (7,)
    assert leg.bus.found_models == {7: leg.model.number}
    # One that is not there is asked three times, since a reply may be lost, and nobody else is.
    assert [packet.bus_id for packet in leg.requests()] == [7, 9, 9, 9, 7]


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
    packets = leg.requests()
    assert [packet.instruction for packet in packets] == [SYNC_WRITE, SYNC_WRITE, SYNC_READ, SYNC_READ]
    # Nobody is told or asked twice.
    head, goal = 2 * leg.layout.dialect.address_bytes, leg.layout.register("goal_position").size
    ids = [packet.params[head :: goal + 1] for packet in packets[:2]] + [packet.params[head:] for packet in packets[2:]]
    assert ids[0] + ids[1] == ids[2] + ids[3] == bytes(range(70))
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
