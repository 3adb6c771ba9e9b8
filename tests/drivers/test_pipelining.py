"""Requests that do not wait for replies: how fast, how it begins, what ends it, who is taken for whom."""

import numpy as np
import pytest
from emulated import EXCHANGE_NS, LISTEN_NS, MS, REPLY_NS, REQUEST_NS, TURN_NS, Polled, ScriptedPlant, addresses, rig
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.aimotor import AiMotorBus, codec
from drivers.aimotor.emulator import AiMotorEmulator
from drivers.aimotor.pipelined import GOOD_CYCLES
from drivers.bus import LIMP
from drivers.errors import BusUrlError
from drivers.factory import open_bus, parse_line
from drivers.faults import FaultLayer, LineFaults
from drivers.inprocess import InProcessPort
from drivers.port import NEVER, wire_ns
from drivers.servo import PlantFault, ReplyStatus

OK, MISSED, IMPLAUSIBLE = ReplyStatus.OK, ReplyStatus.MISSED, ReplyStatus.IMPLAUSIBLE
BAUD, FAR = 57_600, 10**15
BYTE_NS = wire_ns(1, BAUD)
PIPELINE = {"pipeline": True}
# Four requests without a gap, and the last one's turnaround and reply.
CYCLE_NS = 4 * REQUEST_NS + TURN_NS + REPLY_NS
# Near enough to each other that a servo could have gone where its neighbour is.
TRUTH = (100, 101, 103, 102)
faulty = settings(max_examples=120, deadline=None, derandomize=True)


def cycle(bus, now_ns, goals=None):
    bus.start(now_ns, goals or [50 if status == OK else -1 for status in bus.status])
    return bus.run_until(FAR)


def warm_up(bus, now_ns=0):
    """Make as many good cycles one by one as it takes."""
    for _ in range(GOOD_CYCLES):
        now_ns = cycle(bus, now_ns)
    return now_ns


def test_a_cycle_is_as_long_as_its_requests_and_one_reply():
    bus, _, plant = rig(bus_options=PIPELINE)
    now = warm_up(bus)
    assert now == GOOD_CYCLES * 4 * EXCHANGE_NS
    for _ in range(20):
        plant.calls.clear()
        end = cycle(bus, now, [10, 20, 30, 40])
        assert end - now == CYCLE_NS
        assert bus.stamp_ns == [now + (k + 1) * REQUEST_NS + TURN_NS + REPLY_NS for k in range(4)]
        assert bus.status == [OK] * 4
        assert plant.commands() == [("command", k, 10 * (k + 1), 3) for k in range(4)]
        now = end
    assert (bus.fallbacks, bus.missed, bus.implausible, bus.stray_bytes) == (0, 0, 0, 0)
    # Nine tenths of what the wire could do without turnarounds, and a half more than one by one.
    assert 1e9 / CYCLE_NS > 0.9 * BAUD / (40 * 4 + 20)
    assert CYCLE_NS * 3 < 4 * EXCHANGE_NS * 2.01


@pytest.mark.parametrize("baud", [57_600, 115_200, 460_800])
@pytest.mark.parametrize("count", [1, 4, 18])
def test_85_percent_of_the_limit_whatever_the_number_of_servos(baud, count):
    bus, _, _ = rig(tuple(range(count)), bus_options=PIPELINE, baud=baud, turnaround_ns=50_000)
    now = warm_up(bus)
    end = cycle(bus, now)
    limit_ns = 1e9 * (40 * count + 20) / baud
    assert limit_ns < end - now
    assert (end - now - 50_000) < 1.001 * limit_ns


def test_off_by_default():
    bus, _, _ = rig()
    now = warm_up(bus)
    assert cycle(bus, now) - now == 4 * EXCHANGE_NS
    assert bus.fallbacks == 0


def test_only_one_form_at_a_time():
    for forms in ({"sync": True}, {"ten_bit": True}):
        with pytest.raises(BusUrlError, match="one at most"):
            rig(bus_options={**PIPELINE, **forms})


