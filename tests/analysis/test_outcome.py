"""The outcome classifier, on legs of every kind and on their neighbours just across each bound."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.judge import judge
from nuc_engine.analysis.outcome import CYCLIC, Outcome, classify, last_lift_off, step_kinds, still_since
from nuc_engine.analysis.steps import detect_steps
from nuc_engine.analysis.tracks import LegTracks, find_stance_action
from tests.analysis.gaits import (
    BACKWARD,
    NOISY,
    PAPER_LEGS,
    SIDEWAYS,
    dragging,
    flying,
    frozen_after,
    joined,
    restricted_leg,
    stick_leg,
)
from tests.analysis.synthetic import DEP, EXT, FLX, FWD, ITB, LEV, leg, with_module

WINDOW = (0.0, 20.0)


def kind(tracks: LegTracks, window: tuple[float, float] = WINDOW, settle_s: float = 3.0) -> str:
    outcome = classify(tracks, window, settle_s=settle_s)
    assert outcome.cyclic == (outcome.kind in CYCLIC)
    assert bool(outcome.state) == (outcome.kind == "stuck")
    return outcome.kind


def switching(tracks: LegTracks, role: str, period_s: float, share: float = 0.5) -> LegTracks:
    """A module that goes to and fro between its two actions, whatever the joint does."""
    module = tracks.module(role)  # type: ignore[arg-type]
    first, second = module.actions[:2]
    action = np.where((tracks.t_state_s + 1e-6) % period_s < share * period_s, first, second)
    return with_module(tracks, role, action=action)


@pytest.mark.parametrize("noise", [{}, NOISY], ids=["clean", "noisy"])
@pytest.mark.parametrize("expected", list(PAPER_LEGS))
def test_gaits_are_called_by_their_names(expected: str, noise: dict[str, float]) -> None:
    outcome = classify(PAPER_LEGS[expected](**noise), WINDOW)
    assert (outcome.kind, outcome.cyclic, outcome.reasons) == (expected, True, ())
    assert outcome.resembles[0] == expected
    assert outcome.steady == (3.0, 20.0)


@pytest.mark.parametrize("expected", list(PAPER_LEGS))
def test_outcome_and_verdict_agree(expected: str) -> None:
    assert judge(PAPER_LEGS[expected](), expected, WINDOW).stepping  # type: ignore[arg-type]


NEIGHBOURS = [
    ("FWD", {"stride_cm": (-1.7, 0.0)}, {"stride_cm": (-1.2, 0.0)}, "unnamed cycle"),
    ("ITF", {"stride_cm": (0.0, -1.7)}, {"stride_cm": (0.0, -1.2)}, "unnamed cycle"),
    ("FWD", {"fti_deg": -6.5}, {"fti_deg": +6.5}, "unnamed cycle"),
    ("ITB", {"ctr_deg": +8.0}, {"ctr_deg": -8.0}, "ITF"),
    ("ITB", {"stride_cm": (3.0, -1.7)}, {"stride_cm": (3.0, -1.2)}, "backward"),
    ("backward", {"stride_cm": (1.7, 0.0)}, {"stride_cm": (1.2, 0.0)}, "unnamed cycle"),
    ("stick", {"stride_cm": (-1.7, 0.0)}, {"stride_cm": (-1.2, 0.0)}, "unnamed cycle"),
    ("sideways", {"stride_cm": (0.0, -1.7)}, {"stride_cm": (0.0, -1.2)}, "unnamed cycle"),
    ("FWD", {"period_s": 0.35}, {"period_s": 0.25}, "chattering"),
    ("FWD", {"ctr_deg": -6.5}, {"ctr_deg": -4.0}, "irregular"),
    ("FWD", {"lift_cm": 0.6}, {"lift_cm": 0.1}, "dragging cycle"),
    ("FWD", {"jitter": 0.1}, {"jitter": 0.5}, "irregular"),
]


@pytest.mark.parametrize(("name", "inside", "outside", "otherwise"), NEIGHBOURS)
def test_neighbours_across_a_bound_are_told_apart(
    name: str, inside: dict[str, Any], outside: dict[str, Any], otherwise: str
) -> None:
    make = PAPER_LEGS[name]
    assert (kind(make(**inside)), kind(make(**outside))) == (name, otherwise)


def test_a_thorax_coxa_joint_that_does_not_move_is_held() -> None:
    moves = replace(SIDEWAYS, stride_cm=(-3.0, -6.0))
    assert kind(stick_leg(replace(moves, thc_deg=3.5))) == "sideways"
    assert kind(stick_leg(replace(moves, thc_deg=8.0))) == "stick"
    asked = judge(stick_leg(replace(moves, thc_deg=8.0)), "sideways", WINDOW)
    assert [check.name for check in asked.checks if not check.ok] == ["ThC held"]


def test_a_joint_that_is_held_takes_no_part_whatever_its_actions_do() -> None:
    """As in the restricted preparation: the module switches, its motor stays where it is."""
    held = stick_leg(replace(SIDEWAYS, thc_deg=0.5, noise_deg=0.3))
    for tracks in (held, switching(held, "ThC", 0.1), replace(switching(held, "ThC", 0.1), contact_n=None)):
        assert not tracks.thc_acts
        assert tracks.pacing_module.role == "FTi"
        assert kind(tracks) == "sideways"
    assert judge(switching(held, "ThC", 0.1), "sideways", WINDOW).stepping
    assert not judge(held, "stick", WINDOW).stepping
    outcome = classify(dragging(held), WINDOW)
    assert (outcome.kind, outcome.resembles) == ("dragging cycle", ("sideways",))
    assert outcome.cycle_s == pytest.approx(1.4, abs=0.02)
    # All modules are part of a global state.
    assert len(classify(frozen_after(held, 10.0), WINDOW).state) == 3


def test_inward_is_towards_the_body_on_either_side() -> None:
    assert kind(restricted_leg(replace(SIDEWAYS, side=1.0))) == "sideways"
    assert kind(restricted_leg(replace(SIDEWAYS, stride_cm=(0.0, 6.0)))) == "unnamed cycle"


def test_a_cycle_without_a_name_is_a_cycle_and_says_why_it_has_none() -> None:
    outcome = classify(leg(replace(FWD, stride_cm=(7.0, 0.5))), WINDOW)
    assert (outcome.kind, outcome.cyclic, outcome.resembles) == ("unnamed cycle", True, ())
    assert any(reason.startswith("not FWD: foot rearward in stance (median): -6.") for reason in outcome.reasons)


@pytest.mark.parametrize("name", ["FWD", "ITF", "ITB", "stick", "sideways"])
def test_a_foot_that_stays_down_drags_and_still_resembles(name: str) -> None:
    outcome = classify(dragging(PAPER_LEGS[name]()), WINDOW)
    assert (outcome.kind, outcome.cyclic) == ("dragging cycle", False)
    assert name in outcome.resembles
    assert "cycles of" in outcome.reasons[0]


def test_dragging_needs_a_cycle_that_repeats() -> None:
    uneven = dragging(leg(replace(FWD, jitter=0.5), 30.0))
    assert kind(uneven, (0.0, 30.0)) == "irregular"
    assert kind(frozen_after(dragging(leg(FWD)), 14.0)) == "stuck"
    late = joined(frozen_after(dragging(leg(FWD, 8.0)), 0.1), dragging(leg(FWD, 12.0)))
    assert kind(late) == "irregular"
    # Only the FTi joint moves enough, and only the CTr joint.
    assert kind(dragging(leg(replace(FWD, thc_deg=4.0, ctr_deg=4.0)))) == "dragging cycle"
    assert kind(dragging(leg(replace(FWD, thc_deg=4.0, fti_deg=4.0)))) == "irregular"


def test_a_tenth_of_the_time_in_the_air_is_no_longer_dragging() -> None:
    """Swings of 0.11 s: a share of 9 % in a period of 1.2 s, of 14 % in one of 0.8 s."""
    for period_s, expected in ((1.2, "dragging cycle"), (0.8, "FWD")):
        tracks = leg(replace(FWD, period_s=period_s, swing_share=0.11 / period_s, action_lead=0.0))
        assert kind(tracks) == expected


@pytest.mark.parametrize(("every", "expected"), [(4, "irregular"), (7, "dragging cycle")])
def test_a_foot_that_now_and_then_leaves_the_ground_drags(every: int, expected: str) -> None:
    """One swing in four cycles is 14 % of the time, one in seven 8 %."""
    tracks = leg(FWD)
    down = (tracks.t_foot_s // 0.9).astype(int) % every != 0
    assert kind(replace(tracks, contact_n=np.where(down, 0.8, tracks.contact_n))) == expected


def test_cycling_without_ground_is_stepping_in_the_air() -> None:
    for name in ("FWD", "ITB", "stick", "sideways"):
        outcome = classify(flying(PAPER_LEGS[name]()), WINDOW)
        assert (outcome.kind, outcome.cyclic) == ("air stepping", False)
        assert name in outcome.resembles


def test_brushing_the_ground_is_still_air_stepping() -> None:
    tracks = leg(FWD)
    for touch_s, expected in ((0.07, True), (0.12, False)):
        force = np.where(tracks.t_foot_s % 0.9 < touch_s, 1.0, 0.0)
        assert (kind(replace(tracks, contact_n=force)) == "air stepping") is expected


def test_a_leg_that_stops_is_stuck_in_the_actions_it_stopped_in() -> None:
    for stop_s, expected in (
        (12.3, ("TC1_protractionDEP", "CTr_DepressionRET", "FT_Extension")),
        (12.75, ("TC1_retractionLEV", "CTr_LevationPRO", "FT_Flexion")),
    ):
        outcome = classify(frozen_after(leg(FWD), stop_s), WINDOW)
        assert (outcome.kind, outcome.cyclic, outcome.state) == ("stuck", False, expected)


def test_the_state_is_what_is_longest_in_force() -> None:
    tracks = frozen_after(leg(FWD), 12.3)
    held = tracks.module("ThC").action[-1]
    other = DEP if held == LEV else LEV
    blinking = np.where(tracks.t_state_s > 19.6, other, tracks.module("ThC").action)
    assert classify(with_module(tracks, "ThC", action=blinking), WINDOW).state == classify(tracks, WINDOW).state


def test_switching_without_movement_is_chattering_from_six_times_on() -> None:
    still = frozen_after(leg(FWD), 10.0)
    action = still.module("FTi").action.copy()
    for changes, expected in ((5, "stuck"), (6, "chattering")):
        edges = 17.2 + 0.4 * np.arange(changes)
        flips = np.searchsorted(edges, still.t_state_s)
        codes = np.where(flips % 2 == 0, action[-1], EXT + FLX - action[-1])
        assert kind(with_module(still, "FTi", action=codes)) == expected


def test_in_a_short_window_the_end_is_shorter_and_fewer_changes_are_chattering() -> None:
    still = frozen_after(leg(FWD), 10.0)
    action = still.module("FTi").action.copy()
    for changes, expected in ((2, "stuck"), (3, "chattering")):
        flips = np.searchsorted(15.7 + 0.4 * np.arange(changes), still.t_state_s)
        codes = np.where(flips % 2 == 0, action[-1], EXT + FLX - action[-1])
        outcome = classify(with_module(still, "FTi", action=codes), (11.0, 17.0))
        assert outcome.kind == expected
        assert "no joint covers 5 degrees in the last 1.5 s" in outcome.reasons[0]
        assert ("Femur-Tibia changes its action 3 times in them" in outcome.reasons[0]) == (expected == "chattering")


def test_in_what_changes_are_counted_is_said() -> None:
    cycling, creeping = (dragging(leg(replace(FWD, period_s=period_s))) for period_s in (0.9, 30.0))
    said = [classify(switching(tracks, "CTr", 0.25), WINDOW).reasons[0] for tracks in (cycling, creeping)]
    assert said[0].startswith("Coxa-Trochanter changes its action 7.19 times per joint cycle, more than 6")
    assert said[1].startswith("Coxa-Trochanter changes its action 8 times per second, more than 6")


def test_actions_that_follow_each_other_too_fast_are_chattering() -> None:
    assert kind(switching(leg(FWD), "CTr", 0.05)) == "chattering"
    # Without steps to count in: 5.1 changes in each joint cycle of 0.9 s, and 7.2.
    assert kind(switching(dragging(leg(FWD)), "CTr", 0.35)) == "dragging cycle"
    assert kind(switching(dragging(leg(FWD)), "CTr", 0.25)) == "chattering"
    # In joint cycles of 0.4 s: 5.3 changes, which are 13 per second.
    quick = dragging(leg(replace(FWD, period_s=0.4)))
    assert kind(switching(quick, "CTr", 0.15)) == "dragging cycle"
    # Without any cycles: 5.7 changes per second, and 6.7.
    creeping = dragging(leg(replace(FWD, period_s=30.0)))
    assert kind(switching(creeping, "CTr", 0.35)) == "irregular"
    assert kind(switching(creeping, "CTr", 0.30)) == "chattering"


def test_a_foot_that_steps_without_the_actions_is_known() -> None:
    tracks = leg(FWD)
    idle = with_module(tracks, "ThC", action=np.full_like(tracks.module("ThC").action, tracks.module("ThC").actions[0]))
    for each, name in ((idle, "irregular"), (switching(tracks, "CTr", 0.05), "chattering")):
        outcome = classify(each, WINDOW)
        assert (outcome.kind, outcome.cyclic, outcome.foot_steps) == (name, False, True)
    assert classify(tracks, WINDOW).foot_steps
    for other in (dragging(tracks), frozen_after(tracks, 10.0), leg(replace(FWD, jitter=0.5))):
        assert not classify(other, WINDOW).foot_steps


def test_a_pause_in_the_middle_is_irregular() -> None:
    tracks = joined(joined(leg(FWD, 8.0), frozen_after(leg(FWD, 4.0), 0.6)), leg(FWD, 8.0))
    outcome = classify(tracks, WINDOW)
    assert outcome.kind == "irregular"
    assert any("longest stretch without a lift-off" in reason for reason in outcome.reasons)


@pytest.mark.parametrize("name", list(PAPER_LEGS))
def test_windows_of_a_few_seconds_are_enough(name: str) -> None:
    tracks = PAPER_LEGS[name]()
    period_s = 0.9 if name in ("FWD", "ITF", "ITB", "backward") else 1.5
    length_s = 4.0 if period_s < 1.4 else 5.0
    for begin in (4.0, 4.3, 4.6, 4.9, 5.2):
        assert kind(tracks, (begin, begin + length_s), settle_s=0.0) == name
        assert kind(tracks, (begin, begin + length_s + 1.0), settle_s=1.0) == name


def test_in_four_seconds_a_leg_that_stops_half_way_is_no_cycle() -> None:
    tracks = leg(FWD)
    assert kind(frozen_after(tracks, 5.8), (4.0, 8.0), settle_s=0.0) == "stuck"
    for stop_s in (6.2, 6.4):
        assert kind(frozen_after(tracks, stop_s), (4.0, 8.0), settle_s=0.0) == "irregular"


@pytest.mark.parametrize(("steps", "expected"), [(4, False), (5, True)])
def test_long_windows_ask_for_five_steps(steps: int, expected: bool) -> None:
    """A gait so slow that just so many complete steps fit into 17 s."""
    period_s = 17.0 / (steps + 0.6)
    assert classify(leg(replace(FWD, period_s=period_s)), WINDOW, settle_s=3.0).cyclic is expected


def test_what_happens_before_a_window_does_not_decide_what_is_a_cycle_in_it() -> None:
    """Small movements after large ones: a quarter of the whole record's range would hide them."""
    small = replace(FWD, thc_deg=8.0, fti_deg=-12.0, ctr_deg=-8.0)
    tracks = joined(leg(replace(FWD, thc_deg=90.0, fti_deg=-90.0)), leg(small))
    assert kind(dragging(tracks), (20.0, 40.0)) == "dragging cycle"
    assert kind(tracks, (20.0, 40.0)) == "FWD"


