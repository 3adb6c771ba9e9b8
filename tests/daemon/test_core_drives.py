"""Who may drive a servo, and what is believed of one that should be limp."""

from __future__ import annotations

import pytest

from drivers.bus import LIMP, READ_ONLY
from drivers.servo import ReplyStatus
from nuc_engine.control.controls import Controls
from nuc_engine.control.guard import Guard
from nuc_engine.control.tasks.board import Board, Drive
from nuc_engine.control.tasks.motor_action import MotorAction
from nuc_engine.daemon.block import OWNER_CORE, OWNER_GUARDIAN, Word
from nuc_engine.daemon.engine import EXIT_SHUTDOWN
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.off_requests import Requester, begun, pending_requesters, request_off
from nuc_engine.daemon.wire import CoreCommand, RecordKind
from nuc_engine.model.changes import JointControl
from nuc_engine.model.store import Store
from tests.daemon.cores import MS, Bench, S
from tests.engine.models import one_joint

OK, MISSED = int(ReplyStatus.OK), int(ReplyStatus.MISSED)


def test_a_bout_needs_every_servo_and_begins_once():
    bench = Bench()
    bench.run(0.05)
    bench.unplug(1)
    bench.run(0.05)
    ok, why = bench.obeyed(CoreCommand.RUN, 0, -1, 1)
    assert not ok
    assert bench.plan.motors[1].name in why
    bench.plug(1)
    bench.run(0.05)
    assert bench.obeyed(CoreCommand.RUN, 300 * MS, -1, 1)[0]
    ok, why = bench.obeyed(CoreCommand.RUN, 0, -1, 2)
    assert not ok
    assert "already" in why
    bench.run(0.3)
    assert [content[1] for kind, content in bench.records() if kind is RecordKind.BOUT_BEGIN] == [1]


def test_a_request_stands_until_every_servo_has_confirmed():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.2)
    bench.unplug(1)
    request_off(bench.words, Requester.SERVICE)
    bench.run(0.1)
    assert begun(bench.words, Requester.SERVICE)
    assert pending_requesters(bench.words) == (Requester.SERVICE,)
    assert [k for k in range(4) if not bench.words[Word.LIMP_SINCE + k]] == [1]
    assert bench.words[Word.TORQUE] == 1
    bench.plug(1)
    bench.run(0.1)
    assert not bench.words[Word.TORQUE]
    assert not pending_requesters(bench.words)
    bench.obeyed(CoreCommand.ARM)
    bench.start(0.1)
    assert not any(bench.words[Word.LIMP_SINCE + k] for k in range(4)), "driven again"


def test_the_bus_is_left_to_a_guardian_that_is_still_at_it():
    bench = Bench()
    bench.words[Word.BUS_OWNER] = OWNER_GUARDIAN
    turns = 0

    def meanwhile(now):
        nonlocal turns
        turns += 1
        bench.words[Word.GUARDIAN_BEAT] = now
        if turns == 50:
            assert not bench.bus.sent
            bench.words[Word.BUS_OWNER] = OWNER_CORE
        if turns == 100:
            bench.words[Word.SHUTDOWN] = 1

    bench.clock.on_wait = meanwhile
    assert bench.core.run() == EXIT_SHUTDOWN
    assert bench.bus.sent


def test_changes_of_later_times_end_with_the_bout():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.1)
    index = bench.hdso(103)
    assert bench.obeyed(CoreCommand.CHANGESET, 300 * MS, [[index, [1.5]]], [["tweak", 0, 5.0]])[0]
    bench.order(CoreCommand.STOP, "")
    bench.run(0.5)
    told = bench.records()
    assert "script_cut" in [content[1] for kind, content in told if kind is RecordKind.EVENT]
    assert not [content for kind, content in told if kind in (RecordKind.APPLIED, RecordKind.CONTROL)]
    assert bench.core.store.values(index) != (1.5,)


def test_a_stop_time_ends_with_its_bout():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.1, stop_ns=10 * S)
    assert bench.obeyed(CoreCommand.STOP, "")[0]
    bench.start(0.1)
    bench.run(10.0)
    assert bench.mode is Mode.RUNNING


