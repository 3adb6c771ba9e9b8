"""Torque tables: read strictly, inverted by straight lines, in both directions."""

from __future__ import annotations

import contextlib
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.model.plan import PlanError
from nuc_engine.model.torque_table import Inverse, read_table

DEAD_BAND = {"ticks": [0, 4, 20, 60, 80], "torque_n_m": [0, 0, 0.05, 0.18, 0.18]}


def table(record):
    return read_table(json.dumps(record).encode(), "t.json")


def test_a_table_is_the_same_in_both_directions_and_ends_where_more_gives_nothing():
    assert table(DEAD_BAND).points == (
        (-60.0, -0.18),
        (-20.0, -0.05),
        (-4.0, -0.0),
        (0.0, 0.0),
        (4.0, 0.0),
        (20.0, 0.05),
        (60.0, 0.18),
    )


@pytest.mark.parametrize(
    ("torque", "ticks"),
    [(0.0, 0.0), (0.05, 20.0), (0.025, 12.0), (0.115, 40.0), (0.18, 60.0), (1.0, 60.0), (-0.025, -12.0), (-9.0, -60.0)],
)
def test_inverted_by_straight_lines_and_held_at_its_ends(torque, ticks):
    assert Inverse(table(DEAD_BAND).points).ticks(torque) == pytest.approx(ticks)


def test_the_least_torque_is_behind_the_dead_band():
    assert Inverse(table(DEAD_BAND).points).ticks(1e-9) == pytest.approx(4.0)
    assert Inverse(table(DEAD_BAND).points).ticks(-1e-9) == pytest.approx(-4.0)


def test_where_a_torque_stands_at_several_ticks_it_is_those_nearest_to_0():
    inverse = Inverse(table({"ticks": [0, 10, 20, 30], "torque_n_m": [0, 0.1, 0.1, 0.2]}).points)
    assert [inverse.ticks(sign * 0.1) for sign in (1, -1)] == [10.0, -10.0]


def test_a_table_with_negative_ticks_is_taken_as_it_is():
    found = table({"ticks": [-10, 0, 20], "torque_n_m": [-1, 0, 1], "model": "X", "gain": 180})
    assert found.points == ((-10.0, -1.0), (0.0, 0.0), (20.0, 1.0))
    assert (found.model, found.gain) == ("X", 180)


def test_a_table_may_begin_behind_zero_and_hold_as_many_points_as_are_allowed():
    assert table({"ticks": [4, 20], "torque_n_m": [0, 0.5]}).points == (
        (-20.0, -0.5),
        (-4.0, -0.0),
        (0.0, 0.0),
        (4.0, 0.0),
        (20.0, 0.5),
    )
    assert len(table({"ticks": [*range(1000)], "torque_n_m": [*range(1000)]}).points) == 1999


@pytest.mark.parametrize(
    ("ticks", "torque"),
    [(-1000, -0.18), (-60, -0.18), (-40, -0.115), (-4, 0.0), (0, 0.0), (4, 0.0), (12, 0.025), (60, 0.18), (1000, 0.18)],
)
def test_the_torque_of_ticks_is_read_off_straight_lines_and_held_at_the_ends(ticks, torque):
    assert Inverse(table(DEAD_BAND).points).torque(ticks) == pytest.approx(torque)


def test_a_torque_that_is_no_number_stays_so():
    assert math.isnan(Inverse(table(DEAD_BAND).points).ticks(math.nan))


def test_an_end_is_reached_and_known_to_be_one():
    inverse = Inverse(table(DEAD_BAND).points)
    assert inverse.reaches(0.18)
    assert not inverse.reaches(0.1801)
    assert not inverse.reaches(-0.1801)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(st.floats(0.5, 50), st.floats(0.0, 0.2)).filter(lambda step: step[1] == 0 or step[1] > 1e-6),
        min_size=1,
        max_size=12,
    ),
    st.floats(-1, 1),
)
def test_what_is_inverted_gives_the_torque_back(steps, share):
    ticks, torques = [0.0], [0.0]
    for tick, torque in [*steps, (1.0, 0.1)]:
        ticks.append(ticks[-1] + tick)
        torques.append(torques[-1] + torque)
    inverse = Inverse(table({"ticks": ticks, "torque_n_m": torques}).points)
    wanted = share * torques[-1]
    assert inverse.torque(inverse.ticks(wanted)) == pytest.approx(wanted, abs=1e-9)


BAD = {
    "no JSON": (b"{", "expected JSON"),
    "no object": (b"[1]", "an object"),
    "no torques": ({"ticks": [0, 1]}, "list of numbers"),
    "text": ({"ticks": ["a"], "torque_n_m": [1]}, "list of numbers"),
    "infinite": ({"ticks": [0, 1e400], "torque_n_m": [0, 1]}, "list of numbers"),
    "true": ({"ticks": [0, True], "torque_n_m": [0, 1]}, "list of numbers"),
    "one point": ({"ticks": [1], "torque_n_m": [1]}, "two at least"),
    "of different length": ({"ticks": [0, 1, 2], "torque_n_m": [0, 1]}, "as many"),
    "ticks that fall": ({"ticks": [0, 2, 1], "torque_n_m": [0, 1, 2]}, "ticks that rise"),
    "ticks twice": ({"ticks": [0, 1, 1], "torque_n_m": [0, 1, 2]}, "ticks that rise"),
    "more points than anybody measures": (
        {"ticks": [*range(1001)], "torque_n_m": [*range(1001)]},
        "1001 numbers; expected 1000 at most",
    ),
    "numbers beyond all servos": ({"ticks": [0, 1e9], "torque_n_m": [0, 1]}, "list of numbers"),
    "torque that falls": ({"ticks": [0, 1, 2], "torque_n_m": [0, 2, 1]}, "do not fall"),
    "no torque at all": ({"ticks": [0, 1], "torque_n_m": [0, 0]}, "both directions"),
    "torque at rest": ({"ticks": [0, 1], "torque_n_m": [0.5, 1]}, "negative ticks too"),
    "the wrong way": ({"ticks": [1, 2], "torque_n_m": [-1, 1]}, "0 or more"),
    "one direction only": ({"ticks": [-2, -1], "torque_n_m": [-2, -1]}, "both directions"),
    "one direction, and nothing in the other": ({"ticks": [-2, 0, 1], "torque_n_m": [0, 0, 1]}, "both directions"),
    "a gain that is true": ({"ticks": [0, 1], "torque_n_m": [0, 1], "gain": True}, "whole number"),
    "a gain that is none": ({"ticks": [0, 1], "torque_n_m": [0, 1], "gain": "a"}, "whole number"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_table_is_refused(name):
    record, words = BAD[name]
    data = record if isinstance(record, bytes) else json.dumps(record).encode()
    with pytest.raises(PlanError, match=words):
        read_table(data, "t.json")


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_table_or_refused(data):
    with contextlib.suppress(PlanError):
        assert read_table(data, "t.json").points
