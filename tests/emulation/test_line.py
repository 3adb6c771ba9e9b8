"""Replies on their way."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.inprocess import PacedLine
from drivers.port import NEVER, wire_ns
from drivers.serial.held import LatencyTimer
from nuc_engine.emulation.line import ECHOED, UNASKED, HeldReplyLine, ReplyLine
from tests.emulation.world import MS

TWO = wire_ns(2, 57_600)


def test_replies_that_would_overlap_follow_one_another():
    line = ReplyLine(57_600, 10 * MS)
    assert line.due_ns == NEVER
    line.request = 4
    line.deliver(b"ab", MS)
    line.request = 5
    line.deliver(b"cd", MS + 1000)
    line.deliver(b"", MS)
    assert line.take() == (11 * MS + TWO, b"ab", 4)
    assert line.due_ns == 11 * MS + 2 * TWO
    assert line.take() == (11 * MS + 2 * TWO, b"cd", 5)
    assert line.due_ns == NEVER


def test_byte_by_byte_each_has_its_own_instant():
    line = ReplyLine(57_600, bytewise=True)
    line.deliver(b"ab", MS)
    assert [line.take() for _ in range(2)] == [
        (MS + wire_ns(1, 57_600), b"a", UNASKED),
        (MS + TWO, b"b", UNASKED),
    ]


def drained(line):
    """Return every message, in its order."""
    messages = []
    while line.due_ns != NEVER:
        due = line.due_ns
        messages.append(line.take())
        assert messages[-1][0] == due
    return messages


def test_the_hosts_own_bytes_come_back_before_the_reply_and_answer_nothing():
    line = ReplyLine(57_600, 10 * MS)
    line.request = 3
    assert line.echo(b"abcd", MS) == b"abcd"
    line.deliver(b"xy", 2 * MS)
    assert drained(line) == [
        (11 * MS + wire_ns(4, 57_600), b"abcd", ECHOED),
        (12 * MS + TWO, b"xy", 3),
    ]


@pytest.mark.parametrize("bytewise", [False, True])
def test_what_the_host_says_into_a_reply_spoils_it(bytewise):
    line = ReplyLine(1_000_000, 10 * MS, bytewise=bytewise)
    line.request = 3
    line.deliver(b"\x0f" * 6, MS)
    assert line.echo(b"\x3c\x3c", MS + 20_000) == b"\x0c\x0c"
    messages = drained(line)
    assert b"".join(data for _, data, _ in messages) == b"\x0f\x0f\x0c\x0c\x0f\x0f"
    assert messages[-1][0] == 11 * MS + 60_000
    whose = [request for _, data, request in messages for _ in data]
    assert whose == [3, 3, ECHOED, ECHOED, UNASKED, UNASKED]
    line.deliver(b"z", 2 * MS)
    assert drained(line) == [(12 * MS + 10_000, b"z", 3)]


def test_an_adapter_gives_the_host_what_came_when_its_timer_ends_and_says_whose_it_is():
    line = HeldReplyLine(1_000_000, 16 * MS, 160 * MS)
    line.request = 1
    line.echo(b"ask", 0)
    line.deliver(b"reply", MS)
    line.request = 2
    line.deliver(b"more", 17 * MS)
    assert line.due_ns == 176 * MS
    assert drained(line) == [(176 * MS, b"ask", ECHOED), (176 * MS, b"reply", 1), (192 * MS, b"more", 2)]


def test_an_adapter_whose_packet_is_full_gives_it_over_at_once():
    line = HeldReplyLine(1_000_000, 16 * MS)
    line.request = 1
    line.deliver(bytes(70), 0)
    assert [(due, len(data)) for due, data, _ in drained(line)] == [(620_000, 62), (16 * MS + 620_000, 8)]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.binary(min_size=1, max_size=90), st.integers(0, 30 * MS)), max_size=5))
def test_an_adapter_on_a_terminal_does_what_one_on_a_virtual_clock_does(messages):
    line, wire = HeldReplyLine(115_200, 16 * MS), PacedLine(115_200)
    for number, (data, start) in enumerate(messages):
        line.request = number
        line.deliver(data, start)
        wire.deliver(data, start)
    handed = {}
    for due, data, _ in drained(line):
        handed[due] = handed.get(due, b"") + data
    timer = LatencyTimer(wire, 16 * MS)
    assert [timer.take(due) for due in handed] == list(handed.values())
    assert b"".join(handed.values()) == b"".join(data for data, _ in messages)