def test_not_on_one_wire():
    for url in ("emulated:?pipeline=1&echo=1", "emulated:?pipeline=1&sync=1"):
        with pytest.raises(BusUrlError, match="pipeline"):
            open_bus(url, addresses(0, 1), ScriptedPlant(2), seed=0)
    with pytest.raises(BusUrlError, match="one wire"):
        parse_line("aimotor:///dev/ttyUSB0?pipeline=1&echo=1")


def wiggle(servo, now_ns):
    return 60 + 3 * servo + 8 * np.sin(now_ns / (40 * MS) + servo)


def run(drive, wrap, cycles, **options):
    plant = ScriptedPlant()
    plant.path = wiggle
    emulator = AiMotorEmulator(addresses(0, 1, 2, 3), plant, rng=np.random.default_rng(5), **options)
    port = InProcessPort(emulator, BAUD)
    bus = AiMotorBus(wrap(port), addresses(0, 1, 2, 3), pipeline=True)
    now, seen = 0, []
    for _ in range(cycles):
        bus.start(now, [90 if status == OK else -1 for status in bus.status])
        now = drive(bus, port, now)
        seen.append((now, bus.position_raw[:], bus.current_raw[:], bus.status[:], bus.stamp_ns[:], bus.misses[:]))
    return seen, plant.calls, (bus.missed, bus.implausible, bus.stray_bytes, bus.fallbacks)


def run_ahead(bus, port, now_ns):
    return bus.run_until(FAR)


def at_wakes(bus, port, now_ns):
    while not bus.proceed(now_ns):
        now_ns = bus.wake_ns
    return now_ns


def at_bytes(bus, port, now_ns):
    """As on a real line: at the timeouts, and whenever a byte makes the descriptor readable."""
    while not bus.proceed(now_ns):
        now_ns = min(bus.wake_ns, port.ready_ns(1))
    return now_ns


def test_however_it_is_driven_it_comes_to_the_same():
    for jitter_ns in (0, 150_000):
        results = [
            run(drive, wrap, 60, jitter_ns=jitter_ns)
            for drive, wrap in ((run_ahead, lambda p: p), (at_wakes, lambda p: p), (at_bytes, Polled))
        ]
        seen, calls, counts = results[0]
        assert counts == (0, 0, 0, 0)
        assert seen[-1][0] - seen[-2][0] < CYCLE_NS + 200_000
        for others, other_calls, other_counts in results[1:]:
            assert (others, other_counts) == (seen, counts)
            assert [c for c in other_calls if c[0] != "advance"] == [c for c in calls if c[0] != "advance"]


def test_on_a_port_that_knows_nothing_requests_are_written_one_ahead():
    bus, _, _ = rig(bus_options=PIPELINE)
    port = bus._port
    bus = AiMotorBus(Polled(port), addresses(0, 1, 2, 3), pipeline=True)
    now = 0
    for _ in range(GOOD_CYCLES):
        bus.start(now, [-1] * 4)
        now = at_bytes(bus, port, now)
    written = []
    write = port.write
    bus._pipe._port.write = lambda data, at_ns: (written.append(at_ns - now), write(data, at_ns))
    bus.start(now, [-1] * 4)
    end = at_bytes(bus, port, now)
    assert written == [0, 0, REQUEST_NS, 2 * REQUEST_NS]
    assert end - now == CYCLE_NS


def test_uneven_turnarounds_keep_it_from_beginning():
    for jitter_ns, begins in ((300_000, True), (900_000, False)):
        bus, _, _ = rig(bus_options=PIPELINE, jitter_ns=jitter_ns, rng=np.random.default_rng(3))
        now, lengths = 0, []
        for _ in range(120):
            end = cycle(bus, now)
            lengths.append(end - now)
            now = end
        assert (min(lengths) < 3.6 * MS) is begins
        assert bus.fallbacks == 0
        assert bus.status == [OK] * 4


def faulty_rig(seed=1, **options):
    layer = FaultLayer(LineFaults(), np.random.default_rng(seed))
    bus, emulator, plant = rig(faults=layer, bus_options=PIPELINE, **options)
    plant.angles = [raw * 0.654 for raw in (40, 90, 140, 220)]
    return bus, emulator, plant, layer


