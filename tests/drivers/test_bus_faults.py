"""The bus on a line that fails: what it notices, what it bounds, and that it finds back."""

import numpy as np
import pytest
from emulated import EXCHANGE_NS, LISTEN_NS, MS, REPLY_NS, REQUEST_NS, Polled, addresses, rig, wired

from drivers.aimotor.bus import AiMotorBus
from drivers.injection import FaultLayer, LineFaults
from drivers.inprocess import InProcessPort
from drivers.servo import PlantFault, ReplyStatus

OK, MISSED, IMPLAUSIBLE = ReplyStatus.OK, ReplyStatus.MISSED, ReplyStatus.IMPLAUSIBLE
FAR = 10**15
NASTY = {"drop": 0.05, "flip": 0.05, "insert": 0.05, "truncate": 0.05, "delay": 0.05, "babble": 0.05, "delay_us": 4500}


def faulty_rig(seed, **faults):
    layer = FaultLayer(LineFaults(**faults), np.random.default_rng(seed))
    bus, _emulator, plant = rig(faults=layer)
    plant.angles = [raw * 0.654 for raw in (40, 90, 140, 220)]
    return bus, plant, layer


def goals_for(bus):
    return [50 if status == OK else -1 for status in bus.status]


def state(bus):
    return (list(bus.position_raw), list(bus.current_raw), list(bus.status), list(bus.stamp_ns), list(bus.misses))


@pytest.mark.parametrize("seed", range(6))
def test_run_until_and_proceed_agree_on_a_bad_line(seed):
    fast, fast_plant, _ = faulty_rig(seed, **NASTY)
    slow, slow_plant, _ = faulty_rig(seed, **NASTY)
    now = then = 0
    seen = set()
    for _ in range(60):
        fast.start(now, goals_for(fast))
        now = fast.run_until(FAR)
        slow.start(then, goals_for(slow))
        while not slow.proceed(then):
            then = slow.wake_ns
        assert now == then
        assert state(fast) == state(slow)
        seen.update(fast.status)
    assert fast_plant.calls == slow_plant.calls
    assert fast.stray_bytes == slow.stray_bytes > 0
    assert seen == {OK, MISSED, IMPLAUSIBLE, ReplyStatus.UNSURE}


@pytest.mark.parametrize("seed", range(6))
def test_three_cycles_after_the_line_is_good_again_every_value_is_true(seed):
    bus, _plant, layer = faulty_rig(seed, **NASTY)
    now = 0
    for _ in range(20):
        layer.faults = LineFaults(**NASTY)
        for _ in range(20):
            bus.start(now, goals_for(bus))
            now = bus.run_until(FAR)
        layer.faults = LineFaults()
        for _ in range(4):
            bus.start(now, goals_for(bus))
            now = bus.run_until(FAR)
        assert bus.position_raw == [40, 90, 140, 220]
        assert bus.current_raw == [10] * 4
        assert bus.status == [OK] * 4
        assert bus.misses == [0] * 4


@pytest.mark.parametrize(
    ("delay_us", "second", "stray"),
    [
        # While servo 1's request is being sent: thrown away when that is over.
        (4_400, OK, 2),
        # After it, but sooner than servo 1 could have answered.
        (4_700, OK, 2),
        # When servo 1 might have answered: only its position gives it away.
        (5_000, IMPLAUSIBLE, 2),
    ],
)
def test_a_reply_after_its_timeout_is_not_taken_for_the_next_servos(delay_us, second, stray):
    bus, _, layer = faulty_rig(0)
    bus.start(0, [-1] * 4)
    now = bus.run_until(FAR)
    layer.faults = LineFaults(delay=1.0, delay_us=delay_us)
    bus.start(now, [-1] * 4)
    layer.faults = LineFaults()
    bus.run_until(FAR)
    assert bus.status == [MISSED, second, OK, OK]
    assert bus.stray_bytes == stray
    assert bus.position_raw == [40, 90, 140, 220]


def polled_bus(*ids):
    port, emulator, _plant = wired(*ids)
    return AiMotorBus(Polled(port), addresses(*ids)), emulator, port


def test_a_port_that_is_polled():
    bus, emulator, _ = polled_bus(0, 1, 2, 3)
    emulator.unplug(2)
    assert bus.filenos() == (7,)
    bus.start(0, [-1] * 4)
    assert bus.wake_ns == REQUEST_NS + REPLY_NS + 4 * MS
    now = 0
    while not bus.proceed(now):
        assert now < 20 * MS
        now += 50_000
    assert bus.status == [OK, OK, MISSED, OK]
    assert bus.position_raw == [100, 100, -1, 100]
    for k, stamp in enumerate(bus.stamp_ns[:2]):
        assert 0 <= stamp - (k + 1) * EXCHANGE_NS < 2 * 50_000


