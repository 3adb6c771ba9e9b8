"""Whose reply is whose when requests do not wait for replies: order and time are all that tells."""

import numpy as np
import pytest
from emulated import EXCHANGE_NS, LISTEN_NS, MS, REPLY_NS, REQUEST_NS, TURN_NS, Polled, ScriptedPlant, addresses
from hypothesis import given, settings
from hypothesis import strategies as st
from pipelines import BAUD, BYTE_NS, CYCLE_NS, FAR, OK, TRUTH, at_bytes, crowd, cycle, warm_up

from drivers.aimotor import codec
from drivers.aimotor.emulator import AiMotorEmulator
from drivers.aimotor.pipelined import GOOD_CYCLES
from drivers.inprocess import InProcessPort

faulty = settings(max_examples=120, deadline=None, derandomize=True)


@pytest.mark.parametrize("delay_bytes", [-1.2, -0.6, 0.5, 1.5, 2.1, 3.0, 4.0, 4.5, 5.0, 8.0])
@pytest.mark.parametrize("late", [0, 1, 2, 3])
def test_a_servo_that_answers_in_its_neighbours_slot_is_not_taken_for_it(late, delay_bytes):
    bus, servos, _ = crowd()
    now = warm_up(bus)
    servos.plan[servos.count + late] = lambda reply: (round(delay_bytes * BYTE_NS), reply)
    end = cycle(bus, now)
    assert bus.position_raw == list(TRUTH)
    # Later, and the two run into each other; behind the last one there is some more time.
    assert bus.fallbacks == (0 if -0.5 <= delay_bytes <= (3 if late == 3 else 2) else 1)
    end = cycle(bus, end)
    assert bus.position_raw == list(TRUTH)
    assert bus.status == [OK] * 4


def late_together(servos, delay_bytes, lost=None):
    """Let the replies to the next requests all come late by the same time, and one of them not at all."""
    for k in range(4):
        delay_ns = round(delay_bytes * BYTE_NS)
        servos.plan[servos.count + k] = lambda reply, k=k, delay_ns=delay_ns: (delay_ns, b"" if k == lost else reply)


@pytest.mark.parametrize("delay_bytes", [2.1, 2.8])
def test_what_is_late_together_is_taken_in_its_order(delay_bytes):
    bus, servos, _ = crowd()
    now = warm_up(bus)
    late_together(servos, delay_bytes)
    cycle(bus, now)
    assert (bus.position_raw, bus.status, bus.fallbacks) == (list(TRUTH), [OK] * 4, 0)


@pytest.mark.parametrize("lost", [0, 1, 2, 3])
@pytest.mark.parametrize("delay_bytes", [2.1, 2.8])
def test_what_is_late_together_is_not_taken_when_one_is_missing(delay_bytes, lost):
    bus, servos, _ = crowd()
    now = warm_up(bus)
    late_together(servos, delay_bytes, lost)
    cycle(bus, now)
    assert (bus.position_raw, bus.status, bus.fallbacks) == (list(TRUTH), [OK] * 4, 1)


@pytest.mark.parametrize(
    ("good", "delay_bytes", "lost", "alone"),
    [
        (GOOD_CYCLES, 5.0, None, 1),
        (GOOD_CYCLES - 1, 5.0, None, GOOD_CYCLES),
        (GOOD_CYCLES, 0.0, 2, GOOD_CYCLES),
        (GOOD_CYCLES, 5.0, 2, GOOD_CYCLES),
    ],
)
def test_one_cycle_alone_is_enough_after_one_that_was_late_and_nothing_else(good, delay_bytes, lost, alone):
    bus, servos, _ = crowd()
    now = warm_up(bus)
    for _ in range(good):
        now = cycle(bus, now)
    late_together(servos, delay_bytes, lost)
    now = cycle(bus, now)
    assert bus.fallbacks == 1
    pipelined = []
    for _ in range(GOOD_CYCLES + 2):
        begun, now = now, cycle(bus, now)
        pipelined.append(now - begun < 4 * EXCHANGE_NS * 0.8)
    assert pipelined == [False] * alone + [True] * (GOOD_CYCLES + 2 - alone)
    assert (bus.position_raw, bus.status) == (list(TRUTH), [OK] * 4)


