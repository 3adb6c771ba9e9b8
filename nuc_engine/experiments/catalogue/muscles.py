"""What muscle models of the tibia do for stepping: null, piecewise constant and linear (7.2.1 and 7.2.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.spread import (
    Resolution,
    StepSamples,
    bimodality,
    compare,
    noise_samples,
    runs_test,
    spread,
    spread_ratio,
    step_samples,
)
from nuc_engine.analysis.tracks import FloatArray
from nuc_engine.bout.run import PLANT_SPEC_FILE
from nuc_engine.experiments.catalogue.parts import (
    Reasons,
    judged,
    last_lift_off_s,
    moving,
    not_started,
    period_s,
    stepping,
    unlike,
    window,
)
from nuc_engine.experiments.catalogue.pictures import draw_histograms
from nuc_engine.experiments.catalogue.restricted import HEIGHT, LOWEST_CM
from nuc_engine.experiments.protocol import (
    BoutPlan,
    Control,
    Experiment,
    Finding,
    Observation,
    Observations,
    Row,
    Trial,
    Window,
)
from nuc_engine.machine.locations import find_configuration
from nuc_engine.plants.spec import load_spec

NULL, PIECES, LINEAR = "null", "piecewise constant", "linear"
"""Labels of the bouts."""

TEN_MINUTES_S = 600.0
OTHER_START: Mapping[str, float] = {"joint.Femur-Tibia.start_deg": 91.0}
"""Six degrees more than plant.toml says, so that the steps of a bout are others."""
_RESAMPLES = 1000
DURATION, DIFFERENCE = "step duration (s)", "difference of successive ThC minima (deg)"
"""The two quantities of Figure 7-10."""


def criterion_sideways(seen: Observations) -> Finding:
    """The piecewise constant model steps throughout; the null model has stopped in the end."""
    null, pieces = seen[NULL], seen[PIECES]
    against = unlike(pieces, "rest", "sideways") + moving(null, "end")
    numbers = {
        "null: last lift-off (s)": last_lift_off_s(null.steps, 0.0, null.plan.duration_s),
        "piecewise constant: step period (s)": period_s(pieces, "rest"),
    }
    return judged(not_started([pieces], "sideways"), against, numbers)


def criterion_null_fails(seen: Observations) -> Finding:
    """From a start from which both others walk, the null model does not."""
    numbers = {f"{label}: step period (s)": period_s(one, "walk") for label, one in seen.items() if label != NULL}
    numbers["null: last lift-off (s)"] = last_lift_off_s(seen[NULL].steps, 0.0, seen[NULL].plan.duration_s)
    return judged(not_started(seen.values(), "stick"), stepping(seen[NULL], "walk, null"), numbers)


def criterion_ten_minutes(seen: Observations) -> Finding:
    """Both models step for ten minutes, and the linear one lifts off in a narrower range."""
    both = [seen[LINEAR], seen[PIECES]]
    before = not_started(both, "stick")
    against: Reasons = tuple(reason for one in both for reason in _labelled(one, unlike(one, "rest", "stick")))
    linear, pieces = (_samples(one) for one in both)
    numbers = {f"{one.plan.label}: step period (s)": period_s(one, "rest") for one in both}
    if min(len(linear.minima_s), len(pieces.minima_s)) < 3:
        return judged(before, (*against, "too few steps to compare their spread"), numbers)
    ratio = spread_ratio(linear.lift_off_difference_deg, pieces.lift_off_difference_deg)
    if ratio.high >= 1:
        against += (
            f"spread ratio {ratio.ratio:.2f} (up to {ratio.high:.2f}), expected below 1 with all of its interval",
        )
    numbers |= {"spread ratio": ratio.ratio, "spread ratio, high end": ratio.high}
    for one, own in zip(both, (linear, pieces), strict=True):
        numbers[f"{one.plan.label}: spread of successive minima (deg)"] = spread(own.lift_off_difference_deg)
        duration_s, difference_deg = _noise_levels(one)
        numbers[f"{one.plan.label}: noise level of it (deg)"] = difference_deg
        numbers[f"{one.plan.label}: noise level of the step duration (s)"] = duration_s
    samples = {
        f"{label}, {what}": tuple(round(value, 4) for value in values.tolist())
        for label, own in ((LINEAR, linear), (PIECES, pieces))
        for what, values in ((DURATION, own.duration_s), (DIFFERENCE, own.lift_off_difference_deg))
    }
    return replace(judged(before, against, numbers), samples=samples)


def _labelled(one: Observation, reasons: Reasons) -> Reasons:
    return tuple(f"{one.plan.label}: {reason}" for reason in reasons)


def _samples(one: Observation) -> StepSamples:
    rest = window(one.plan, "rest")
    return step_samples(one.leg, rest.begin_s, rest.end_s)


def _noise_levels(one: Observation) -> tuple[float, float]:
    """Return the spreads of duration (s) and of successive minima (deg) that equal steps would show with this leg.

    They come from its ticks, noise and rule period; nan without steps.
    """
    rest = window(one.plan, "rest")
    try:
        samples = noise_samples(one.leg, rest.begin_s, rest.end_s, resolution_of(one))
    except AnalysisError:
        return math.nan, math.nan
    return spread(samples.duration_s), spread(samples.lift_off_difference_deg)


def resolution_of(one: Observation) -> Resolution:
    """Return what a leg was seen and controlled with: its plant's tick and noise, and the time between evaluations.

    Of a real leg only the last is measured; tick and noise are those of the emulated one.
    """
    spec = load_spec(find_configuration(one.plan.config) / PLANT_SPEC_FILE, one.plan.plant)
    period_s = float(np.median(np.diff(one.leg.t_state_s)))
    return Resolution(spec.servo.tick_deg, spec.variation.position_noise_ticks, period_s)


def pooled(trials: Sequence[Trial]) -> dict[str, float]:
    """Return the comparisons under Figure 7-10 over the steps of all repetitions.

    Legs of different seeds differ for good, so steps of one repetition belong together: the interval of the ratio is
    over repetitions, and the runs test, which would take these differences for drift, is made in each of them.
    """
    numbers: dict[str, float] = {}
    for what in (DURATION, DIFFERENCE):
        linear, pieces = samples_of_all(trials, LINEAR, what), samples_of_all(trials, PIECES, what)
        if min(len(linear), len(pieces)) < 2:
            continue
        found = compare(linear, pieces)
        low, high = ratio_over_repetitions(trials, what)
        numbers |= {
            f"{what}: spread ratio, linear to piecewise constant": found.ratio.ratio,
            f"{what}: spread ratio, low end": low,
            f"{what}: spread ratio, high end": high,
            f"{what}: Kolmogorov-Smirnov p": found.ks_p,
            f"{what}: Wilcoxon p": found.rank_sum_p,
        }
        for label, values in ((LINEAR, linear), (PIECES, pieces)):
            numbers[f"{what}, {label}: steps"] = float(len(values))
            numbers[f"{what}, {label}: median"] = float(np.median(values))
            numbers[f"{what}, {label}: spread"] = spread(values)
            numbers[f"{what}, {label}: bimodality"] = bimodality(values)
            tests = [runs_test(own).p for own in _by_repetition(trials, label, what)]
            numbers[f"{what}, {label}: runs test p, median over repetitions"] = _median_of_known(tests)
            numbers[f"{what}, {label}: repetitions with runs test p < 0.05"] = float(sum(p < 0.05 for p in tests))
    for what, name in ((DURATION, "noise level of the step duration (s)"), (DIFFERENCE, "noise level of it (deg)")):
        for label in (LINEAR, PIECES):
            levels = [trial.numbers.get(f"{label}: {name}", math.nan) for trial in trials]
            numbers[f"{what}, {label}: noise level"] = _median_of_known(levels)
    return numbers


def ratio_over_repetitions(trials: Sequence[Trial], what: str) -> tuple[float, float]:
    """Return the ends of the 95 % bootstrap interval of the ratio of spreads, linear to piecewise constant.

    Whole repetitions are drawn, both legs of one together.
    """
    pairs = list(
        zip(_by_repetition(trials, LINEAR, what), _by_repetition(trials, PIECES, what), strict=True),
    )
    pairs = [(one, other) for one, other in pairs if one.size and other.size]
    rng = np.random.Generator(np.random.PCG64(0))
    ratios: list[float] = []
    for drawn in rng.integers(0, len(pairs), size=(_RESAMPLES, len(pairs))).tolist():
        linear, pieces = (spread(np.concatenate([pairs[k][side] for k in drawn])) for side in (0, 1))
        ratios.append(linear / pieces if pieces > 0 else math.inf)
    low, high = np.quantile(np.array(ratios), [0.025, 0.975], method="inverted_cdf").tolist()
    return low, high


def _by_repetition(trials: Sequence[Trial], label: str, what: str) -> list[FloatArray]:
    return [np.array(trial.samples.get(f"{label}, {what}", ())) for trial in trials]


def _median_of_known(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return float(np.median(known)) if known else math.nan


def samples_of_all(trials: Sequence[Trial], label: str, what: str) -> FloatArray:
    """Return one sample over all repetitions, in order."""
    return np.array(list(chain.from_iterable(trial.samples.get(f"{label}, {what}", ()) for trial in trials)))


def draw_figure_7_10(trials: Sequence[Trial], path: Path) -> None:
    """Draw the histograms of Figure 7-10 over the steps of all repetitions."""
    draw_histograms(
        [
            (what, width, [(label, samples_of_all(trials, label, what)) for label in (PIECES, LINEAR)])
            for what, width in ((DURATION, None), (DIFFERENCE, Resolution().tick_deg))
        ],
        path,
    )


def _sideways(label: str, config: str) -> BoutPlan:
    windows = (
        (Window("first", 0.0, 20.0, "before", 8.0), Window("rest", 20.0, 120.0, "final", 0.0))
        if label == PIECES
        else (Window("end", 90.0, 120.0, "final", 0.0),)
    )
    return BoutPlan(label, config, None, 120.0, windows, plant={HEIGHT: LOWEST_CM})


EXPERIMENT_SIDEWAYS = Experiment(
    name="muscles-sideways",
    section="7.2.1",
    title="Sideways stepping with and without a muscle model",
    hypothesis="""\
