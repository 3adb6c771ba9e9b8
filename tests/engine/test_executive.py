"""The executive on its virtual clock: order, periods, overruns, changesets, faults."""

import copy
import gc
import pickle
import sys
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest

from nuc_engine.control.executive import Executive
from nuc_engine.control.faults import EngineFault
from nuc_engine.model.changes import Changeset, DataRequest, ScriptRefused, Write, prepare
from nuc_engine.model.planning import stored_values
from sccils_schemas.documents import HdsoMod, HdsoScript
from tests.engine.models import ScriptedBus, Trace, one_joint

MS = 1_000_000


def engine(plan=None, reply=None, cycle_ns=5 * MS, **kwargs):
    plan = plan or one_joint()
    bus = ScriptedBus(reply or (lambda now, goals: [(140, 0)]), cycle_ns)
    trace = Trace()
    return Executive(plan, bus, trace, **kwargs), bus, trace


def write(plan, ref, *values):
    hdso = plan.hdso(ref)
    if isinstance(values[0], str):
        values = stored_values(hdso, values[0], {h.name: h.id_num for h in plan.hdsos})
    return Write(hdso.index, tuple(values))


def test_the_plan_survives_pickling_and_runs_the_same():
    plan = one_joint()
    copy = pickle.loads(pickle.dumps(plan))
    assert copy == plan
    traces = []
    for each in (plan, copy):
        executive, _, trace = engine(each)
        executive.run_until(200 * MS)
        traces.append(trace.rows)
    assert traces[0] == traces[1]


def test_exchanges_run_back_to_back():
    executive, bus, _ = engine()
    executive.run_until(26 * MS)
    assert [time for time, _ in bus.goals] == [0, 5 * MS, 10 * MS, 15 * MS, 20 * MS, 25 * MS]
    assert bus.goals[0][1] == [-1]


def test_the_delay_is_a_pause_after_each_completed_exchange():
    executive, bus, _ = engine()
    executive.load([Changeset(7 * MS, (write(executive.plan, "motor_control_delay_ns", 2 * MS),))])
    executive.run_until(30 * MS)
    assert [time for time, _ in bus.goals] == [0, 5 * MS, 12 * MS, 19 * MS, 26 * MS]


def test_state_transition_keeps_its_period_to_the_nanosecond():
    executive, _, trace = engine(one_joint(period_ns=24_999_999))
    executive.run_until(3_000 * MS)
    assert [time for time, _ in trace.of("states")] == [k * 24_999_999 for k in range(121)]


def test_a_bout_does_not_run_what_is_due_at_its_end():
    executive, _, trace = engine()
    executive.run_until(50 * MS)
    assert [time for time, _ in trace.of("states")] == [0, 25 * MS]
    assert executive.clock.now_ns == 50 * MS


def test_running_in_pieces_changes_nothing():
    whole, _, trace = engine()
    whole.run_until(500 * MS)
    pieces, _, trace_of_pieces = engine()
    for end in (1, 3 * MS, 17 * MS, 123_456_789, 500 * MS):
        pieces.run_until(end)
    assert trace.rows == trace_of_pieces.rows