def test_two_servos_that_change_places_are_not_taken_for_each_other():
    bus, servos, _ = crowd()
    now = warm_up(bus)
    # Servo 1 misses its slot and speaks after servo 2: bytes and their number are right, the order is not.
    servos.plan[servos.count + 1] = lambda reply: (REQUEST_NS + REPLY_NS, reply)
    cycle(bus, now)
    assert bus.position_raw == list(TRUTH)
    assert bus.fallbacks == 1


def test_replies_that_run_into_each_other_are_noticed():
    # The first at the end of its window, the second at the beginning of its own: one byte too close.
    bus, servos, _ = crowd((85, 85, 85, 85))
    now = warm_up(bus)
    n = servos.count
    servos.plan = {n: lambda reply: (2 * BYTE_NS, reply), n + 1: lambda reply: (-(BYTE_NS // 2), reply)}
    cycle(bus, now)
    assert bus.fallbacks == 1
    assert (bus.position_raw, bus.status) == ([85] * 4, [OK] * 4)


def test_a_request_that_one_servo_missed_and_a_burst_that_looks_like_its_reply():
    bus, servos, _ = crowd()
    now = warm_up(bus)
    n = servos.count
    servos.plan[n + 1] = lambda reply: (0, b"")
    servos.plan[n + 3] = lambda reply: (0, reply + reply)
    cycle(bus, now)
    assert bus.position_raw == list(TRUTH)
    assert bus.fallbacks == 1


class Turnarounds:
    """Stands for a generator: what is to be added to the turnarounds, one after the other."""

    def __init__(self, *jitters):
        self._jitters = jitters

    def integers(self, low, high, size, endpoint):
        return np.array((*[0] * size, *reversed(self._jitters)))


@pytest.mark.parametrize(
    ("jitter_ns", "wait_ns", "said", "collisions"),
    [
        # Evenly; and the first so late that its second byte meets the first of the other, or both meet both.
        (0, 0, [10, 0x6D, 10, 0x5B], 0),
        (4 * BYTE_NS - 2 * BYTE_NS, 0, [10, 0x6D, 10, 0x5B], 0),
        (3 * BYTE_NS, 0, [10, 0x6D & 10, 0x5B], 1),
        (4 * BYTE_NS, 0, [10, 0x6D & 0x5B], 1),
        # To a host that waited long enough for the first they come one after the other.
        (4 * BYTE_NS, 7 * BYTE_NS + TURN_NS, [10, 0x6D, 10, 0x5B], 0),
    ],
)
def test_emulated_replies_spoil_each_other_where_the_host_did_not_wait(jitter_ns, wait_ns, said, collisions):
    plant = ScriptedPlant(2)
    plant.angles = [0x6D * 0.654, 0x5B * 0.654]
    rng = Turnarounds(jitter_ns, 0)
    emulator = AiMotorEmulator(addresses(0, 1), plant, jitter_ns=2 * MS, rng=rng)
    port = InProcessPort(emulator, BAUD)
    port.write(codec.encode_read(0), 0)
    port.write(codec.encode_read(1), REQUEST_NS + wait_ns)
    assert list(port.read(FAR)) == said
    assert emulator.collisions == collisions
    # The same for frames that are known already.
    later = 100 * MS
    emulator._jitters = [0, jitter_ns]
    port.write(codec.encode_read(0), later)
    port.write(codec.encode_read(1), later + REQUEST_NS + wait_ns)
    assert list(port.read(FAR)) == said
    assert emulator.collisions == 2 * collisions


def test_after_it_went_wrong_the_next_reply_counts_once_nothing_followed_it():
    bus, servos, _ = crowd()
    now = warm_up(bus)
    servos.plan[servos.count + 1] = lambda reply: (0, b"")
    cycle(bus, now)
    first, second = (begin_ns for begin_ns, _ in servos.asked[-3:-1])
    assert second - first == EXCHANGE_NS + LISTEN_NS


lateness = st.integers(-2 * BYTE_NS, 9 * BYTE_NS)
noise = st.binary(min_size=1, max_size=4)
answers = st.one_of(
    st.just(lambda reply: (0, b"")),
    lateness.map(lambda delay: lambda reply: (delay, reply)),
    noise.map(lambda data: lambda reply: (0, data + reply)),
    noise.map(lambda data: lambda reply: (0, reply + data)),
    st.integers(0, 1).map(lambda index: lambda reply: (0, reply[index : index + 1])),
    st.tuples(lateness, noise).map(lambda pair: lambda reply: pair),
)
plans = st.dictionaries(st.integers(0, 60), answers, max_size=30)


@faulty
@given(plans)
def test_whatever_comes_in_no_position_is_believed_that_the_shaft_can_not_have_reached(plan):
    bus, servos, _ = crowd((40, 90, 140, 220))
    now = warm_up(bus)
    n = servos.count
    servos.plan = {n + number: answer for number, answer in plan.items()}
    for _ in range(12):
        before, stamps, first = bus.position_raw[:], bus.stamp_ns[:], len(servos.asked)
        start, now = now, cycle(bus, now)
        assert now - start < 60 * MS
        for k in range(4):
            if bus.status[k] == OK:
                reach = 1 + 600 / 0.654 * (bus.stamp_ns[k] - stamps[k]) * 1e-9
                near = abs(bus.position_raw[k] - before[k]) <= reach
                # Or it found back from a belief that was wrong.
                assert near or bus.position_raw[k] == servos.truth[k]
        # Nobody is sent to a goal twice in a cycle.
        sends = [request.bus_id for _, request in servos.asked[first:] if request.op is codec.Op.POSITION_SEND]
        assert len(sends) == len(set(sends))
    if servos.count > n + 60:
        for _ in range(4):
            now = cycle(bus, now)
        assert (bus.position_raw, bus.status) == ([40, 90, 140, 220], [OK] * 4)


@faulty
@given(plans, st.integers(20_000, 900_000))
def test_a_host_that_looks_only_now_and_then_finds_back_too(plan, step_ns):
    bus, servos, port = crowd((40, 90, 140, 220), Polled)
    now = 0
    for _ in range(GOOD_CYCLES):
        bus.start(now, [-1] * 4)
        now = at_bytes(bus, port, now)
    n = servos.count
    servos.plan = {n + number: answer for number, answer in plan.items()}
    for _ in range(24):
        bus.start(now, [50 if status == OK else -1 for status in bus.status])
        start = now
        while not bus.proceed(now):
            now += step_ns
        assert now - start < 80 * MS
    assert bus.position_raw == [40, 90, 140, 220]
    assert bus.status == [OK] * 4


@pytest.mark.parametrize("look_ns", [1_500_000, 2_500_000, 4_000_000])
def test_what_a_late_host_finds_is_taken_when_exactly_everything_is_there(look_ns):
    bus, _, port = crowd(wrap=Polled)
    now = 0
    for _ in range(GOOD_CYCLES):
        bus.start(now, [-1] * 4)
        now = at_bytes(bus, port, now)
    bus.start(now, [-1] * 4)
    # Requests go out; then somebody keeps the host from looking for a while.
    start = now
    bus.proceed(now + REQUEST_NS)
    now += REQUEST_NS + look_ns
    end = at_bytes(bus, port, now)
    assert bus.fallbacks == 0
    assert bus.position_raw == list(TRUTH)
    assert bus.status == [OK] * 4
    # Only once the last window is over, because a byte more or less would have meant that some are another's.
    assert end >= start + CYCLE_NS + 2 * BYTE_NS - 1000


def test_what_a_late_host_finds_is_not_taken_when_a_reply_is_missing():
    bus, servos, port = crowd(wrap=Polled)
    now = 0
    for _ in range(GOOD_CYCLES):
        bus.start(now, [-1] * 4)
        now = at_bytes(bus, port, now)
    servos.plan[servos.count] = lambda reply: (0, b"")
    bus.start(now, [50] * 4)
    bus.proceed(now + REQUEST_NS)
    at_bytes(bus, port, now + REQUEST_NS + 2 * MS)
    # The others' replies had been taken for those of servos 0, 1, 2; all were asked again.
    assert bus.fallbacks == 1
    assert bus.position_raw == list(TRUTH)
    assert bus.status == [OK] * 4