The step from swing to stance fails when the foot's touch goes unnoticed: the extending tibia lifts the foot while
the femur lowers it, and on a slippery ground no load arises. A muscle that pulls less when the tibia is already
extended should make it reliable. The simplest such model, an extensor that is turned down at a certain angle, may
do.""",
    method="""\
The stick insect leg steps sideways, 16 cm above the ground, for two minutes: once with muscles whose force does
not depend on their length (null), once with a third state of FTi in which the extensor is turned down (piecewise
constant). All other values are the same. Both bouts of a repetition have the same seed, so the same start, noise
and friction. Nobody touches the leg.""",
    rows=(
        Row(
            name="muscles-sideways",
            saw="null ceases to move until brought back by hand; piecewise constant stabilises quickly and goes on",
            bouts=(_sideways(NULL, "restricted_null_stick"), _sideways(PIECES, "restricted_pc_stick")),
            criterion_text="The piecewise constant leg steps sideways from 8 to 20 s (else a failed start) and from"
            " 20 to 120 s. The null leg has stopped: from 90 to 120 s there is no stepping of any"
            " kind, and in the last 3 s no joint moves by 5 degrees.",
            criterion=criterion_sideways,
            control=Control(
                why="The piecewise constant leg in the place of the null one: it steps, and must not be taken for"
                " one that stopped.",
                bouts=(_sideways(NULL, "restricted_pc_stick"), _sideways(PIECES, "restricted_pc_stick")),
            ),
            kicks_there="the null leg was brought back by hand",
        ),
    ),
)


def _minute(label: str, config: str) -> BoutPlan:
    # The null leg is asked nothing before: that it does not walk is the question.
    walk = Window("walk, null", 0.0, 60.0, "final", 6.0) if label == NULL else Window("walk", 0.0, 60.0, "before", 6.0)
    return BoutPlan(label, config, None, 60.0, (walk,))


def _ten_minutes(label: str, config: str, plant: Mapping[str, float] | None = None) -> BoutPlan:
    windows = (Window("first minute", 0.0, 60.0, "before", 6.0), Window("rest", 60.0, TEN_MINUTES_S, "final", 0.0))
    return BoutPlan(label, config, None, TEN_MINUTES_S, windows, plant=plant or {}, start_kick_s=4.0)


EXPERIMENT_FORWARD = Experiment(
    name="muscles-forward",
    section="7.2.2",
    title="Forward stepping with three muscle models",
    hypothesis="""\
