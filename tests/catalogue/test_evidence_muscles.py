"""What decides lift-off in ten minutes of walking: the measures on made-up legs, and short real bouts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nuc_engine.analysis.tracks import LegTracks
from nuc_engine.experiments.catalogue.evidence_muscles import (
    COXA_DEG,
    FLEXION,
    PROBE_LIFT_OFF,
    REACHED,
    by_tibia,
    measure_lift_off,
)
from nuc_engine.experiments.catalogue.explanations import AGAIN_SEED
from nuc_engine.experiments.catalogue.muscles import EXPERIMENT_FORWARD, LINEAR, PIECES
from nuc_engine.experiments.protocol import BoutPlan, Observation
from nuc_engine.experiments.trials import run_plan
from nuc_engine.machine.locations import find_configuration
from tests.analysis.synthetic import STICK, with_module
from tests.analysis.synthetic import leg as walking
from tests.catalogue.seen import leg, observe

LEVELS = {level.label: {plan.label: plan for plan in level.bouts} for level in PROBE_LIFT_OFF.levels}
AS_IS = LEVELS[PROBE_LIFT_OFF.as_is]
UP, DOWN = "CTr_LevationPRO", "CTr_DepressionRET"


def lifted(at: tuple[tuple[float, float], ...], *, before_s: float = 0.0) -> Observation:
    """A leg that lifts off at these times (s) and coxa angles (deg); the angle changes half a second before each."""
    edges = [edge for time, _ in at for edge in ((time, UP), (time + 0.3, DOWN))]
    tracks = leg(AS_IS[LINEAR].duration_s, {"CTr": [(before_s, DOWN), *edges]})
    coxa = np.zeros(len(tracks.t_sensor_s))
    for time, angle_deg in at:
        coxa[tracks.t_sensor_s >= time - 0.5] = angle_deg
    return observe(AS_IS[LINEAR], {}, tracks=with_module(tracks, "ThC", angle_deg=coxa))


def test_a_lift_off_with_the_coxa_not_yet_back_is_the_tibias() -> None:
    back, early = COXA_DEG - 1, COXA_DEG + 1
    assert by_tibia(lifted(((30.0, back), (40.0, back)))) == 0.0
    assert by_tibia(lifted(((30.0, early), (40.0, early)))) == 1.0
    assert by_tibia(lifted(((30.0, back), (40.0, early), (50.0, back), (60.0, back)))) == 0.25


def test_lift_offs_before_the_leg_has_settled_do_not_count() -> None:
    assert by_tibia(lifted(((10.0, 0.0), (30.0, COXA_DEG - 1)))) == 0.0
    assert np.isnan(by_tibia(lifted(((10.0, 0.0),))))


def wandering(plan: BoutPlan, wobble_deg: float, far: int = 0) -> Observation:
    """A stick leg whose minima differ from step to step by so much, `far` of them by 30 degrees."""
    tracks: LegTracks = walking(replace(STICK, noise_deg=0.1), plan.duration_s)
    own = wobble_deg * np.random.default_rng(3).standard_normal(len(np.arange(0.0, plan.duration_s + 1.6, 1.6)))
    own[20 : 20 + 2 * far : 2] -= 30.0
    step = (tracks.t_sensor_s // 1.6).astype(int)
    thc = tracks.module("ThC")
    tracks = with_module(tracks, "ThC", angle_deg=thc.angle_deg + own[step])
    return observe(plan, {"first": "stick", "rest": "stick"}, tracks=tracks)


def test_tails_and_the_ratio_are_those_of_the_minima() -> None:
    seen = {LINEAR: wandering(AS_IS[LINEAR], 0.5), PIECES: wandering(AS_IS[PIECES], 0.5, far=5)}
    numbers = measure_lift_off(seen)
    far = "differences of successive minima beyond 10 degrees (part)"
    assert numbers[f"{LINEAR}: {far}"] == 0.0
    assert 0.1 < numbers[f"{PIECES}: {far}"] < 0.35
    width = "spread of successive minima (deg)"
    ratio = numbers["spread ratio, linear to piecewise constant"]
    assert ratio == pytest.approx(numbers[f"{LINEAR}: {width}"] / numbers[f"{PIECES}: {width}"])
    assert ratio < 0.5


def test_a_leg_that_does_not_begin_to_walk_is_not_measured() -> None:
    assert measure_lift_off({plan.label: observe(plan, {"first": "irregular"}) for plan in AS_IS.values()}) == {}


def test_only_two_values_differ_and_those_of_the_row_are_the_configurations() -> None:
    row = next(row for row in EXPERIMENT_FORWARD.rows if row.name == "ten minutes")
    for plan in row.bouts:
        for bouts in LEVELS.values():
            assert replace(bouts[plan.label], values={}, windows=(), duration_s=plan.duration_s) == replace(
                plan, windows=(), start_kick_s=None
            )
            assert set(bouts[plan.label].values) == {REACHED, FLEXION}
        text = (find_configuration(plan.config) / "joints.xml").read_text()
        for number, value in AS_IS[plan.label].values.items():
            assert f'<hdsoMod idNum="{number}" NumElts="1">{value:g}</hdsoMod>' in text
        assert f'<hdsoMod idNum="104" NumElts="1">{COXA_DEG:g}</hdsoMod>' in text


def test_its_seeds_are_in_no_run_of_the_row() -> None:
    own = range(PROBE_LIFT_OFF.seed or 0, (PROBE_LIFT_OFF.seed or 0) + PROBE_LIFT_OFF.repetitions)
    for first in (EXPERIMENT_FORWARD.seed, AGAIN_SEED):
        assert not set(own) & set(range(first, first + 200))


def shortly(plan: BoutPlan, **values: float) -> BoutPlan:
    windows = tuple(replace(window, end_s=min(window.end_s, 45.0)) for window in plan.windows)
    return replace(plan, duration_s=45.0, windows=windows, values={**plan.values, **values})


def test_a_third_of_the_flexors_strength_changes_nothing_and_a_tenth_does(tmp_path: Path) -> None:
    plan = shortly(AS_IS[LINEAR])
    full, third, tenth = (
        run_plan(replace(plan, values={**plan.values, FLEXION: 1.7 * part}), 1501, tmp_path / str(part))
        for part in (1.0, 0.35, 0.1)
    )
    angle = full.leg.module("FTi").angle_deg
    assert np.array_equal(angle, third.leg.module("FTi").angle_deg)
    settled = full.leg.t_sensor_s > 20
    assert angle[settled].max() > 110 > 108 > tenth.leg.module("FTi").angle_deg[settled].max()


def test_a_weak_linear_tibia_never_lifts_the_leg_where_the_other_does(tmp_path: Path) -> None:
    bouts = LEVELS["108, a tenth"]
    linear, pieces = (by_tibia(run_plan(shortly(bouts[label]), 1501, tmp_path)) for label in (LINEAR, PIECES))
    assert linear == 0.0
    assert pieces > 0.5
