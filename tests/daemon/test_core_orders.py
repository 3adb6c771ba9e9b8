"""Orders: edits, modes of joints, poses, and whatever else a command may say."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.bus import READ_ONLY
from nuc_engine.control.triggers import MOST_ARMED
from nuc_engine.daemon.block import Word
from nuc_engine.daemon.engine import WATCH_NS
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.off_requests import Requester, request_off
from nuc_engine.daemon.orders import RETRY_NS
from nuc_engine.daemon.wire import CoreCommand, RecordKind, pack
from tests.daemon.cores import MS, Bench, S, motor_of, silence


def test_an_edit_takes_effect_at_once_and_is_told_with_cycle_and_time():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.2)
    bench.records()
    index = bench.hdso(103)
    request = bench.order(CoreCommand.CHANGESET, -1, [[index, [17.5]]], [])
    before = bench.clock.now_ns
    bench.run(0.02)
    told = bench.records()
    at = {kind: content for kind, content in told if kind in (RecordKind.ACK, RecordKind.APPLIED, RecordKind.DONE)}
    assert at[RecordKind.ACK][:2] == [request, True]
    time, cycle, hdso, values, _, refused, origin = at[RecordKind.APPLIED]
    assert (hdso, values, refused, origin) == (index, [17.5], "", request)
    assert 0 <= time - before <= 6 * MS
    assert cycle > 0
    assert at[RecordKind.DONE][0] == request
    assert at[RecordKind.DONE][3] == 0
    kinds = [kind for kind, _ in told if kind in at]
    assert kinds == [RecordKind.ACK, RecordKind.APPLIED, RecordKind.DONE]


def test_timed_edits_wait_for_the_bout_and_for_their_time():
    bench = Bench()
    bench.run(0.05)
    index = bench.hdso(103)
    bench.order(CoreCommand.CHANGESET, 100 * MS, [[index, [1.5]]], [])
    bench.run(0.3)
    assert bench.core.store.values(index) != (1.5,)
    bench.records()
    bench.order(CoreCommand.RUN, 0, -1, 1)
    bench.run(0.3)
    told = bench.records()
    start = next(content[0] for kind, content in told if kind is RecordKind.BOUT_BEGIN)
    (applied,) = [content for kind, content in told if kind is RecordKind.APPLIED]
    assert 0 <= applied[0] - start - 100 * MS <= 2 * MS
    bench.order(CoreCommand.CHANGESET, 10 * S, [[index, [2.5]]], [])
    assert bench.obeyed(CoreCommand.FORGET, -1) == (True, 1)


def test_edits_in_a_fault_take_effect_but_nothing_drives():
    bench = Bench(latched="motor_silent")
    bench.run(0.05)
    index = bench.hdso(103)
    assert bench.obeyed(CoreCommand.CHANGESET, -1, [[index, [3.5]]], [])[0]
    assert bench.core.store.values(index) == (3.5,)
    ok, why = bench.obeyed(CoreCommand.CHANGESET, -1, [], [["target", 0, 10.0]])
    assert not ok
    assert "arm" in why


def test_a_changeset_with_a_fault_in_it_is_refused_whole():
    bench = Bench()
    bench.run(0.05)
    good, sensor = bench.hdso(103), bench.plan.motors[0].angle
    ok, why = bench.obeyed(CoreCommand.CHANGESET, -1, [[good, [9.5]], [sensor, [1.0]]], [])
    assert not ok
    assert "sensors are written by the engine only" in why
    assert bench.core.store.values(good) != (9.5,)


def test_one_element_is_written_over_what_the_store_holds_and_told_with_what_is_before_it():
    bench = Bench()
    bench.run(0.05)
    index = bench.hdso("CTr_LevatorPRO_F-L_Params")
    assert bench.obeyed(CoreCommand.CHANGESET, -1, [[index, [3.0]], [index, [-1.25], 1]], [])[0]
    assert bench.core.store.values(index) == (3.0, -1.25)
    request = bench.order(CoreCommand.CHANGESET, -1, [[index, [4.0], 0], [index, [-2.0], 1]], [])
    bench.run(0.02)
    told = [content[3:] for kind, content in bench.records() if kind is RecordKind.APPLIED]
    assert told == [[[4.0], False, "", request], [[4.0, -2.0], False, "", request]]


@pytest.mark.parametrize("element", [[2], [-1], [1.0], ["1"], [True], [None], [0, 1]])
def test_an_element_that_is_none_is_refused(element):
    bench = Bench()
    bench.run(0.05)
    index = bench.hdso("CTr_LevatorPRO_F-L_Params")
    before = bench.core.store.values(index)
    ok, why = bench.obeyed(CoreCommand.CHANGESET, -1, [[index, [5.0], *element]], [])
    assert (ok, bench.core.store.values(index)) == (False, before)
    assert "element" in why or "arguments" in why


def test_joints_change_their_mode_in_a_bout():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.5)
    fti = next(joint.index for joint in bench.plan.joints if joint.name == "Femur-Tibia")
    k = bench.plan.joints[fti].motor

    def goals(seconds=0.2):
        bench.bus.sent.clear()
        bench.run(seconds)
        return [goals[k] for _, goals, _ in bench.bus.sent[2:]]

    def switch(what, value):
        ok, why = bench.obeyed(CoreCommand.CHANGESET, -1, [], [[what, fti, value]])
        assert ok, why

    switch("mode", "limp")
    assert set(goals()) == {READ_ONLY}
    assert bench.core.live.board.limp[k]
    switch("mode", "hold")
    assert len(set(goals())) == 1
    switch("rate", 50.0)
    switch("target", 60.0)
    motor = bench.plan.motors[k]
    assert goals(4.0)[-1] == round(motor.cal1 + motor.cal2 * 60.0)
    switch("mode", "muscle")
    bench.run(0.2)
    switch("tweak", 9)
    bench.run(0.05)
    begun, delta = len(bench.bus.sent), 0.0
    while len(bench.bus.sent) == begun:
        delta = bench.core.live.board.deltas[k]
        bench.core.turn()
    _, sent, measured = bench.bus.sent[-1]
    assert sent[k] - measured[k] == motor.dir * (round(delta) + 9)
    told = [content for kind, content in bench.records() if kind is RecordKind.CONTROL]
    assert not [content for content in told if content[5]]


def test_a_tweak_or_a_muscle_needs_a_bout():
    bench = Bench()
    bench.run(0.05)
    for control in (["mode", 0, "muscle"], ["tweak", 0, 5]):
        ok, why = bench.obeyed(CoreCommand.CHANGESET, -1, [], [control])
        assert not ok
        assert "in a bout only" in why
        ok, _ = bench.obeyed(CoreCommand.CHANGESET, 0, [], [control])
        assert ok, "timed: it waits for the bout"


def test_a_joint_whose_servo_is_silent_is_not_moved():
    bench = Bench()
    bench.run(0.05)
    silence(bench)
    joint = bench.plan.motors[1].joint
    ok, why = bench.obeyed(CoreCommand.CHANGESET, -1, [], [["target", joint, 60.0]])
    assert not ok
    assert "does not answer" in why
    assert bench.mode is Mode.CONFIGURED


def test_a_joint_that_is_held_by_hand_is_not_waited_for_with_more_and_more_force():
    bench = Bench(approach_deg_s=20.0)
    bench.run(0.05)
    k = motor_of(bench, "Coxa-Trochanter")
    bench._emulator.stick(k)
    assert bench.obeyed(CoreCommand.CHANGESET, -1, [], [["target", bench.plan.motors[k].joint, 30.0]])[0]
    bench.run(5.0)
    _, goals, measured = bench.bus.sent[-1]
    assert 15 <= abs(goals[k] - measured[k]) <= 20


def test_too_much_at_once_is_refused():
    bench = Bench()
    bench.run(0.05)
    index = bench.hdso(103)
    ok, why = bench.obeyed(CoreCommand.CHANGESET, -1, [[index, [1.0]]] * 513, [])
    assert not ok
    assert "in parts" in why
    assert bench.obeyed(CoreCommand.CHANGESET, -1, [[index, [1.0]]] * 512, [])[0]


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.integers(0, 5), inner, max_size=3),
    max_leaves=10,
)


@pytest.fixture(scope="module")
def patient():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.05)
    return bench


@settings(max_examples=150, deadline=None, derandomize=True)
@given(kind=st.integers(0, 12), items=st.lists(JUNK, max_size=5), raw=st.none() | st.binary(max_size=30))
def test_nothing_a_command_says_ends_an_engine(patient, kind, items, raw):
    try:
        content = pack(1, *items) if raw is None else raw
    except (OverflowError, ValueError):
        return
    if kind in (CoreCommand.STOP, CoreCommand.OFF, CoreCommand.ARM):
        kind = CoreCommand.CHANGESET
    assert patient.core.commands.put(kind, content)
    patient.run(0.006)
    assert patient.mode is Mode.RUNNING
    acks = [content for kind, content in patient.records() if kind is RecordKind.ACK]
    assert len(acks) == 1


ORDERS = {
    "arm": (CoreCommand.ARM,),
    "run": (CoreCommand.RUN, 0, -1, 1),
    "pose": (CoreCommand.CHANGESET, -1, [], [["target", 1, 75.0]]),
}


def before_a_missed_reply(what):
    """Return a bench that could obey, were it not for a servo that has not answered just now."""
    bench = Bench()
    bench.run(0.1)
    if what == "arm":
        bench.obeyed(CoreCommand.OFF, "a hand in the leg")
        bench.run(0.1)
    bench.unplug(1)
    bench.run(0.03)
    bench.records()
    return bench


def acknowledged(bench, request):
    return [content for kind, content in bench.records() if kind is RecordKind.ACK and content[0] == request]


@pytest.mark.parametrize("what", ORDERS)
def test_an_order_that_one_missed_reply_forbids_is_obeyed_with_the_next(what):
    bench = before_a_missed_reply(what)
    request = bench.order(*ORDERS[what])
    bench.run(0.05)
    assert not acknowledged(bench, request)
    bench.plug(1)
    bench.run(0.1)
    (ack,) = acknowledged(bench, request)
    assert ack[1]


@pytest.mark.parametrize("what", ORDERS)
def test_it_is_refused_with_the_name_after_half_a_second(what):
    bench = before_a_missed_reply(what)
    begun = bench.clock.now_ns
    request = bench.order(*ORDERS[what])
    bench.run(0.6)
    (ack,) = acknowledged(bench, request)
    assert not ack[1]
    assert "Thorax-Coxa2" in ack[4]
    assert RETRY_NS <= ack[2] - begun <= RETRY_NS + 2 * WATCH_NS


@pytest.mark.parametrize("what", ORDERS)
def test_off_in_between_calls_it_off(what):
    bench = before_a_missed_reply(what)
    request = bench.order(*ORDERS[what])
    bench.run(0.05)
    request_off(bench.words, Requester.SUPERVISOR)
    bench.run(0.01)
    bench.plug(1)
    bench.run(0.6)
    (ack,) = acknowledged(bench, request)
    assert not ack[1]
    assert bench.words[Word.LATCHED]
    assert not bench.words[Word.TORQUE]


def test_a_clamp_is_made_in_a_bout_only_and_both_values_are_told():
    bench = Bench()
    bench.run(0.05)
    load = bench.hdso(302)
    bench.order(CoreCommand.CHANGESET, -1, [], [["sense", load, 0.5]])
    bench.run(0.02)
    (refused,) = [told for kind, told in bench.records() if kind == RecordKind.ACK]
    assert refused[1] is False
    assert "what is sensed is changed in a bout only" in refused[4]
    bench.start(0.2)
    bench.records()
    request = bench.order(CoreCommand.CHANGESET, -1, [], [["sense", load, 0.5]])
    bench.run(0.1)
    told = bench.records()
    (control,) = [content for kind, content in told if kind == RecordKind.CONTROL]
    assert control[2:] == ["sense", load, 0.5, "", request]
    column = bench.core.plan.sensor_columns.index(load)
    sensed = [record.numbers[column] for kind, record in told if kind == RecordKind.SENSED]
    measured = [record.numbers[column] for kind, record in told if kind == RecordKind.SENSORS]
    assert set(sensed) == {0.5}
    assert 0.5 not in measured
    assert bench.core.store.values(load) == (0.5,)
    bench.order(CoreCommand.CHANGESET, -1, [], [["sense", load, "off"]])
    bench.run(0.05)
    assert bench.core.store.values(load) != (0.5,)
    bench.records()
    bench.run(0.05)
    assert RecordKind.SENSED not in {kind for kind, _ in bench.records()}


def test_a_clamp_ends_with_its_bout():
    bench = Bench()
    bench.run(0.05)
    load = bench.hdso(302)
    for bout in (1, 2):
        bench.order(CoreCommand.RUN, 0, -1, bout)
        bench.run(0.1)
        bench.records()
        bench.run(0.1)
        assert RecordKind.SENSED not in {kind for kind, _ in bench.records()}
        bench.order(CoreCommand.CHANGESET, -1, [], [["sense", load, 0.5]])
        bench.run(0.1)
        bench.order(CoreCommand.STOP, "hold")
        bench.run(0.1)
        bench.records()
        bench.run(0.1)
        assert bench.core.store.values(load) != (0.5,)
        assert RecordKind.SENSED not in {kind for kind, _ in bench.records()}


def trigger(index, rule="191", holds_ns=0, after_ns=0, until_ns=-1, times=1):
    return [rule, holds_ns, after_ns, until_ns, times, 0, [[index, [17.5]]]]


def test_a_trigger_waits_fires_and_is_done_with():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.2)
    bench.records()
    index = bench.hdso(103)
    request = bench.order(CoreCommand.CHANGESET, 0, [], [], [trigger(index, after_ns=100 * MS, times=2)])
    bench.run(0.08)
    told = bench.records()
    assert RecordKind.APPLIED not in {kind for kind, _ in told}
    bench.run(0.2)
    told += bench.records()
    causes = [content[6:] for kind, content in told if kind == RecordKind.APPLIED]
    assert causes == [[0, "when one_float_const"], [0, "when one_float_const"]]
    assert request in [content[0] for kind, content in told if kind == RecordKind.DONE]
    assert bench.core.store.values(index) == (17.5,)


def test_triggers_are_no_more_than_may_wait_whenever_they_are_armed():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.2)
    for _ in range(3):
        bench.order(CoreCommand.CHANGESET, 400 * MS, [], [], [trigger(bench.hdso(103), "190")] * 60)
    bench.run(0.4)
    assert len(bench.core.live.triggers.armed) == MOST_ARMED
    told = [content for kind, content in bench.records() if kind == RecordKind.EVENT]
    assert sum("trigger_refused" in str(content) for content in told) == 80


def test_a_trigger_that_is_always_true_has_one_act_to_come():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.2)
    bench.order(CoreCommand.CHANGESET, 0, [], [], [trigger(bench.hdso(103), after_ns=30_000 * MS, times=0)])
    bench.run(1.0)
    assert bench.core.pending == 1


def test_a_trigger_is_forgotten_and_ends_with_the_bout():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.2)
    index = bench.hdso(103)
    first = bench.order(CoreCommand.CHANGESET, 0, [], [], [trigger(index, "190")])
    bench.order(CoreCommand.CHANGESET, 0, [], [], [trigger(index, "190")])
    bench.run(0.05)
    assert len(bench.core.live.triggers.armed) == 2
    bench.order(CoreCommand.FORGET, first)
    bench.run(0.05)
    assert len(bench.core.live.triggers.armed) == 1
    bench.order(CoreCommand.STOP, "off")
    bench.run(0.1)
    assert bench.core.live.triggers.armed == []


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (trigger(0, "12345"), "does not exist"),
        (trigger(0, "191 >"), "the rule ends after"),
        (trigger(10**6), "HDSO number 1000000 does not exist"),
        (trigger(0, holds_ns=-1), "holds"),
    ],
)
def test_a_trigger_that_cannot_be_is_refused(row, words):
    bench = Bench()
    bench.run(0.05)
    bench.order(CoreCommand.CHANGESET, 0, [], [], [row])
    bench.run(0.02)
    (refused,) = [told for kind, told in bench.records() if kind == RecordKind.ACK]
    assert refused[1] is False
    assert words in refused[4]


def test_the_time_of_triggers_is_that_of_the_bout():
    """The clock of the machine stands at several seconds: `time` and `until` count from the start."""
    bench = Bench()
    bench.run(0.05)
    limit, written = bench.hdso(103), bench.hdso(102)
    bench.order(CoreCommand.CHANGESET, -1, [[limit, [0.4]]], [])
    bench.start(0.2)
    bench.records()
    bench.order(CoreCommand.CHANGESET, 0, [], [], [trigger(written, rule="time < 103", until_ns=400 * MS)])
    request = bench.order(CoreCommand.CHANGESET, 0, [], [], [trigger(written, rule="time > 103", until_ns=350 * MS)])
    bench.run(0.1)
    told = bench.records()
    assert [content[3] for kind, content in told if kind == RecordKind.APPLIED] == [[17.5]]
    assert request not in [content[0] for kind, content in told if kind == RecordKind.DONE]
    bench.run(0.2)
    told = bench.records()
    assert request in [content[0] for kind, content in told if kind == RecordKind.DONE]
    assert RecordKind.APPLIED not in {kind for kind, _ in told}


def test_a_trigger_that_reads_what_has_no_value_is_told_and_waits_no_longer():
    bench = Bench()
    bench.run(0.05)
    bench.start(0.2)
    unset = bench.hdso(103)
    bench.core.store.flags[unset] = 0
    bench.records()
    request = bench.order(CoreCommand.CHANGESET, 0, [], [], [trigger(bench.hdso(102), rule="302 > 103")])
    bench.run(0.1)
    told = bench.records()
    assert [content[3] for kind, content in told if kind == RecordKind.DONE and content[0] == request] == [1]
    assert "trigger_refused" in str([content for kind, content in told if kind == RecordKind.EVENT])