A force that falls as the muscle shortens keeps a joint away from the ends of its range. In the tibia alone it
should make forward stepping possible where it fails without, and make the steps more alike: not only at the tibia,
but also in the place where the foot lifts off, which is a matter of the thorax-coxa joint. The joints are coupled
through the ground.""",
    method="""\
The stick insect leg walks forward with three muscle models of the tibia: no influence of length (null), an
extensor that is turned down at a certain angle (piecewise constant), and a force that falls linearly with
shortening (linear). In the row *null* each walks for a minute from the same start. In the row *ten minutes* the
latter two walk for ten minutes. Step duration runs from one minimum of the thorax-coxa angle to the next; how
constant the place of lift-off is, the difference of successive minima tells. Its spread is the mean distance from
the median; the ratio of the two spreads comes with a 95 % bootstrap interval. The noise level is the spread that
perfectly equal steps would show through the servo's ticks, the meter's noise and the 25 ms between evaluations of
the rules. Kolmogorov-Smirnov and Wilcoxon tests are over the steps of all repetitions together, as if they were
independent; with so many steps a small p says little, and the ratio more. The interval of the ratio over all of them
is a bootstrap over whole repetitions. The runs test is made in each repetition; differences of successive values
alternate by themselves, so that a small p of it says nothing about the leg.""",
    rows=(
        Row(
            name="null",
            saw="null usually fails on the first step; piecewise constant and linear walk",
            bouts=(
                _minute(NULL, "null_stickmiddle"),
                _minute(PIECES, "pc_stickmiddle"),
                _minute(LINEAR, "lin_stickmiddle"),
            ),
            criterion_text="From 6 to 60 s the piecewise constant and the linear leg step as the stick insect does"
            " forward (else a failed start). From the same start the null leg does not: there is no"
            " stepping of any kind from 6 to 60 s.",
            remark="The null leg does not come to rest. Its joints go on in large, irregular arcs, the thorax-coxa"
            " joint at times for seconds at the end of its range; its actions change too often to be called steps"
            " (chattering), and the foot still leaves the ground near the end of the minute (the last lift-off"
            " stands in the table). Of the robot's leg it is said that it usually missed the ground on its first"
            " step, not what it did then. What both have in common is that the null leg does not walk.",
            criterion=criterion_null_fails,
            control=Control(
                why="The linear leg in the place of the null one: it walks, and must not be taken for one that fails.",
                bouts=(
                    _minute(NULL, "lin_stickmiddle"),
                    _minute(PIECES, "pc_stickmiddle"),
                    _minute(LINEAR, "lin_stickmiddle"),
                ),
            ),
        ),
        Row(
            name="ten minutes",
            saw="both step for ten minutes; the linear model's differences of successive minima lack the wide tails"
            " (KS p = 3.7e-5)",
            bouts=(_ten_minutes(PIECES, "pc_stickmiddle"), _ten_minutes(LINEAR, "lin_stickmiddle")),
            criterion_text="Both legs step as the stick insect does forward from 6 to 60 s (kicked once at 4 s if"
            " they must; else a failed start) and from 60 to 600 s. The spread of the differences of"
            " successive ThC minima is narrower with the linear model: the 95 % interval of the ratio,"
            " linear to piecewise constant, lies below 1.",
            criterion=criterion_ten_minutes,
            remark="By chance alone two models that spread alike come out as seen in about one repetition of 40: the"
            " interval of each is one of 95 %, and its upper end lies below the true ratio in 2.5 % of them. A few in"
            " 20 are therefore hardly more than none.",
            control=Control(
                why="The piecewise constant leg in both places, once from another start (FTi flexed 6 degrees more), so"
                " that the steps are others: spreads differ by chance only, and neither may be found narrower.",
                bouts=(
                    _ten_minutes(PIECES, "pc_stickmiddle"),
                    _ten_minutes(LINEAR, "pc_stickmiddle", OTHER_START),
                ),
            ),
            summary=pooled,
            picture=draw_figure_7_10,
        ),
    ),
    libraries=("scipy",),
)
