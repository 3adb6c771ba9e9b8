"""Asks about how much steps differ: their spread, whether they come back, and how long a leg goes on (9.4.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nuc_engine.analysis.spread import step_samples
from nuc_engine.analysis.tracks import FloatArray
from nuc_engine.experiments.catalogue.asks import Found, Question, judged_span, last_lift_off_s
from nuc_engine.experiments.catalogue.pictures import draw_return_maps
from nuc_engine.experiments.protocol import Observation, Observations, TableRow, Trial

_FEWEST = 5


class StepSpread(Question, kw_only=True, tag="spread"):
    """How much steps' durations differ in a window: mean distance from the median, as a part of it.

    `at_least` and `at_most` are bounds; `more` and `less` are pairs of bouts, the first of which has to have the larger
    spread, by `by` of the median at least. The durations are its samples.
    """

    at_least: float = 0.0
    at_most: float = math.inf
    more: tuple[str, ...] = ()
    less: tuple[str, ...] = ()
    by: float = 0.0

    def look(self, seen: Observations) -> Found:
        """Return each spread, and what is not as expected."""
        bouts = {one.plan.label: self._durations_s(one) for one in self.of(seen)}
        spreads = {label: spread(values) for label, values in bouts.items()}
        reasons = [
            f"{label}: steps differ by {value:.3g} of their duration, expected {self.at_least:g} to {self.at_most:g}"
            for label, value in spreads.items()
            if not self.at_least <= value <= self.at_most
        ]
        reasons += [
            f"{one}: steps differ by {spreads[one]:.3g}, {other}: by {spreads[other]:.3g}, expected less there"
            for one, other in zip(self.more, self.less, strict=True)
            if not spreads[one] >= spreads[other] + self.by
        ]
        return Found(
            tuple(reasons),
            {f"{label}: spread of step durations": value for label, value in spreads.items()},
            {label: tuple(values.tolist()) for label, values in bouts.items()},
        )

    def _durations_s(self, one: Observation) -> FloatArray:
        return step_samples(one.leg, *judged_span(one.plan, self.windows[0])).duration_s


class Sinks(Question, kw_only=True, tag="sinks"):
    """Whether noise adds less to the spread of steps with one muscle model than with another.

    `bouts` are four: the first model without and with noise, and the second one's.
    """

    def look(self, seen: Observations) -> Found:
        """Return what noise adds with each, and a reason where it does not add less with the first."""
        quiet, noisy, other_quiet, other_noisy = (
            spread(step_samples(one.leg, *judged_span(one.plan, self.windows[0])).duration_s) for one in self.of(seen)
        )
        added, other = noisy - quiet, other_noisy - other_quiet
        names = [one.plan.label for one in self.of(seen)]
        reason = f"noise adds {added:.3g} to the spread with {names[1]}, {other:.3g} with {names[3]}, expected less"
        numbers = {f"{names[1]}: spread added by noise": added, f"{names[3]}: spread added by noise": other}
        return Found(() if added < other else (reason,), numbers)


class SteppingCombinations(Question, kw_only=True, tag="stepping combinations"):
    """Whether one bout steps, and at least so many of the others do not."""

    all_linear: str
    fail: int

    def look(self, seen: Observations) -> Found:
        """Return which step, as 1 or 0 each, and what is not as expected."""
        steps = {one.plan.label: all(outcome.cyclic for outcome in one.outcomes.values()) for one in self.of(seen)}
        failing = [label for label, there in steps.items() if not there]
        reasons = [f"{self.all_linear}: does not step"] if self.all_linear in failing else []
        if len(failing) < self.fail:
            reasons.append(f"{len(failing)} of the others do not step, expected {self.fail} or more")
        return Found(tuple(reasons), {f"{label}: steps (share)": float(there) for label, there in steps.items()})


class LastsLonger(Question, kw_only=True, tag="lasts longer"):
    """Whether a leg steps for longer in the first of two bouts than in the second: until its last lift-off."""

    def look(self, seen: Observations) -> Found:
        """Return both times, and a reason where the first is not the longer one."""
        first, second = self.of(seen)
        times_s = [last_lift_off_s(one.steps, 0.0, one.plan.duration_s) for one in (first, second)]
        gap_s = [longest_gap_s(one) for one in (first, second)]
        numbers: dict[str, float] = {}
        for one, last_s, longest_s in zip((first, second), times_s, gap_s, strict=True):
            numbers[f"{one.plan.label}: last lift-off (s)"] = last_s
            numbers[f"{one.plan.label}: longest time without lift-off (s)"] = longest_s
            numbers[f"{one.plan.label}: steps"] = float(len(one.steps))
        reason = f"{first.plan.label}: steps until {times_s[0]:.1f} s, {second.plan.label}: until {times_s[1]:.1f} s"
        return Found(
            (f"{reason}, expected longer than that",) if not times_s[0] > times_s[1] + _STEP_S else (), numbers
        )


_STEP_S = 2.0
"""A leg has failed earlier where its last lift-off is so much earlier: more than two of its steps."""


def spread(durations_s: FloatArray) -> float:
    """Return the mean distance from the median as a part of it; NaN for fewer than five steps."""
    if len(durations_s) < _FEWEST:
        return math.nan
    middle = float(np.median(durations_s))
    return float(np.mean(np.abs(durations_s - middle))) / middle


def longest_gap_s(one: Observation) -> float:
    """Return the longest time without a lift-off, from the first one to the end of the bout."""
    times = np.array([swing.lift_off_s for swing in one.steps.swings if swing.begin_known])
    return float(np.max(np.diff([*times, one.plan.duration_s]))) if times.size else one.plan.duration_s


def draw_returns(row: TableRow, trials: Sequence[Trial], path: Path) -> None:
    """Draw the duration of each step against that before it, for each bout of the first repetition."""
    samples = trials[0].samples
    draw_return_maps({plan.label: np.array(samples.get(plan.label, ())) for plan in row.bouts}, path)