@pytest.mark.parametrize("name", list(PAPER_LEGS))
def test_without_a_contact_record_the_joints_tell_what_they_can(name: str) -> None:
    tracks = replace(PAPER_LEGS[name](), contact_n=None)
    outcome = classify(tracks, WINDOW)
    assert (outcome.kind, outcome.cyclic, outcome.contact_known) == (name, True, False)
    assert outcome.reasons == ("contact with the ground was not recorded: swing and stance are taken from the actions",)
    assert classify(replace(frozen_after(leg(FWD), 12.0), contact_n=None), WINDOW).kind == "stuck"


def test_spikes_of_the_load_signal_make_no_swings() -> None:
    tracks = stick_leg(contact=False)
    action = tracks.module("ThC").action.copy()
    action[::60] = tracks.module("ThC").actions[0]
    action[30::60] = tracks.module("ThC").actions[1]
    spiky = with_module(tracks, "ThC", action=action)
    assert len(detect_steps(spiky)) == pytest.approx(len(detect_steps(tracks)), abs=1)


def test_single_samples_of_pressing_down_make_no_stance() -> None:
    tracks = leg(FWD, contact=False)
    action = tracks.module("ThC").action.copy()
    in_swing = np.flatnonzero((tracks.t_state_s % 0.9 > 0.15) & (tracks.t_state_s % 0.9 < 0.2))
    action[in_swing[::2]] = DEP
    spiky = detect_steps(with_module(tracks, "ThC", action=action))
    np.testing.assert_allclose(spiky.touch_down_s, detect_steps(tracks).touch_down_s)


