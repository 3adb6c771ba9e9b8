"""How the main process ends everything, and what it says meanwhile."""

from __future__ import annotations

import signal

import pytest

from nuc_engine.daemon.block import Word
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.off_requests import Requester, confirm, pending_requesters, requested
from nuc_engine.daemon.spawn import END_SIGNAL
from nuc_engine.daemon.supervisor import CONFIRM_NS, FLUSH_NS, TICK_NS
from tests.daemon.supervised import S


def end_well(bench):
    """Be core, guardian and service during an ordered end; return the stages seen."""
    words, seen = bench.words, []
    while bench.tick():
        core, service = bench.last("nuc-core"), bench.last("nuc-service")
        if pending_requesters(words) and words[Word.TORQUE] and not core.ended:
            seen.append("off")
            confirm(words, Word.OFF_DONE_CORE, requested(words))
            words[Word.TORQUE] = 0
            words[Word.MODE] = Mode.STOPPED
        elif words[Word.SHUTDOWN] and not words[Word.TORQUE] and not core.ended:
            seen.append("core")
            core.end()
        elif END_SIGNAL in service.signals and not service.ended:
            seen.append("service")
            service.end()
    return seen


@pytest.mark.parametrize("torque", [0, 1])
def test_an_ordered_end_takes_the_torque_off_then_flushes_then_ends_the_rest(make, torque):
    bench = make().up()
    bench.words[Word.TORQUE] = torque
    bench.ask_to_end()
    assert end_well(bench) == (["off"] if torque else []) + ["core", "service"]
    assert bench.supervisor.run() == 0
    assert all(child.ended and child.buried for child in bench.children)
    assert not bench.ports[0].is_open
    assert bench.words[Word.CORE_DEATHS] == 0
    assert "STOPPING=1" in bench.notes


def test_a_bout_that_does_not_drive_yet_is_ended_with_a_request_too(make):
    bench = make().up()
    bench.words[Word.MODE] = Mode.RUNNING
    bench.ask_to_end()
    bench.tick()
    assert pending_requesters(bench.words) == (Requester.SUPERVISOR,)


def test_a_client_can_ask_for_the_end(make):
    bench = make().up()
    bench.words[Word.SHUTDOWN] = 1
    assert end_well(bench) == ["core", "service"]


def test_torque_that_nobody_confirms_is_waited_for_no_longer_than_3_s_and_makes_the_status_1(make):
    bench = make().up()
    bench.words[Word.TORQUE] = 1
    bench.ask_to_end()
    begun = bench.clock.now_ns
    while END_SIGNAL not in bench.last("nuc-service").signals:
        assert bench.tick()
    assert CONFIRM_NS <= bench.clock.now_ns - begun <= CONFIRM_NS + 3 * TICK_NS
    bench.last("nuc-service").end()
    assert not bench.tick()
    assert bench.supervisor.run() == 1
    assert "torque_unconfirmed" in [name for name, _ in bench.events()]


def test_a_service_that_does_not_end_is_ended(make):
    bench = make().up()
    bench.ask_to_end()
    begun = bench.clock.now_ns
    bench.last("nuc-core").end()
    while bench.tick():
        pass
    assert bench.clock.now_ns - begun <= FLUSH_NS + 5 * TICK_NS
    assert bench.last("nuc-service").signals == [END_SIGNAL, signal.SIGKILL]


def test_asked_twice_it_kills_the_core_and_still_waits_for_the_guardian(make):
    bench = make().up()
    bench.words[Word.TORQUE] = 1
    bench.ask_to_end()
    bench.tick(2)
    bench.ask_to_end(signal.SIGINT)
    bench.tick(2)
    assert bench.last("nuc-core").signals == [signal.SIGKILL]
    assert bench.last("nuc-guardian").signals == []
    bench.words[Word.TORQUE] = 0
    confirm(bench.words, Word.OFF_DONE_CORE, requested(bench.words))
    bench.tick()
    assert bench.last("nuc-service").signals == [END_SIGNAL]


def test_a_guardian_that_dies_during_the_end_is_replaced(make):
    bench = make().up()
    bench.words[Word.TORQUE] = 1
    bench.ask_to_end()
    bench.tick()
    bench.last("nuc-guardian").end(-9)
    bench.tick(2)
    assert len(bench.named("nuc-guardian")) == 2


def test_systemd_hears_that_it_is_ready_only_when_core_and_service_are(make):
    bench = make()
    bench.tick(3)
    assert "READY=1" not in bench.notes
    bench.up()
    bench.tick()
    assert bench.notes.count("READY=1") == 1


def test_without_a_configuration_the_service_is_enough(make):
    bench = make(configuration="")
    bench.tick(3)
    assert bench.notes.count("READY=1") == 1
    assert "STATUS=no configuration yet" in bench.notes


def fed(bench, ticks):
    bench.notes.clear()
    bench.tick(ticks)
    return bench.notes.count("WATCHDOG=1")


@pytest.mark.parametrize("stalled", ["nuc-core", "nuc-guardian", None])
def test_the_watchdog_is_fed_only_while_everybody_lives(make, stalled):
    bench = make(watchdog_ns=S).up()
    assert fed(bench, 100) >= 5
    if stalled is None:
        bench.words[Word.MODE] = Mode.RUNNING
        # No task has run for longer than two seconds.
        fed(bench, 60)
    else:
        child = bench.last(stalled)
        child.signals.append(signal.SIGSTOP)
        child.dies_of = set()
        fed(bench, 30)
    assert fed(bench, 200) == 0
    # Whoever can not be killed is killed once.
    assert all(child.signals.count(signal.SIGKILL) <= 1 for child in bench.children)


def test_the_watchdog_is_fed_while_every_task_runs(make):
    bench = make(watchdog_ns=S).up()
    bench.words[Word.MODE] = Mode.RUNNING
    live = bench.live

    def running():
        live()
        for k in range(7):
            bench.words[Word.TASK_LAST + k] = bench.clock.now_ns

    bench.live = running
    assert fed(bench, 300) >= 15


def test_what_is_said_says_what_is(make):
    bench = make().up()
    bench.tick()
    bench.words[Word.MODE], bench.words[Word.BOUT] = Mode.RUNNING, 4
    bench.tick()
    bench.words[Word.MODE], bench.words[Word.LATCHED], bench.words[Word.BOUT] = Mode.FAULT, 1, 0
    bench.tick()
    assert bench.said == ["starting", "configured", "running, bout 4", "fault, latched: arm to go on"]


def test_a_start_that_waits_for_servos_says_so(make):
    bench = make()
    bench.block.write_plan(bench.plan)
    bench.live = lambda: None
    bench.words[Word.UNCONFIRMED] = 0b101
    bench.tick(60)
    assert bench.said[-1] == "starting; 2 servos have not confirmed that their torque is off"
