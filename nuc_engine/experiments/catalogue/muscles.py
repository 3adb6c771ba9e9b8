"""Asks about muscle models of the tibia: whether lift-off is steadier with one of them, and what decides it."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
from nuc_engine.experiments.catalogue.asks import Found, Question, median_of_known, over_repetitions, window
from nuc_engine.experiments.catalogue.pictures import draw_histograms
from nuc_engine.experiments.protocol import Observation, Observations, TableRow, Trial
from nuc_engine.machine.locations import PLANT_SPEC_FILE, find_configuration
from nuc_engine.plants.spec import load_spec

PIECES, LINEAR = "piecewise constant", "linear"
"""Labels of the bouts that are compared."""
DURATION, DIFFERENCE = "step duration (s)", "difference of successive ThC minima (deg)"
"""The two quantities of Figure 7-10."""


class Steadier(Question, kw_only=True, tag="steadier"):
    """Whether the linear model lifts off in a narrower range than the piecewise constant one."""

    def look(self, seen: Observations) -> Found:
        """Return the ratio of spreads, a reason unless all of its interval is below 1, and the steps as samples."""
        both = [seen[LINEAR], seen[PIECES]]
        linear, pieces = (_samples(one, self.windows[0]) for one in both)
        if min(len(linear.minima_s), len(pieces.minima_s)) < 3:
            return Found(("too few steps to compare their spread",))
        ratio = spread_ratio(linear.lift_off_difference_deg, pieces.lift_off_difference_deg)
        numbers = {"spread ratio": ratio.ratio, "spread ratio, high end": ratio.high}
        for one, own in zip(both, (linear, pieces), strict=True):
            numbers[f"{one.plan.label}: spread of successive minima (deg)"] = spread(own.lift_off_difference_deg)
            duration_s, difference_deg = self._noise_levels(one)
            numbers[f"{one.plan.label}: noise level of it (deg)"] = difference_deg
            numbers[f"{one.plan.label}: noise level of the step duration (s)"] = duration_s
        wide = f"spread ratio {ratio.ratio:.2f} (up to {ratio.high:.2f}), expected below 1 with all of its interval"
        samples = {
            f"{label}, {what}": tuple(round(value, 4) for value in values.tolist())
            for label, own in ((LINEAR, linear), (PIECES, pieces))
            for what, values in ((DURATION, own.duration_s), (DIFFERENCE, own.lift_off_difference_deg))
        }
        return Found((wide,) if ratio.high >= 1 else (), numbers, samples)

    def _noise_levels(self, one: Observation) -> tuple[float, float]:
        """Return the spreads of duration (s) and of successive minima (deg) that equal steps would show with this leg.

        They come from its ticks, noise and rule period; NaN without steps.
        """
        rest = window(one.plan, self.windows[0])
        try:
            samples = noise_samples(one.leg, rest.begin_s, rest.end_s, resolution_of(one))
        except AnalysisError:
            return math.nan, math.nan
        return spread(samples.duration_s), spread(samples.lift_off_difference_deg)


class LiftOff(Question, kw_only=True, tag="lift-off"):
    """Spread of successive minima, its tails beyond `far_deg`, kinds of steps, and what decided lift-off, of both.

    The tibia decides where the coxa is not further back than `coxa_deg`.
    """

    coxa_deg: float
    far_deg: float

    def look(self, seen: Observations) -> Found:
        """Return the numbers."""
        samples = {label: _samples(one, self.windows[0]) for label, one in seen.items()}
        widths = {label: spread(own.lift_off_difference_deg) for label, own in samples.items()}
        ratio = widths[LINEAR] / widths[PIECES] if widths[PIECES] else math.nan
        tails = f"differences of successive minima beyond {self.far_deg:g} degrees (part)"
        measured = {
            "lift-offs by the tibia (part)": {label: self.by_tibia(one) for label, one in seen.items()},
            tails: {label: self._far(own) for label, own in samples.items()},
            "spread of successive minima (deg)": widths,
            "bimodality of step duration (no unit)": {k: bimodality(own.duration_s) for k, own in samples.items()},
        }
        numbers = {f"{label}: {what}": own[label] for what, own in measured.items() for label in (LINEAR, PIECES)}
        return Found(numbers={"spread ratio, linear to piecewise constant": ratio} | numbers)

    def by_tibia(self, one: Observation) -> float:
        """Return the part of the lift-offs, beginnings of CTr's levation, that the tibia decided; NaN without any."""
        rest, leg = window(one.plan, self.windows[0]), one.leg
        ctr = leg.module("CTr")
        levation = ctr.actions[next(k for k, name in enumerate(ctr.action_names) if "Levation" in name)]
        begins = np.flatnonzero((ctr.action[1:] == levation) & (ctr.action[:-1] != levation)) + 1
        at_s = leg.t_state_s[begins]
        at_s = at_s[(at_s >= rest.begin_s) & (at_s < rest.end_s)]
        if not at_s.size:
            return math.nan
        # The rules look at what was measured last before them.
        seen = np.maximum(np.searchsorted(leg.t_sensor_s, at_s) - 1, 0)
        return float(np.mean(leg.module("ThC").angle_deg[seen] >= self.coxa_deg))

    def _far(self, own: StepSamples) -> float:
        differences = own.lift_off_difference_deg
        return float(np.mean(np.abs(differences) > self.far_deg)) if differences.size else math.nan


