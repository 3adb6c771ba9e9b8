"""The table of a servo's states: what no sequence of events may come to, and what each event must."""

from itertools import product

import pytest

from drivers.framed.servo_state import (
    DROPS,
    MOVES,
    Contact,
    DriveSettings,
    Health,
    Readiness,
    ReplyTiming,
    ServoEvent,
    ServoState,
    Torque,
    step,
)

STATES = [ServoState(*parts) for parts in product(Readiness, Torque, Contact, DriveSettings, Health, ReplyTiming)]
DRIVEN = [state for state in STATES if state.driven]
E = ServoEvent


def after(state, *events):
    for event in events:
        state = step(state, event)
    return state


def test_the_way_to_being_driven():
    seen = [after(ServoState(), *events) for events in (
        (E.ASKED, E.IDENTIFIED), (E.ASKED, E.IDENTIFIED, E.CONFIGURED),
        (E.ASKED, E.IDENTIFIED, E.CONFIGURED, E.TORQUE_ON, E.HOLDS),
    )]  # fmt: skip
    assert [state.readiness for state in seen] == [Readiness.KNOWN, Readiness.READY, Readiness.READY]
    assert [state.drivable for state in seen] == [False, True, True]
    assert [state.settled for state in seen] == [False, False, True]


@pytest.mark.parametrize("event", E)
def test_only_torque_a_look_and_health_make_a_servo_driven_that_is_not(event):
    new = [state for state in STATES if not state.driven and step(state, event).driven]
    assert bool(new) is (event in (E.TORQUE_ON, E.HOLDS, E.WELL))
    assert all(state.readiness is Readiness.READY and state.contact is not Contact.GONE for state in new)


@pytest.mark.parametrize(
    "event", [event for event in E if event in DROPS | {E.DISOBEYED, E.TORQUE_OFF, E.TORQUE_UNKNOWN}]
)
def test_nobody_is_driven_after(event):
    assert not any(step(state, event).driven for state in STATES)


@pytest.mark.parametrize("event", [event for event in E if event not in DROPS])
def test_only_a_servo_that_refused_its_goal_is_driven_no_more_and_keeps_what_waits(event):
    lost = [state for state in STATES if state.drivable and not step(state, event).drivable]
    assert bool(lost) is (event is E.DISOBEYED)


@pytest.mark.parametrize("event", E)
def test_torque_is_never_taken_for_on_that_was_not_read_as_on(event):
    on = [state for state in STATES if state.torque is not Torque.ON and step(state, event).torque is Torque.ON]
    assert bool(on) is (event is E.TORQUE_ON)


@pytest.mark.parametrize("before", [Readiness.REFUSED, Readiness.FAULT])
def test_nothing_but_a_new_start_or_an_absence_ends_a_refusal(before):
    ends = {E.MISSED, E.RESTARTED, E.LOOSENED, E.AILS, E.AILS_ON}
    state = ServoState(readiness=before)
    left = {event for event in E if step(state, event).readiness is not before}
    assert left - {E.SHUT_DOWN} == ends


def test_a_bound_that_is_lost_is_forgiven_until_it_was_looked_at():
    held = after(ServoState(), E.IDENTIFIED, E.CONFIGURED, E.TORQUE_ON, E.HOLDS)
    told = after(held, E.LEVEL)
    assert (told.settled, told.suspect) == (True, False)
    assert after(told, E.LOOK).told is DriveSettings.NOTHING
    assert after(held, E.LOOK).told is DriveSettings.CHECK
    assert after(held, E.LOOK).suspect
    assert after(told, E.LOOK, E.HOLDS) == held


def test_one_that_was_missed_is_not_driven_before_it_was_looked_at():
    held = after(ServoState(), E.IDENTIFIED, E.CONFIGURED, E.TORQUE_ON, E.HOLDS)
    back = after(held, E.MISSED, E.SEEN)
    assert (back.drivable, back.suspect, back.stale) == (False, True, False)
    assert after(back, E.HOLDS).driven
    limp = after(ServoState(), E.IDENTIFIED, E.CONFIGURED, E.MISSED, E.SEEN)
    assert (limp.drivable, limp.suspect, limp.stale) == (False, False, True)


def test_torque_comes_off_first_where_it_was_on_until_it_is_asked_for():
    on = after(ServoState(), E.IDENTIFIED, E.CONFIGURED, E.TORQUE_ON, E.HOLDS)
    assert after(on, E.AILS).readiness is Readiness.NEW
    for event in (E.AILS_ON, E.LOOSENED):
        loose = after(on, event)
        assert after(loose, E.MISSED, E.SEEN, E.RESTARTED).readiness is Readiness.LOOSEN
        assert after(loose, E.ASKED).readiness is Readiness.NEW


def test_answers_count_that_come_twice_from_a_time_out_to_the_end_of_the_set_up():
    for event in (E.MISSED, E.SILENT):
        late = after(ServoState(), event, E.SEEN, E.IDENTIFIED)
        assert late.replies is ReplyTiming.LATE
        assert after(late, E.CONFIGURED).replies is ReplyTiming.PROMPT


@pytest.mark.parametrize("event", E)
def test_an_event_said_twice_is_said_once(event):
    assert all(step(step(state, event), event) == step(state, event) for state in STATES)


def test_every_event_changes_something_and_no_move_leads_to_where_it_began_but_those_that_stay():
    for event in E:
        assert any(step(state, event) != state for state in STATES), event
        assert all(type(before) is type(now) for before, now in MOVES[event].items()), event
