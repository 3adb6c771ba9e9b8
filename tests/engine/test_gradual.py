"""Gradual changes become writes: from what is in force, in equal steps, to what was asked for."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.model.changes import ScriptRefused, prepare
from nuc_engine.model.planning import build_plan
from nuc_engine.model.values import initial_values
from sccils_schemas.by_hand import KickEntry
from sccils_schemas.documents import Gradual, HdsoMod, HdsoScript, HdsoSpec
from tests.sccils.small import small_model

MODEL = small_model()
PLAN = build_plan(MODEL)
LOAD, GAP, SPEED, WIDE = (PLAN.hdso(ref).index for ref in (101, 104, 0, 141))
BEFORE = initial_values(PLAN)


def changesets(*entries, values=None):
    return prepare(HdsoScript(tuple(entries), source="s.xml"), PLAN, MODEL.ids, values)


def writes(*entries, values=None):
    found = changesets(*entries, values=values)
    return [(changeset.time_ns / 1e9, write.hdso, write.values) for changeset in found for write in changeset.writes]


def mod(ref, *data, at="0", **more):
    return HdsoMod(ref, len(data), data, time_s=Decimal(at), **more)


def gradual(*mods, at="10", seconds="10", steps=10):
    return Gradual(Decimal(at), Decimal(seconds), steps, mods)


def test_ten_equal_steps_from_the_value_at_the_start_of_the_bout():
    begin = BEFORE[LOAD][0]
    assert writes(gradual(mod(101, begin + 5.0))) == [
        (11.0 + k, LOAD, (pytest.approx(begin + 0.5 * (k + 1)),)) for k in range(10)
    ]


def test_the_last_step_is_exactly_what_was_asked_for():
    assert writes(gradual(mod(101, 0.1), steps=3, seconds="1"))[-1] == (11.0, LOAD, (0.1,))
    assert writes(gradual(mod(101, 0.1), steps=1))[-1] == (20.0, LOAD, (0.1,))


def test_it_begins_from_what_earlier_entries_and_those_of_its_instant_have_written():
    early, now, late = mod(101, 9.0, at="4"), mod(101, 2.0, at="10"), mod(101, 5.0, at="20")
    for entries in ((early, now, gradual(mod(101, 4.0)), late), (gradual(mod(101, 4.0)), late, now, early)):
        found = writes(*entries)
        assert found[2] == (11.0, LOAD, (pytest.approx(2.2),))
    assert writes(early, gradual(mod(101, 4.0)))[1] == (11.0, LOAD, (8.5,))


def test_one_gradual_change_may_follow_another():
    found = writes(gradual(mod(101, 8.0), at="20"), gradual(mod(101, 4.0), at="10"), mod(101, 2.0))
    assert found[-10] == (21.0, LOAD, (pytest.approx(4.4),))


def test_several_hdsos_step_together_and_several_elements_too():
    wide = BEFORE[WIDE]
    found = changesets(gradual(mod(101, 1.0), mod(141, wide[0] + 1.0, wide[1] - 1.0), steps=2, seconds="1"))
    assert [len(changeset.writes) for changeset in found] == [2, 2]
    assert found[0].writes[1].values == (pytest.approx(wide[0] + 0.5), pytest.approx(wide[1] - 0.5))


def test_whole_numbers_are_rounded_in_between_halves_to_the_even_one():
    assert [values for _, _, values in writes(mod(0, 0, datatype="int"), gradual(mod(0, 3), steps=6))] == [
        (0,), (0,), (1,), (2,), (2,), (2,), (3,)
    ]  # fmt: skip


def test_a_daemon_begins_from_what_it_has():
    values = list(BEFORE)
    values[LOAD] = (10.0,)
    assert writes(gradual(mod(101, 0.0), steps=2), values=values)[0] == (15.0, LOAD, (5.0,))


def test_requests_and_what_is_done_by_hand_are_left_where_they_are():
    found = changesets(KickEntry(Decimal(3)), gradual(mod(101, 4.0), steps=1), HdsoSpec(-1, time_s=Decimal(20)))
    assert [(c.time_ns, len(c.writes), len(c.requests)) for c in found] == [(20_000_000_000, 1, 1)]


def refused(*entries):
    with pytest.raises(ScriptRefused) as caught:
        changesets(*entries)
    return "\n".join(caught.value.reasons)


def test_a_value_on_the_way_that_the_hdso_refuses_is_an_error():
    # From 2 to -2 leads through the invalid range from -1 to 1, although neither end lies in it.
    assert "HDSO 104 (gap): 0 lies in the invalid range" in refused(mod(104, 2.0), gradual(mod(104, -2.0), steps=2))
    assert writes(mod(104, 2.0), gradual(mod(104, -2.0), steps=1))


def test_what_has_no_value_can_not_change_gradually():
    nothing = next(hdso.id_num for hdso in PLAN.hdsos if BEFORE[hdso.index] is None and hdso.kind == "parameter")
    assert "no value that it could change from" in refused(gradual(mod(nothing, 3.0)))


def test_rules_and_what_is_out_of_range_are_refused_all_in_one_go():
    rule = HdsoMod(163, 5, "1 > 2", datatype="char", line=7)
    text = refused(gradual(rule, HdsoMod(101, 1, (99.0,), line=8)))
    assert "s.xml:7: HDSO 163 (Spare_Rule): what is not a number changes at once" in text
    assert "s.xml:8: HDSO 101 (pro_load): 99 is outside the valid range" in text


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.floats(-20, 20, width=32), st.floats(-20, 20, width=32), st.integers(1, 50), st.decimals("0.001", 1000, places=3)
)
def test_it_never_turns_round_and_never_leaves_the_way(begin, end, steps, seconds):
    found = writes(mod(101, begin), gradual(mod(101, end), steps=steps, seconds=seconds))[1:]
    assert len(found) == steps
    values = [begin, *(values[0] for _, _, values in found)]
    assert values[-1] == end
    low, high = sorted((begin, end))
    assert all(low - 1e-9 <= value <= high + 1e-9 for value in values)
    changes = [b - a for a, b in pairwise(values)]
    assert all(change * (end - begin) >= -1e-9 for change in changes)
    assert found[-1][0] == pytest.approx(10 + float(seconds), abs=1e-9)
