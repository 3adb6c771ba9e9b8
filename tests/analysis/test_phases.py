"""Swing and stance out of contact and height, minima out of an angle: on records of a few samples, told by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.phases import Swing, action_swings, find_swings, mean_load, minima, runs, runs_at_ends

DT_S = 0.01
LEG_CM = 30.0
"""A swing is 0.3 cm high at least."""

Stretch = tuple[float, float, float]
"""Duration in s, height of the foot in cm, normal force in N. In its first sample the foot is where it was before."""


def swings(*stretches: Stretch) -> list[Swing]:
    counts = [round(duration_s / DT_S) for duration_s, _, _ in stretches]
    height = np.repeat([height for _, height, _ in stretches], counts)
    force = np.repeat([force for _, _, force in stretches], counts)
    for first, (_, _, now_n) in zip(np.cumsum(counts)[:-1], stretches[1:], strict=True):
        height[first] = height[first - 1] if now_n == 0.0 else height[first]
    return find_swings(DT_S * np.arange(len(height)), height, force, LEG_CM, DEFAULT_CRITERIA)


def times(found: Sequence[Swing]) -> list[tuple[float, float]]:
    return [(round(swing.lift_off_s, 6), round(swing.touch_down_s, 6)) for swing in found]


STANCE: Stretch = (0.4, 0.0, 0.8)
SWING: Stretch = (0.3, 2.0, 0.0)


def test_a_swing_is_from_the_last_contact_to_the_next_one() -> None:
    (one,) = swings(STANCE, SWING, STANCE)
    assert times([one]) == [(0.4, 0.7)]
    assert (one.clearance_cm, one.begin_known, one.end_known) == (2.0, True, True)


def test_what_the_record_cuts_off_is_known_to_be() -> None:
    first, last = swings(SWING, STANCE, SWING)
    assert (first.begin_known, first.end_known, first.lift_off_s) == (False, True, 0.0)
    assert (last.begin_known, last.end_known) == (True, False)
    assert last.touch_down_s == pytest.approx(0.99)


def test_clearance_is_above_the_higher_of_its_ends() -> None:
    (down,) = swings((0.4, 1.0, 0.8), SWING, STANCE)
    assert down.clearance_cm == 1.0
    (up,) = swings(STANCE, SWING, (0.4, 1.5, 0.8))
    assert up.clearance_cm == 0.5


@pytest.mark.parametrize(
    "no_swing",
    [(0.3, 0.2, 0.0), (0.09, 2.0, 0.0)],
    ids=["too low", "too short"],
)
def test_a_stretch_in_the_air_that_is_too_low_or_too_short_is_none(no_swing: Stretch) -> None:
    assert swings(STANCE, no_swing, STANCE) == []


@pytest.mark.parametrize(
    ("touch", "count"),
    [((0.04, 0.0, 0.8), 1), ((0.06, 0.0, 0.8), 2), ((0.4, 0.0, 0.09), 1), ((0.4, 0.0, 0.11), 2)],
    ids=["bounce", "stance", "touch", "light stance"],
)
def test_what_is_no_stance_does_not_end_a_swing(touch: Stretch, count: int) -> None:
    found = swings(STANCE, (0.2, 3.0, 0.0), touch, SWING, STANCE)
    assert len(found) == count
    if count == 1:
        assert times(found) == [(0.4, round(0.9 + touch[0], 6))]
        assert found[0].clearance_cm == 3.0


def test_the_load_is_that_of_the_samples_in_contact() -> None:
    t_s, force = np.arange(6.0), np.array([9.0, 0.0, 0.4, 0.8, 0.04, 9.0])
    assert mean_load(t_s, force, 1.0, 5.0, DEFAULT_CRITERIA) == pytest.approx(0.6)
    assert mean_load(t_s, force, 1.0, 2.0, DEFAULT_CRITERIA) == 0.0


def by_actions(*counts: int) -> list[tuple[float, float]]:
    """Swings of so many samples in stance, in swing, in stance..."""
    in_stance = np.repeat([k % 2 == 0 for k in range(len(counts))], counts)
    return times(action_swings(DT_S * np.arange(len(in_stance)), in_stance, DEFAULT_CRITERIA))


def test_actions_tell_swings_and_spikes_of_either_are_bridged() -> None:
    assert by_actions(30, 20, 30) == [(0.3, 0.5)]
    assert by_actions(30, 20, 4, 20, 30) == [(0.3, 0.74)]
    assert by_actions(30, 20, 6, 20, 30) == [(0.3, 0.5), (0.56, 0.76)]
    assert by_actions(30, 9, 30) == []


def test_a_minimum_is_the_first_of_the_lowest_samples_between_two_turns() -> None:
    def at(*values: float, rise: float = 3.0) -> list[float]:
        return minima(np.arange(float(len(values))), np.array(values), rise).tolist()

    assert at(5, 1, 1, 0, 0, 0, 5, 0, 4) == [3.0, 7.0]
    # What falls or rises less is no turn, and the ends of a record are none.
    assert at(5, 0, 2, 0, 2, -1, 5) == [5.0]
    assert at(0, 5, 0) == []
    assert at(0, 5, 5, 2.5, 5) == []
    assert at(5, 2, 5) == [1.0]


def test_runs_are_half_open() -> None:
    assert runs(np.array([True, False, True, True])) == [(0, 1), (2, 4)]
    assert runs(np.zeros(3, dtype=np.bool_)) == runs(np.zeros(0, dtype=np.bool_)) == []


def test_the_run_that_another_modules_stretch_ends_in_is_found_whole() -> None:
    action = np.array([0, 0, 1, 1, 1, 0, 0, 1, 1])
    leading = np.array([False, True, True, True, False, False, True, False, False])
    # The single sample is no stretch.
    assert runs(runs_at_ends(action, leading)) == [(2, 5)]
