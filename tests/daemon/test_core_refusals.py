"""Servos that are not what the configuration says: nothing is driven, and everybody is told why."""

from __future__ import annotations

from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.wire import CoreCommand, RecordKind
from tests.daemon.cores import Bench, driven

WRONG = ("Coxa: expected an XL430-W250, found an XM430-W350",)


def test_a_refused_servo_keeps_the_leg_from_running_and_from_being_posed():
    bench = Bench()
    bench.run(0.1)
    bench.bus.bus.refusals = WRONG
    ok, why = bench.obeyed(CoreCommand.RUN, 0, -1, 1)
    assert not ok
    assert WRONG[0] in why
    ok, why = bench.obeyed(CoreCommand.CHANGESET, -1, [], [["target", 0, 20.0]])
    assert not ok
    assert WRONG[0] in why
    bench.run(0.2)
    assert not driven(bench.bus.sent)


def test_it_can_not_be_armed_before_the_servo_is_the_right_one():
    bench = Bench(latched="motor_silent")
    bench.run(0.1)
    bench.bus.bus.refusals = WRONG
    ok, why = bench.obeyed(CoreCommand.ARM)
    assert not ok
    assert WRONG[0] in why
    assert bench.mode is Mode.FAULT
    bench.bus.bus.refusals = ()
    ok, _ = bench.obeyed(CoreCommand.ARM)
    assert ok


def test_a_servo_refused_in_a_bout_ends_it_limp():
    bench = Bench()
    bench.run(0.1)
    bench.start()
    bench.bus.bus.refusals = WRONG
    bench.records()
    bench.run(0.1)
    assert bench.mode is Mode.FAULT
    assert "servo_refused" in bench.events()
    bench.bus.sent.clear()
    bench.run(0.2)
    assert not driven(bench.bus.sent)


def test_the_service_is_told_and_told_again_until_it_is_over():
    bench = Bench()
    bench.run(0.1)
    bench.records()
    bench.bus.bus.refusals = WRONG
    bench.run(5.0)
    records = bench.records()
    told = [content[1] for kind, content in records if kind is RecordKind.REFUSALS]
    assert told[0] == list(WRONG)
    assert 3 <= len(told) <= 4
    assert [content[2] for kind, content in records if kind is RecordKind.EVENT and content[1] == "servo_refused"] == [
        *WRONG
    ]
    bench.bus.bus.refusals = ()
    bench.run(3.0)
    told = [content[1] for kind, content in bench.records() if kind is RecordKind.REFUSALS]
    assert told == [[]]
