"""Replies on their way."""

from drivers.port import NEVER, wire_ns
from nuc_engine.emulation.line import UNASKED, ReplyLine
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
