"""Writes of single elements take effect on what is in the store at their time, whoever wrote that."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuc_engine.bout.run import prepare_bout
from nuc_engine.control.rulebook import Rulebook
from nuc_engine.control.tasks.board import Board
from nuc_engine.control.tasks.script import Script
from nuc_engine.model.changes import Applied, Changeset, Write
from nuc_engine.model.store import Store

COUNT = 2
NUMBER = st.integers(-8, 8).map(float)


@cache
def plan():
    return prepare_bout("lin_roach", None).plan


@st.composite
def writes(draw):
    index = plan().hdso("CTr_LevatorPRO_F-L_Params").index
    if draw(st.booleans()):
        return Write(index, (draw(NUMBER),), draw(st.integers(0, COUNT - 1)))
    return Write(index, tuple(draw(st.lists(NUMBER, min_size=1, max_size=COUNT))))


def script(applied: list[Applied]) -> tuple[Script, Store]:
    store = Store(plan())
    for write in plan().initial:
        store.write(write.hdso, write.values)
    board, book = Board(plan(), lambda *_: None), Rulebook(plan(), store)
    nothing = lambda *_: None  # noqa: E731
    return Script(plan(), store, board, book, lambda _: "", applied.append, nothing, nothing), store


@given(st.lists(st.tuples(st.integers(0, 5), st.lists(writes(), min_size=1, max_size=3)), max_size=12))
def test_each_write_changes_its_own_elements_alone(edits):
    applied: list[Applied] = []
    task, store = script(applied)
    index = plan().hdso("CTr_LevatorPRO_F-L_Params").index
    expected = list(store.values(index))
    # Loaded in any order, they take effect in order of time, equal times as they came.
    task.load([Changeset(time, tuple(group)) for time, group in edits])
    for _, group in sorted(edits, key=lambda edit: edit[0]):
        for write in group:
            first = write.element or 0
            expected[first : first + len(write.values)] = write.values
    task.run(10)
    assert list(store.values(index)) == expected
    # What was told of it, writes that begin at the first element alone, is told again where these are made.
    assert all(told.write.element is None and not told.refused for told in applied)
    again: list[Applied] = []
    repeated, other = script(again)
    rest = iter(applied)
    groups = [group for _, group in sorted(edits, key=lambda edit: edit[0])]
    repeated.load([Changeset(k, tuple(next(rest).write for _ in group)) for k, group in enumerate(groups)])
    repeated.run(len(groups))
    assert [(told.write, told.replaced) for told in again] == [(told.write, told.replaced) for told in applied]
    assert other.values(index) == store.values(index)


@pytest.mark.parametrize(
    ("writes", "replaced"),
    [
        ([((1.0, 2.0), None), ((3.0,), 0)], [False, False]),
        ([((3.0,), 0), ((1.0, 2.0), None)], [True, False]),
        ([((3.0,), 0), ((4.0,), 1), ((5.0,), 0)], [True, False, False]),
        ([((1.0, 2.0), None), ((3.0,), 0), ((4.0,), 1)], [True, False, False]),
        ([((1.0,), None), ((4.0,), 1)], [False, False]),
    ],
)
def test_a_write_is_replaced_when_nothing_of_its_own_elements_is_left(writes, replaced):
    applied: list[Applied] = []
    task, _ = script(applied)
    index = plan().hdso("CTr_LevatorPRO_F-L_Params").index
    task.load([Changeset(0, tuple(Write(index, *write) for write in writes))])
    task.run(0)
    assert [told.replaced for told in applied] == replaced
