"""The core on paper time: modes, bouts, faults, commands."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

from drivers.bus import LIMP, READ_ONLY
from drivers.errors import PortError
from drivers.factory import open_bus
from drivers.group import BusGroup
from nuc_engine.bout.run import open_leg
from nuc_engine.control.executive import Executive
from nuc_engine.control.faults import OFF
from nuc_engine.daemon.block import OWNER_GUARDIAN, Word
from nuc_engine.daemon.engine import EXIT_BUS_LOST, EXIT_CRASH, EXIT_ORPHANED, EXIT_SHUTDOWN
from nuc_engine.daemon.latch import LATCH_REASONS, latched
from nuc_engine.daemon.lines import assign_motors, servos_of
from nuc_engine.daemon.live import LOOKAHEAD_NS
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.off_requests import Requester, pending_requesters, request_off
from nuc_engine.daemon.release import LAST_NS
from nuc_engine.daemon.wire import CoreCommand, RecordKind
from nuc_engine.machine.locations import find_configuration
from nuc_engine.plants.loopback import LoopbackPlant
from tests.daemon.cores import MS, Bench, S, driven, silence
from tests.engine.models import Trace


def test_a_configured_engine_reads_its_servos_and_drives_none():
    bench = Bench()
    bench.run(0.2)
    assert bench.mode is Mode.CONFIGURED
    assert len(bench.bus.sent) > 30
    assert [goals for _, goals, _ in bench.bus.sent[:2]] == [[LIMP] * 4] * 2
    # Once confirmed they are only read: a garbled read cannot send a servo anywhere.
    assert {goal for _, goals, _ in bench.bus.sent[2:] for goal in goals} == {READ_ONLY}
    bench.run(1.2)
    assert [goals for _, goals, _ in bench.bus.sent].count([LIMP] * 4) == 3
    assert bench.words[Word.UNCONFIRMED] == bench.words[Word.TORQUE] == 0
    angles = bench.core.store.values_in(bench.core.store.snapshot(), bench.plan.motors[0].angle)
    assert angles is not None


def test_a_bout_in_real_time_computes_what_a_virtual_one_does():
    bench = Bench(approach_deg_s=10_000.0)
    bench.run(0.05)
    # The same plant for both: fresh at the moment the bout begins.
    bench.obeyed(CoreCommand.RUN, 0, -1, 1)
    first = bench.words[Word.BOUT_START]
    virtual = Bench()
    _, bus = open_leg(virtual.plan, find_configuration("lin_roach"), "loopback:", 1)
    trace = Trace()
    Executive(virtual.plan, bus, trace, approach_deg_s=10_000.0).run_until(2 * S)
    bench.run(2.0)
    live_starts = [(time - first, goals) for time, goals, _ in bench.bus.sent if time >= first]
    assert live_starts[0][1] == [-1, -1, -1, -1]
    # The shafts have rested a while before the live bout, so only the rhythm is the same to the nanosecond.
    cycles = [time for time, _ in trace.of("motor")]
    gaps = {b - a for a, b in pairwise(cycles)}
    live_gaps = {b - a for (a, _), (b, _) in pairwise(live_starts)}
    # A cycle that would begin just before the rules are due waits for them.
    assert max(live_gaps) <= max(gaps) + LOOKAHEAD_NS
    assert min(live_gaps) >= min(gaps) - 1


def test_a_bout_begins_with_its_start_and_the_whole_store():
    bench = Bench()
    bench.run(0.05)
    bench.records()
    bench.order(CoreCommand.RUN, 30 * MS, 200 * MS, 7)
    before = bench.clock.now_ns
    bench.run(0.5)
    told = bench.records()
    kinds = [kind for kind, _ in told]
    begin = kinds.index(RecordKind.BOUT_BEGIN)
    start, number, stop = told[begin][1]
    assert (number, stop) == (7, 200 * MS)
    assert before + 30 * MS <= start <= before + 45 * MS
    assert kinds[begin + 1] is RecordKind.STORE
    assert len(told[begin + 1][1][2]) == len(bench.core.store.live_bytes())
    end = kinds.index(RecordKind.BOUT_END)
    assert told[end][1][1:] == [7, "complete", "ran for the time asked for"]
    assert 200 * MS <= told[end][1][0] - start <= 204 * MS
    assert kinds[end - 1] is RecordKind.COUNTS
    assert bench.mode is Mode.STOPPED


@pytest.mark.parametrize("pause_ns", [0, 1, 2 * MS])
@pytest.mark.parametrize("period_ns", [100_000, MS, 25 * MS])
@pytest.mark.parametrize("cost_ns", [0, 3_000, 11_000])
def test_the_order_in_the_ring_is_the_order_of_the_tasks(cost_ns, period_ns, pause_ns):
    """A reply that was taken is converted before any rule; the muscles of one period see what its rules saw."""
    bench = Bench()
    bench.run(0.05)
    bench.core.store.write(bench.plan.statetrans_period, (period_ns,))
    bench.core.store.write(bench.plan.motor_control_delay, (pause_ns,))
    bench.clock.cost_ns = cost_ns
    bench.start(0.3)
    bench.records()
    bench.run(0.3)
    tasks = (RecordKind.MOTOR, RecordKind.START, RecordKind.SENSORS, RecordKind.STATES, RecordKind.MUSCLES)
    kinds = [kind for kind, _ in bench.records() if kind in tasks]
    if pause_ns:
        assert RecordKind.START in kinds
        kinds = [kind for kind in kinds if kind is not RecordKind.START]
    else:
        assert {kinds[k + 1] for k, kind in enumerate(kinds[:-1]) if kind is RecordKind.MOTOR} == {RecordKind.START}
    before = {
        RecordKind.SENSORS: RecordKind.MOTOR if pause_ns else RecordKind.START,
        RecordKind.MUSCLES: RecordKind.STATES,
    }
    for at, kind in enumerate(kinds[1:], 1):
        assert kind not in before or kinds[at - 1] is before[kind]
        # Rules that take longer than their period may come twice before their muscles.
        assert kinds[at - 1] not in before.values() or kind in before or kind is kinds[at - 1] is RecordKind.STATES
    # However fast the rules are, exchanges find room between them, and the other way round.
    assert kinds.count(RecordKind.SENSORS) >= 30
    assert kinds.count(RecordKind.STATES) >= 11


@pytest.mark.parametrize(("policy", "torque"), [("off", 0), ("hold", 1), ("park", 1)])
def test_a_commanded_stop_does_what_the_policy_says(policy, torque):
    bench = Bench(on_stop=policy, park_deg={"Coxa-Trochanter": 80.0})
    bench.run(0.05)
    bench.start(0.5)
    bench.bus.sent.clear()
    before = bench.clock.now_ns
    ok, _ = bench.obeyed(CoreCommand.STOP, "")
    assert ok
    assert bench.mode is Mode.STOPPED
    bench.run(4.0)
    bench.bus.sent[:] = [entry for entry in bench.bus.sent if entry[0] > before]
    assert bench.words[Word.TORQUE] == torque
    if policy == "off":
        assert not driven(bench.bus.sent)
        assert not bench.words[Word.UNCONFIRMED]
    else:
        first, last = driven(bench.bus.sent)[0], driven(bench.bus.sent)[-1]
        assert all(abs(goal - at) <= 3 for goal, at in zip(first[1], first[2], strict=True))
        joint = next(
            k for k, motor in enumerate(bench.plan.motors) if bench.plan.joints[motor.joint].name == "Coxa-Trochanter"
        )
        motor = bench.plan.motors[joint]
        parked = round(motor.cal1 + motor.cal2 * 80.0)
        assert (last[1][joint] == parked) == (policy == "park")
        assert [g for k, g in enumerate(first[1]) if k != joint] == [g for k, g in enumerate(last[1]) if k != joint]


def test_a_silent_motor_takes_the_torque_off_until_it_answers_and_somebody_arms():
    bench = Bench()
    bench.run(0.05)
    bench.start(1.0)
    bench.records()
    silence(bench)
    assert bench.mode is Mode.FAULT
    assert bench.words[Word.LATCHED]
    assert LATCH_REASONS[bench.words[Word.LATCH_REASON]] == "motor_silent"
    told = bench.records()
    (end,) = [content for kind, content in told if kind is RecordKind.BOUT_END]
    assert end[2] == "fault"
    assert end[3].startswith("motor_silent")
    fault_at = next(c[0] for k, c in told if k is RecordKind.EVENT and c[1] == "motor_silent")
    assert not [sent for sent in driven(bench.bus.sent) if sent[0] > fault_at]
    assert bench.words[Word.UNCONFIRMED] == 0b10
    assert bench.words[Word.TORQUE] == 1, "one servo has not confirmed"
    for command in ((CoreCommand.RUN, 0, -1, 2), (CoreCommand.ARM,)):
        ok, why = bench.obeyed(*command)
        assert not ok, why
    bench.plug(1)
    bench.run(0.1)
    assert bench.words[Word.TORQUE] == bench.words[Word.UNCONFIRMED] == 0
    assert bench.obeyed(CoreCommand.RUN, 0, -1, 2)[0] is False
    assert bench.obeyed(CoreCommand.ARM)[0]
    assert bench.mode is Mode.STOPPED
    bench.bus.sent.clear()
    bench.start(0.5)
    first = next(goals for time, goals, _ in bench.bus.sent if time >= bench.words[Word.BOUT_START])
    assert first == [READ_ONLY] * 4, "first of all it looks where the leg is"


@pytest.mark.parametrize(("line", "event"), [("", "reply_missed"), ("?late_us=20000", "motor_silent")])
def test_a_missed_reply_is_told_with_how_late_the_core_woke_up_and_what_is_owed(line, event):
    bench = Bench(bus=f"loopback:{line}")
    bench.run(0.05)
    bench.start(0.1)
    bench.unplug(1)
    wait, end = bench.clock.wait, bench.clock.now_ns + 120 * MS

    def late(deadline_ns, filenos):
        wait(deadline_ns, filenos)
        bench.clock.now_ns += 3 * MS // 2
        return ()

    bench.clock.wait = late
    while bench.clock.now_ns < end:
        bench.core.turn()
    told = [content for kind, content in bench.records() if kind is RecordKind.EVENT]
    (text,) = [content[2] for content in told if content[1] == event]
    assert re.search(r"; woken up to [1-9]\.\d ms late, \d+ bytes owed", text), text


def test_after_a_rearm_positions_are_approached_from_where_the_leg_is():
    bench = Bench(approach_deg_s=30.0)
    bench.run(0.05)
    bench.start(0.2)
    silence(bench)
    bench.plug(1)
    bench.run(0.1)
    assert bench.obeyed(CoreCommand.ARM)[0]
    bench.bus.sent.clear()
    bench.start(0.5)
    held = next(
        k for k, motor in enumerate(bench.plan.motors) if bench.plan.joints[motor.joint].control_mode == "position"
    )
    steps = [(time, goals[held], measured[held]) for time, goals, measured in bench.bus.sent if goals[held] >= 0]
    assert abs(steps[0][1] - steps[0][2]) <= 1
    ticks_s = 30.0 * abs(bench.plan.motors[held].cal2)
    for (t0, a, _), (t1, b, _) in pairwise(steps):
        assert abs(b - a) <= ticks_s * (t1 - t0) * 1e-9 + 1.001


def test_limits_hold_for_every_command():
    bench = Bench(limits={"Thorax-Coxa1_motor": 5, "Coxa-Trochanter_motor": 7})
    names = [motor.name for motor in bench.plan.motors]
    assert set(bench.core.options.limits) <= set(names)
    bench.run(0.05)
    bench.start(2.0)
    for name, limit in bench.core.options.limits.items():
        k = names.index(name)
        assert all(abs(goals[k] - measured[k]) <= limit for _, goals, measured in bench.bus.sent if goals[k] >= 0)


def torque_went_off(bench, name, before):
    assert bench.mode is (Mode.STOPPED if name == OFF else Mode.FAULT)
    assert LATCH_REASONS[bench.words[Word.LATCH_REASON]] == name
    assert bench.bus.offs, "the torque was taken off at once"
    assert bench.bus.offs[0] - before <= 50 * MS
    assert not [sent for sent in driven(bench.bus.sent) if sent[0] > bench.bus.offs[0]]
    bench.run(0.1)
    assert bench.words[Word.TORQUE] == 0


def test_torque_goes_off_when_somebody_asks():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.3)
    before = bench.clock.now_ns
    request_off(bench.words, Requester.SUPERVISOR)
    bench.run(0.06)
    assert not pending_requesters(bench.words), "confirmed"
    since = [bench.words[Word.LIMP_SINCE + k] - before for k in range(4)]
    assert all(0 < took_ns <= 50 * MS for took_ns in since)
    torque_went_off(bench, OFF, before)


def test_torque_goes_off_when_the_service_passes_the_wish_on():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.3)
    before = bench.clock.now_ns
    assert bench.obeyed(CoreCommand.OFF, "a hand in the leg")[0]
    torque_went_off(bench, OFF, before)


def test_torque_goes_off_when_nobody_watches_over_the_engine():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.3)
    before = bench.clock.now_ns
    bench.guardian_heartbeat = False
    bench.run(0.06)
    torque_went_off(bench, "guardian_lost", before)


def test_a_machine_that_stood_still_as_a_whole_has_not_lost_its_guardian():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.3)
    bench.guardian_heartbeat = False
    for _ in range(20):
        bench.clock.now_ns += 30 * MS
        bench.core.turn()
        bench.core.turn()
    bench.guardian_heartbeat = True
    bench.run(0.1)
    assert bench.mode is Mode.RUNNING


def test_torque_goes_off_after_the_machine_slept():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.3)
    before = bench.clock.now_ns
    bench.asleep_ns = 90 * S
    bench.run(0.06)
    torque_went_off(bench, "suspended", before)


@pytest.mark.parametrize("wish", ["continue", "stop"])
def test_the_service_may_be_lost_unless_the_configuration_says_otherwise(wish):
    bench = Bench(on_service_loss=wish)
    bench.run(0.05)
    bench.start(0.3)
    bench.service_heartbeat = False
    bench.run(3.5)
    assert bench.mode is (Mode.RUNNING if wish == "continue" else Mode.STOPPED)
    assert ("service_lost" in bench.events()) == (wish == "stop")


def test_torque_off_that_was_asked_for_is_no_fault_and_nothing_drives_until_armed():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.3)
    bench.records()
    bench.order(CoreCommand.OFF, "a hand in the leg")
    bench.run(0.05)
    told = bench.records()
    assert [content[2:] for kind, content in told if kind is RecordKind.BOUT_END] == [
        ["interrupted", "off: a hand in the leg"]
    ]
    assert [content[1] for kind, content in told if kind is RecordKind.EVENT] == [OFF]
    assert (bench.mode, latched(bench.words)) == (Mode.STOPPED, OFF)
    assert bench.core.live.limp
    bench.bus.sent.clear()
    for order in (
        (CoreCommand.RUN, 0, -1, 2),
        (CoreCommand.CHANGESET, -1, [], [["target", 0, 5.0]]),
        (CoreCommand.CHANGESET, -1, [], [["mode", 0, "hold"]]),
        (CoreCommand.STOP, "hold"),
        (CoreCommand.STOP, "park"),
    ):
        taken, why = bench.obeyed(*order)
        assert order[0] is CoreCommand.STOP or (not taken and "arm" in str(why))
        bench.run(0.05)
        assert (bench.mode, latched(bench.words)) == (Mode.STOPPED, OFF)
    assert not driven(bench.bus.sent)
    assert bench.obeyed(CoreCommand.ARM)[0]
    assert (bench.mode, latched(bench.words)) == (Mode.STOPPED, "")
    bench.start(0.1)
    assert driven(bench.bus.sent)


def test_a_fault_is_not_hidden_behind_off_nor_taken_back_by_it():
    bench = Bench()
    bench.run(0.05)
    bench.core.off("a hand in the leg")
    bench.core.fault("guardian_lost", "its heart stands still")
    assert (bench.mode, latched(bench.words)) == (Mode.FAULT, "guardian_lost")
    bench.core.off("again")
    assert (bench.mode, latched(bench.words)) == (Mode.FAULT, "guardian_lost")


def test_off_outlives_the_core():
    bench = Bench(latched=OFF)
    assert bench.mode is Mode.STOPPED
    bench.run(0.1)
    assert not driven(bench.bus.sent)
    assert not bench.obeyed(CoreCommand.RUN, 0, -1, 1)[0]
    assert bench.obeyed(CoreCommand.ARM)[0]
    bench.start(0.1)


def test_a_latch_outlives_the_core():
    bench = Bench(latched="core_dead")
    assert bench.mode is Mode.FAULT
    bench.run(0.1)
    assert not driven(bench.bus.sent)
    assert not bench.obeyed(CoreCommand.RUN, 0, -1, 1)[0]
    assert bench.obeyed(CoreCommand.ARM)[0]
    assert not bench.words[Word.LATCHED]


def test_a_core_keeps_the_store_of_the_one_before_it():
    bench = Bench()
    index = bench.hdso(103)
    bench.core.store.write(index, (12.5,))
    again = type(bench.core)(
        bench.plan, bench.bus, bench.block, bench.core.options, bench.clock,
        wakened=bench.core._wakened, wake=bench._wake, slept=bench._slept,
    )  # fmt: skip
    assert again.store.values(index) == (12.5,)


def test_a_lost_port_ends_the_core_with_everything_told(monkeypatch):
    bench = Bench()
    bench.run(0.05)
    bench.start(0.2)
    bench.records()

    def gone(*_):
        raise PortError("the adapter is gone")

    monkeypatch.setattr(type(bench.bus.bus), "proceed", gone)
    assert bench.core.work() == EXIT_BUS_LOST
    assert bench.words[Word.BUS_LOST]
    assert bench.words[Word.LATCHED]
    told = bench.records()
    assert [content[2] for kind, content in told if kind is RecordKind.BOUT_END] == ["fault"]
    assert "bus_lost" in [content[1] for kind, content in told if kind is RecordKind.EVENT]


def test_an_error_of_its_own_takes_the_torque_off_and_is_told(monkeypatch):
    bench = Bench()
    bench.run(0.05)
    bench.start(0.2)
    monkeypatch.setattr(type(bench.core.live.muscles), "run", lambda *_: 1 / 0)
    bench.bus.sent.clear()
    assert bench.core.work() == EXIT_CRASH
    assert len(bench.bus.offs) == 1
    assert bench.words[Word.LATCHED]
    assert "engine_error" in bench.events()


def test_the_core_waits_for_guardian_and_bus():
    bench = Bench()
    bench.words[Word.GUARDIAN_WATCHES] = 0
    turns = 0

    def meanwhile(now):
        nonlocal turns
        turns += 1
        bench.words[Word.GUARDIAN_HEARTBEAT] = now
        if turns == 50:
            assert not bench.bus.sent
            bench.words[Word.GUARDIAN_WATCHES] = 1
        if turns == 100:
            bench.words[Word.SHUTDOWN] = 1

    bench.clock.on_wait = meanwhile
    assert bench.core.run() == EXIT_SHUTDOWN
    assert bench.bus.sent
    assert bench.words[Word.CORE_READY] == 1


def test_a_shutdown_takes_the_torque_off_and_ends_the_bout_without_a_fault():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.2)
    bench.records()
    bench.words[Word.SHUTDOWN] = 1
    request_off(bench.words, Requester.SUPERVISOR)
    assert bench.core.work() == EXIT_SHUTDOWN
    assert bench.words[Word.TORQUE] == 0
    assert not bench.words[Word.LATCHED]
    (end,) = [content for kind, content in bench.records() if kind is RecordKind.BOUT_END]
    assert end[2] == "interrupted"


def test_a_core_that_is_left_alone_goes_limp_and_ends():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.1)
    bench.core.neighbours._orphaned = lambda: True
    bench.run(0.1)
    assert bench.mode is Mode.RUNNING, "the guardian sees to it"
    bench.guardian_heartbeat = False
    assert bench.core.work() == EXIT_ORPHANED
    assert not bench.words[Word.TORQUE]


@pytest.mark.parametrize("answers", [True, False])
def test_a_core_that_is_born_alone_takes_the_torque_off_and_ends(answers):
    """Its guardian and the main process died before they let it have the bus; a servo may never confirm."""
    bench = Bench()
    bench.words[Word.BUS_OWNER], bench.words[Word.TORQUE] = OWNER_GUARDIAN, 1
    bench.guardian_heartbeat = False
    bench.core.neighbours._orphaned = lambda: True
    if not answers:
        bench.unplug(1)
    begun = bench.clock.now_ns
    assert bench.core.run() == EXIT_ORPHANED
    assert [goals for _, goals, _ in bench.bus.sent[:2]] == [[LIMP] * 4] * 2
    assert not driven(bench.bus.sent)
    assert bench.words[Word.TORQUE] == (0 if answers else 1)
    assert bench.clock.now_ns - begun <= (200 * MS if answers else LAST_NS + 200 * MS)


@pytest.mark.parametrize(("gap_ms", "ends"), [(400, False), (501, True)])
def test_an_engine_that_stood_still_with_everything_else_does_not_drive_on_after_half_a_second(gap_ms, ends):
    bench = Bench()
    bench.run(0.05)
    bench.start(0.1)
    bench.clock.now_ns += gap_ms * MS
    bench._meanwhile(bench.clock.now_ns)
    bench.bus.sent.clear()
    bench.core.turn()
    bench.run(0.1)
    assert bench.mode is (Mode.FAULT if ends else Mode.RUNNING)
    assert bool(driven(bench.bus.sent)) is not ends
    if ends:
        assert latched(bench.words) == "stood_still"


def test_a_pose_is_reached_slowly_before_anything_runs():
    bench = Bench(approach_deg_s=20.0)
    bench.run(0.05)
    motor = bench.plan.motors[1]
    assert bench.obeyed(CoreCommand.CHANGESET, -1, [], [["target", motor.joint, 75.0]])[0]
    assert bench.words[Word.TORQUE] == 1
    bench.run(8.0)
    goal = round(motor.cal1 + motor.cal2 * 75.0)
    assert bench.bus.sent[-1][1][1] == goal
    moves = [(time, goals[1]) for time, goals, _ in bench.bus.sent if goals[1] >= 0]
    assert all(abs(b - a) <= 20 * abs(motor.cal2) * (t1 - t0) * 1e-9 + 1.001 for (t0, a), (t1, b) in pairwise(moves))
    assert {goals[0] for _, goals, _ in bench.bus.sent} == {LIMP, READ_ONLY}


def test_records_without_room_are_counted_and_told():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.1)
    ring = bench.block.rings["records"]
    cursor, full = ring.kept, ring.written
    ring._words[1] = full - ring.capacity + 8192
    bench.run(0.5)
    lost = bench.words[Word.LOST + RecordKind.MOTOR]
    assert lost > 0
    # One is short, and may have found room where a cycle found none.
    told = [bench.formats.unpack(kind, content) for kind, _, content in ring.read(full) if kind == RecordKind.LOST]
    ring.keep(ring.written)
    bench.run(0.1)
    first, *_ = bench.records()
    assert first[0] is RecordKind.LOST
    assert ring.lost == sum(bench.words[Word.LOST + kind] for kind in RecordKind), "what is told again is not lost"
    assert sum(counts.get(int(RecordKind.MOTOR), 0) for _, counts in [*told, first[1]]) == lost
    assert cursor <= ring.kept


def test_the_wait_is_never_longer_than_a_heartbeat():
    bench = Bench()
    bench.run(0.05)
    # A long pause between the exchanges leaves nothing to do for a second.
    bench.core.store.write(bench.plan.motor_control_delay, (S,))
    bench.run(3.0)


def test_tasks_that_leave_no_time_can_still_be_stopped():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.1)
    transition = bench.core.live.transition
    real = transition.run

    def slow(now):
        real(now)
        bench.clock.now_ns += 3 * MS
        bench._meanwhile(bench.clock.now_ns)

    bench.core.store.write(bench.plan.statetrans_period, (MS,))
    transition.run = slow
    bench.core.live._transition_entry.release_ns = bench.clock.now_ns
    for _ in range(50):
        bench.core.turn()
    assert bench.core.live._transition_entry.overruns > 5
    told = bench.block.statistics["state_transition"].summary(bench.clock.now_ns)
    assert told["overruns"] == bench.core.live._transition_entry.overruns
    assert told["skipped"] >= 2 * told["overruns"]
    bench.order(CoreCommand.STOP, "")
    before = bench.clock.now_ns
    while bench.mode is Mode.RUNNING and bench.clock.now_ns < before + S:
        bench.core.turn()
    assert bench.mode is Mode.STOPPED
    assert bench.clock.now_ns - before <= 20 * MS


def two_buses(plan):
    """Return the plan with its motors on two buses by turns, and both buses as one."""
    motors = tuple(replace(motor, bus=("left", "right")[motor.index % 2]) for motor in plan.motors)
    plan = replace(plan, motors=motors)
    buses, slots = [], [(0, 0)] * len(motors)
    for b, members in enumerate(assign_motors(["left", "right"], plan)):
        plant = LoopbackPlant(replace(plan, motors=tuple(motors[k] for k in members)))
        buses.append(open_bus("emulated:", servos_of(plan, members), plant, seed=b))
        for k, motor in enumerate(members):
            slots[motor] = (b, k)
    return plan, BusGroup(buses, slots)


def test_several_buses_are_exchanged_with_side_by_side():
    alone = Bench()
    alone.run(0.5)
    both = Bench(wiring=two_buses)
    both.run(0.5)
    assert both.mode is Mode.CONFIGURED
    assert len(both.bus.sent) == pytest.approx(2 * len(alone.bus.sent), rel=0.02)
    both.start(0.3)
    (record, *_) = [content for kind, content in both.records() if kind is RecordKind.MOTOR]
    assert record.status == [1] * 4
    request_off(both.words, Requester.SERVICE)
    both.run(0.06)
    assert both.words[Word.TORQUE] == both.words[Word.UNCONFIRMED] == 0


def test_nothing_is_begun_just_before_state_transition_is_due():
    bench = Bench()
    bench.run(0.05)
    bench.core.store.write(bench.plan.statetrans_period, (MS,))
    bench.start(2.0)
    start = bench.words[Word.BOUT_START]
    begun = [time - start for time, _, _ in bench.bus.sent if time > start]
    assert len(begun) > 300
    before_due = [MS - time % MS for time in begun if time % MS]
    assert min(before_due) >= LOOKAHEAD_NS
    assert any(time % MS == 0 for time in begun), "some had to wait"
