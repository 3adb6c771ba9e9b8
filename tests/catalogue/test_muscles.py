from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nuc_engine.analysis.tracks import LegTracks
from nuc_engine.experiments.catalogue.muscles import (
    DIFFERENCE,
    DURATION,
    LINEAR,
    PIECES,
    LiftOff,
    pooled,
    ratio_over_repetitions,
    samples_of_all,
)
from nuc_engine.experiments.protocol import BoutPlan, CriterionResult, Observation, Trial
from nuc_engine.machine.locations import find_configuration
from tests.analysis.synthetic import STICK, with_module
from tests.analysis.synthetic import leg as walking
from tests.catalogue.seen import every, leg, observe, row_of, steps

NULL = "null"
SIDEWAYS, FAILS, MINUTES = map(row_of, ("muscles-sideways", "muscles-forward null", "muscles-forward ten minutes"))


def swinging(stands_s: tuple[float, float] = (0.0, 0.0)) -> LegTracks:
    """Two minutes of a leg whose tibia swings by 20 degrees, but for a time in which it stands."""
    still = leg(120.0)
    angle = 100.0 + 20.0 * np.sin(2 * np.pi * still.t_sensor_s / 1.2)
    begin, end = np.searchsorted(still.t_sensor_s, stands_s)
    angle[begin:end] = angle[begin]
    return with_module(still, "FTi", angle_deg=angle)


def sideways(
    null: LegTracks, first: str = "sideways", rest: str = "sideways", pieces: LegTracks | None = None
) -> CriterionResult:
    kinds = {NULL: {}, PIECES: {"first": first, "rest": rest}}
    tracks = {NULL: null, PIECES: pieces or swinging()}
    found = steps(every(0.0, 33.0))
    return SIDEWAYS.criterion(
        {
            plan.label: observe(plan, kinds[plan.label], found=found, tracks=tracks[plan.label])
            for plan in SIDEWAYS.bouts
        }
    )


@pytest.mark.parametrize("stands_s", [(8.5, 11.6), (60.0, 64.0), (116.0, 120.0)])
def test_sideways_is_a_null_model_that_stops_at_least_once_and_one_that_steps(stands_s: tuple[float, float]) -> None:
    finding = sideways(swinging(stands_s))
    assert finding.ok
    assert finding.numbers["null: longest time it stands still (s)"] == pytest.approx(
        stands_s[1] - stands_s[0], abs=0.3
    )
    assert 32 < finding.numbers["null: last lift-off (s)"] < 33
    assert not sideways(swinging(stands_s), rest="irregular").ok
    assert not sideways(swinging(stands_s), first="stuck").started


@pytest.mark.parametrize("stands_s", [(0.0, 0.0), (60.0, 62.5), (1.0, 7.0)])
def test_a_null_model_that_goes_on_or_stands_only_before_it_is_looked_at_is_refused(
    stands_s: tuple[float, float],
) -> None:
    assert not sideways(swinging(stands_s)).ok


def test_a_piecewise_constant_leg_that_stands_is_none_that_goes_on() -> None:
    assert not sideways(swinging((60.0, 64.0)), pieces=swinging((70.0, 74.0))).ok


def walks(null: str, other: str = "stick") -> CriterionResult:
    return FAILS.criterion(
        {
            plan.label: observe(plan, {"walk, null": null} if plan.label == NULL else {"walk": other})
            for plan in FAILS.bouts
        }
    )


def test_null_fails_where_the_others_walk() -> None:
    assert walks("chattering").ok
    assert not walks("stick").ok
    assert not walks("unnamed cycle").ok
    assert not walks("chattering", other="irregular").started


