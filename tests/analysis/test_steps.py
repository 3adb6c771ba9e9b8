"""The step detector: which steps are whole, what modules do in them, and what is left of them in a window."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nuc_engine.analysis.bout import Series
from nuc_engine.analysis.cycle import recorded_steps
from nuc_engine.analysis.steps import detect_steps
from tests.analysis.synthetic import EXT, FLX, FWD, leg, with_module

STEPS = detect_steps(leg(FWD, 10.0))
"""The leg lifts off as its record begins, and every 0.9 s from then on; swings are a little more than half of it."""


def test_a_swing_of_which_the_beginning_was_not_recorded_begins_no_step() -> None:
    assert not STEPS.swings[0].begin_known
    assert STEPS.lift_off_s[0] == pytest.approx(FWD.period_s, abs=0.02)
    np.testing.assert_allclose(STEPS.lift_off_s[1:], STEPS.end_s[:-1])
    np.testing.assert_allclose(STEPS.period_s, FWD.period_s, atol=0.02)


def test_the_action_in_force_at_lift_off_is_one_of_the_step() -> None:
    """Where actions change with the foot, the first record of a step is of the swing already; before it was stance."""
    tracks = leg(FWD, 10.0)
    air = [(swing.lift_off_s, swing.touch_down_s) for swing in STEPS.swings]
    in_swing = np.any([(tracks.t_state_s >= a) & (tracks.t_state_s < b) for a, b in air], axis=0)
    steps = detect_steps(with_module(tracks, "FTi", action=np.where(in_swing, FLX, EXT)))
    assert set(steps.module("FTi").visited) == {2}
    assert set(steps.module("FTi").switches) == {2}


def test_a_window_has_whole_steps_and_parts_of_swings() -> None:
    begin_s, end_s = float(STEPS.lift_off_s[2]) - 0.1, float(STEPS.touch_down_s[5]) - 0.1
    part = STEPS.within(begin_s, end_s)
    assert part.lift_off_s.tolist() == STEPS.lift_off_s[2:5].tolist()
    assert [len(module.range_deg) for module in part.modules] == [3] * 3
    assert (len(part.load_n), part.foot_stance_cm.shape) == (3, (3, 3))
    assert part.swings[0] == STEPS.swings[3]
    cut, whole = part.swings[-1], STEPS.swings[6]
    assert (cut.lift_off_s, cut.touch_down_s, cut.clearance_cm) == (whole.lift_off_s, end_s, whole.clearance_cm)
    assert (cut.begin_known, cut.end_known, whole.end_known) == (True, False, True)
    (late,) = STEPS.within(float(STEPS.lift_off_s[2]) + 0.1, float(STEPS.touch_down_s[2]) + 0.1).swings
    assert (late.begin_known, late.end_known) == (False, True)
    inside = STEPS.thc_minima_s[(STEPS.thc_minima_s >= begin_s) & (STEPS.thc_minima_s <= end_s)]
    assert part.thc_minima_s.tolist() == part.pace_minima_s.tolist() == inside.tolist()
    assert len(inside) >= 3


@pytest.mark.parametrize(
    ("lift_off_s", "end_s", "recorded"),
    [
        # What is missing is more than 0.2 s, or more than half of it; less, and that is borne.
        (3.5, 4.5, False),
        (3.93, 4.18, False),
        (3.5, 4.1, True),
        (4.2, 5.0, True),
        # A gap of less than 0.2 s is none, and neither end of the record is one for what lies within it.
        (6.0, 6.2, True),
        (0.0, 0.5, True),
        (9.5, 10.0, True),
        (-0.3, 0.5, False),
        (9.7, 10.3, False),
        (20.0, 21.0, False),
    ],
)
def test_a_step_is_recorded_where_little_of_it_is_missing(lift_off_s: float, end_s: float, recorded: bool) -> None:
    t_s = np.round(np.arange(0.0, 10.005, 0.01), 6)
    t_s = t_s[((t_s <= 4.0) | (t_s >= 4.25)) & ((t_s <= 6.0) | (t_s >= 6.15))]
    log = Series(t_s, np.zeros((len(t_s), 0)), (), ())
    steps = replace(STEPS, lift_off_s=np.array([lift_off_s]), end_s=np.array([end_s]))
    assert recorded_steps(log, steps).tolist() == [recorded]
