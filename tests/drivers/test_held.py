"""Adapters that hold bytes back: when the host is given what."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.aimotor.codec import encode_read
from drivers.bench.release import measure, read_all
from drivers.clock import VirtualPace
from drivers.factory import open_bus
from drivers.inprocess import PacedLine
from drivers.port import NEVER, wire_ns
from drivers.serial.held import PACKET, HeldPort, LatencyTimer
from drivers.servo import ReplyStatus
from tests.drivers.emulated import EXCHANGE_NS, MS, ScriptedPlant, addresses, wired

BAUD = 1_000_000
BYTE = wire_ns(1, BAUD)


def held(period_ns=16 * MS):
    line = PacedLine(BAUD)
    return line, LatencyTimer(line, period_ns)


def test_a_reply_waits_for_the_end_of_the_timer():
    line, timer = held()
    line.deliver(b"abc", MS)
    assert timer.ready_ns(1) == timer.ready_ns(3) == 16 * MS
    assert timer.ready_ns(4) == NEVER
    assert timer.take(16 * MS - 1) == b""
    assert timer.take(16 * MS) == b"abc"
    assert timer.ready_ns(1) == NEVER


def test_the_timer_runs_freely_while_nothing_comes():
    line, timer = held()
    assert timer.take(100 * MS) == b""
    line.deliver(b"a", 100 * MS)
    assert timer.ready_ns(1) == 112 * MS
    assert timer.take(112 * MS) == b"a"
    line.deliver(b"b", 128 * MS - BYTE)
    assert timer.ready_ns(1) == 128 * MS


def test_a_full_packet_is_given_at_once_and_the_timer_starts_anew():
    line, timer = held()
    line.deliver(bytes(100), 0)
    full = PACKET * BYTE
    assert timer.ready_ns(PACKET) == full
    assert timer.ready_ns(PACKET + 1) == full + 16 * MS
    assert timer.take(full - 1) == b""
    assert len(timer.take(full)) == PACKET
    assert len(timer.take(full + 16 * MS)) == 100 - PACKET


def test_a_packet_of_an_ftdi_has_room_for_62_bytes():
    # 64 bytes less two of status (AN232B-04).
    line, timer = held()
    line.deliver(bytes(62), 0)
    assert timer.ready_ns(62) == 62 * BYTE
    assert len(timer.take(62 * BYTE)) == 62


def test_after_a_full_packet_the_timer_is_no_longer_on_its_first_grid():
    line, timer = held()
    full = PACKET * BYTE
    line.deliver(bytes(PACKET), 0)
    assert len(timer.take(full)) == PACKET
    line.deliver(b"a", MS)
    assert timer.ready_ns(1) == full + 16 * MS
    assert timer.take(full + 16 * MS - 1) == b""
    assert timer.take(full + 16 * MS) == b"a"


def test_a_long_message_comes_in_packets():
    line, timer = held()
    line.deliver(bytes(514), 0)
    given = [(at, len(data)) for at in range(0, 40 * MS, BYTE) if (data := timer.take(at))]
    assert [count for _, count in given] == [PACKET] * 8 + [514 - 8 * PACKET]
    assert given[7][0] == 8 * PACKET * BYTE
    assert given[8][0] == pytest.approx(8 * PACKET * BYTE + 16 * MS, abs=BYTE)


MESSAGES = st.lists(st.tuples(st.binary(min_size=1, max_size=150), st.integers(0, 30 * MS)), max_size=5)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(MESSAGES, st.lists(st.integers(0, 120 * MS), max_size=20), st.sampled_from([MS, 3 * MS, 16 * MS]))
def test_every_byte_comes_once_in_its_order_never_early_and_never_later_than_the_timer(messages, asks, period):
    line, timer = held(period)
    arrivals, free = [], 0
    for data, pause in messages:
        start = free + pause
        line.deliver(data, start)
        arrivals += [(start + wire_ns(k + 1, BAUD), byte) for k, byte in enumerate(data)]
        free = start + wire_ns(len(data), BAUD)
    got = b""
    for now in [*sorted(asks), free + 2 * period]:
        more = timer.take(now)
        for k in range(len(got), len(got) + len(more)):
            assert arrivals[k][0] <= now
        got += more
        late = [at for at, _ in arrivals[len(got) :] if at <= now - period]
        assert not late, "held back for longer than the timer"
    assert got == bytes(byte for _, byte in arrivals)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(MESSAGES, st.integers(1, 200), st.integers(0, 60 * MS), st.sampled_from([MS, 16 * MS]))
def test_what_is_foretold_is_what_happens(messages, count, asked_at, period):
    line, timer = held(period)
    free = 0
    for data, pause in messages:
        free += pause
        line.deliver(data, free)
        free += wire_ns(len(data), BAUD)
    timer.take(asked_at)
    ready = timer.ready_ns(count)
    if ready == NEVER:
        assert len(timer.take(free + 2 * period)) < count
        return
    before = timer.take(max(ready - 1, asked_at)) if ready > asked_at else b""
    assert len(before) < count
    assert len(before + timer.take(ready)) >= count


def test_a_port_says_how_long_it_may_hold_a_reply_back():
    port = HeldPort(wired(0)[0], 16 * MS)
    assert port.hold_ns == 15 * MS
    port.write(encode_read(0), 0)
    assert port.ready_ns(2) == 16 * MS
    assert port.read(EXCHANGE_NS) == b""
    assert port.flush_input(20 * MS) == 2


def test_what_is_held_back_twice_is_held_back_longer():
    inner = HeldPort(wired(0)[0], 16 * MS)
    assert HeldPort(inner, 3 * MS).hold_ns == 17 * MS
    assert HeldPort(inner, MS).hold_ns == 15 * MS


def test_a_bus_is_as_slow_as_the_adapter_and_misses_nothing():
    def times(url):
        bus, pace = open_bus(url, addresses(0, 1), ScriptedPlant(2), seed=0), VirtualPace()
        read_all(bus, pace)
        *_, trips = measure(bus, pace, 20)
        assert (bus.missed, bus.implausible, bus.stray_bytes) == (0, 0, 0)
        assert bus.status == [ReplyStatus.OK] * 2
        return [time for trip in trips for time in trip.times_ns]

    assert times("emulated:") == [EXCHANGE_NS] * 40
    assert times("emulated:?latency_ms=16") == [16 * MS] * 40
    assert max(times("emulated:?latency_ms=1")) <= 2 * MS
    assert times("emulated:?latency_ms=16&echo=1") == [16 * MS] * 40


def test_a_timeout_that_was_given_is_kept_whatever_the_adapter_does():
    bus = open_bus("emulated:?latency_ms=16&timeout_us=1000", addresses(0), ScriptedPlant(1), seed=0)
    read_all(bus, VirtualPace())
    assert bus.status == [ReplyStatus.MISSED]