def wobbly(plan: BoutPlan, tail_deg: float) -> LegTracks:
    """A stick leg for as long as the plan, whose minima differ by up to so many degrees from step to step."""
    tracks = walking(replace(STICK, noise_deg=0.2), plan.duration_s)
    t = tracks.t_sensor_s
    wobble = np.interp(
        t,
        np.arange(0, t[-1] + 2, 1.6),
        np.random.default_rng(3).standard_normal(int(t[-1] / 1.6) + 3)[: len(np.arange(0, t[-1] + 2, 1.6))],
    )
    return with_module(tracks, "ThC", angle_deg=tracks.module("ThC").angle_deg + tail_deg * wobble)


def ten_minutes(linear_deg: float, pieces_deg: float, rest: str = "stick") -> CriterionResult:
    seen: dict[str, Observation] = {}
    for plan in MINUTES.bouts:
        shorter = replace(
            plan,
            duration_s=120.0,
            windows=tuple(replace(w, end_s=min(w.end_s, 120.0)) for w in plan.windows),
        )
        tracks = wobbly(shorter, linear_deg if plan.label == LINEAR else pieces_deg)
        kinds = {"first minute": "stick", "rest": rest}
        seen[plan.label] = observe(shorter, kinds, tracks=tracks)
    return MINUTES.criterion(seen)


def test_a_narrower_spread_is_seen_and_an_equal_one_refused() -> None:
    finding = ten_minutes(0.5, 3.0)
    assert finding.ok, finding.reasons
    assert finding.numbers["spread ratio"] < 0.5
    assert {f"{label}, {what}" for label in (LINEAR, PIECES) for what in (DURATION, DIFFERENCE)} == set(finding.samples)
    assert (
        0
        < finding.numbers["linear: noise level of it (deg)"]
        < finding.numbers["piecewise constant: spread of successive minima (deg)"]
    )
    # Of the order of the 25 ms between evaluations, of which each step has two.
    for label in (LINEAR, PIECES):
        assert 0.005 < finding.numbers[f"{label}: noise level of the step duration (s)"] < 0.05
    close = ten_minutes(1.95, 2.0)
    assert close.numbers["spread ratio"] < 1 < close.numbers["spread ratio, high end"]
    for equal in ((1.95, 2.0), (3.0, 1.0)):
        refused = ten_minutes(*equal)
        assert not refused.ok
        assert "spread ratio" in refused.reasons[0]


def test_legs_that_do_not_walk_to_the_end_are_refused() -> None:
    finding = ten_minutes(0.5, 3.0, rest="irregular")
    assert not finding.ok
    assert finding.reasons[0].startswith("linear: rest: irregular")


def test_a_leg_without_steps_is_refused_not_an_error() -> None:
    seen = {plan.label: observe(plan, {"first minute": "stick"}) for plan in MINUTES.bouts}
    finding = MINUTES.criterion(seen)
    assert not finding.ok
    assert "too few steps" in finding.reasons[-1]


NOISE = {"linear: noise level of it (deg)": 0.3, "linear: noise level of the step duration (s)": 0.01}


def trials() -> list[Trial]:
    rng = np.random.default_rng(1)
    own = {
        f"{label}, {what}": tuple(rng.normal(1.4, spread, 200).tolist())
        for label, spread in ((LINEAR, 0.02), (PIECES, 0.08))
        for what in (DURATION, DIFFERENCE)
    }
    return [Trial(seed, "as seen", (), dict(NOISE), own, 0, {}) for seed in (1, 2)]


def test_all_repetitions_are_compared_together() -> None:
    numbers = pooled(trials())
    assert len(samples_of_all(trials(), LINEAR, DURATION)) == 400
    assert numbers[f"{DIFFERENCE}: spread ratio, high end"] < 0.4
    assert numbers[f"{DIFFERENCE}: Kolmogorov-Smirnov p"] < 1e-6
    assert numbers[f"{DIFFERENCE}, {LINEAR}: noise level"] == 0.3
    assert numbers[f"{DURATION}, {LINEAR}: noise level"] == 0.01
    for what in (DURATION, DIFFERENCE):
        for label in (LINEAR, PIECES):
            assert 0 <= numbers[f"{what}, {label}: runs test p, median over repetitions"] <= 1