@pytest.mark.parametrize(
    "faults", [{"drop": 1.0}, {"truncate": 1.0}, {"babble": 1.0}, {"delay": 1.0, "delay_us": 5000}, {"insert": 1.0}]
)
def test_anything_odd_ends_it_and_the_rest_of_the_cycle_is_made_one_by_one(faults):
    bus, _, _, layer = faulty_rig()
    now = warm_up(bus)
    layer.faults = LineFaults(**faults)
    bus.start(now, [50, 95, 145, 215])
    bus.run_until(now + REQUEST_NS + 1)
    layer.faults = LineFaults()
    end = bus.run_until(FAR)
    assert bus.fallbacks == 1
    assert bus.status == [OK] * 4
    assert bus.position_raw == [40, 90, 140, 220]
    assert bus.misses == [0] * 4
    assert end - now < 30 * MS
    # It is tried again after a while, no sooner.
    now, lengths = end, []
    for _ in range(GOOD_CYCLES + 2):
        end = cycle(bus, now)
        lengths.append(end - now)
        now = end
    assert lengths[-1] == CYCLE_NS
    assert [length == CYCLE_NS for length in lengths].index(True) == GOOD_CYCLES
    assert bus.fallbacks == 1


def test_who_was_not_sent_to_when_it_ended_is_still_sent_to_and_who_was_is_only_asked():
    bus, emulator, plant, _ = faulty_rig()
    now = warm_up(bus)
    emulator.unplug(0)
    plant.calls.clear()
    cycle(bus, now, [50, 95, 145, 215])
    # When the first byte of servo 0's reply is overdue, three requests have been sent.
    assert plant.commands() == [("command", 1, 95, 3), ("command", 2, 145, 3), ("command", 3, 215, 3)]
    assert bus.status == [MISSED, OK, OK, OK]
    assert bus.position_raw == [40, 90, 140, 220]
    assert bus.fallbacks == 1


def test_a_missing_servo_keeps_it_from_beginning_again():
    bus, emulator, _, _ = faulty_rig()
    now = warm_up(bus)
    emulator.unplug(2)
    for _ in range(3 * GOOD_CYCLES):
        now = cycle(bus, now)
    assert bus.fallbacks == 1
    assert bus.status == [OK, OK, MISSED, OK]


def test_a_jump_is_refused_as_ever_and_ends_it():
    bus, _, plant, _ = faulty_rig()
    now = warm_up(bus)
    stamp = bus.stamp_ns[2]
    plant.angles[2] = 160 * 0.654
    while bus.position_raw[2] == 140:
        now = cycle(bus, now)
        assert bus.status[2] in (OK, IMPLAUSIBLE)
    assert bus.stamp_ns[2] - stamp >= 19 / (1.5 * 600 / 0.654) * 1e9
    assert (bus.position_raw, bus.status) == ([40, 90, 160, 220], [OK] * 4)
    assert bus.fallbacks == 1


def test_torque_off_in_the_middle_comes_behind_what_is_on_the_wire_already():
    for after_ns in range(0, CYCLE_NS, 100_000):
        bus, _, plant, _ = faulty_rig()
        now = warm_up(bus)
        plant.calls.clear()
        bus.start(now, [50, 95, 145, 215])
        bus.run_until(now + after_ns)
        driven = len(plant.commands())
        bus.torque_off(now + after_ns)
        assert bus.run_until(FAR) <= now + after_ns + 2 * REQUEST_NS + TURN_NS + REPLY_NS + 4 * EXCHANGE_NS
        commands = plant.commands()
        assert commands[driven:] == [("release", k) for k in range(4)]
        assert bus.status == [OK] * 4
        assert bus.fallbacks == 0
        # And all is as before afterwards.
        end = cycle(bus, 100 * MS, [-1] * 4)
        assert bus.status == [OK] * 4
        assert end - 100 * MS == CYCLE_NS


def test_torque_off_does_not_wait_until_what_went_wrong_has_passed():
    bus, emulator, plant, _ = faulty_rig()
    now = warm_up(bus)
    emulator.unplug(0)
    bus.start(now, [50, 95, 145, 215])
    bus.run_until(now + 2 * MS)
    assert bus.fallbacks == 1
    plant.calls.clear()
    bus.torque_off(now + 2 * MS)
    assert bus.run_until(FAR) < now + 2 * MS + 4 * (REQUEST_NS + REPLY_NS + 4 * MS + 1 * MS)
    assert plant.commands() == [("release", k) for k in (1, 2, 3)]
    assert bus.status[0] == MISSED