def test_a_joint_that_was_driven_is_told_to_be_limp():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.3)
    joint = next(joint for joint in bench.plan.joints if joint.name == "Femur-Tibia")
    bench.bus.sent.clear()
    assert bench.obeyed(CoreCommand.CHANGESET, -1, [], [["mode", joint.index, "limp"]])[0]
    sent = [goals[joint.motor] for _, goals, _ in bench.bus.sent]
    first = sent.index(LIMP)
    assert first <= 2
    assert set(sent[first + 2 :]) == {READ_ONLY}


def test_a_servo_that_does_not_answer_is_not_taken_for_limp():
    bench = Bench()
    bench.run(0.05)
    assert bench.core.live.limp
    bench.unplug(1)
    bench.run(0.05)
    assert not bench.core.live.limp
    bench.bus.sent.clear()
    bench.run(0.05)
    assert {goals[1] for _, goals, _ in bench.bus.sent} == {LIMP}


class Silent:
    """A bus that keeps what it is given."""

    def __init__(self, position: int) -> None:
        self.position_raw, self.current_raw, self.status, self.stamp_ns = [position], [0], [OK], [0]
        self.sent: list[int] = []

    def start(self, now_ns, goals):
        self.sent.append(goals[0])

    def set_level(self, level):
        pass


def servo(position=100, direction=1, **store):
    plan = one_joint(motor={"dir": direction})
    board, bus = Board(plan, lambda *_: None), Silent(position)
    values = Store(plan)
    for name, value in store.items():
        values.write(plan.hdso(name).index, (value,))
    values.write(plan.motor_speed, (3,))
    action = MotorAction(plan, values, board, bus, Guard([None]))
    action.complete()
    return plan, board, bus, action


@pytest.mark.parametrize(("direction", "goal"), [(1, 127), (-1, 73)])
def test_a_tweak_has_the_sign_of_the_force(direction, goal):
    _, board, bus, action = servo(direction=direction, force_command=20)
    board.drives, board.tweaks = [Drive.FORCE], [7]
    action.start(0)
    assert bus.sent == [goal]


def test_a_limp_servo_is_driven_nowhere_and_its_current_has_no_sign():
    _, board, bus, action = servo()
    board.drives, board.deltas = [Drive.MUSCLE], [30.0]
    action.start(0)
    action.complete()
    board.drives = [Drive.LIMP]
    signs = []
    for now in (1, 2, 3):
        action.start(now)
        action.complete()
        signs += board.drive_sign
    assert bus.sent == [130, LIMP, LIMP, READ_ONLY]
    assert signs == [1, 0, 0]


def test_a_release_in_mid_exchange_takes_its_place():
    _, board, _, action = servo()
    board.drives, board.deltas = [Drive.MUSCLE], [30.0]
    action.start(0)
    action.release()
    action.complete()
    # The servo may have heard the goal that was dropped, and moved by it until the torque went off.
    assert (board.sent_raw, board.drive_sign, board.limp) == ([LIMP], [1], [False])
    action.start(1)
    action.complete()
    assert board.drive_sign == [0]


@pytest.mark.parametrize("status", [OK, MISSED])
def test_only_the_answer_to_a_torque_off_makes_a_servo_limp(status):
    _, board, bus, action = servo()
    board.drives, bus.status = [Drive.MUSCLE], [status]
    action.start(0)
    action.complete()
    assert board.limp == [False]
    board.drives = [Drive.LIMP]
    for now, limp in ((1, False), (2, status == OK)):
        action.start(now)
        action.complete()
        # Once may have been a late reply of another servo.
        assert board.limp == [limp]


