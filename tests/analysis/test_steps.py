"""The step detector: which steps are whole, what modules do in them, in which order, and what is left in a window."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nuc_engine.analysis.cycle import recorded_steps
from nuc_engine.analysis.series import Series
from nuc_engine.analysis.steps import detect_steps, step_order
from nuc_engine.analysis.tracks import LegTracks
from tests.analysis.synthetic import DEP, EXT, FLX, FWD, LEV, PRO_CTR, RET_CTR, leg, with_module

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


PERIOD_S, STEP_S = 1.0, 0.025


def at_phases(**begins: dict[int, float]) -> LegTracks:
    """Steps of exactly one second, lift-off at whole seconds, touch-down at 0.55; actions begin at the given phases."""
    tracks = leg(replace(FWD, period_s=PERIOD_S))
    for role, phases in begins.items():
        order = sorted(phases, key=phases.__getitem__)
        edges = [phases[code] for code in order]
        phase = (tracks.t_state_s + 1e-9) % PERIOD_S
        action = np.array(order)[(np.searchsorted(edges, phase, side="right") - 1) % len(order)]
        tracks = with_module(tracks, role, action=action)
    return tracks


def order_of(tracks: LegTracks) -> dict[str, float]:
    return {event.what: event.phase for event in step_order(tracks, detect_steps(tracks))}


KNOWN = {"ThC": {LEV: 0.9, DEP: 0.4}, "CTr": {PRO_CTR: 0.2, RET_CTR: 0.6}, "FTi": {FLX: 0.1, EXT: 0.5}}


def test_events_come_in_the_order_in_which_they_happen() -> None:
    phases = order_of(at_phases(**KNOWN))
    assert list(phases) == [
        "lift-off",
        "FT_Flexion",
        "CTr_LevationPRO",
        "TC1_protractionDEP",
        "FT_Extension",
        "touch-down",
        "CTr_DepressionRET",
        "TC1_retractionLEV",
    ]
    assert list(phases.values()) == pytest.approx([0.0, 0.1, 0.2, 0.4, 0.5, 0.55, 0.6, 0.9], abs=STEP_S)


def test_what_begins_shortly_before_lift_off_is_averaged_on_the_circle() -> None:
    """Every other flexion begins at 0.9 and lasts: it is the longest one of its own step (phase 0.9), and of the step
    after it too (phase -0.1)."""
    tracks = at_phases(**KNOWN)
    brief, lasting = at_phases(FTi={FLX: 0.6, EXT: 0.05}), at_phases(FTi={FLX: 0.9, EXT: 0.45})
    second = np.floor(tracks.t_state_s + 0.5).astype(int) % 2 == 0
    action = np.where(second, brief.module("FTi").action, lasting.module("FTi").action)
    assert order_of(with_module(tracks, "FTi", action=action))["FT_Flexion"] == pytest.approx(0.9, abs=STEP_S)


def test_chatter_does_not_hide_the_order() -> None:
    tracks = at_phases(**KNOWN)
    action = tracks.module("FTi").action.copy()
    phase = (tracks.t_state_s + 1e-9) % PERIOD_S
    action[(phase >= 0.3) & (phase < 0.3 + STEP_S)] = EXT
    assert order_of(with_module(tracks, "FTi", action=action))["FT_Extension"] == pytest.approx(0.5, abs=STEP_S)


def test_modules_and_actions_that_do_not_alternate_are_left_out() -> None:
    tracks = at_phases(**KNOWN)
    held = with_module(tracks, "FTi", action=np.full_like(tracks.module("FTi").action, FLX))
    assert "FT_Extension" not in order_of(held)
    single = with_module(held, "FTi", actions=(FLX,), action_names=("FT_Flexion",))
    assert not {"FT_Extension", "FT_Flexion"} & set(order_of(single))