def test_nor_does_it_when_that_goes_wrong_after_it_was_asked_for():
    bus, emulator, plant, _ = faulty_rig()
    now = warm_up(bus)
    emulator.unplug(0)
    bus.start(now, [50, 95, 145, 215])
    bus.torque_off(now + MS // 2)
    # Overdue at 1.45 ms; then servo 0 has its 5 ms to confirm, and the second torque-off is heard at 7.2 ms.
    bus.run_until(now + 8 * MS)
    assert plant.commands()[-1] == ("release", 1)
    bus.run_until(FAR)
    assert [call for call in plant.commands() if call[0] == "release"][-3:] == [("release", k) for k in (1, 2, 3)]


def test_a_load_of_255_is_no_reply():
    bus, servos, _ = crowd()
    now = warm_up(bus)
    servos.plan[servos.count + 2] = lambda reply: (0, b"\xff" + reply[1:])
    cycle(bus, now)
    assert bus.fallbacks == 1
    assert bus.implausible == 1
    assert bus.current_raw == [10] * 4


def test_limp_goals_are_exchanged_one_by_one():
    bus, _, plant, _ = faulty_rig()
    now = warm_up(bus)
    plant.calls.clear()
    assert cycle(bus, now, [LIMP, 95, LIMP, 215]) - now == 4 * EXCHANGE_NS
    assert plant.commands() == [("release", 0), ("command", 1, 95, 3), ("release", 2), ("command", 3, 215, 3)]
    now += 4 * EXCHANGE_NS
    assert cycle(bus, now, [-1, 95, -1, 215]) - now == CYCLE_NS


def test_reads_are_pipelined_too():
    bus, _, plant, _ = faulty_rig()
    now = warm_up(bus)
    plant.calls.clear()
    assert cycle(bus, now, [-1] * 4) - now == CYCLE_NS
    assert plant.commands() == []
    assert bus.position_raw == [40, 90, 140, 220]


def test_a_plant_that_fails_leaves_the_bus_usable():
    bus, _, plant, _ = faulty_rig()
    now = warm_up(bus)
    good = plant.advance

    def advance(now_ns):
        raise PlantFault("diverged")

    bus.start(now, [-1] * 4)
    plant.advance = advance
    with pytest.raises(PlantFault):
        bus.run_until(FAR)
    plant.advance = good
    bus.torque_off(now + 2 * MS)
    assert bus.run_until(FAR) < now + 100 * MS
    assert bus.status == [OK] * 4


class Crowd:
    """Servos on one line whose replies the test times: `plan[n]` gives request n's (delay, bytes), None: no answer.

    Replies that overlap meet on the wire: an idle line is high, so of bits sent at once the zeros win.
    """

    def __init__(self, truth=TRUTH):
        self.truth = truth
        self.plan = {}
        self.count = 0
        self.asked = []
        self._free_ns = 0

    def connect(self, line):
        self._line = line

    def receive(self, data, now_ns):
        start_ns = max(now_ns, self._free_ns)
        self._free_ns = start_ns + wire_ns(len(data), BAUD)
        ((_, request),) = codec.RequestParser().feed(data)
        self.asked.append((start_ns, request))
        reply = bytes((10, self.truth[request.bus_id]))
        delay_ns, reply = self.plan.get(self.count, lambda reply: (0, reply))(reply)
        self.count += 1
        self._line.collide(reply, self._free_ns + TURN_NS + delay_ns)


def crowd(truth=TRUTH, wrap=lambda port: port):
    servos = Crowd(truth)
    port = InProcessPort(servos, BAUD)
    bus = AiMotorBus(wrap(port), addresses(*range(len(truth))), baud=BAUD, pipeline=True)
    return bus, servos, port


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


def test_wake_ns_is_never_in_the_past_of_a_step_and_the_cycle_ends():
    bus, _, _ = rig(bus_options=PIPELINE)
    now = warm_up(bus)
    bus.start(now, [-1] * 4)
    while not bus.proceed(now):
        assert bus.wake_ns > now
        now = bus.wake_ns
    assert bus.wake_ns == NEVER
