"""Undo, redo and recording: the book alone, on records as the core writes them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.wire import RecordKind
from nuc_engine.messages.errors import Refused
from nuc_engine.model.planning import build_plan
from nuc_engine.service.edits import ControlBook, EditBook
from tests.sccils.small import small_model
from tests.service.bench import Refusal

PLAN = build_plan(small_model())
ANGLE, FL, LOAD = (PLAN.hdso(name).index for name in ("pro_angle", "Promotor_FL", "pro_load"))


class Paper:
    """A book and a leg that does what is sent to it."""

    def __init__(self) -> None:
        self.values = {ANGLE: (10.0,), FL: (2.0, -1.5), LOAD: (-0.5,)}
        self.controls = ControlBook(PLAN, 60.0)
        self.book = EditBook(PLAN, self.controls, self.values)
        self.request = 0
        self.now = 0

    def edit(self, writes=(), controls=(), *, request=None, author="Ann", merge=0):
        self.request += 1
        if merge:
            self.book.merge(self.request, merge)
        number = self.request if request is None else request
        for index, values in writes:
            self.book.take(RecordKind.APPLIED, [self.now, 3, index, list(values), False, "", number])
            self.values[index] = tuple(values) + self.values[index][len(values) :]
        for what, joint, value in controls:
            self.book.take(RecordKind.CONTROL, [self.now, 3, what, joint, value, "", number])
        self.book.take(RecordKind.DONE, [number, self.now, 3, 0], author)

    def ask_back(self, *, undo):
        """Ask for an undo or a redo; return what lets it take effect."""
        parts = self.book.undo() if undo else self.book.redo()
        self.request += 1
        self.book.sent_back(number := self.request, undo=undo)
        return lambda: self.send(parts, number)

    def send(self, parts, number):
        self.edit(
            [(part.index, part.after) for part in parts if part.what == "write"],
            [
                (part.after[0], part.index, part.after[1])
                if part.what == "drive"
                else (part.what, part.index, part.after)
                for part in parts
                if part.what != "write"
            ],
            request=number,
        )

    def undo(self):
        self.ask_back(undo=True)()

    def redo(self):
        self.ask_back(undo=False)()

    def drives(self):
        return [(self.controls.value("drive", k), self.controls.value("tweak", k)) for k in range(2)]


WRITES = st.lists(
    st.one_of(
        st.tuples(st.just(ANGLE), st.tuples(st.floats(-20, 20))),
        st.tuples(st.just(FL), st.tuples(st.floats(-5, 5))),
        st.tuples(st.just(FL), st.tuples(st.floats(-5, 5), st.floats(-5, 5))),
    ),
    min_size=0,
    max_size=3,
)
CONTROLS = st.lists(
    st.one_of(
        st.tuples(st.just("tweak"), st.integers(0, 1), st.floats(-20, 20)),
        st.tuples(st.just("mode"), st.integers(0, 1), st.sampled_from(["limp", "hold", "muscle"])),
        st.tuples(st.just("target"), st.integers(0, 1), st.floats(-20, 20)),
    ),
    max_size=2,
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(WRITES, CONTROLS), min_size=1, max_size=6))
def test_undoing_everything_leads_back_and_redoing_it_forth(edits):
    leg = Paper()
    states = [(dict(leg.values), leg.drives())]
    for writes, controls in edits:
        leg.edit(writes, controls)
        if writes or controls:
            states.append((dict(leg.values), leg.drives()))
    for expected in reversed(states[:-1]):
        leg.undo()
        assert (leg.values, leg.drives()) == expected
        assert {index: leg.book.known[index] for index in leg.values} == leg.values
    with pytest.raises(Refused):
        leg.undo()
    for expected in states[1:]:
        leg.redo()
        assert (leg.values, leg.drives()) == expected
    with pytest.raises(Refused):
        leg.redo()


def test_an_edit_after_an_undo_ends_what_could_be_redone():
    leg = Paper()
    leg.edit([(ANGLE, (1.0,))])
    leg.undo()
    leg.edit([(LOAD, (2.0,))])
    with pytest.raises(Refused):
        leg.redo()
    leg.undo()
    assert leg.values[LOAD] == (-0.5,)


def test_an_undo_that_was_not_made_leaves_the_edit_to_be_undone():
    leg = Paper()
    leg.edit([(ANGLE, (1.0,))])
    leg.book.sent_back(99, undo=True)
    leg.book.take(RecordKind.APPLIED, [0, 3, ANGLE, [10.0], False, "the mode forbids it", 99])
    leg.book.take(RecordKind.DONE, [99, 0, 3, 1])
    leg.undo()
    assert leg.values[ANGLE] == (10.0,)


def test_an_edit_that_comes_before_an_undo_is_done_can_be_undone_after_it():
    leg = Paper()
    leg.edit([(ANGLE, (1.0,))])
    takes_effect = leg.ask_back(undo=True)
    leg.edit([(LOAD, (3.0,))], author="a script")
    takes_effect()
    assert leg.values == {ANGLE: (10.0,), FL: (2.0, -1.5), LOAD: (3.0,)}
    leg.undo()
    assert leg.values[LOAD] == (-0.5,)
    with pytest.raises(Refused):
        leg.undo()


@pytest.mark.parametrize("undo", [True, False])
def test_who_asks_twice_before_it_is_done_gets_one_step(undo):
    leg = Paper()
    leg.edit([(ANGLE, (1.0,))])
    leg.edit([(ANGLE, (2.0,))])
    if not undo:
        leg.undo()
        leg.undo()
    first, second = leg.ask_back(undo=undo), leg.ask_back(undo=undo)
    first()
    second()
    assert leg.values[ANGLE] == (1.0,)
    assert leg.book.depth == (1, 1)


def test_refused_writes_and_those_of_the_core_itself_are_no_edits():
    leg = Paper()
    leg.book.take(RecordKind.APPLIED, [0, 3, ANGLE, [5.0], False, "no", 1])
    leg.book.take(RecordKind.DONE, [1, 0, 3, 1])
    leg.edit([(LOAD, (3.0,))], request=0)
    assert leg.book.depth == (0, 0)
    assert leg.book.known[LOAD] == (3.0,)
    assert leg.book.known[ANGLE] == (10.0,)


def test_what_had_no_value_can_not_be_undone():
    gap = PLAN.hdso("gap").index
    leg = Paper()
    leg.values[gap] = ()
    leg.edit([(gap, (5.0,))])
    with pytest.raises(Refused, match="gap"):
        leg.undo()


def test_a_bout_begins_with_controls_as_configured_and_they_can_not_be_undone_into_it():
    leg = Paper()
    leg.edit((), [("mode", 0, "hold")])
    leg.edit([(ANGLE, (1.0,))])
    leg.book.take(RecordKind.BOUT_BEGIN, [0, 1, -1])
    leg.book.take(RecordKind.MODE, [0, int(Mode.RUNNING), "", 1])
    assert leg.controls.mode(0) == "muscle"
    leg.undo()
    with pytest.raises(Refused):
        leg.undo()
    leg.book.take(RecordKind.MODE, [0, int(Mode.FAULT), "", 1])
    assert leg.controls.mode(0) == "limp"


def test_a_recording_has_engine_times_and_begins_a_bout_with_what_came_before():
    leg = Paper()
    leg.book.record("trial")
    leg.now = 5_000_000_000
    leg.edit([(ANGLE, (1.0,))])
    leg.book.take(RecordKind.BOUT_BEGIN, [10_000_000_000, 1, -1])
    leg.now = 12_500_000_000
    leg.edit([(LOAD, (2.0,))], [("tweak", 0, 3.0)])
    name, recorded, left_out = leg.book.recorded()
    assert name == "trial"
    assert [(entry.time_ns, entry.hdso, entry.values) for entry in recorded] == [
        (0, ANGLE, (1.0,)),
        (2_500_000_000, LOAD, (2.0,)),
    ]
    assert left_out == 1


def test_two_recordings_at_once_are_refused():
    leg = Paper()
    leg.book.record("a")
    with pytest.raises(Refused, match="'a'"):
        leg.book.record("b")


def test_undo_through_the_channel_is_logged_with_its_author(b):
    ann = b.client("Ann")
    ann.ask("set", changes=[["pro_angle", 1.0], ["gap", 6.0]])
    ann.ask("set", changes=[["pro_angle", 2.0]])
    ann.ask("undo")
    assert ann.ask("get", names=["pro_angle"])["values"] == {"pro_angle": 1.0}
    assert ann.ask("redo")["applied"] == [{"name": "pro_angle", "value": 2.0}]
    ann.ask("undo")
    with pytest.raises(Refusal, match="gap"):
        ann.ask("undo")  # gap had no value
    status = ann.ask("status")
    assert (status["undo"], status["redo"]) == (1, 1)


def test_timed_edits_can_be_undone_once_they_took_effect(b):
    ann = b.client("Ann")
    ann.ask("run")
    ann.ask("set", changes=[["pro_angle", 1.0]], time_s=2.0)
    b.pass_time(3)
    ann.ask("undo")
    assert ann.ask("get", names=["pro_angle"])["values"] == {"pro_angle": 10.0}


def test_a_recording_becomes_a_script_that_does_the_same(b):
    ann = b.client("Ann")
    ann.ask("record_start", name="trial")
    ann.ask("set", changes=[["pro_angle", 1.0]])
    ann.ask("run")
    b.pass_time(2.5)
    ann.ask("set", changes=[["pro_angle", 2.0], ["Enter_Retraction", "Coxa_current > pro_load"]])
    b.pass_time(1)
    ann.ask("undo")
    answer = ann.ask("record_stop")
    assert (answer["writes"], answer["left_out"]) == (5, 0)
    ann.ask("stop")
    ann.ask("set", changes=[["pro_angle", 15.0]])
    text = (b.tmp / "scripts" / "trial.xml").read_text()
    assert 'time="2.5"' in text
    assert 'time="3.5"' in text
    ann.ask("script", text=text)
    assert ann.ask("get", names=["pro_angle"])["values"] == {"pro_angle": 1.0}
    ann.ask("run")
    b.pass_time(3)
    names = ["pro_angle", "Enter_Retraction"]
    assert ann.ask("get", names=names)["values"] == {"pro_angle": 2.0, "Enter_Retraction": "Coxa_current > pro_load"}
    b.pass_time(1)
    assert ann.ask("get", names=names)["values"] == {"pro_angle": 1.0, "Enter_Retraction": "Coxa_current > ret_load"}


def test_a_recording_that_can_not_be_written_is_not_lost(b):
    ann = b.client("Ann")
    ann.ask("record_start", name="trial")
    ann.ask("set", changes=[["pro_angle", 1.0]])
    (b.tmp / "scripts").mkdir()
    (b.tmp / "scripts" / "trial.xml").write_text("mine")
    with pytest.raises(Refusal, match="exists"):
        ann.ask("record_stop")
    assert (b.tmp / "scripts" / "trial.xml").read_text() == "mine"
    assert ann.ask("record_stop", overwrite=True)["writes"] == 1


def test_the_edits_of_a_drag_are_undone_as_one():
    leg = Paper()
    leg.edit([(LOAD, (-0.1,))])
    leg.edit([(ANGLE, (11.0,))])
    for value in (12.0, 13.0):
        leg.edit([(ANGLE, (value,))], merge=leg.request)
    assert leg.book.depth == (2, 0)
    leg.undo()
    assert leg.values[ANGLE] == (10.0,)
    leg.redo()
    assert leg.values[ANGLE] == (13.0,)
    assert leg.book.made == 6


@pytest.mark.parametrize("between", [{"author": "Ben"}, {"author": "Ann"}])
def test_a_drag_ends_with_the_edit_of_somebody_else_or_another_of_ones_own(between):
    leg = Paper()
    leg.edit([(ANGLE, (11.0,))])
    drag = leg.request
    leg.edit([(LOAD, (-0.1,))], **between)
    leg.edit([(ANGLE, (12.0,))], merge=drag)
    leg.undo()
    assert (leg.values[ANGLE], leg.values[LOAD]) == ((11.0,), (-0.1,))


def test_nobody_goes_on_with_the_edit_of_another():
    leg = Paper()
    leg.edit([(ANGLE, (11.0,))], author="Ben")
    leg.edit([(ANGLE, (12.0,))], merge=leg.request)
    leg.undo()
    assert leg.values[ANGLE] == (11.0,)


def test_the_history_tells_whose_edits_they_are_in_the_order_in_which_they_are_undone():
    leg = Paper()
    for author, value in (("Ann", 11.0), ("Ben", 12.0), ("Ann", 13.0)):
        leg.edit([(ANGLE, (value,))], author=author)
    leg.undo()
    done, undone = leg.book.history(10)
    assert [(made.author, made.parts[0].after) for made in done] == [("Ben", (12.0,)), ("Ann", (11.0,))]
    assert [made.parts[0].after for made in undone] == [(12.0,)], "what the undo brought back"
    assert len(leg.book.history(1)[0]) == 1
