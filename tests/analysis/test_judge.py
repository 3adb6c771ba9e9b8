"""The step detector and its verdicts, on gaits of known shape and on legs that only seem to step."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.judge import WindowVerdict, judge
from nuc_engine.analysis.steps import detect_steps
from nuc_engine.analysis.tracks import LegTracks, ModuleTrack, joint_role, stance_action
from tests.analysis.synthetic import DEP, FWD, ITB, ITF, LEV, STICK, Gait, leg, with_module

WINDOW = (0.0, 20.0)
GAITS = {"FWD": FWD, "ITF": ITF, "ITB": ITB, "stick": STICK}


def failing(verdict: WindowVerdict) -> set[str]:
    return {check.name for check in verdict.checks if not check.ok}


@pytest.mark.parametrize("behaviour", list(GAITS))
@pytest.mark.parametrize("noise", [0.0, 1.0], ids=["clean", "noisy"])
def test_good_gaits_step(behaviour: str, noise: float) -> None:
    gait = replace(GAITS[behaviour], noise_deg=0.5 * noise, noise_cm=0.02 * noise, jitter=0.05 * noise)
    verdict = judge(leg(gait), behaviour, WINDOW)
    assert verdict.reasons == ()
    assert (verdict.stepping, verdict.kind, verdict.resembles) == (True, "stepping", (behaviour,))


@pytest.mark.parametrize(
    ("shown", "asked", "betrayed_by"),
    [
        ("FWD", "ITF", {"FTi", "inward"}),
        ("ITF", "FWD", {"FTi", "rearward"}),
        ("ITF", "ITB", {"CTr"}),
        ("ITB", "ITF", {"CTr"}),
        ("STICK", "FWD", {"FTi"}),
    ],
)
def test_one_behaviour_is_not_taken_for_another(shown: str, asked: str, betrayed_by: set[str]) -> None:
    verdict = judge(leg(GAITS.get(shown, STICK)), asked, WINDOW)
    assert (verdict.stepping, verdict.kind) == (False, "wrong direction")
    assert betrayed_by <= failing(verdict)


def test_forward_steps_of_a_foot_that_moves_forward_in_stance_are_refused() -> None:
    verdict = judge(leg(replace(FWD, stride_cm=(+7.0, 0.5))), "FWD", WINDOW)
    assert verdict.kind == "wrong direction"
    assert failing(verdict) == {"rearward", "rearward sign"}


def test_inward_is_towards_the_body_on_either_side() -> None:
    right = replace(ITF, side=-1.0)
    assert judge(leg(right), "ITF", WINDOW).stepping
    outward = replace(right, stride_cm=(-1.0, +5.0))
    assert failing(judge(leg(outward), "ITF", WINDOW)) == {"inward", "inward sign"}


def test_step_times_durations_and_movements_are_those_of_the_gait() -> None:
    steps = detect_steps(leg(FWD)).within(3.0, 20.0)
    assert len(steps) == 18
    np.testing.assert_allclose(steps.period_s, 0.9, atol=0.021)
    np.testing.assert_allclose(steps.swing_s, 0.9 * 0.55, atol=0.021)
    np.testing.assert_allclose(steps.stance_s, 0.9 * 0.45, atol=0.021)
    np.testing.assert_allclose(steps.thc_period_s, 0.9, atol=0.021)
    np.testing.assert_allclose(steps.foot_stance_cm[:, 0], -7.0, atol=0.4)
    np.testing.assert_allclose(steps.foot_swing_cm[:, 0], 7.0, atol=0.4)
    np.testing.assert_allclose(steps.module("FTi").change_stance_deg, -60.0, atol=4)
    np.testing.assert_allclose(steps.module("CTr").range_deg, 40.0, atol=1)
    np.testing.assert_allclose(steps.clearance_cm, 2.0, atol=0.2)
    np.testing.assert_allclose(steps.load_n, 0.8)
    assert set(steps.module("FTi").switches.tolist()) == {2}
    assert set(steps.module("FTi").visited.tolist()) == {2}


def dead() -> LegTracks:
    """Stands on the ground, a little noise on the sensors."""
    tracks = leg(replace(FWD, noise_deg=0.5))
    modules = tuple(
        replace(m, action=np.full_like(m.action, m.actions[0]), angle_deg=60 + 0.3 * np.sin(tracks.t_sensor_s))
        for m in tracks.modules
    )
    still = np.tile([0.0, 18.0, 0.0], (len(tracks.t_foot_s), 1))
    return replace(tracks, modules=modules, foot_cm=still, contact_n=np.full(len(tracks.t_foot_s), 0.8))


def test_a_dead_leg_is_dead() -> None:
    verdict = judge(dead(), "FWD", WINDOW)
    assert verdict.kind == "dead"
    assert {"steps", "gap", "alternates", "excursion", "swing"} <= failing(verdict)


def test_switching_at_the_threshold_without_movement_is_chatter() -> None:
    still = dead()
    codes = np.where(np.arange(len(still.t_state_s)) % 4 < 2, DEP, LEV)
    verdict = judge(with_module(still, "ThC", action=codes), "FWD", WINDOW)
    assert (verdict.stepping, verdict.kind) == (False, "chatter")


def test_small_fast_movements_over_the_threshold_are_chatter() -> None:
    verdict = judge(leg(replace(FWD, period_s=0.25, swing_share=0.5)), "FWD", WINDOW)
    assert (verdict.stepping, verdict.kind) == (False, "chatter")


def test_a_module_that_switches_at_every_tick_of_a_step_is_chatter() -> None:
    tracks = leg(FWD)
    ctr = tracks.module("CTr")
    codes = np.array(ctr.actions)[np.arange(len(ctr.action)) % 2]
    verdict = judge(with_module(tracks, "CTr", action=codes), "FWD", WINDOW)
    assert (verdict.kind, failing(verdict)) == ("chatter", {"chatter"})


def test_excursions_of_a_few_ticks_do_not_count() -> None:
    verdict = judge(leg(replace(FWD, ctr_deg=-3.0)), "FWD", WINDOW)
    assert not verdict.stepping
    assert {"excursion", "CTr"} <= failing(verdict)


def test_cycling_in_the_air_is_air_stepping() -> None:
    tracks = leg(FWD)
    foot = tracks.foot_cm + np.array([0.0, 0.0, 5.0])
    flying = replace(tracks, foot_cm=foot, contact_n=np.zeros(len(tracks.t_foot_s)))
    verdict = judge(flying, "FWD", WINDOW)
    assert (verdict.stepping, verdict.kind) == (False, "air stepping")
    assert {"contact", "steps"} <= failing(verdict)


def test_brushing_the_ground_is_still_air_stepping() -> None:
    """A touch of 20 ms in every cycle, and a long but weightless one, are no stances."""
    tracks = leg(FWD)
    touch = np.where((tracks.t_foot_s % 0.9) < 0.02, 1.0, 0.0)
    brushing = judge(replace(tracks, contact_n=touch), "FWD", WINDOW)
    assert brushing.kind == "air stepping"
    weightless = judge(replace(tracks, contact_n=0.07 * (tracks.contact_n > 0)), "FWD", WINDOW)
    assert not weightless.stepping
    assert "stance" in failing(weightless)


def test_a_foot_that_never_leaves_the_ground_is_dragging() -> None:
    tracks = leg(FWD)
    always = replace(tracks, contact_n=np.full(len(tracks.t_foot_s), 0.8))
    verdict = judge(always, "FWD", WINDOW)
    assert (verdict.stepping, verdict.kind) == (False, "dragging")
    assert "swing" in failing(verdict)


def test_scraping_along_without_height_is_dragging() -> None:
    """The foot loses contact for half of each period, but rises only a millimetre."""
    verdict = judge(leg(replace(FWD, lift_cm=0.1)), "FWD", WINDOW)
    assert (verdict.stepping, verdict.kind) == (False, "dragging")


def test_bounces_shorter_than_a_swing_belong_to_the_stance() -> None:
    tracks = leg(FWD)
    bounced = tracks.contact_n.copy()
    bounced[(tracks.t_foot_s % 0.9 > 0.6) & (tracks.t_foot_s % 0.9 < 0.65)] = 0.0
    assert len(detect_steps(replace(tracks, contact_n=bounced))) == len(detect_steps(tracks))


@pytest.mark.parametrize("role", ["ThC", "CTr", "FTi"])
def test_every_module_has_to_alternate(role: str) -> None:
    tracks = leg(FWD)
    stuck = tracks.module(role)  # type: ignore[arg-type]
    held = with_module(tracks, role, action=np.full_like(stuck.action, stuck.actions[1]))
    verdict = judge(held, "FWD", WINDOW)
    assert (verdict.stepping, verdict.kind) == (False, "irregular")
    assert "alternates" in failing(verdict)


def test_alternating_in_a_few_steps_only_is_not_enough() -> None:
    tracks = leg(FWD)
    fti = tracks.module("FTi")
    lazy = np.where(tracks.t_state_s < 14, fti.action, fti.actions[0])
    assert failing(judge(with_module(tracks, "FTi", action=lazy), "FWD", WINDOW)) == {"alternates"}


def test_a_module_with_one_action_need_not_alternate_or_move() -> None:
    held = leg(STICK)
    fti = held.module("FTi")
    one = with_module(
        held,
        "FTi",
        actions=(4,),
        action_names=("FT_Extension",),
        action=np.full_like(fti.action, 4),
        angle_deg=np.full_like(fti.angle_deg, 60.0),
    )
    assert judge(one, "stick", WINDOW).stepping


def frozen_after(tracks: LegTracks, stop_s: float) -> LegTracks:
    """The same leg, standing still from `stop_s` on."""

    def hold(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        return x[np.minimum(np.arange(len(t)), np.searchsorted(t, stop_s))]

    modules = tuple(
        replace(m, action=hold(tracks.t_state_s, m.action), angle_deg=hold(tracks.t_sensor_s, m.angle_deg))
        for m in tracks.modules
    )
    assert tracks.contact_n is not None
    return replace(
        tracks,
        modules=modules,
        foot_cm=hold(tracks.t_foot_s, tracks.foot_cm),
        contact_n=hold(tracks.t_foot_s, tracks.contact_n),
    )


@pytest.mark.parametrize("stop_s", [12.0, 12.3, 12.6])
def test_a_leg_that_stops_half_way_is_not_stepping(stop_s: float) -> None:
    verdict = judge(frozen_after(leg(FWD), stop_s), "FWD", WINDOW)
    assert (verdict.stepping, verdict.kind) == (False, "dead")
    assert "gap" in failing(verdict)
    assert verdict.measures.steps >= 8


def test_a_pause_in_the_middle_is_a_gap() -> None:
    tracks = leg(FWD)
    shift = np.where(tracks.t_foot_s < 9.0, 0.0, np.minimum(tracks.t_foot_s - 9.0, 3.6))
    at = np.searchsorted(tracks.t_foot_s, tracks.t_foot_s - shift)
    paused = replace(tracks, foot_cm=tracks.foot_cm[at], contact_n=tracks.contact_n[at])
    verdict = judge(paused, "FWD", WINDOW)
    assert (verdict.stepping, verdict.kind) == (False, "irregular")
    assert "gap" in failing(verdict)


def test_irregular_periods_are_refused() -> None:
    verdict = judge(leg(replace(FWD, jitter=0.4), 40.0), "FWD", (0.0, 40.0))
    assert (verdict.stepping, verdict.kind) == (False, "irregular")
    assert "regular" in failing(verdict)


def test_contact_in_the_wrong_action_is_refused() -> None:
    verdict = judge(leg(replace(FWD, action_lead=0.5)), "FWD", WINDOW)
    assert (verdict.kind, failing(verdict)) == ("irregular", {"loaded"})


def test_two_hops_per_joint_cycle_are_refused() -> None:
    tracks = leg(replace(FWD, period_s=1.8), 30.0)
    hops = leg(replace(FWD, period_s=0.6), 30.0)
    assert "cycles" in failing(judge(replace(hops, modules=tracks.modules), "FWD", (0.0, 30.0)))


def test_the_first_seconds_are_not_judged() -> None:
    """A leg that starts badly and settles within three seconds steps; one that takes longer does not."""
    for quiet_s, stepping in ((2.5, True), (8.0, False)):
        tracks = leg(FWD)
        force = np.where(tracks.t_foot_s < quiet_s, 0.8, tracks.contact_n)
        assert judge(replace(tracks, contact_n=force), "FWD", WINDOW).stepping is stepping


def test_windows_are_judged_apart() -> None:
    tracks = frozen_after(leg(FWD, 40.0), 22.0)
    assert judge(tracks, "FWD", (0.0, 20.0)).stepping
    assert judge(tracks, "FWD", (20.0, 40.0)).kind == "dead"


def test_without_a_contact_record_nothing_is_called_stepping() -> None:
    verdict = judge(leg(FWD, contact=False), "FWD", WINDOW)
    assert (verdict.stepping, verdict.kind) == (False, "cyclic")
    assert verdict.reasons == ("contact with the ground was not recorded",)
    assert judge(leg(ITF, contact=False), "FWD", WINDOW).kind == "wrong direction"


def test_windows_outside_the_record_are_errors() -> None:
    with pytest.raises(AnalysisError, match="reaches beyond the record"):
        judge(leg(FWD, 20.0), "FWD", (0.0, 60.0))
    with pytest.raises(AnalysisError, match="not longer than"):
        judge(leg(FWD, 20.0), "FWD", (10.0, 13.0))


def test_arrays_that_do_not_belong_together_are_errors() -> None:
    tracks = leg(FWD)
    with pytest.raises(AnalysisError, match="Thorax-Coxa1 has 10 values"):
        with_module(tracks, "ThC", angle_deg=np.zeros(10))


def test_missing_joints_are_named() -> None:
    tracks = leg(FWD)
    without = replace(tracks, modules=tracks.modules[:2])
    with pytest.raises(AnalysisError, match="FTi joint"):
        judge(without, "FWD", WINDOW)


def test_roles_and_stance_actions_come_from_the_names() -> None:
    names = ["Thorax-Coxa1", "Thorax-Coxa", "Coxa-Trochanter", "Femur-Tibia", "Tibia-Tarsus"]
    assert [joint_role(n) for n in names] == ["ThC", "ThC", "CTr", "FTi", ""]
    empty = np.zeros(0)
    roach = ModuleTrack("T", "ThC", (0, 1), ("TC1_protractionDEP", "TC1_retractionLEV"), empty.astype(np.int64), empty)
    stick = replace(roach, action_names=("TC_protraction", "TC_retraction"))
    assert (stance_action(roach), stance_action(stick)) == (0, 1)
    with pytest.raises(AnalysisError, match="stance action"):
        stance_action(replace(roach, action_names=("up", "down")))


def test_the_criteria_are_those_of_the_page() -> None:
    """Every number printed in bold in docs/stepping.md is the detector's, in the page's order."""
    page = (Path(__file__).parents[2] / "docs" / "stepping.md").read_text(encoding="utf-8")
    bold = [float(x) for x in re.findall(r"\*\*[a-z ]*([0-9.]+)[ %a-zA-Z]*\*\*", page)]
    c = DEFAULT_CRITERIA
    assert bold == pytest.approx(
        [
            c.contact_n,
            c.min_swing_s,
            c.min_clearance_legs * 100,
            c.min_stance_s,
            c.min_load_n,
            c.min_rise_deg,
            c.min_rise_range * 100,
            c.settle_s,
            c.min_steps,
            c.max_gap_periods,
            c.share_of_steps * 100,
            c.max_switches_per_action,
            c.min_period_s,
            c.min_excursion_deg,
            c.min_phase_share * 100,
            c.min_action_contact,
            c.max_cycle_mismatch * 100,
            c.max_cycle_mismatch_count,
            c.max_period_cv,
            c.max_period_s,
            c.share_of_steps * 100,
            c.min_angle_change_deg,
            c.min_stride_legs * 100,
            c.min_excursion_deg,
            c.still_s,
            c.chatter_switches,
        ]
    )


def test_verdicts_give_all_reasons_with_numbers() -> None:
    verdict = judge(dead(), "FWD", WINDOW)
    assert len(verdict.reasons) > 5
    assert any("complete steps: 0, expected at least 5" in reason for reason in verdict.reasons)


def test_gaits_of_other_speeds_step_too() -> None:
    for period in (0.6, 1.2, 2.4):
        assert judge(leg(Gait(period_s=period), 30.0), "FWD", (0.0, 30.0)).stepping
