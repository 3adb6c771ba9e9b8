"""Asks about ten minutes of both muscle models, a claim each: one pair of bouts per seed (Figure 7-10)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from nuc_engine.analysis.spread import StepSamples, dip_p, interval, spread, spread_ratio, step_samples
from nuc_engine.analysis.tracks import FloatArray
from nuc_engine.experiments.catalogue.asks import Found, Question, judged_span
from nuc_engine.experiments.catalogue.muscles import LINEAR, PIECES, resolution_of
from nuc_engine.experiments.protocol import Observation, Observations

Quantity = Literal["duration_s", "lift_off_difference_deg"]
"""Step duration, or the difference of successive ThC minima (`StepSamples`)."""
FEWEST = 20
"""Steps of each leg without which nothing is compared."""
AS_WIDE = 0.1
"""Spreads whose ratio lies within this of 1, with all of its interval, are told to be equally wide."""
DECIDES_P = 0.05


class Compared(Question, kw_only=True):
    """Something asked of the steps of the linear and of the piecewise constant leg, in one window."""

    def look(self, seen: Observations) -> Found:
        """Return what comes of the comparison, a reason alone where there are too few steps."""
        linear, pieces = (self._samples(seen[label]) for label in (LINEAR, PIECES))
        if min(len(linear.minima_s), len(pieces.minima_s)) <= FEWEST:
            return Found((f"{len(linear.minima_s)} and {len(pieces.minima_s)} minima, expected more than {FEWEST}",))
        return self.compared(linear, pieces, resolution_of(seen[LINEAR]).state_period_s)

    def compared(self, linear: StepSamples, pieces: StepSamples, period_s: float) -> Found:
        """Return what is found; rules are evaluated every `period_s`."""
        raise NotImplementedError

    def _samples(self, one: Observation) -> StepSamples:
        return step_samples(one.leg, *judged_span(one.plan, self.windows[0]))


class Narrower(Compared, kw_only=True, tag="narrower"):
    """Whether a quantity's spread is narrower with the linear model, with all of the ratio's 95 % interval."""

    what: Quantity

    def compared(self, linear: StepSamples, pieces: StepSamples, period_s: float) -> Found:
        """Return the ratio of spreads, linear to piecewise constant."""
        found = spread_ratio(getattr(linear, self.what), getattr(pieces, self.what))
        numbers = {
            "spread ratio": found.ratio,
            "spread ratio, low end": found.low,
            "spread ratio, high end": found.high,
            f"equally wide within {AS_WIDE:.0%} (share)": float(found.low > 1 - AS_WIDE and found.high < 1 + AS_WIDE),
        }
        reason = f"spread ratio {found.ratio:.2f} (up to {found.high:.2f}), expected below 1 with all of its interval"
        return Found((reason,) if found.high >= 1 else (), numbers)


class SameMedian(Compared, kw_only=True, tag="same median"):
    """Whether the medians of step durations are equivalent: the difference's 95 % interval within a share of one."""

    margin: float

    def compared(self, linear: StepSamples, pieces: StepSamples, period_s: float) -> Found:
        """Return the difference of medians, linear less piecewise constant, as a share of the latter's."""
        whole = float(np.median(pieces.duration_s))
        low, high = (end / whole for end in interval(linear.duration_s, pieces.duration_s, _median_difference))
        difference = _median_difference(linear.duration_s, pieces.duration_s) / whole
        numbers = {
            "difference of medians (part)": difference,
            "difference of medians, low end (part)": low,
            "difference of medians, high end (part)": high,
        }
        reason = f"medians differ by {difference:.1%} ({low:.1%} to {high:.1%}), expected within {self.margin:.0%}"
        return Found(() if -self.margin < low and high < self.margin else (reason,), numbers)


class TwoModes(Compared, kw_only=True, tag="two modes"):
    """Whether the piecewise constant leg's step durations have more than one mode, and the linear leg's one."""

    def compared(self, linear: StepSamples, pieces: StepSamples, period_s: float) -> Found:
        """Return p of the dip tests: durations come in steps of the rules' period."""
        p = {LINEAR: dip_p(linear.duration_s, period_s), PIECES: dip_p(pieces.duration_s, period_s)}
        reasons: list[str] = []
        if p[PIECES] >= DECIDES_P:
            reasons.append(f"{PIECES}: one mode will do (p {p[PIECES]:.2g}), expected more than one")
        if p[LINEAR] < DECIDES_P:
            reasons.append(f"{LINEAR}: more than one mode (p {p[LINEAR]:.2g}), expected one")
        return Found(tuple(reasons), {f"{label}: dip test p": value for label, value in p.items()})


class ThinnerTails(Compared, kw_only=True, tag="thinner tails"):
    """Whether fewer differences of successive minima lie beyond `far_deg` with the linear model."""

    far_deg: float

    def compared(self, linear: StepSamples, pieces: StepSamples, period_s: float) -> Found:
        """Return both shares, and the 95 % interval of their difference."""
        far = [np.abs(own.lift_off_difference_deg) > self.far_deg for own in (linear, pieces)]
        beyond = [own.astype(np.float64) for own in far]
        low, high = interval(beyond[0], beyond[1], _mean_difference)
        numbers = {
            f"{label}: beyond {self.far_deg:g} degrees (part)": float(np.mean(own))
            for label, own in zip((LINEAR, PIECES), beyond, strict=True)
        } | {
            "difference of the parts, low end": low,
            "difference of the parts, high end": high,
            f"{LINEAR}: largest difference of minima (deg)": float(np.abs(linear.lift_off_difference_deg).max()),
            f"{PIECES}: largest difference of minima (deg)": float(np.abs(pieces.lift_off_difference_deg).max()),
            f"{PIECES}: spread of successive minima (deg)": spread(pieces.lift_off_difference_deg),
        }
        reason = f"difference of parts beyond {self.far_deg:g} degrees up to {high:.4f}, expected below 0"
        return Found((reason,) if high >= 0 else (), numbers)


def _median_difference(first: FloatArray, second: FloatArray) -> float:
    return float(np.median(first) - np.median(second))


def _mean_difference(first: FloatArray, second: FloatArray) -> float:
    return float(np.mean(first) - np.mean(second))
