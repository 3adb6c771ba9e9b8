"""Asks about drive: which activations set the speed, and what speed and the dispersion of steps do with more of it."""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nuc_engine.analysis.spread import spread, step_samples
from nuc_engine.experiments.catalogue.asks import Found, Question, judged_span
from nuc_engine.experiments.protocol import Observation, Observations, TableRow, Trial

_PERIOD, _SPREAD = "step period (s)", "dispersion of its FTi excursion in stance (deg)"
_SHARE, _SHORTER = "dispersion of its period (share)", "period shorter by (share)"


class Paced(Question, kw_only=True):
    """An ask about step periods of several bouts; a step lasts from one minimum of ThC's angle to the next."""

    def paces(self, seen: Observations) -> dict[str, float]:
        """Return the median period of each bout, by label; NaN without steps."""
        return {
            one.plan.label: float(np.median(own)) if (own := self.durations_s(one)).size else math.nan
            for one in self.of(seen)
        }

    def durations_s(self, one: Observation) -> np.ndarray:
        """Return the durations of a bout's steps."""
        return step_samples(one.leg, *judged_span(one.plan, self.windows[0])).duration_s


class SetTheSpeed(Paced, kw_only=True, tag="set the speed"):
    """Whether the period gets shorter by more in each of the bouts `most` than in any other, against that of `base`."""

    base: str
    most: tuple[str, ...]

    def look(self, seen: Observations) -> Found:
        """Return by how much each is shorter, and a reason for every other bout in which it is more than in these."""
        periods = self.paces(seen)
        shorter = {label: 1 - own / periods[self.base] for label, own in periods.items() if label != self.base}
        least = min(shorter[label] for label in self.most)
        reasons = tuple(
            f"{label}: shorter by {own:.1%}, expected less than the {least:.1%} of {' and '.join(self.most)}"
            for label, own in shorter.items()
            if label not in self.most and not own < least
        )
        numbers = {f"{self.base}: {_PERIOD}": periods[self.base]}
        return Found(reasons, numbers | {f"{label}: {_SHORTER}": own for label, own in shorter.items()})


class Overdriven(Paced, kw_only=True, tag="overdriven"):
    """Whether drive, from bout to bout, makes steps faster up to a level, and then slower and less dispersed.

    The last bout's period has to be longer than the shortest by `share`, and the dispersion of its period, as a share
    of it, smaller than at the shortest.
    """

    share: float

    def look(self, seen: Observations) -> Found:
        """Return period and dispersions of each bout, the shortest period, and reasons against."""
        periods = self.paces(seen)
        numbers: dict[str, float] = {}
        for one in self.of(seen):
            label, own = one.plan.label, self.durations_s(one)
            numbers[f"{label}: {_PERIOD}"] = periods[label]
            numbers[f"{label}: {_SHARE}"] = spread(own) / periods[label] if own.size else math.nan
            inside = one.steps.within(*judged_span(one.plan, self.windows[0]))
            numbers[f"{label}: {_SPREAD}"] = spread(inside.module("FTi").change_stance_deg)
        fastest = min(periods, key=lambda label: periods[label] if periods[label] > 0 else math.inf)
        *_, last = periods
        numbers["shortest period (s)"] = periods[fastest]
        slower = periods[last] / periods[fastest] - 1
        wide, narrow = (numbers[f"{label}: {_SHARE}"] for label in (fastest, last))
        reasons: list[str] = []
        if not slower >= self.share:
            reasons.append(
                f"{last}: {slower:.0%} slower than {fastest}, the fastest, expected {self.share:.0%} or more"
            )
        if not narrow < wide:
            reasons.append(
                f"{last}: dispersion {narrow:.1%} of the period, expected less than {wide:.1%}, that of {fastest}"
            )
        return Found(tuple(reasons), numbers)


def draw_drive(row: TableRow, trials: Sequence[Trial], path: Path) -> None:
    """Draw period and dispersion of each bout, as medians and quartiles over repetitions, in the order of the bouts."""
    from nuc_engine.figures.canvas import house_style, new_figure

    kinds = [
        what for what in (_PERIOD, _SHORTER, _SHARE, _SPREAD) if any(name.endswith(what) for name in trials[0].numbers)
    ]
    kinds = [what for what in kinds if sum(name.endswith(what) for name in trials[0].numbers) > 1]
    with house_style():
        figure = new_figure(7.0, 1.0 + 1.7 * len(kinds))
        panels = figure.subplots(len(kinds), 1, sharex=True, squeeze=False)[:, 0]
        labels = [plan.label for plan in row.bouts if any(f"{plan.label}: {kinds[0]}" in t.numbers for t in trials)]
        for axes, what in zip(panels, kinds, strict=True):
            values = np.array([[t.numbers.get(f"{label}: {what}", math.nan) for label in labels] for t in trials])
            low, middle, high = np.nanpercentile(values, [25, 50, 75], axis=0)
            axes.errorbar(
                range(len(labels)), middle, yerr=[middle - low, high - middle], marker="o", capsize=3, color="#0d5cad"
            )
            axes.set_ylabel(what.replace(" (", "\n(").replace(" of its ", " of its\n"), fontsize=7)
        panels[-1].set_xticks(range(len(labels)), labels, rotation=30, ha="right", fontsize=7)
        panels[-1].set_xlabel("bout; medians and quartiles over repetitions")
        figure.savefig(path, format="svg", metadata={"Date": None})
