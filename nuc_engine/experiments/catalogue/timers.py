"""Asks about what pattern generators change: whether bouts are the same, and how long a step is beside another."""

from __future__ import annotations

import math

import numpy as np

from nuc_engine.experiments.catalogue.asks import Found, Question
from nuc_engine.experiments.protocol import Observation, Observations


class SameMovement(Question, kw_only=True, tag="same movement"):
    """Whether bouts are the same, angle by angle and action by action, as the first that is asked."""

    def look(self, seen: Observations) -> Found:
        """Return a reason for every bout that is not."""
        first, *others = self.of(seen)
        return Found(
            tuple(
                f"{one.plan.label}: another movement than {first.plan.label}" for one in others if not _same(first, one)
            )
        )


def _same(one: Observation, other: Observation) -> bool:
    return all(
        np.array_equal(a.angle_deg, b.angle_deg) and np.array_equal(a.action, b.action)
        for a, b in zip(one.leg.modules, other.leg.modules, strict=True)
    )


class PeriodBeside(Question, kw_only=True, tag="period beside"):
    """How long the step of bouts is in a window, beside that of another bout in it, within bounds."""

    beside: str
    at_least: float = 0.0
    at_most: float = math.inf

    def look(self, seen: Observations) -> Found:
        """Return each ratio, and a reason where it lies outside, or there is none."""
        (window,) = self.windows
        base_s = seen[self.beside].outcomes[window].measures.period_s
        numbers: dict[str, float] = {}
        reasons: list[str] = []
        for one in self.of(seen):
            ratio = one.outcomes[window].measures.period_s / base_s
            numbers[f"{one.plan.label}: step period beside {self.beside}"] = ratio
            if not self.at_least <= ratio <= self.at_most:
                reasons.append(
                    f"{one.plan.label}: {ratio:.3g} of the period of {self.beside}, expected {self.at_least:g} to"
                    f" {self.at_most:g}"
                )
        return Found(tuple(reasons), numbers)


class Slows(Question, kw_only=True, tag="slows"):
    """By how much the step is longer in the second of two windows than in the first, at least `by`."""

    by: float = 0.0

    def look(self, seen: Observations) -> Found:
        """Return the ratios, and a reason where it is less, or there is none."""
        before, after = self.windows
        numbers = {
            f"{one.plan.label}: step period, {after} beside {before}": one.outcomes[after].measures.period_s
            / one.outcomes[before].measures.period_s
            for one in self.of(seen)
        }
        return Found(
            tuple(
                f"{name} {ratio:.3g}, expected {self.by:g} or more"
                for name, ratio in numbers.items()
                if not ratio >= self.by
            ),
            numbers,
        )
