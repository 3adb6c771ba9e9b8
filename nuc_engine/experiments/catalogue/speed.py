"""Asks about speed: whether the step gets shorter from level to level (Figure 7-11)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nuc_engine.analysis.spread import step_samples
from nuc_engine.analysis.tracks import FloatArray
from nuc_engine.experiments.catalogue.asks import Found, Question, judged_span
from nuc_engine.experiments.catalogue.pictures import draw_speed
from nuc_engine.experiments.protocol import Observation, Observations, TableRow, Trial

_PERIOD = "{bout}: step period (s)"
_NAMES = {
    "122": "ThC1 protractor, pro(DEP), stance",
    "123": "ThC1 retractor, ret(LEV), swing",
    "126": "CTr levator, lev(PRO), swing",
    "127": "CTr depressor, dep(RET), stance",
    "130": "FTi extensor, stance",
    "131": "FTi flexor, swing",
}
"""The agonist of each action of the cockroach leg, by its activation's HDSO."""


class Faster(Question, kw_only=True, tag="faster"):
    """Whether periods fall from bout to bout by more than their error, and by a share in all."""

    share: float

    def look(self, seen: Observations) -> Found:
        """Return the median periods, and a reason for every bout in which it does not fall."""
        bouts = self.of(seen)
        durations = [self._durations(one) for one in bouts]
        periods = [float(np.median(own)) if own.size else math.nan for own in durations]
        errors = [median_error(own) for own in durations]
        reasons: list[str] = []
        for k in range(1, len(bouts)):
            fall, error = periods[k - 1] - periods[k], math.hypot(errors[k - 1], errors[k])
            if not fall > error:
                reasons.append(
                    f"{bouts[k].plan.label}: period {periods[k]:.3f} s after {periods[k - 1]:.3f} s, expected shorter"
                    f" by more than the standard error of the difference, {error:.3f} s"
                )
        shortening = 1 - periods[-1] / periods[0]
        if not shortening >= self.share:
            reasons.append(
                f"the period is {shortening:.0%} shorter at the last level, expected {self.share:.0%} or more"
            )
        numbers = {_PERIOD.format(bout=one.plan.label): own for one, own in zip(bouts, periods, strict=True)}
        return Found(tuple(reasons), numbers | {"shortening (share)": shortening})

    def _durations(self, one: Observation) -> FloatArray:
        return step_samples(one.leg, *judged_span(one.plan, self.windows[0])).duration_s


def median_error(values: FloatArray) -> float:
    """Return a median's standard error, as of a normal sample: 1.253 s / sqrt(n); NaN for fewer than two values."""
    if len(values) < 2:
        return math.nan
    return 1.2533 * float(values.std(ddof=1)) / math.sqrt(len(values))


def draw_figure_7_11(row: TableRow, trials: Sequence[Trial], path: Path) -> None:
    """Draw the activations of the agonists, as the row's bouts have them, against the step period."""
    names = [_PERIOD.format(bout=plan.label) for plan in row.bouts]
    periods = np.array([[trial.numbers.get(name, math.nan) for name in names] for trial in trials])
    drives = {_NAMES[hdso]: [float(str(plan.values[hdso])) for plan in row.bouts] for hdso in row.bouts[0].values}
    draw_speed(periods, drives, path)