def _samples(one: Observation, name: str) -> StepSamples:
    rest = window(one.plan, name)
    return step_samples(one.leg, rest.begin_s, rest.end_s)


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
            numbers[f"{what}, {label}: runs test p, median over repetitions"] = median_of_known(tests)
            numbers[f"{what}, {label}: repetitions with runs test p < 0.05"] = float(sum(p < 0.05 for p in tests))
    for what, name in ((DURATION, "noise level of the step duration (s)"), (DIFFERENCE, "noise level of it (deg)")):
        for label in (LINEAR, PIECES):
            levels = [trial.numbers.get(f"{label}: {name}", math.nan) for trial in trials]
            numbers[f"{what}, {label}: noise level"] = median_of_known(levels)
    return numbers


def ratio_over_repetitions(trials: Sequence[Trial], what: str) -> tuple[float, float]:
    """Return the ends of the 95 % bootstrap interval of the ratio of spreads, linear to piecewise constant.

    Whole repetitions are drawn, both legs of one together.
    """
    pairs = list(
        zip(_by_repetition(trials, LINEAR, what), _by_repetition(trials, PIECES, what), strict=True),
    )
    pairs = [(one, other) for one, other in pairs if one.size and other.size]

    def ratio(drawn: Sequence[int]) -> float:
        linear, pieces = (spread(np.concatenate([pairs[k][side] for k in drawn])) for side in (0, 1))
        return linear / pieces if pieces > 0 else math.inf

    return over_repetitions(len(pairs), ratio)


def _by_repetition(trials: Sequence[Trial], label: str, what: str) -> list[FloatArray]:
    return [np.array(trial.samples.get(f"{label}, {what}", ())) for trial in trials]


def samples_of_all(trials: Sequence[Trial], label: str, what: str) -> FloatArray:
    """Return one sample over all repetitions, in order."""
    return np.array(list(chain.from_iterable(trial.samples.get(f"{label}, {what}", ()) for trial in trials)))


def draw_figure_7_10(row: TableRow, trials: Sequence[Trial], path: Path) -> None:
    """Draw the histograms of Figure 7-10 over the steps of all repetitions."""
    del row
    panels = [
        (what, width, [(label, samples_of_all(trials, label, what)) for label in (PIECES, LINEAR)])
        for what, width in ((DURATION, None), (DIFFERENCE, Resolution().tick_deg))
    ]
    draw_histograms(panels, path)