def test_a_new_period_counts_from_the_last_run():
    executive, _, trace = engine()
    plan = executive.plan
    executive.load(
        [
            Changeset(50 * MS, (write(plan, 2, 10 * MS),)),
            Changeset(75 * MS, (write(plan, 2, 100 * MS),)),
            Changeset(100 * MS, (write(plan, 2, 1 * MS),)),
        ]
    )
    executive.run_until(104 * MS)
    # At 75 ms the last run was at 70, so the next is 170; at 100 ms a period of 1 ms makes it due at once.
    assert [time // MS for time, _ in trace.of("states")] == [0, 25, 50, 60, 70, 100, 101, 102, 103]


def test_a_period_given_at_the_start_does_not_delay_the_first_run():
    executive, _, trace = engine()
    executive.load([Changeset(0, (write(executive.plan, 2, 10 * MS),))])
    executive.run_until(25 * MS)
    assert [time // MS for time, _ in trace.of("states")] == [0, 10, 20]


def test_tasks_of_one_instant_run_in_order_of_priority():
    executive, _, trace = engine()
    executive.load(
        [Changeset(25 * MS, (write(executive.plan, 103, 11.0),), (DataRequest(executive.plan.hdso(103).index),))]
    )
    executive.run_until(26 * MS)
    at = [what for time, what, _ in trace.rows if time == 25 * MS]
    assert at == ["applied", "done", "motor", "sensors", "states", "muscles", "answer"]


def test_the_rules_see_what_the_changeset_wrote():
    plan = one_joint()
    # The leg stays at 20 degrees: only a new threshold can make it flex.
    executive, _, trace = engine(plan)
    executive.load([Changeset(50 * MS, (write(plan, 103, 30.0), write(plan, 123, 0.9)))])
    executive.run_until(60 * MS)
    states = {time // MS: value for time, value in trace.of("states")}
    assert states[25] == ((1,), pytest.approx((0.1, 0.8)))
    assert states[50] == ((0,), pytest.approx((0.9, 0.2)))


def test_a_new_rule_acts_at_its_time_with_the_numbers_of_its_changeset():
    plan = one_joint()
    executive, _, trace = engine(plan)
    # The rule stands before the threshold it uses, which has no value until then.
    executive.load([Changeset(50 * MS, (write(plan, 161, "angle < blank"), write(plan, 105, 60.0)))])
    executive.run_until(60 * MS)
    assert [value[0] for _, value in trace.of("states")] == [(1,), (1,), (0,)]
    assert all(not applied.refused for _, applied in trace.of("applied"))
    assert executive.store.values(plan.hdso(161).index) == write(plan, 161, "301 < 105").values


def test_writes_refused_at_run_time_are_told_and_the_rest_stands():
    plan = one_joint()
    executive, _, trace = engine(plan)
    changes = (
        write(plan, 161, "angle < blank"),
        write(plan, 162, "162 & 191"),
        write(plan, 301, 5.0),
        write(plan, 191, 2.0),
        write(plan, 103, 500.0),
        write(plan, 104, 41.0),
    )
    executive.load([Changeset(10 * MS, changes)])
    executive.run_until(20 * MS)
    refused = [applied.refused for _, applied in trace.of("applied")]
    words = ("no value", "itself", "engine", "constant", "valid range", "")
    assert all(word in reason and bool(word) == bool(reason) for word, reason in zip(words, refused, strict=True))
    assert {applied.cycle for _, applied in trace.of("applied")} == {1}
    assert len(trace.of("write_refused")) == 5
    assert executive.store.values(plan.hdso(104).index) == (41.0,)
    assert executive.store.values(plan.hdso(103).index) == (10.0,)
    assert executive.store.values(plan.hdso(162).index) == write(plan, 162, "301 > 104").values


def test_overruns_skip_whole_periods_and_are_counted():
    # Transition and muscles take 30 ms together where the period is 25 ms; bus replies come first when both are due.
    executive, _, trace = engine(costs={"state_transition": 30 * MS})
    executive.run_until(201 * MS)
    entry = next(item for item in executive.entries if item.name == "state_transition")
    assert [time // MS for time, _ in trace.of("states")] == [0, 50, 100, 150, 200]
    assert (entry.runs, entry.overruns, entry.skipped) == (5, 5, 5)
    assert len(trace.of("overrun")) == 1


def test_a_task_that_just_fits_does_not_overrun():
    executive, _, trace = engine(costs={"state_transition": 25 * MS})
    executive.run_until(101 * MS)
    entry = next(item for item in executive.entries if item.name == "state_transition")
    assert entry.overruns == 0
    assert len(trace.of("states")) == 5


@pytest.mark.parametrize("late_ms", [0, 1, 24, 25, 26, 49, 50, 51, 75])
def test_each_period_is_evaluated_once_or_skipped_and_counted(late_ms):
    """Also where an evaluation is late by whole periods: the next is due at the instant it runs at."""
    executive, _, trace = engine(costs={"script": (1 + late_ms) * MS})
    executive.load([Changeset(24 * MS, (write(executive.plan, 103, 11.0),))])
    executive.run_until(201 * MS)
    entry = next(item for item in executive.entries if item.name == "state_transition")
    times = [time for time, _ in trace.of("states")]
    assert times[:2] == [0, (25 + late_ms) * MS]
    assert all(before < after for before, after in pairwise(times))
    assert (entry.overruns, entry.skipped) == (late_ms >= 25, late_ms // 25)
    assert entry.release_ns == (entry.runs + entry.skipped) * 25 * MS


def test_lower_tasks_wait_for_higher_ones():
    executive, _, trace = engine(costs={"motor_conversion": 2 * MS})
    executive.run_until(28 * MS)
    # The conversion kicked at 25 ms keeps the processor until 27 ms.
    assert [time // MS for time, _ in trace.of("states")] == [0, 27]


def test_an_unknown_task_in_the_cost_table_is_refused():
    with pytest.raises(ValueError, match="no such task: muscles"):
        engine(costs={"muscles": 1})


def test_a_silent_motor_stops_the_bout():
    def reply(now, goals):
        return [None if now >= 20 * MS else (140, 0)]

    executive, bus, trace = engine(reply=reply)
    with pytest.raises(EngineFault, match=r"servo \(bus id 3\) has not answered 5 times") as fault:
        executive.run_until(1_000 * MS)
    assert fault.value.name == "motor_silent"
    assert executive.clock.now_ns == 45 * MS
    assert executive.missed == [5]
    assert [goals for _, goals in bus.goals[-4:]] == [[-1]] * 4
    assert len(trace.of("reply_missed")) == 1


def test_one_missed_reply_is_read_again_and_forgotten():
    executive, bus, _ = engine(reply=lambda now, goals: [None if now == 20 * MS else (140, 0)])
    executive.run_until(100 * MS)
    assert executive.missed == [1]
    goals = dict(bus.goals)
    assert goals[20 * MS] != [-1]
    assert goals[25 * MS] == [-1]
    assert goals[30 * MS] != [-1]


@pytest.mark.parametrize("pause_ns", [0, 1, 2 * MS])
@pytest.mark.parametrize("misses", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(5))
def test_each_load_has_the_sign_of_the_command_exchanged_before(pause_ns, misses, seed):
    """Reading B19, told from what was sent and answered alone: no order of tasks may mix cycles."""
    chance = np.random.default_rng(seed)
    replies = []

    def reply(now, goals):
        missed = chance.random() < misses
        replies.append(None if missed else (int(chance.integers(100, 240)), int(chance.integers(1, 60))))
        return [replies[-1]]

    plan = one_joint(period_ns=MS)
    executive, bus, trace = engine(plan, reply)
    executive.load([Changeset(0, (write(plan, "motor_control_delay_ns", pause_ns),))])
    loads = []
    trace.sensors = lambda now, store: loads.append((store.values(plan.hdso("current").index) or (0.0,))[0])
    executive.run_until(400 * MS)

    position, sign, load, expected, signs = 0, 0, None, [], set()
    for (_, goals), answer in zip(bus.goals, replies, strict=True):
        in_force = sign
        signs.add(in_force)
        if goals[0] >= 0:
            sign = (goals[0] > position) - (goals[0] < position)
        if answer is not None:
            position, current = answer
            new = in_force * current
            load = new if load is None else 0.05 * new + 0.95 * load
        expected.append(load or 0.0)
    assert signs == {-1, 0, 1}
    assert loads == pytest.approx(expected[: len(loads)], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("pause_ns", [0, MS])
def test_all_that_a_cycle_leaves_is_of_that_cycle(pause_ns):
    """What tasks read after a cycle stays as its completion left it, whenever the next one begins."""
    plan = one_joint(period_ns=MS)
    answers = iter(range(100, 200))
    executive, _, trace = engine(plan, lambda now, goals: [(next(answers), 5)])
    executive.load([Changeset(0, (write(plan, "motor_control_delay_ns", pause_ns),))])
    board, left = executive.board, []

    def of_the_cycle():
        names = ("cycle", "position_raw", "current_raw", "status", "stamp_ns", "sent_raw", "drive_sign")
        return {name: copy.copy(getattr(board, name)) for name in names}

    trace.motor = lambda now, board, replies: left.append(of_the_cycle())
    trace.sensors = trace.states = lambda now, _: left and left.append(of_the_cycle())
    executive.run_until(200 * MS)
    assert len({one["cycle"] for one in left}) > 30
    for one, other in pairwise(left):
        assert one == other or one["cycle"] != other["cycle"]


def test_requests_are_answered_from_the_live_store():
    plan = one_joint()
    executive, _, trace = engine(plan)
    executive.load([Changeset(10 * MS, (), (DataRequest(plan.hdso(171).index, 1), DataRequest(plan.hdso(105).index)))])
    executive.run_until(20 * MS)
    assert [value for _, value in trace.of("answer")] == [(plan.hdso(171).index, (2.0,)), (plan.hdso(105).index, ())]


def test_a_script_is_sorted_by_time_and_keeps_document_order():
    plan = one_joint()
    mods = [("104", 2, 41.0), ("103", 1, 11.0), ("103", 2, 12.0), ("103", 1, 13.0)]
    entries = tuple(HdsoMod(int(i), 1, (value,), time_s=Decimal(time)) for i, time, value in mods)
    changesets = prepare(HdsoScript(entries), plan, {})
    assert [changeset.time_ns for changeset in changesets] == [1_000_000_000, 2_000_000_000]
    assert [w.values for w in changesets[0].writes] == [(11.0,), (13.0,)]
    assert [w.hdso for w in changesets[1].writes] == [plan.hdso(104).index, plan.hdso(103).index]


def test_a_script_the_store_would_refuse_is_refused_whole():
    plan = one_joint()
    entries = (
        HdsoMod(103, 1, (11.0,), line=3),
        HdsoMod(103, 1, (999.0,), line=4),
        HdsoMod(301, 1, (1.0,), line=5),
        HdsoMod(2, 1, (5,), datatype="llint", line=6),
    )
    with pytest.raises(ScriptRefused) as refused:
        prepare(HdsoScript(entries, source="s.xml"), plan, {})
    assert [reason.split(":")[1] for reason in refused.value.reasons] == ["4", "5", "6"]


def test_snapshots_belong_to_whole_cycles():
    executive, _, _ = engine()
    executive.run_until(12 * MS)
    snapshot = executive.store.snapshot()
    assert (snapshot.cycle, snapshot.time_ns) == (2, 10 * MS)
    assert executive.store.values_in(snapshot, executive.plan.hdso(301).index) == (20.0,)


def test_memory_stays_flat_after_warm_up():
    executive, bus, trace = engine()

    def work(until):
        executive.run_until(until)
        trace.rows.clear()
        bus.goals.clear()

    work(5_000 * MS)
    gc.collect()
    before = sys.getallocatedblocks()
    work(10_000 * MS)
    gc.collect()
    assert sys.getallocatedblocks() - before < 100


def test_a_shorter_period_counts_from_the_last_run_too():
    executive, _, trace = engine(one_joint(period_ns=50 * MS))
    executive.load([Changeset(60 * MS, (write(executive.plan, 2, 20 * MS),)), Changeset(61 * MS, ())])
    executive.run_until(95 * MS)
    assert [time // MS for time, _ in trace.of("states")] == [0, 50, 70, 90]


def test_only_a_changeset_with_the_period_moves_the_next_run():
    executive, _, trace = engine()
    plan = executive.plan
    changes = [Changeset(30 * MS, (write(plan, 2, 25 * MS),)), Changeset(60 * MS, (write(plan, 103, 11.0),))]
    executive.load([*changes, Changeset(70 * MS, (write(plan, 104, 41.0),))])
    executive.run_until(101 * MS)
    assert [time // MS for time, _ in trace.of("states")] == [0, 25, 50, 75, 100]


def test_changesets_that_arrive_later_keep_the_order_of_time():
    plan = one_joint()
    executive, _, trace = engine(plan)
    executive.load([Changeset(80 * MS, (write(plan, 103, 12.0),))])
    executive.run_until(20 * MS)
    executive.load([Changeset(40 * MS, (write(plan, 103, 11.0),))])
    executive.run_until(100 * MS)
    assert [(time // MS, applied.write.values) for time, applied in trace.of("applied")] == [
        (40, (11.0,)),
        (80, (12.0,)),
    ]


def test_a_rule_of_no_state_can_be_used_by_others():
    plan = one_joint(rules=("helper", "301 > 104"), helper="301 < 104")
    executive, _, trace = engine(plan)
    executive.run_until(30 * MS)
    assert [value[0] for _, value in trace.of("states")] == [(1,), (0,)]


def test_nothing_is_said_of_muscles_before_there_are_angles():
    executive, _, trace = engine()
    executive.run_until(30 * MS)
    assert [time // MS for time, _ in trace.of("muscles")] == [25]


def test_start_pose_and_readers_see_the_first_sample():
    executive, _, _ = engine()
    assert executive.start_pose_deg is None
    assert executive.store.snapshot().cycle == 0
    executive.run_until(6 * MS)
    assert executive.start_pose_deg == {"knee": 20.0}
    executive.stop()
    assert executive.store.snapshot().time_ns == 6 * MS


def test_the_remedy_is_told_with_the_first_event_of_a_kind():
    executive, _, trace = engine(costs={"state_transition": 30 * MS})
    executive.run_until(2_000 * MS)
    texts = [text for _, text in trace.of("overrun")]
    assert len(texts) == 2
    assert "lengthen the period" in texts[0]
    assert "lengthen the period" not in texts[1]