def shifted(trial: Trial, seed: int, by: float, times: float = 1.0) -> Trial:
    """A repetition with a leg of its own: other level, and for the linear model another spread."""
    samples = {
        name: tuple(by + 1.4 + (value - 1.4) * (times if name.startswith(LINEAR) else 1.0) for value in values)
        for name, values in trial.samples.items()
    }
    return replace(trial, seed=seed, samples=samples)


def test_the_interval_of_the_ratio_is_over_repetitions() -> None:
    first = trials()[0]
    alike = ratio_over_repetitions([shifted(first, seed, 0.0) for seed in range(5)], DURATION)
    assert alike[0] == pytest.approx(alike[1])
    unlike = ratio_over_repetitions([shifted(first, seed, 0.0, 1.0 + 2 * seed) for seed in range(5)], DURATION)
    assert unlike[0] < 0.6 * unlike[1]


def test_the_histograms_are_drawn(tmp_path: Path) -> None:
    row = MINUTES
    assert row.picture is not None
    pytest.importorskip("matplotlib")
    row.picture(row, trials(), tmp_path / "a.svg")
    row.picture(row, trials(), tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.svg").stat().st_size < 200_000


(PROBE,) = MINUTES.probes
COXA_DEG = -20.0
REACHED, FLEXION = "103", "131"
LEVELS = {level.label: {plan.label: plan for plan in level.bouts} for level in PROBE.levels}
AS_IS = LEVELS[PROBE.as_is]
LIFT_OFF = LiftOff(windows=("rest",), coxa_deg=COXA_DEG, far_deg=10.0)
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
    assert LIFT_OFF.by_tibia(lifted(((30.0, back), (40.0, back)))) == 0.0
    assert LIFT_OFF.by_tibia(lifted(((30.0, early), (40.0, early)))) == 1.0
    assert LIFT_OFF.by_tibia(lifted(((30.0, back), (40.0, early), (50.0, back), (60.0, back)))) == 0.25


def test_lift_offs_before_the_leg_has_settled_do_not_count() -> None:
    assert LIFT_OFF.by_tibia(lifted(((10.0, 0.0), (30.0, COXA_DEG - 1)))) == 0.0
    assert np.isnan(LIFT_OFF.by_tibia(lifted(((10.0, 0.0),))))


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
    numbers = PROBE.measure(seen)
    far = "differences of successive minima beyond 10 degrees (part)"
    assert numbers[f"{LINEAR}: {far}"] == 0.0
    assert 0.1 < numbers[f"{PIECES}: {far}"] < 0.35
    width = "spread of successive minima (deg)"
    ratio = numbers["spread ratio, linear to piecewise constant"]
    assert ratio == pytest.approx(numbers[f"{LINEAR}: {width}"] / numbers[f"{PIECES}: {width}"])
    assert ratio < 0.5


def test_a_leg_that_does_not_begin_to_walk_is_not_measured() -> None:
    assert PROBE.measure({plan.label: observe(plan, {"first": "irregular"}) for plan in AS_IS.values()}) == {}


def test_only_two_values_differ_and_those_of_the_row_are_the_configurations() -> None:
    for plan in MINUTES.bouts:
        for bouts in LEVELS.values():
            assert replace(bouts[plan.label], values={}, windows=(), duration_s=plan.duration_s) == replace(
                plan, windows=(), start_kick_s=None
            )
            assert set(bouts[plan.label].values) == {REACHED, FLEXION}
        text = (find_configuration(plan.config) / "joints.xml").read_text()
        for number, value in AS_IS[plan.label].values.items():
            assert f'<hdsoMod idNum="{number}" NumElts="1">{value:g}</hdsoMod>' in text
        assert f'<hdsoMod idNum="104" NumElts="1">{COXA_DEG:g}</hdsoMod>' in text
