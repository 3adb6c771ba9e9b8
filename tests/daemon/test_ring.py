"""The ring: order, wholeness, room, and a consumer that comes back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from nuc_engine.daemon.ring import HEADER, Ring, RingError


def make(size=1024):
    return Ring(memoryview(bytearray(HEADER + size)))


class Model(RuleBasedStateMachine):
    """A ring beside a plain list: the same records in the same order, and none that was not put."""

    def __init__(self):
        super().__init__()
        self.memory = bytearray(HEADER + 512)
        self.ring = Ring(memoryview(self.memory))
        self.waiting = []
        self.cursor = 0
        self.refused = 0

    @rule(kind=st.integers(0, 40), content=st.binary(max_size=120))
    def put(self, kind, content):
        if self.ring.put(kind, content):
            self.waiting.append((kind, content))
        else:
            self.refused += 1
            assert sum(len(c) + 48 for _, c in self.waiting) + len(content) + 200 > 512, "there was room"

    @rule(count=st.integers(0, 5))
    def read_and_keep(self, count):
        found = []
        cursor = self.ring.kept
        for kind, after, content in self.ring.read(cursor):
            if len(found) == count:
                break
            found.append((kind, content))
            cursor = after
        assert found == self.waiting[:count]
        self.ring.keep(cursor)
        del self.waiting[: len(found)]

    @rule()
    def read_without_keeping(self):
        assert [(kind, content) for kind, _, content in self.ring.read(self.ring.kept)] == self.waiting

    @rule()
    def another_process_takes_over(self):
        self.ring = Ring(memoryview(self.memory))

    @invariant()
    def what_was_refused_is_counted(self):
        assert self.ring.lost == self.refused


Model.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None, derandomize=True)
TestModel = Model.TestCase


@given(at=st.integers(0, 63), bit=st.integers(0, 7))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_a_record_whose_bytes_are_not_there_yet_is_not_read(at, bit):
    memory = bytearray(HEADER + 1024)
    ring = Ring(memoryview(memory))
    content = bytes(range(64))
    ring.put(3, content)
    memory[HEADER + 16 + at] ^= 1 << bit
    assert list(ring.read(0)) == []
    memory[HEADER + 16 + at] ^= 1 << bit
    assert [c for _, _, c in ring.read(0)] == [content]


def test_a_record_that_never_becomes_whole_is_an_error_and_no_endless_wait():
    memory = bytearray(HEADER + 1024)
    ring = Ring(memoryview(memory))
    ring.put(3, b"hello")
    memory[HEADER + 18] ^= 1

    def look():
        for _ in range(5000):
            list(ring.read(0))

    with pytest.raises(RingError, match="does not become whole"):
        look()


def test_a_record_larger_than_the_ring_is_refused():
    ring = make(256)
    assert not ring.put(1, bytes(300))
    assert ring.lost == 1
    assert ring.put(1, bytes(100))


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(RingError, match="multiple of 16"):
        make(1000)


def test_high_water_is_remembered():
    ring = make()
    ring.put(1, bytes(100))
    most = ring.high
    assert most >= 100
    list(ring.take())
    ring.put(1, b"")
    assert ring.high == most