def test_a_polled_port_with_single_bytes_trickling_in():
    bus, _, _ = polled_bus(0, 1, 2, 3)
    bus.start(0, [-1] * 4)
    first_byte = REQUEST_NS + 230_000 + 173_611
    assert not bus.proceed(first_byte)
    assert bus.status[0] == ReplyStatus.NONE
    assert not bus.proceed(EXCHANGE_NS - 1)
    assert not bus.proceed(EXCHANGE_NS)
    assert (bus.status[0], bus.position_raw[0]) == (OK, 100)


def test_more_than_two_bytes_are_no_reply():
    bus, _, port = polled_bus(0)
    bus.start(0, [-1])
    port.deliver(b"\x07", REQUEST_NS)
    assert bus.proceed(3 * MS)
    assert (bus.status, bus.position_raw, bus.misses) == ([IMPLAUSIBLE], [-1], [1])


class Mouth:
    """A servo side that answers each request with the next of the given replies."""

    def __init__(self, *replies):
        self._replies = list(replies)

    def connect(self, line):
        self._line = line

    def receive(self, data, now_ns):
        self._line.deliver(self._replies.pop(0), now_ns + REQUEST_NS + 230_000)


@pytest.mark.parametrize("reply", [b"\xff\x64", b"\x0a\xff", b"\xff\xff"])
@pytest.mark.parametrize("drive", ["run_until", "proceed"])
def test_a_byte_of_255_is_no_reply(reply, drive):
    bus = AiMotorBus(InProcessPort(Mouth(b"\x0a\x64", reply, b"\x0b\x65", b"\x0b\x65"), 57_600), addresses(0))
    now, seen = 0, []
    for _ in range(4):
        bus.start(now, [-1])
        if drive == "run_until":
            now = bus.run_until(FAR)
        else:
            while not bus.proceed(now):
                now = bus.wake_ns
        seen.append((bus.status[0], bus.current_raw[0], bus.position_raw[0]))
    assert seen == [(OK, 10, 100), (IMPLAUSIBLE, 10, 100), (ReplyStatus.UNSURE, 10, 100), (OK, 11, 101)]


def test_discover_takes_no_noise_for_a_servo():
    replies = [b""] * 31
    replies[4], replies[9] = b"\x0a\x64", b"\xff\xff"
    bus = AiMotorBus(InProcessPort(Mouth(*replies), 57_600), addresses(0))
    bus.discover(0)
    bus.run_until(FAR)
    assert bus.found == (4,)


def test_discover_takes_back_whom_a_third_byte_makes_doubtful():
    replies = [b""] * 31
    replies[4], replies[9] = b"\x0a\x64\x07", b"\x0a\x64"
    bus = AiMotorBus(InProcessPort(Mouth(*replies), 57_600), addresses(0))
    bus.discover(0)
    bus.run_until(FAR)
    assert bus.found == (9,)
    assert bus.stray_bytes == 1


def test_of_named_ids_the_doubtful_one_is_taken_back():
    bus = AiMotorBus(InProcessPort(Mouth(b"\x0a\x64\x07", b"\x0a\x64"), 57_600), addresses(0))
    bus.discover(0, (20, 9))
    bus.run_until(FAR)
    assert bus.found == (9,)


def test_noise_between_cycles_is_thrown_away_and_the_line_must_fall_silent_first():
    port, _, _plant = wired(0)
    bus = AiMotorBus(port, addresses(0))
    port.deliver(b"\x01\x02\x03", 1 * MS)
    bus.start(10 * MS, [-1])
    assert bus.run_until(FAR) == 10 * MS + REPLY_NS + EXCHANGE_NS + LISTEN_NS
    assert (bus.status, bus.position_raw, bus.stray_bytes) == ([OK], [100], 3)


def test_an_early_look_at_half_a_reply_loses_nothing():
    bus, _, _ = rig((0,))
    bus.start(0, [-1])
    assert not bus.proceed(EXCHANGE_NS - 1)
    assert bus.run_until(FAR) == EXCHANGE_NS
    assert bus.status == [OK]


@pytest.mark.parametrize("calls_before", [0, 2])
def test_a_plant_that_fails_is_passed_on_and_leaves_the_bus_usable(calls_before):
    bus, _, plant = rig()
    good, left = plant.advance, [calls_before]

    def advance(now_ns):
        left[0] -= 1
        if left[0] < 0:
            raise PlantFault("diverged")
        good(now_ns)

    plant.advance = advance
    with pytest.raises(PlantFault):
        bus.start(0, [-1] * 4)
        bus.run_until(FAR)
    plant.advance = good
    bus.torque_off(2 * MS)
    assert bus.run_until(FAR) < FAR
    assert bus.status == [OK] * 4
    assert [call for call in plant.commands() if call[0] == "release"][4:] == [("release", k) for k in range(4)]
