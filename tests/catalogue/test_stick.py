"""Asks about the stick insect's step: each finds what it is about, and refuses what only looks like it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nuc_engine.analysis.steps import Steps
from nuc_engine.analysis.tracks import LegTracks
from nuc_engine.experiments.catalogue.stick import entries, nearest, path_by_angles
from nuc_engine.experiments.protocol import CriterionResult, Observation
from tests.analysis.synthetic import with_module
from tests.catalogue.seen import every, leg, observe, row_of, steps

ONSETS, LIFT_OFF, PATH = (row_of(f"stick-step {name}") for name in ("onsets", "lift-off", "path"))
DRIFT = row_of("stick-drift")


def alternating(thc_s: list[float], fti_s: list[float], duration_s: float = 60.0) -> LegTracks:
    """A leg that goes over to retraction and to flexion at these times, and back half a second later."""
    actions = {
        role: sorted(change for time in times for change in ((time, name), (time + 0.5, other)))
        for role, times, name, other in (
            ("ThC", thc_s, "TC1_retractionLEV", "TC1_protractionDEP"),
            ("FTi", fti_s, "FT_Flexion", "FT_Extension"),
        )
    }
    return leg(duration_s, actions)


def onsets(later_s: list[float]) -> CriterionResult:
    thc = every(8.0, 55.0, 1.5)
    fti = [time + later_s[k % len(later_s)] for k, time in enumerate(thc)]
    (plan,) = ONSETS.bouts
    return ONSETS.criterion({plan.label: observe(plan, {}, tracks=alternating(thc, fti))})


@pytest.mark.parametrize("later_s", [[0.05], [-0.05], [0.05, 0.05, 0.05, 0.05, 0.0]])
def test_onsets_that_are_apart_by_an_evaluation_are_so_whichever_is_first(later_s: list[float]) -> None:
    finding = onsets(later_s)
    assert finding.ok
    assert finding.numbers["FTi flexion after ThC retraction (s)"] == pytest.approx(later_s[0])


@pytest.mark.parametrize("later_s", [[0.0], [0.05, -0.05], [0.05, 0.0]])
def test_onsets_together_or_now_this_one_first_now_that_are_refused(later_s: list[float]) -> None:
    assert not onsets(later_s).ok


def test_too_few_stances_tell_nothing() -> None:
    (plan,) = ONSETS.bouts
    few = alternating([10.0, 11.5], [10.1, 11.6])
    assert "expected at least 10" in ONSETS.criterion({plan.label: observe(plan, {}, tracks=few)}).reasons[0]


@pytest.mark.parametrize(("lag_s", "ok"), [(0.15, True), (0.05, False), (-0.1, False)])
def test_lift_off_lags_by_four_evaluations_or_not(lag_s: float, ok: bool) -> None:
    flexes = every(8.0, 55.0, 1.5)
    tracks = alternating(flexes, flexes)
    found = steps([time + 0.5 + lag_s for time in flexes])
    (plan,) = LIFT_OFF.bouts
    finding = LIFT_OFF.criterion({plan.label: observe(plan, {}, tracks=tracks, found=found)})
    assert finding.ok is ok
    assert finding.numbers["lift-off after the switch of FTi (s)"] == pytest.approx(lag_s)


def test_nearest_leaves_out_what_is_half_a_period_away() -> None:
    times = np.array([1.0, 2.0, 3.0, 4.0])
    assert nearest(times, np.array([1.1, 2.9])).tolist() == pytest.approx([0.1, -0.1])
    assert nearest(times, np.zeros(0)).size == 0


def test_an_entry_can_be_asked_to_come_from_an_action() -> None:
    tracks = alternating([1.0], [1.0], 3.0)
    fti = tracks.module("FTi")
    assert entries(tracks, fti, "extension", (0.0, 3.0), after="flex").tolist() == pytest.approx([1.5])
    assert entries(tracks, fti, "extension", (0.0, 3.0), after="none").size == 0


def stepping(swing_s: float, stance_s: float, thc_deg: float) -> Observation:
    """The stick insect's leg in the geometry of its configuration: ThC turned back by so much in stance."""
    (plan,) = PATH.bouts
    off = np.arange(8.0, 50.0, swing_s + stance_s)
    down, end = off + swing_s, off + swing_s + stance_s
    still = leg(60.0)
    ramp = np.interp(still.t_sensor_s, np.stack([off, down], axis=1).ravel(), [0.0, thc_deg] * len(off))
    turned = replace(still, stance_action=still.module("ThC").actions[0])
    for role, name, angle in (("ThC", "Thorax-Coxa", ramp), ("CTr", "", None), ("FTi", "", None)):
        changes = {"angle_deg": angle} if angle is not None else {}
        turned = with_module(turned, role, **(changes | ({"name": name} if name else {})))
    walked = Steps(
        **{field: getattr(steps(), field) for field in Steps.__dataclass_fields__}
        | {"lift_off_s": off, "touch_down_s": down, "end_s": end, "foot_stance_cm": np.zeros((len(off), 3))}
    )
    return observe(plan, {}, tracks=turned, found=walked)


def test_a_path_is_that_of_the_angles_and_the_configurations_geometry() -> None:
    one = stepping(0.8, 0.8, 60.0)
    finding = PATH.criterion({one.plan.label: one})
    forward = path_by_angles(one)[:, 0]
    travelled = finding.numbers["rearward in stance, by angles (cm)"]
    assert travelled == pytest.approx(abs(np.ptp(forward)), rel=0.01)
    assert finding.numbers["swing (s)"] == pytest.approx(0.8)
    assert finding.numbers["rearward in stance, true foot (cm)"] == 0.0


@pytest.mark.parametrize(("swing_s", "stance_s"), [(0.6, 0.8), (0.8, 1.0)])
def test_a_step_that_lasts_another_time_is_refused(swing_s: float, stance_s: float) -> None:
    one = stepping(swing_s, stance_s, 60.0)
    reasons = PATH.criterion({one.plan.label: one}).reasons
    assert any(reason.startswith("swing (s)" if swing_s < 0.8 else "stance (s)") for reason in reasons)


def drift(last_s: float, end_deg: float) -> CriterionResult:
    (plan,) = DRIFT.bouts
    tracks = leg(600.0)
    angle = 30.0 * np.sin(2 * np.pi * tracks.t_sensor_s)
    angle[tracks.t_sensor_s > last_s] = end_deg
    seen = observe(
        plan,
        {"first minute": "stick"},
        tracks=with_module(tracks, "ThC", angle_deg=angle),
        found=steps(every(1, last_s)),
    )
    return DRIFT.criterion({plan.label: seen})


@pytest.mark.parametrize("end_deg", [-30.0, 29.0, 80.0])
def test_a_leg_that_ceases_at_an_end_of_its_range_or_beyond_has_drifted(end_deg: float) -> None:
    assert drift(300.0, end_deg).ok


@pytest.mark.parametrize(("last_s", "end_deg"), [(599.0, -30.0), (300.0, 0.0), (300.0, 10.0)])
def test_one_that_goes_on_or_ceases_in_the_middle_has_not(last_s: float, end_deg: float) -> None:
    assert not drift(last_s, end_deg).ok
