"""Pipelined cycles: what counts before they begin, and what is counted, asked again and taken back when one goes wrong.

The neighbours' positions are near each other, so that nobody could tell them apart by plausibility.
"""

import pytest
from emulated import MS, REPLY_NS, REQUEST_NS, TURN_NS, Polled
from pipelines import BYTE_NS, CYCLE_NS, FAR, TRUTH, at_bytes, crowd, cycle, faulty_rig, warm_up

from drivers.aimotor.pipelined import GOOD_CYCLES
from drivers.servo import ReplyStatus

OK, MISSED, IMPLAUSIBLE = ReplyStatus.OK, ReplyStatus.MISSED, ReplyStatus.IMPLAUSIBLE


def silent(reply):
    return 0, b""


def late(reply):
    return 3 * BYTE_NS, reply


def lengths(bus, now, count):
    """Return how long so many cycles take."""
    found = []
    for _ in range(count):
        end = cycle(bus, now)
        found.append(end - now)
        now = end
    return found


@pytest.mark.parametrize("good", [1, GOOD_CYCLES - 1])
def test_one_bad_cycle_and_it_is_counted_from_the_beginning(good):
    bus, servos, _ = crowd()
    now = 0
    for _ in range(good):
        now = cycle(bus, now)
    servos.plan[servos.count + 1] = silent
    now = cycle(bus, now)
    assert bus.status[1] == MISSED
    took = lengths(bus, now, GOOD_CYCLES + 1)
    assert [length == CYCLE_NS for length in took] == [False] * GOOD_CYCLES + [True]


@pytest.mark.parametrize(("number", "begins"), [(1, True), (3, True), (4, False)])
def test_one_reply_in_ten_may_be_late(number, begins):
    # 32 replies are made one by one; an early one among them makes all the others late, as far as that goes.
    assert 4 * GOOD_CYCLES == 32
    bus, servos, _ = crowd()
    for k in range(number):
        servos.plan[5 * k + 2] = late
    now = warm_up(bus)
    assert (cycle(bus, now) - now == CYCLE_NS) is begins
    assert (bus.fallbacks, bus.status) == (0, [OK] * 4)


def test_delays_of_before_are_forgotten_with_what_was_counted():
    bus, servos, _ = crowd()
    for k in range(GOOD_CYCLES):
        servos.plan[4 * k + 2] = late
    now = warm_up(bus)
    # Refused once; the next ones are even, and nothing of the late ones is left.
    assert lengths(bus, now, GOOD_CYCLES + 1)[-1] == CYCLE_NS


@pytest.mark.parametrize(
    ("said", "missed", "implausible", "strays"),
    [
        # Servos 2 and 3 had been sent to when servo 1 was overdue: their replies are thrown away, and half of its own.
        (silent, 1, 0, 4),
        (lambda reply: (0, reply[:1]), 0, 1, 5),
        # A load of 255 is noticed at once, before servo 3 was sent to.
        (lambda reply: (0, b"\xff" + reply[1:]), 0, 1, 2),
    ],
    ids=["nothing", "half", "255"],
)
def test_what_went_wrong_is_counted_once_for_what_it_was(said, missed, implausible, strays):
    bus, servos, _ = crowd()
    now = warm_up(bus)
    servos.plan[servos.count + 1] = said
    now = cycle(bus, now)
    assert (bus.missed, bus.implausible, bus.stray_bytes) == (missed, implausible, strays)
    assert (bus.fallbacks, bus.position_raw, bus.status) == (1, list(TRUTH), [OK] * 4)
    # And not again by the cycles that come after it.
    took = lengths(bus, now, GOOD_CYCLES + 2)
    assert took[-1] == CYCLE_NS
    assert (bus.missed, bus.implausible, bus.stray_bytes) == (missed, implausible, strays)


def test_every_fallback_counts():
    bus, servos, _ = crowd()
    now = 0
    for number in range(1, 4):
        now = warm_up(bus, now)
        servos.plan[servos.count + 1] = silent
        now = cycle(bus, now)
        assert bus.fallbacks == number


def test_a_byte_too_many_makes_the_reply_before_it_none():
    # The noise before the reply and its load look like a reply, of a position next to the true one.
    truth = (10, 11, 12, 11)
    bus, servos, _ = crowd(truth)
    now = warm_up(bus)
    servos.plan[servos.count + 1] = lambda reply: (0, b"\x0a" + reply)
    cycle(bus, now)
    assert bus.fallbacks == 1
    assert (bus.position_raw, bus.status) == (list(truth), [OK] * 4)


def test_what_was_taken_for_a_servo_that_said_nothing_is_taken_back():
    bus, servos, port = crowd(wrap=Polled)
    now = 0
    for _ in range(GOOD_CYCLES):
        bus.start(now, [-1] * 4)
        now = at_bytes(bus, port, now)
    stamp = bus.stamp_ns[0]
    # Servo 0 is silent, and again when it is asked alone; the host looks when the others' replies are there.
    servos.plan |= {servos.count: silent, servos.count + 4: silent}
    bus.start(now, [50] * 4)
    bus.proceed(now + REQUEST_NS)
    at_bytes(bus, port, now + REQUEST_NS + 2 * MS)
    assert bus.status == [MISSED, OK, OK, OK]
    assert bus.position_raw == list(TRUTH)
    assert bus.stamp_ns[0] == stamp
    # Taken back, and missed when it was asked again.
    assert bus.misses == [2, 0, 0, 0]


def test_torque_goes_off_at_once_where_a_cycle_has_gone_wrong_already():
    bus, emulator, plant, _ = faulty_rig()
    now = warm_up(bus)
    emulator.unplug(0)
    bus.start(now, [50, 95, 145, 215])
    asked_ns = now + 2 * MS
    bus.run_until(asked_ns)
    assert bus.fallbacks == 1
    plant.calls.clear()
    bus.torque_off(asked_ns)
    bus.run_until(FAR)
    heard = []
    for call in plant.calls:
        if call[0] == "advance":
            at_ns = call[1]
        elif call[0] == "release":
            heard.append(at_ns - asked_ns)
    # What is under way is not waited for: servo 0 is told at once and has its timeout, then servo 1 is told.
    assert heard[0] == REQUEST_NS + REPLY_NS + 4 * MS + REQUEST_NS


def test_what_is_under_way_is_waited_for_no_longer_than_it_takes():
    bus, servos, _ = crowd()
    now = warm_up(bus)
    asked = servos.count
    servos.plan[asked + 1] = lambda reply: (0, b"\xff" + reply[1:])
    cycle(bus, now)
    # Servo 2 had been sent to; once it has answered, and the line was quiet for a reply's time, servo 1 is asked again.
    again_ns, request = servos.asked[asked + 3]
    assert (request.bus_id, again_ns - now) == (1, 3 * REQUEST_NS + TURN_NS + 2 * REPLY_NS)


def test_on_a_port_that_knows_when_bytes_come_a_late_host_stamps_them_so():
    bus, servos, _ = crowd()
    now = warm_up(bus)
    asked = servos.count
    bus.start(now, [50] * 4)
    while not bus.proceed(now):
        now += 3 * MS
    arrived = [begin_ns + REQUEST_NS + TURN_NS + REPLY_NS for begin_ns, _ in servos.asked[asked:]]
    assert bus.stamp_ns == arrived
    assert (bus.fallbacks, bus.position_raw) == (0, list(TRUTH))
