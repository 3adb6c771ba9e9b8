"""Asks about a leg whose values change while it walks: pauses, walking that dies, useless turns, legs caught."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from nuc_engine.analysis.outcome import step_kinds
from nuc_engine.analysis.tracks import FloatArray
from nuc_engine.experiments.catalogue.asks import Found, Question, lift_offs, unlike, window, within
from nuc_engine.experiments.protocol import Observation, Observations, Trial

PAUSE_S = 2.0
"""Longest time from one lift-off, or one minimum of a joint's angle, to the next in a cycle that goes on.

About three steps of the roach leg, as docs/stepping.md allows in a lasting cycle.
"""
CAUGHT = "longest time caught in the air (s)"
"""The number by which repetitions are counted as caught."""
CAUGHT_S = 4.0
"""From here on a leg counts as caught: about six steps, and the longest rough patch that Gb allows."""


class NoPause(Question, kw_only=True, tag="no pause"):
    """Whether no longer time passes without an event, from the beginning of the first window to the end of the last."""

    event: Literal["lift-off", "ThC cycle"]
    longest_s: float
    until: str = ""

    def look(self, seen: Observations) -> Found:
        """Return the longest time, and a reason when it is too long."""
        one = self.one(seen)
        begin_s, end_s = window(one.plan, self.windows[0]).begin_s, window(one.plan, self.windows[-1]).end_s
        times = one.steps.thc_minima_s if self.event == "ThC cycle" else lift_offs(one.steps, begin_s, end_s)
        pause = longest_pause_s(times, begin_s, end_s)
        where, until = ("", f" {self.until}") if self.until else (f"{self.windows[0]}: ", "")
        reason = f"{where}{pause:.1f} s without a {self.event}{until}, expected at most {self.longest_s:g} s"
        return Found((reason,) if pause > self.longest_s else (), {self.name: pause})


class DiesOut(Question, kw_only=True, tag="dies out"):
    """Whether walking dies out within these shares of the first window, and stays so until the second one ends.

    The foot may still leave the ground `stray` times after it, as a leg does that twitches.
    """

    shares: tuple[float, float]
    stray: int

    def look(self, seen: Observations) -> Found:
        """Return when it dies out, and a reason when that is not as expected."""
        one = self.one(seen)
        first, second = (window(one.plan, name) for name in self.windows)
        times = lift_offs(one.steps, first.begin_s, second.end_s)
        died = died_out_s(times, first.begin_s, second.end_s)
        earliest, latest = (first.begin_s + share * (first.end_s - first.begin_s) for share in self.shares)
        reasons: tuple[str, ...] = ()
        if math.isnan(died):
            reasons = ("walking does not die out before the rules change",)
        elif not earliest <= died <= latest:
            reasons = (f"walking dies out at {died:.1f} s, expected between {earliest:g} and {latest:g} s",)
        elif (stray := int((times > died).sum())) > self.stray:
            reasons = (f"{stray} lift-offs after walking died out, expected at most {self.stray}",)
        return Found(reasons, {self.name: died - first.begin_s})


class Useless(Question, kw_only=True, tag="useless turn"):
    """Whether a turn has become nearly useless in the second window, by its inward travel in stance in the first."""

    share: float

    def look(self, seen: Observations) -> Found:
        """Return the share of the travel that is left, and a reason when it is too much."""
        one = self.one(seen)
        before, late = (one.outcomes[name] for name in self.windows)
        travel = before.measures.inward_cm
        left = late.measures.inward_cm / travel if travel > 0 else math.nan
        # A turn that is merely irregular still has its use, unless there is not one whole step in it.
        useful = late.kind in {"FWD", "ITF", "ITB"} or (late.kind == "irregular" and late.measures.steps > 0)
        reason = (
            f"{self.windows[1]}: {late.kind}, with {left:.0%} of the inward travel in stance, expected {self.share:.0%}"
            " or less"
        )
        return Found((reason,) if useful and not left <= self.share else (), {self.name: left})


class BackwardSteps(Question, kw_only=True, tag="backward steps"):
    """How many backward steps there are from one time to another."""

    begin_s: float
    end_s: float

    def look(self, seen: Observations) -> Found:
        """Return their number."""
        one = self.one(seen)
        kinds = [step.kind for step in step_kinds(one.leg, one.steps, self.begin_s, self.end_s)]
        return Found(numbers={self.name: float(kinds.count("backward"))})


class Brought(Question, kw_only=True, tag="brought"):
    """Whether a change brings a leg to a behaviour: in the first window, or, after a kick in it, in the second."""

    kind: str

    def look(self, seen: Observations) -> Found:
        """Return a reason unless it does."""
        one = self.one(seen)
        unaided, kicked = self.windows
        helped = any(time_s > window(one.plan, unaided).begin_s for time_s in one.kicks_s)
        return Found(unlike(one, kicked if helped else unaided, self.kind))


class Sequences(Question, kw_only=True, tag="sequences"):
    """In how many windows the foot was lifted often enough to call it a sequence, whether it went on or not."""

    least: int = 3

    def look(self, seen: Observations) -> Found:
        """Return the number of windows."""
        places = [(one, window(one.plan, name)) for one, name in self.places(seen)]
        count = sum(len(lift_offs(one.steps, where.begin_s, where.end_s)) >= self.least for one, where in places)
        return Found(numbers={self.name: float(count)})


class Caught(Question, kw_only=True, tag="caught"):
    """How long the leg is caught in the air after the first window, and when it begins to turn for good."""

    kind: str

    def look(self, seen: Observations) -> Found:
        """Return times, in s."""
        one = self.one(seen)
        change_s, end_s = (window(one.plan, name).end_s for name in self.windows)
        return Found(
            numbers={
                CAUGHT: longest_caught_s(one, change_s),
                "longest time without a stance (s)": longest_in_air_s(one, change_s),
                f"{self.kind} begins (s)": begins_s(one, self.kind, change_s, end_s),
            }
        )


def longest_pause_s(times_s: Sequence[float] | FloatArray, begin_s: float, end_s: float) -> float:
    """Return the longest time without any of these events from `begin_s` to `end_s`, both ends counted as events."""
    inside = within(np.asarray(times_s, dtype=np.float64), begin_s, end_s)
    return float(np.diff(np.array([begin_s, *inside, end_s])).max())


def died_out_s(times_s: FloatArray, begin_s: float, end_s: float, pause_s: float = PAUSE_S) -> float:
    """Return the time of the last event before the first pause longer than `pause_s`; NaN where there is no such pause.

    With no event before the pause it is `begin_s`.
    """
    marks = np.array([begin_s, *within(times_s, begin_s, end_s), end_s])
    long = np.flatnonzero(np.diff(marks) > pause_s)
    return float(marks[long[0]]) if long.size else math.nan


def longest_caught_s(one: Observation, begin_s: float) -> float:
    """Return the longest time from `begin_s` on in which the foot is up and ThC1 does not change its action."""
    thc, times = one.leg.module("ThC"), one.leg.t_state_s
    changes = times[1:][np.diff(thc.action) != 0]
    longest = 0.0
    for swing in one.steps.swings:
        begin = max(begin_s, swing.lift_off_s)
        if swing.touch_down_s > begin:
            inside = changes[(changes > begin) & (changes < swing.touch_down_s)]
            longest = max(longest, float(np.diff([begin, *inside.tolist(), swing.touch_down_s]).max()))
    return longest


def longest_in_air_s(one: Observation, begin_s: float) -> float:
    """Return the longest time without a stance from `begin_s` on."""
    return max((swing.touch_down_s - max(begin_s, swing.lift_off_s) for swing in one.steps.swings), default=0.0)


def begins_s(one: Observation, kind: str, begin_s: float, end_s: float) -> float:
    """Return when the leg begins to step in a way that it keeps up until `end_s`, without a pause; NaN when never."""
    found = math.nan
    for step in reversed(step_kinds(one.leg, one.steps, begin_s, end_s)):
        if step.kind != kind or step.end_s - step.lift_off_s > PAUSE_S:
            break
        found = step.lift_off_s
    return found


def counted(trials: Sequence[Trial]) -> dict[str, float]:
    """Return how many repetitions are caught in the air, and of how many."""
    times = [trial.numbers[CAUGHT] for trial in trials if CAUGHT in trial.numbers]
    return {
        f"repetitions caught in the air for more than {CAUGHT_S:g} s": float(sum(time > CAUGHT_S for time in times)),
        "of repetitions": float(len(times)),
    }