def test_in_a_roach_leg_stance_is_what_the_other_joints_do_when_pressing_down_ends() -> None:
    """The thorax-coxa joint leads by 0.15 s; CTr goes over to stance with the contact, whichever action that is."""
    tracks = leg(replace(FWD, action_lead=0.0))
    thc = tracks.module("ThC").action
    early = with_module(tracks, "ThC", action=np.concatenate((thc[6:], thc[-6:])))
    for names in (("CTr_LevationPRO", "CTr_DepressionRET"), ("CTr_DepressionRET", "CTr_LevationPRO")):
        by_actions = detect_steps(with_module(early, "CTr", action_names=names), by="actions")
        truth = detect_steps(early)
        assert not by_actions.contact_known
        np.testing.assert_allclose(by_actions.touch_down_s[1:10], truth.touch_down_s[1:10], atol=0.03)
        np.testing.assert_allclose(by_actions.end_s[1:10], truth.end_s[1:10], atol=0.03)


def test_single_steps_have_names_of_their_own() -> None:
    tracks = joined(leg(BACKWARD, 5.0), leg(ITB, 10.0))
    seen = step_kinds(tracks, detect_steps(tracks), 0.0, 15.0)
    counts = Counter(step.kind for step in seen)
    # The step in which the one becomes the other may be like either, or like none.
    assert counts["backward"] >= 4
    assert counts["ITB"] >= 9
    assert all(step.kind == "backward" for step in seen if step.end_s < 4.8)
    assert all(step.kind == "ITB" for step in seen if step.lift_off_s > 5.5)
    assert [s.kind for s in step_kinds(tracks, detect_steps(tracks), 7.0, 9.0)] == ["ITB"]


