"""A supply that fails for a moment: found by all servos of a bus being silent together, and by nothing else."""

from __future__ import annotations

import pytest

from drivers.servo import ReplyStatus
from nuc_engine.daemon.block import Word
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.silence import FEWEST, Silence
from nuc_engine.daemon.wire import FAULT_NAMES, Kind
from tests.daemon.cores import MS, Bench, driven

OK, MISSED, ODD = int(ReplyStatus.OK), int(ReplyStatus.MISSED), int(ReplyStatus.IMPLAUSIBLE)


def outage(bench, milliseconds, phase_ms):
    """Take the supply of all servos away at some moment of a cycle, and let the bout go on behind it."""
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
    assert FAULT_NAMES[bench.words[Word.LATCH_REASON]] == "bus_silent"
    assert not [entry for entry in driven(bench.bus.sent) if entry[0] > back + 5 * MS]
    (text,) = [content[2] for kind, content in bench.records() if kind is Kind.EVENT and content[1] == "bus_silent"]
    assert text.startswith("no servo of the bus has answered ")


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
    assert bench.mode is Mode.CONFIGURED


def test_what_is_missed_while_the_core_itself_is_late_is_not_held_against_the_bus():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.1)
    bench._emulator.supply(on=False)
    end = bench.clock.now_ns + 60 * MS
    wait = bench.clock.wait

    def late(deadline_ns, filenos):
        wait(deadline_ns, filenos)
        bench.clock.now_ns += 2 * MS
        return ()

    bench.clock.wait = late
    while bench.clock.now_ns < end:
        bench.core.turn()
    assert bench.mode is Mode.RUNNING


def looked(buses, cycles, *statuses, late=()):
    """Return which of some cycles find a bus silent: per cycle (bus, requests in a row) or None."""
    silence = Silence(buses, cycles)
    return [silence.look(status, late=k in late) for k, status in enumerate(statuses)]


def test_the_silence_counts_over_the_ends_of_cycles():
    tail, whole, head = [OK, OK, MISSED, MISSED], [MISSED] * 4, [MISSED, MISSED, OK, OK]
    assert looked([range(4)], 2, tail, whole, head) == [None, None, (0, 8)]
    assert looked([range(4)], 2, [OK, OK, OK, MISSED], whole, head) == [None] * 3


def test_a_servo_that_answers_or_says_something_odd_ends_the_silence():
    for answer in (OK, ODD):
        assert looked([range(4)], 2, *[[MISSED, MISSED, MISSED, answer]] * 9) == [None] * 9


def test_each_bus_is_counted_for_itself_in_its_own_order():
    buses = [(0, 2), (1, 3)]
    dead_odd = [OK, MISSED, OK, MISSED]
    assert looked(buses, 3, *[dead_odd] * 3) == [None, None, (1, 6)]
    alternating = [[OK, MISSED, OK, MISSED], [MISSED, OK, MISSED, OK]]
    assert looked(buses, 3, *alternating * 4) == [None] * 8


def test_a_bus_of_few_servos_is_not_silent_after_misses_that_chance_brings():
    assert looked([(0,)], 2, *[[MISSED]] * FEWEST) == [None] * (FEWEST - 1) + [(0, FEWEST)]


def test_a_late_cycle_neither_counts_nor_forgives():
    whole = [MISSED] * 4
    assert looked([range(4)], 2, whole, whole, whole, late=(1,)) == [None, None, (0, 8)]
    assert looked([range(4)], 2, whole, [OK] * 4, whole, late=(1,)) == [None] * 3
