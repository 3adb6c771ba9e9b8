"""What must never let torque on: orders that come at the wrong moment, words of other processes, silent lines."""

from __future__ import annotations

import pytest

from drivers.errors import PortError
from nuc_engine.control.faults import OFF
from nuc_engine.daemon.block import OWNER_GUARDIAN, Word
from nuc_engine.daemon.engine import EXIT_BUS_LOST, EXIT_SHUTDOWN, WATCH_NS
from nuc_engine.daemon.latch import latched
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.off_requests import Requester, request_off
from nuc_engine.daemon.wire import CoreCommand, RecordKind
from nuc_engine.model.changes import Changeset, JointControl
from tests.daemon.cores import MS, Bench, S, driven


def turns_until(bench, condition, most=2000):
    for _ in range(most):
        if condition():
            return
        bench.core.turn()
    raise AssertionError("it did not come to that")


def stand_still(bench, time_ns=5 * WATCH_NS):
    """Let the machine stand still between two turns; the others are there at once."""
    bench.clock.now_ns += time_ns
    bench._meanwhile(bench.clock.now_ns)
    bench.words[Word.CORE_BEAT] = bench.clock.now_ns


def test_an_order_given_just_before_off_drives_nothing_after_it():
    bench = Bench()
    bench.run(0.05)
    bench.order(CoreCommand.CHANGESET, -1, [], [["target", 1, 75.0]])
    turns_until(bench, lambda: bench.core.live.script.due_ns <= bench.clock.now_ns)
    request_off(bench.words, Requester.SUPERVISOR)
    stand_still(bench)
    bench.bus.sent.clear()
    bench.run(0.2)
    assert latched(bench.words) == OFF
    assert not driven(bench.bus.sent)
    assert bench.words[Word.TORQUE] == 0


def test_an_order_given_just_before_a_stop_drives_nothing_after_it():
    bench = Bench()
    bench.run(0.05)
    bench.core.load(Changeset(-1, (), controls=(JointControl("target", 1, 75.0),)))
    bench.core.stop("off", "stopped")
    bench.run(0.2)
    assert not driven(bench.bus.sent)


@pytest.mark.parametrize("end", ["off", "stop"])
def test_the_end_of_a_bout_that_is_about_to_begin_leaves_the_servos_asked(end):
    bench = Bench()
    bench.run(0.05)
    bench.unplug(1)
    bench.bus.bus.status[1] = 1
    bench.order(CoreCommand.RUN, 0, -1, 1)
    turns_until(bench, lambda: bench.core.live.quiet)
    if end == "off":
        bench.core.off("a hand in the leg")
    else:
        bench.core.stop("off", "not now")
    bench.run(0.1)
    bench.plug(1)
    bench.bus.sent.clear()
    bench.run(0.1)
    assert len(bench.bus.sent) > 5, "the sensors stay live"
    assert bench.core.live.limp
    assert bench.words[Word.TORQUE] == bench.words[Word.UNCONFIRMED] == 0


def test_a_stop_between_the_last_exchange_and_the_bout_leaves_the_sensors_live():
    bench = Bench()
    bench.run(0.05)
    bench.order(CoreCommand.RUN, 0, -1, 1)
    turns_until(bench, lambda: bench.core.live.quiet and not bench.core.live.exchanging)
    bench.core.stop("hold", "not now")
    bench.bus.sent.clear()
    bench.run(0.1)
    assert len(bench.bus.sent) > 5


def test_no_bout_begins_while_everything_is_shut_down():
    bench = Bench()
    bench.run(0.05)
    bench.obeyed(CoreCommand.CHANGESET, -1, [], [["target", 1, 75.0]])
    assert bench.obeyed(CoreCommand.RUN, 100 * MS, -1, 1)[0]
    bench.words[Word.SHUTDOWN] = 1
    request_off(bench.words, Requester.SUPERVISOR)
    bench.unplug(1)
    bench.records()
    bench.run(0.002)
    bench.bus.sent.clear()
    assert not bench.obeyed(CoreCommand.CHANGESET, -1, [], [["target", 0, 5.0]])[0]
    bench.run(0.1)
    assert not bench.obeyed(CoreCommand.RUN, 0, -1, 2)[0]
    assert RecordKind.BOUT_BEGIN not in [kind for kind, _ in bench.records()]
    assert not driven(bench.bus.sent)
    bench.plug(1)
    assert bench.core.work() == EXIT_SHUTDOWN
    assert bench.words[Word.TORQUE] == 0