def test_steps_like_nothing_have_no_name() -> None:
    tracks = leg(replace(FWD, stride_cm=(7.0, 0.0)))
    assert {step.kind for step in step_kinds(tracks, detect_steps(tracks), 0.0, 20.0)} == {""}


def test_the_cycles_of_a_dragging_leg_have_names_too() -> None:
    tracks = dragging(leg(BACKWARD))
    assert len(detect_steps(tracks)) == 0
    seen = step_kinds(tracks, detect_steps(tracks, by="actions"), 0.0, 20.0)
    assert len(seen) > 15
    assert {step.kind for step in seen} == {"backward"}


def test_the_last_lift_off_is_found() -> None:
    steps = detect_steps(frozen_after(leg(FWD), 12.0))
    assert last_lift_off(steps, 0.0, 20.0) == pytest.approx(11.7, abs=0.02)
    assert last_lift_off(steps, 0.0, 10.0) == pytest.approx(9.9, abs=0.02)
    assert last_lift_off(steps, 12.5, 20.0) is None


def test_when_a_leg_came_to_rest_is_found() -> None:
    tracks = frozen_after(leg(replace(FWD, noise_deg=0.3)), 12.0)
    assert still_since(tracks, 0.0, 20.0) == pytest.approx(12.0, abs=0.15)
    assert still_since(tracks, 5.0, 14.0) is None
    assert still_since(tracks, 11.0, 14.0) == pytest.approx(12.0, abs=0.15)
    assert still_since(leg(FWD), 0.0, 20.0) is None