def test_another_mode_begins_where_the_joint_is():
    plan, board, _, action = servo()
    controls = Controls(plan, board, 10.0)
    assert controls.apply(JointControl("target", 0, 30.0)) == ""
    for k in range(5):
        board.stamp_ns = [k * 100 * MS]
        action.start(k * 100 * MS)
    assert board.approach_raw != [None]
    for mode in ("limp", "hold"):
        assert controls.apply(JointControl("mode", 0, mode)) == ""
        assert board.target_raw == board.approach_raw == [None]
    assert controls.apply(JointControl("tweak", 0, 9.0)) == ""
    controls.configured()
    assert board.tweaks == [0]


def test_a_servo_that_was_limp_and_driven_again_is_told_again():
    _, board, bus, action = servo()
    for drive in (Drive.LIMP, Drive.MUSCLE, Drive.LIMP):
        board.drives = [drive]
        action.start(0)
        action.complete()
    assert bus.sent == [LIMP, 100, LIMP]


def test_a_target_is_approached_anew_after_a_missed_reply():
    _, board, bus, action = servo()
    board.drives, board.target_raw, board.rate_raw_s = [Drive.TARGET], [200.0], [100.0]
    for k, status in enumerate((OK, OK, MISSED, OK, OK)):
        bus.stamp_ns, bus.status = [k * 50 * MS], [status]
        action.complete()
        action.start(k * 50 * MS)
    # 5 ticks are due in 50 ms; while nobody knew where the shaft was, nothing was.
    assert bus.sent == [100, 105, READ_ONLY, 100, 105]


def test_an_engine_is_not_limp_from_the_moment_a_joint_is_to_be_driven():
    bench = Bench()
    bench.run(0.05)
    assert bench.core.live.limp
    assert bench.core.live.controls.apply(JointControl("mode", 1, "hold")) == ""
    assert not bench.core.live.limp


def test_limits_can_be_changed_and_hold_for_bouts_to_come():
    bench = Bench()
    count = len(bench.plan.motors)
    bench.run(0.05)
    ok, why = bench.obeyed(CoreCommand.LIMITS, [5] * (count - 1))
    assert not ok
    assert f"{count} motors" in why
    bench.start(0.3)

    def farthest(seconds):
        bench.bus.sent.clear()
        bench.run(seconds)
        return [
            max(abs(goals[k] - measured[k]) for _, goals, measured in bench.bus.sent[1:] if goals[k] >= 0)
            for k in range(count)
        ]

    assert bench.obeyed(CoreCommand.LIMITS, [3, -1, 3, 3])[0]
    now = farthest(0.3)
    assert bench.obeyed(CoreCommand.STOP, "off")[0]
    bench.start(0.0)
    assert all(far[k] <= 3 for far in (now, farthest(0.5)) for k in (0, 2, 3))
    assert bench.obeyed(CoreCommand.LIMITS, [-1] * count)[0]
    assert max(farthest(0.5)) > 3


def test_a_stop_parks_in_the_pose_chosen_last():
    bench = Bench(park_deg={"Coxa-Trochanter": 80.0})
    bench.run(0.05)
    motor = next(m for m in bench.plan.motors if bench.plan.joints[m.joint].name == "Coxa-Trochanter")
    ok, why = bench.obeyed(CoreCommand.PARK, {motor.joint: 9000.0}, 30.0)
    assert not ok
    assert "9000" in why
    assert bench.obeyed(CoreCommand.PARK, {motor.joint: 100.0}, 30.0)[0]
    bench.start(0.1)
    assert bench.obeyed(CoreCommand.STOP, "park")[0]
    bench.run(5.0)
    assert bench.bus.sent[-1][1][motor.index] == round(motor.cal1 + motor.cal2 * 100.0)


@pytest.mark.parametrize("policy", ["off", "hold"])
def test_rules_and_muscles_end_with_the_bout(policy):
    bench = Bench()
    bench.run(0.05)
    bench.start(0.3)
    bench.order(CoreCommand.STOP, policy)
    bench.run(0.5)
    kinds = [kind for kind, _ in bench.records()]
    after = kinds[kinds.index(RecordKind.BOUT_END) :]
    assert RecordKind.SENSORS in after
    assert not {RecordKind.STATES, RecordKind.MUSCLES} & set(after)