def test_a_latch_set_while_the_core_waits_for_its_bus_is_kept():
    bench = Bench()
    bench.words[Word.GUARDIAN_WATCHES] = 0
    turns = 0

    def meanwhile(now):
        nonlocal turns
        turns += 1
        bench.words[Word.GUARDIAN_BEAT] = now
        if turns == 5:
            bench.words[Word.LATCHED] = 1
            bench.words[Word.GUARDIAN_WATCHES] = 1
        if turns == 50:
            bench.words[Word.SHUTDOWN] = 1

    bench.clock.on_wait = meanwhile
    assert bench.core.run() == EXIT_SHUTDOWN
    assert bench.mode is Mode.FAULT
    bench.words[Word.SHUTDOWN] = 0
    assert not bench.obeyed(CoreCommand.RUN, 0, -1, 1)[0]


def test_a_latch_of_the_guardian_stops_a_core_that_does_not_know_of_it():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.1)
    bench.words[Word.LATCHED] = 1
    before = bench.clock.now_ns
    bench.run(0.05)
    assert bench.mode is Mode.FAULT
    assert not [entry for entry in driven(bench.bus.sent) if entry[0] > before + 2 * WATCH_NS]


def test_a_core_that_is_told_to_end_before_it_has_the_bus_does_not_touch_it():
    bench = Bench()
    bench.words[Word.GUARDIAN_WATCHES] = 0
    bench.words[Word.BUS_OWNER] = OWNER_GUARDIAN
    bench.words[Word.TORQUE] = bench.words[Word.SHUTDOWN] = 1

    def meanwhile(now):
        if bench.bus.sent or bench.bus.offs:
            raise AssertionError("two processes write")

    bench.clock.on_wait = meanwhile
    assert bench.core.run() == EXIT_SHUTDOWN
    assert not bench.bus.sent


def test_orders_that_were_given_to_an_earlier_core_are_not_obeyed():
    bench = Bench()
    bench.order(CoreCommand.RUN, 0, -1, 1)
    bench.order(CoreCommand.CHANGESET, -1, [], [["target", 1, 75.0]])
    turns = 0

    def meanwhile(now):
        nonlocal turns
        turns += 1
        bench._meanwhile(now)
        if turns == 100:
            bench.words[Word.SHUTDOWN] = 1
            request_off(bench.words, Requester.SUPERVISOR)

    bench.clock.on_wait = meanwhile
    assert bench.core.run() == EXIT_SHUTDOWN
    assert not driven(bench.bus.sent)
    assert bench.words[Word.TORQUE] == 0
    assert not [content for kind, content in bench.records() if kind is RecordKind.BOUT_BEGIN]


def test_nobody_drives_while_no_guardian_is_there():
    bench = Bench()
    bench.run(0.05)
    bench.guardian_beats = False
    bench.run(0.1)
    assert bench.mode is Mode.FAULT
    ok, why = bench.obeyed(CoreCommand.ARM)
    assert not ok
    assert "guardian" in why
    bench.guardian_beats = True
    bench.run(0.05)
    assert bench.obeyed(CoreCommand.ARM)[0]


@pytest.mark.parametrize("policy", ["hold", "park"])
def test_a_stop_with_nothing_under_way_does_not_put_a_limp_leg_under_torque(policy):
    bench = Bench(on_stop=policy, park_deg={"Coxa-Trochanter": 80.0})
    bench.run(0.05)
    assert bench.obeyed(CoreCommand.STOP, "")[0]
    bench.run(0.3)
    assert not driven(bench.bus.sent)
    assert bench.words[Word.TORQUE] == 0
    assert bench.obeyed(CoreCommand.STOP, policy)[0], "who names the policy wants it"
    bench.run(0.1)
    assert bench.words[Word.TORQUE] == 1