def test_a_held_joint_does_not_keep_a_leg_from_being_judged() -> None:
    tracks = restricted_leg()
    assert find_stance_action(tracks.modules) == EXT
    assert (tracks.thc_acts, tracks.pacing_module.role, tracks.stance_module.role) == (False, "FTi", "FTi")
    steps = detect_steps(tracks).within(3.0, 20.0)
    assert len(steps.thc_minima_s) == 0
    assert len(steps.pace_minima_s) == pytest.approx(12, abs=1)
    with pytest.raises(AnalysisError, match="no joint between thorax and coxa"):
        find_stance_action(tracks.modules[:1])


def test_windows_outside_the_record_are_errors() -> None:
    with pytest.raises(AnalysisError, match="reaches beyond the record"):
        classify(leg(FWD), (0.0, 60.0))
    with pytest.raises(AnalysisError, match="not longer than the 2 s"):
        classify(leg(FWD), (10.0, 12.0), settle_s=2.0)


def test_steps_may_be_given_and_change_nothing() -> None:
    tracks = leg(FWD)
    assert classify(tracks, WINDOW, steps=detect_steps(tracks)) == classify(tracks, WINDOW)


def without(tracks: LegTracks, begin_s: float, end_s: float) -> LegTracks:
    """The same leg with nothing recorded in a stretch of time."""
    state, sensor, foot = (
        (times < begin_s) | (times > end_s) for times in (tracks.t_state_s, tracks.t_sensor_s, tracks.t_foot_s)
    )
    return replace(
        tracks,
        t_state_s=tracks.t_state_s[state],
        t_sensor_s=tracks.t_sensor_s[sensor],
        t_foot_s=tracks.t_foot_s[foot],
        modules=tuple(replace(m, angle_deg=m.angle_deg[sensor], action=m.action[state]) for m in tracks.modules),
        foot_cm=tracks.foot_cm[foot],
        contact_n=None if tracks.contact_n is None else tracks.contact_n[foot],
    )


