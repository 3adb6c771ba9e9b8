"""Bytes paced on a virtual clock."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.errors import PortError
from drivers.inprocess import InProcessPort, PacedLine
from drivers.port import NEVER, wire_ns


def test_wire_time_is_ten_bits_per_byte_to_the_nearest_nanosecond():
    assert [wire_ns(count, 57_600) for count in (0, 1, 2, 4, 6)] == [0, 173_611, 347_222, 694_444, 1_041_667]
    assert wire_ns(4, 115_200) == 347_222


def test_bytes_arrive_one_by_one():
    line = PacedLine(57_600)
    line.deliver(b"abc", 1000)
    assert [line.ready_ns(n) for n in (1, 2, 3, 4)] == [174_611, 348_222, 521_833, NEVER]
    assert line.read(174_610) == b""
    assert line.read(174_611) == b"a"
    assert [line.ready_ns(n) for n in (1, 2, 3)] == [348_222, 521_833, NEVER]
    assert line.read(10**9) == b"bc"
    assert line.read(10**9) == b""
    assert line.ready_ns(1) == NEVER


def test_messages_on_a_busy_line_follow_without_a_gap():
    line = PacedLine(57_600)
    line.deliver(b"ab", 0)
    line.deliver(b"cd", 100)
    line.deliver(b"e", 2_000_000)
    assert line.ready_ns(4) == 2 * 347_222
    assert line.ready_ns(5) == 2_173_611
    assert line.read(347_222 + 173_611) == b"abc"
    assert line.flush_input(347_222 + 347_222) == 1
    assert line.read(NEVER - 1) == b"e"


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.binary(max_size=6), st.integers(0, 1_000_000)), max_size=6),
    st.lists(st.integers(0, 24).map(lambda count: wire_ns(count, 57_600)) | st.integers(0, 6_000_000), max_size=12),
)
def test_reading_in_any_rhythm_gives_every_byte_once_and_not_before_its_time(messages, reads):
    line, arrivals, free = PacedLine(57_600), [], 0
    for data, start in messages:
        line.deliver(data, start)
        if not data:
            continue
        first = max(start, free)
        arrivals += [(first + wire_ns(k + 1, 57_600), byte) for k, byte in enumerate(data)]
        free = first + wire_ns(len(data), 57_600)
    taken = b""
    for now in sorted(reads):
        unread = arrivals[len(taken) :]
        for count in range(1, len(unread) + 1):
            assert line.ready_ns(count) == unread[count - 1][0]
        assert line.ready_ns(len(unread) + 1) == NEVER
        taken += line.read(now)
        assert taken == bytes(byte for instant, byte in arrivals if instant <= now)


@pytest.mark.parametrize("size", [64, 65, 514, 3600])
def test_long_messages_come_byte_by_byte_too(size):
    line = PacedLine(1_000_000)
    data = bytes(k % 251 for k in range(size))
    line.deliver(data, 5000)
    line.deliver(b"end", 0)
    assert line.ready_ns(size) == 5000 + wire_ns(size, 1_000_000)
    assert line.ready_ns(size + 3) == 5000 + wire_ns(size + 3, 1_000_000)
    half = 5000 + wire_ns(size // 2, 1_000_000)
    assert line.read(half) == data[: size // 2]
    assert line.ready_ns(1) == 5000 + wire_ns(size // 2 + 1, 1_000_000)
    assert line.read(5000 + wire_ns(size, 1_000_000) - 1) == data[size // 2 : -1]
    assert line.read(NEVER - 1) == data[-1:] + b"end"


def test_a_closed_port_refuses_to_write():
    class Deaf:
        def connect(self, line):
            pass

        def receive(self, data, now_ns):
            pass

    port = InProcessPort(Deaf(), 57_600)
    assert port.filenos() == ()
    port.write(b"x", 0)
    port.close()
    port.close()
    with pytest.raises(PortError, match="closed"):
        port.write(b"x", 0)
