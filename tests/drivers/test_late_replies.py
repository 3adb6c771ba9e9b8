"""Replies without names that come late are never taken for another servo's, up to the bound D that a line is given.

Judged when a servo hears its goal: see `lateline`. All sequences of a small scope, and long random ones.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lateline import CYCLE_NS, EXCHANGE_NS, FAR, FINE, HELD, LOST, MS, Fate, LateLoop, random_sequence

from drivers.aimotor import AiMotorBus
from drivers.owed import OwedBytes

LATE_NS = 3 * CYCLE_NS + MS
"""D of the small scope: three cycles, and what a turnaround needs."""

NEAR = (100, 103, 109, 97)
"""So near to each other that a shaft could get from one to the next in a few milliseconds."""

WIDE = (FINE, *HELD, *LOST)


def still(k, _):
    return NEAR[k]


def play(fates, cycles, **options):
    loop = LateLoop(fates, still, oldest_ns=2 * CYCLE_NS + LATE_NS, late_ns=LATE_NS, **options)
    for _ in range(cycles):
        loop.cycle()
    return loop


@pytest.mark.parametrize("limit", [None, 6])
def test_every_short_sequence_of_delays_and_losses(limit):
    for fates in product(WIDE, repeat=4):
        loop = play(fates, 6, limit=limit)
        assert loop.bus.status == [1] * 4
        assert loop.driven


def held_up(rng, start_ns):
    """Once for 20 to 32 ms, then twice for 3 to 12 ms, with 2 to 9 ms between."""
    holds, at_ns = [], start_ns
    for low, high in ((20, 32), (3, 12), (3, 12)):
        at_ns += int(rng.integers(2 * MS, 9 * MS))
        holds.append((at_ns, at_ns + int(rng.integers(low * MS, high * MS))))
        at_ns = holds[-1][1]
    return holds


APART = (134, 114, 175, 100)


def apart(k, _):
    return APART[k]


@pytest.mark.parametrize("where", [still, apart])
@pytest.mark.parametrize("limit", [None, 20])
def test_after_a_line_that_was_held_up_nobody_is_believed_for_another(where, limit):
    rng = np.random.default_rng(1)
    for _ in range(100):
        loop = LateLoop([], where, oldest_ns=150 * MS, late_ns=40 * MS, limit=limit)
        loop.line.holds = held_up(rng, loop.now_ns)
        for _ in range(20):
            loop.cycle()
        assert loop.bus.status == [1] * 4
        assert loop.bus.held_since_ns == -1


class Sleepy(LateLoop):
    """Its process does not run in `asleep`, from one instant to another; what is due then is done afterwards."""

    asleep = (FAR, FAR)

    def cycle(self):
        self.action.start(self.now_ns)
        while not self.bus.proceed(self.now_ns):
            self.now_ns = max(self.now_ns, self.bus.wake_ns)
            begin_ns, end_ns = self.asleep
            self.now_ns = end_ns if begin_ns <= self.now_ns < end_ns else self.now_ns
        self.action.complete()
        for goal in self.line.goals[self._judged :]:
            self.judge(goal)
        self._judged = len(self.line.goals)


@pytest.mark.parametrize("where", [still, apart])
def test_a_process_that_slept_with_its_line_for_longer_than_d_knows_that_everything_is_owed(where):
    rng = np.random.default_rng(2)
    for _ in range(100):
        # Each answer behind it comes so late that one that nobody knows to be owed comes when the next one could.
        first, then = int(rng.integers(MS // 2, 2 * MS)), int(rng.integers(2 * MS, 4 * MS))
        fates = [FINE, Fate(back_ns=first), *[Fate(back_ns=then)] * 80]
        loop = Sleepy(fates, where, oldest_ns=200 * MS, late_ns=20 * MS)
        begin_ns = loop.now_ns + int(rng.integers(EXCHANGE_NS))
        end_ns = begin_ns + int(rng.integers(25, 90)) * MS
        loop.asleep = begin_ns, end_ns
        loop.line.holds = [(begin_ns, end_ns + int(rng.integers(4 * MS, 12 * MS)))]
        for _ in range(32):
            loop.cycle()
        assert loop.bus.status == [1] * 4


def test_random_sequences():
    """`python -m benchmarks.late` plays a million."""
    assert sum(random_sequence(seed).driven for seed in range(400)) > 4000


class Unpaid(AiMotorBus):
    """Takes whoever was asked last for the one who answers, as if nothing were ever owed."""

    def __init__(self, *args, late_ns, **options):
        super().__init__(*args, **options)


def test_without_the_debt_a_servo_is_sent_where_another_was():
    with pytest.raises(AssertionError, match="servo said"):
        for fates in product(WIDE, repeat=4):
            play(fates, 6, bus_class=Unpaid)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["owe", "pay", "wait"]), st.integers(1, 6))))
def test_a_debt_is_paid_oldest_first_or_expires(steps):
    debt, lots, now_ns = OwedBytes(), [], 0
    for what, number in steps:
        if what == "owe":
            debt.owe(number, now_ns + 10)
            lots += [now_ns + 10] * number
        elif what == "pay":
            assert debt.pay(number) == max(0, number - len(lots))
            lots = lots[number:]
        else:
            now_ns += number
            debt.expire(now_ns)
            lots = [until_ns for until_ns in lots if until_ns > now_ns]
        assert (debt.bytes, bool(debt), debt.until_ns) == (len(lots), bool(lots), max(lots, default=0))