@pytest.mark.parametrize(("length_s", "told"), [(0.15, False), (0.3, True), (3.0, True)])
def test_a_gap_in_the_record_is_told(length_s: float, told: bool) -> None:
    outcome = classify(without(leg(FWD), 10.0, 10.0 + length_s), WINDOW)
    gaps = [reason for reason in outcome.reasons if "nothing recorded" in reason]
    assert len(gaps) == (3 if told else 0)
    assert all(re.search(r"for (0\.3|3\.0)\d s from (9\.9\d|10\.00) s on", reason) for reason in gaps)


def test_what_is_left_out_at_the_beginning_may_be_missing() -> None:
    assert classify(without(leg(FWD), 0.5, 2.99), WINDOW).reasons == ()


def test_a_record_that_ends_early_is_told_and_changes_no_name() -> None:
    outcome = classify(without(leg(FWD), 19.6, 20.0), WINDOW)
    assert outcome.kind == "FWD"
    assert len([reason for reason in outcome.reasons if "from 19.6" in reason or "from 19.5" in reason]) == 3


def test_a_foot_that_was_computed_from_the_angles_is_not_told_twice() -> None:
    tracks = without(leg(FWD, contact=False), 10.0, 11.0)
    tracks = replace(tracks, t_foot_s=tracks.t_sensor_s, foot_cm=np.zeros((len(tracks.t_sensor_s), 3)))
    gaps = [reason for reason in classify(tracks, WINDOW).reasons if "nothing recorded" in reason]
    assert [gap.partition(":")[0] for gap in gaps] == ["joint angles", "actions"]