@pytest.mark.parametrize("command", [(CoreCommand.OFF, "off"), (CoreCommand.STOP, "off")])
def test_a_port_that_is_lost_while_a_command_is_obeyed_is_a_lost_port(monkeypatch, command):
    bench = Bench()
    bench.run(0.05)
    bench.start(0.1)

    def gone(*_):
        raise PortError("the adapter is gone")

    monkeypatch.setattr(type(bench.bus), "torque_off", gone)
    bench.order(*command)
    until = bench.clock.now_ns + S

    def meanwhile(now):
        bench._meanwhile(now)
        if now > until:
            raise AssertionError("the loss was not noticed")

    bench.clock.on_wait = meanwhile
    assert bench.core.work() == EXIT_BUS_LOST
    assert bench.words[Word.BUS_LOST]
    assert bench.words[Word.LATCHED]


def test_a_service_that_never_comes_back_is_lost():
    bench = Bench(on_service_loss="stop")
    bench.run(0.05)
    bench.start(0.3)
    bench.service_beats = False
    # The main process sets it to 0 whenever it starts another service.
    bench.words[Word.SERVICE_BEAT] = 0
    bench.run(3.5)
    assert bench.mode is Mode.STOPPED


def test_edits_of_a_new_bout_are_acknowledged_with_its_cycles():
    bench = Bench()
    bench.run(1.0)
    bench.records()
    bench.order(CoreCommand.CHANGESET, 0, [[bench.hdso(103), [4.5]]], [])
    bench.order(CoreCommand.RUN, 0, -1, 1)
    bench.run(0.1)
    told = bench.records()
    (done,) = [content for kind, content in told if kind is RecordKind.DONE]
    (applied,) = [content for kind, content in told if kind is RecordKind.APPLIED]
    assert done[2] == applied[1] == 0


def test_an_edit_that_waits_when_a_bout_begins_is_not_lost():
    bench = Bench()
    bench.run(0.05)
    bench.order(CoreCommand.RUN, 0, -1, 1)
    turns_until(bench, lambda: bench.core.live.quiet and not bench.core.live.exchanging)
    request = bench.order(CoreCommand.CHANGESET, -1, [[bench.hdso(103), [4.5]]], [])
    stand_still(bench)
    bench.run(0.1)
    assert [content[0] for kind, content in bench.records() if kind is RecordKind.DONE] == [request]


def test_a_target_far_away_is_not_jumped_to_after_a_pause():
    bench = Bench(approach_deg_s=30.0)
    bench.run(0.05)
    motor = bench.plan.motors[1]
    assert bench.obeyed(CoreCommand.CHANGESET, -1, [], [["target", motor.joint, 75.0]])[0]
    bench.bus.sent.clear()
    stand_still(bench, 2 * S)
    bench.run(0.1)
    jumps = [abs(goals[1] - measured[1]) for _, goals, measured in bench.bus.sent if goals[1] >= 0]
    assert max(jumps) <= 0.2 * 30.0 * abs(motor.cal2) + 1


def test_old_measurements_drive_nothing():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.3)
    turns_until(bench, lambda: not bench.core.live.exchanging)
    bench.bus.sent.clear()
    stand_still(bench, 2 * S)
    bench.run(0.02)
    assert not driven(bench.bus.sent[:1])
    assert driven(bench.bus.sent[1:])


def test_a_bus_that_babbles_between_exchanges_is_heard_out(monkeypatch):
    bench = Bench()
    bench.run(0.05)
    bench.core.store.write(bench.plan.motor_control_delay, (S,))
    turns_until(bench, lambda: not bench.core.live.exchanging and bench.core.live.next_ns > bench.clock.now_ns + S // 2)
    heard = []
    monkeypatch.setattr(type(bench.bus.bus), "proceed", lambda bus, now: heard.append(now) or True)
    bench.core.live.readable(bench.clock.now_ns)
    assert heard


def test_a_parking_pose_that_can_not_be_is_told():
    bench = Bench(on_stop="park", park_deg={"Coxa-Trochanter": 5000.0})
    bench.run(0.05)
    bench.start(0.1)
    bench.records()
    bench.obeyed(CoreCommand.STOP, "")
    assert bench.words[Word.TORQUE] == 1
    bench.core.stop("park", "again")
    assert "park_refused" in bench.events()
