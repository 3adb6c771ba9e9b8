"""Asks about a leg that is taken apart: whether its joints go on as before, and in what phase."""

from __future__ import annotations

import cmath
import math

import numpy as np

from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.phases import angle_minima, rhythm
from nuc_engine.analysis.tracks import FloatArray, JointRole
from nuc_engine.experiments.catalogue.asks import Found, Question, judged_span
from nuc_engine.experiments.protocol import Observation, Observations


class AnotherPattern(Question, kw_only=True, tag="another pattern"):
    """Whether the joints of the second window do not go on as in the first.

    Cycles whose durations differ by less than `share` are the same pattern.
    """

    share: float

    def look(self, seen: Observations) -> Found:
        """Return a reason when they do."""
        second = self.windows[1]
        before, after = (self.one(seen).outcomes[name] for name in self.windows)
        goes_on = after.cyclic or after.kind in {"air stepping", "dragging cycle"}
        if not (goes_on and abs(after.cycle_s - before.cycle_s) < self.share * before.cycle_s):
            return Found()
        return Found(
            (f"{second}: {after.kind} with cycles of {after.cycle_s:.2f} s, much as before ({before.cycle_s:.2f} s)",)
        )


class KicksAfter(Question, kw_only=True, tag="kicks after"):
    """How many kicks were needed after the leg was put together, and whether any."""

    begin_s: float

    def look(self, seen: Observations) -> Found:
        """Return both."""
        kicks = float(sum(time >= self.begin_s for time in self.one(seen).kicks_s))
        numbers = {"trapped until kicked (share)": float(kicks > 0), "kicks after the leg was put together": kicks}
        return Found(numbers=numbers)


class JointPhase(Question, kw_only=True, tag="phase"):
    """FTi's cycle in each window and its variation, and the phase that CTr's minima have in it."""

    def look(self, seen: Observations) -> Found:
        """Return the numbers of all windows."""
        numbers: dict[str, float] = {}
        for one, name in self.places(seen):
            begin, end = judged_span(one.plan, name)
            cycle = rhythm(one.leg, one.leg.module("FTi"), begin, end, DEFAULT_CRITERIA)
            phase, strength = phase_of(_minima(one, "CTr", begin, end), _minima(one, "FTi", begin, end))
            numbers |= {
                f"{name}: FTi cycle (s)": cycle.period_s,
                f"{name}: variation of the FTi cycle (sd/mean)": cycle.period_cv,
                f"{name}: phase of the smallest CTr angle in the FTi cycle (0 to 1)": phase,
                f"{name}: strength of this phase (0: none, 1: always the same)": strength,
            }
        return Found(numbers=numbers)


def _minima(one: Observation, role: JointRole, begin_s: float, end_s: float) -> FloatArray:
    inside = slice(*np.searchsorted(one.leg.t_sensor_s, (begin_s, end_s)))
    return angle_minima(one.leg.t_sensor_s[inside], one.leg.module(role).angle_deg[inside], DEFAULT_CRITERIA)


def phase_of(events_s: FloatArray, marks_s: FloatArray) -> tuple[float, float]:
    """Return the mean phase (0 to 1) of events between the marks of a cycle, and how alike the phases are.

    This is the length of the mean of unit vectors (vector strength). Events outside the marks are left out; both are
    nan without any.
    """
    if marks_s.size < 2:
        return math.nan, math.nan
    inside = events_s[(events_s >= marks_s[0]) & (events_s < marks_s[-1])]
    if not inside.size:
        return math.nan, math.nan
    at = np.searchsorted(marks_s, inside, side="right") - 1
    phases = (inside - marks_s[at]) / np.diff(marks_s)[at]
    mean = complex(np.exp(2j * np.pi * phases).mean())
    return cmath.phase(mean) / (2 * math.pi) % 1.0, abs(mean)