def test_an_outcome_may_be_made_without_the_extras() -> None:
    seen = classify(leg(FWD), WINDOW)
    plain = Outcome(seen.kind, seen.cyclic, seen.state, seen.steady, seen.reasons, seen.measures)
    assert (plain.resembles, plain.contact_known) == ((), True)


def test_the_criteria_are_those_of_the_page() -> None:
    """Every number printed in bold in docs/outcomes.md is the classifier's, in the page's order."""
    page = (Path(__file__).parents[2] / "docs" / "outcomes.md").read_text(encoding="utf-8")
    bold = [float(x) for x in re.findall(r"\*\*([0-9.]+)[ %a-zA-Z]*\*\*", page)]
    c = DEFAULT_CRITERIA
    assert bold == pytest.approx(
        [
            c.min_excursion_deg,
            c.still_s,
            c.chatter_switches,
            c.max_switch_rate_hz,
            c.min_phase_share * 100,
            c.idle_switches,
            c.max_unrecorded_s,
            c.short_window_s,
            c.fewest_steps,
            c.max_gap_share * 100,
            c.min_gap_periods,
            c.still_share * 100,
        ]
    )


@pytest.mark.parametrize("switching", [False, True])
def test_a_hole_at_the_end_that_hides_the_movement_leaves_the_window_without_an_outcome(switching: bool) -> None:
    """Angles alone are missing: nothing moves in what was recorded, and actions follow each other."""
    tracks = leg(FWD) if switching else frozen_after(leg(FWD), 10.0)
    hidden = (tracks.t_sensor_s > 14.9) & (tracks.t_sensor_s < 18.1)
    holed = replace(
        tracks,
        t_sensor_s=tracks.t_sensor_s[~hidden],
        modules=tuple(replace(module, angle_deg=module.angle_deg[~hidden]) for module in tracks.modules),
    )
    with pytest.raises(AnalysisError, match=r"joint angles: nothing recorded for 3\.00 s from 15\.00 s on"):
        classify(holed, (0.0, 18.0))
    with pytest.raises(AnalysisError, match="whether the leg stands still in the last 3 s is not known"):
        judge(holed, "FWD", (0.0, 18.0))
    # A short one hides nothing of a leg that stands.
    kind = classify(without(frozen_after(leg(FWD), 10.0), 18.0, 18.4), WINDOW).kind
    assert kind == "stuck"
