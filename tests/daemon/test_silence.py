"""A supply that fails for a moment: found by all servos of a bus being silent together, and by nothing else."""

from __future__ import annotations

import pytest

from drivers.servo import ReplyStatus
from nuc_engine.daemon.block import Word
from nuc_engine.daemon.brownout import FEWEST, BrownOutDetector
from nuc_engine.daemon.latch import LATCH_REASONS
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.wire import RecordKind
from tests.daemon.cores import MS, Bench, driven

OK, MISSED, ODD = int(ReplyStatus.OK), int(ReplyStatus.MISSED), int(ReplyStatus.IMPLAUSIBLE)


def outage(bench, milliseconds, phase_ms):
    """Take the supply of all servos away at some moment of a cycle, give it back, and say when that was."""
    bench.run(0.05)
    bench.start(0.1 + phase_ms / 1000)
    bench.bus.sent.clear()
    bench._emulator.supply(on=False)
    bench.run(milliseconds / 1000)
    bench._emulator.supply(on=True)
    back = bench.clock.now_ns
    bench.run(0.2)
    return back


@pytest.mark.parametrize("phase_ms", range(0, 24, 3))
def test_an_outage_of_40_ms_takes_the_torque_off_and_nothing_drives_afterwards(phase_ms):
    bench = Bench()
    back = outage(bench, 40, phase_ms)
    assert bench.mode is Mode.FAULT
    assert LATCH_REASONS[bench.words[Word.LATCH_REASON]] == "bus_silent"
    assert not [entry for entry in driven(bench.bus.sent) if entry[0] > back + 5 * MS]
    (text,) = [
        content[2] for kind, content in bench.records() if kind is RecordKind.EVENT and content[1] == "bus_silent"
    ]
    assert text.startswith("no servo of the bus answered ")


@pytest.mark.parametrize("phase_ms", range(0, 24, 3))
def test_an_outage_of_10_ms_costs_replies_and_not_the_bout(phase_ms):
    bench = Bench()
    outage(bench, 10, phase_ms)
    assert bench.mode is Mode.RUNNING
    assert sum(bench.core.live.missed) > 0


def test_more_cycles_may_be_waited_for():
    bench = Bench(silent_cycles=4)
    outage(bench, 40, 0)
    assert bench.mode is Mode.RUNNING


def test_where_nothing_is_driven_a_dead_bus_is_no_fault():
    bench = Bench()
    bench.run(0.05)
    bench._emulator.supply(on=False)
    bench.run(0.3)
    bench._emulator.supply(on=True)
    bench.run(0.1)
    assert bench.mode is Mode.CONFIGURED


def test_what_is_missed_while_the_core_itself_is_late_is_not_held_against_the_bus():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.1)
    bench._emulator.supply(on=False)
    end = bench.clock.now_ns + 45 * MS
    wait = bench.clock.wait

    def late(deadline_ns, filenos):
        wait(deadline_ns, filenos)
        bench.clock.now_ns += 2 * MS
        return ()

    bench.clock.wait = late
    while bench.clock.now_ns < end:
        bench.core.turn()
    bench.clock.wait = wait
    bench.core.turn()
    bench._emulator.supply(on=True)
    bench.run(0.1)
    assert bench.mode is Mode.RUNNING


class Bus:
    """Cycles of a bus on paper; `looked` returns for each whether a silence ended: (bus, requests) or None."""

    def __init__(self, buses, cycles=2) -> None:
        self.silence, self.stray = BrownOutDetector(buses, cycles), 0

    def looked(self, *statuses, late=(), bytes_in=()):
        found = []
        for k, status in enumerate(statuses):
            self.stray += dict(bytes_in).get(k, 0)
            found.append(self.silence.look(status, self.stray, late=k in late))
        return found


WHOLE, ALL_OK = [MISSED] * 4, [OK] * 4


def test_a_silence_goes_over_the_ends_of_cycles_and_is_told_when_it_ends():
    tail, head = [OK, OK, MISSED, MISSED], [MISSED, MISSED, OK, OK]
    assert Bus([range(4)]).looked(tail, WHOLE, head, ALL_OK) == [None, None, (0, 8), None]
    assert Bus([range(4)]).looked([OK, OK, OK, MISSED], WHOLE, head) == [None] * 3
    assert Bus([range(4)]).looked(WHOLE, WHOLE, ALL_OK) == [None, None, (0, 8)]


def test_a_servo_that_answers_or_says_something_odd_ends_the_silence():
    for answer in (OK, ODD):
        assert Bus([range(4)]).looked(*[[MISSED, MISSED, MISSED, answer]] * 9, ALL_OK) == [None] * 10
    # What is not believed may be the late replies themselves, all at once.
    assert Bus([range(4)]).looked(WHOLE, WHOLE, [ODD] * 4, ALL_OK) == [None] * 4


def test_replies_that_come_late_show_that_nobody_was_without_supply():
    """The computer was held up, not the servos."""
    assert Bus([range(4)]).looked(WHOLE, WHOLE, ALL_OK, bytes_in=[(2, 14)]) == [None] * 3
    assert Bus([range(4)]).looked(WHOLE, WHOLE, ALL_OK, bytes_in=[(0, 8)]) == [None] * 3


def test_a_byte_or_two_of_noise_is_no_reply_and_what_came_before_does_not_count():
    assert Bus([range(4)]).looked(WHOLE, WHOLE, ALL_OK, bytes_in=[(1, 2)]) == [None, None, (0, 8)]
    assert Bus([range(4)]).looked(ALL_OK, WHOLE, WHOLE, ALL_OK, bytes_in=[(0, 99)]) == [None, None, None, (0, 8)]


def test_each_bus_is_counted_for_itself_in_its_own_order():
    buses = [(0, 2), (1, 3)]
    odd_dead = [OK, MISSED, OK, MISSED]
    assert Bus(buses, 3).looked(*[odd_dead] * 3, ALL_OK) == [None, None, None, (1, 6)]
    assert Bus(buses, 3).looked(*[odd_dead, [MISSED, OK, MISSED, OK]] * 4) == [None] * 8


def test_a_bus_of_few_servos_was_not_silent_after_misses_that_chance_brings():
    assert Bus([(0,)]).looked(*[[MISSED]] * (FEWEST - 1), [OK]) == [None] * FEWEST
    assert Bus([(0,)]).looked(*[[MISSED]] * FEWEST, [OK])[-1] == (0, FEWEST)


def test_a_late_cycle_neither_counts_nor_forgives():
    assert Bus([range(4)]).looked(WHOLE, WHOLE, WHOLE, ALL_OK, late=(1,)) == [None, None, None, (0, 8)]
    assert Bus([range(4)]).looked(WHOLE, WHOLE, ALL_OK, late=(1,)) == [None] * 3
    assert Bus([range(4)]).looked(WHOLE, ALL_OK, WHOLE, ALL_OK, late=(1,)) == [None] * 4
