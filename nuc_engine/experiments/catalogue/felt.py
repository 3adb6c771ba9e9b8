"""What a leg feels of being unloaded, by its own means or when it is told.

Every rule that brings a predicted action on asks for one thing, load below 0 (FTi's also for angles). So there are two
steps to look at between the disturbance and the action: until ThC1 lets go, which angles decide, and from then until
the sign of the load turns. At the level *told* of a probe the thresholds of the load are out of reach while the
disturbance lasts: the leg then takes itself for unloaded from the instant on in which it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from nuc_engine.analysis.tracks import JointRole, LegTracks
from nuc_engine.experiments.catalogue.asks import Found, median_of_known
from nuc_engine.experiments.catalogue.unloading import LEAST_STANCES, LETS_GO, Schedule, Stance, stances
from nuc_engine.experiments.protocol import BoutPlan, Observation, Observations

SOON_S = 0.06
"""How long after a disturbance it is looked at what the leg feels: about a fifth of a stance."""
FALLING_S = 0.01
"""The ground's force is a mean from here on to `SOON_S`."""

_LOADS = {101: 0.0, 102: 0.01, 106: 0.01, 108: 0.0}
"""The four thresholds of the load signal, in ticks; those of "unloaded" and those of "loaded" lie 0.01 apart."""
_OUT_OF_REACH = 19.9
"""Ticks; the most that can be written. In stance the signal is below it, but for the first instants of some."""

Value = Callable[[LegTracks, float], float]
"""A number at an instant; nan where there is none."""


@dataclass(frozen=True, slots=True)
class _Met:
    """A disturbance that counts: since when the foot was down, and when ThC1 lets go."""

    time_s: float
    since_s: float
    let_go_s: float

    @property
    def pressing(self) -> bool:
        """Say whether ThC1 was still pressing the leg down."""
        return self.let_go_s > self.time_s


class Felt(Schedule, kw_only=True, tag="felt"):
    """How much sooner the predicted actions come; where the leg feels by its own means, also how that comes about.

    `joint` is the one whose turning is looked at. With `lowered` the angle of ThC1 is, when it lets go; with `by_angle`
    how often the first action comes while the leg still feels load; with `by_moment` the gains are parted by whether
    ThC1 still pressed.
    """

    joint: JointRole
    lowered: bool = False
    by_angle: bool = False
    by_moment: bool = False

    def look(self, seen: Observations) -> Found:
        """Return the numbers."""
        one = self.one(seen)
        gains = [(own.label, self.gains(one, own)) for own in self.actions]
        numbers = {f"{label}: sooner by (s)": median_of_known(list(found.values())) for label, found in gains}
        early = [each for own in self.actions for each in self.unaided(one, own)]
        numbers["before ThC1 lets go (part)"] = _part(early)
        if one.plan.edits:
            return Found(numbers=numbers)
        numbers["ThC1 lets go: sooner by (s)"] = median_of_known(list(self.gains(one, LETS_GO).values()))
        met = [_Met(time, time - stance.begin_s, _lets_go_s(one.leg, time)) for time, stance in self.disturbed(one)]
        return Found(numbers=numbers | self._felt(one, met) | (self._by_moment(met, gains) if self.by_moment else {}))

    def _felt(self, one: Observation, met: Sequence[_Met]) -> dict[str, float]:
        """What becomes of the ground's force and of the load as felt, soon after; ThC1 presses until then, in all."""
        leg, compared = one.leg, self._compared(one, met)
        numbers = {
            "force of the ground: more by (N)": _more(leg, compared, _ground_n),
            "load as felt: more by (ticks)": _more(leg, compared, lambda leg, time: _felt_at(leg, time + SOON_S)),
        }
        turning = _more(leg, compared, lambda leg, time: _turning(leg, self.joint, time))
        if self.joint == "FTi":
            numbers["FTi flexes faster by (deg/s)"] = turning
        else:
            numbers["CTr depresses faster by (deg/s)"] = -turning
        if self.lowered:
            numbers["ThC1 when it lets go: raised by (deg)"] = _more(leg, compared, _raised_deg)
        if self.by_angle:
            numbers["FTi flexion by its angle when undisturbed (part)"] = self._by_angle(one)
        return numbers

    def _by_moment(self, met: Sequence[_Met], gains: Sequence[tuple[str, dict[float, float]]]) -> dict[str, float]:
        """The gains of disturbances that meet ThC1 pressing, and of those that come when it has let go already."""
        counting = [each for each in met if any(each.time_s in found for _, found in gains)]
        numbers = {"ThC1 has let go already (part)": _part([not each.pressing for each in counting])}
        for pressing, when in ((True, "ThC1 still presses"), (False, "ThC1 has let go")):
            for label, found in gains:
                some = [found[each.time_s] for each in met if each.pressing == pressing and each.time_s in found]
                numbers[f"{label}, {when}: sooner by (s)"] = median_of_known(some)
        return numbers

    def _compared(self, one: Observation, met: Sequence[_Met]) -> list[tuple[float, list[float]]]:
        """Return disturbances that meet ThC1 pressing, which it goes on with for a while, each with its like.

        These are the same times after touch-down in stances in which nothing was done and ThC1 pressed on as well.
        """
        down = stances(one.leg, one.steps)
        found: list[tuple[float, list[float]]] = []
        for each in met:
            if each.let_go_s >= each.time_s + SOON_S:
                usual = [time for time in self._undisturbed(down, each.since_s) if _presses_on(one.leg, time)]
                if len(usual) >= LEAST_STANCES:
                    found.append((each.time_s, usual))
        return found

    def _undisturbed(self, down: Sequence[Stance], since_s: float) -> Iterator[float]:
        """Yield instants so long after touch-down in stances in which the leg is left alone until `SOON_S` later."""
        for stance in down:
            time = stance.begin_s + since_s
            if stance.holds(time) and any(a <= stance.begin_s and time + SOON_S <= b for a, b in self.calm):
                yield time

    def _by_angle(self, one: Observation) -> float:
        """Return the part of undisturbed stances in which the first action comes while the leg still feels load."""
        found: list[bool] = []
        for stance in stances(one.leg, one.steps):
            time = self.actions[0].entered_s(one.leg, stance.begin_s)
            if stance.begin_s < time and any(a <= stance.begin_s and time <= b for a, b in self.calm):
                found.append(_felt_at(one.leg, time) >= 0.0)
        return _part(found)


def told(plan: BoutPlan, times_s: Sequence[float], lasts_s: float) -> BoutPlan:
    """Return a bout in which load below 19.9 ticks counts as none while a disturbance lasts."""
    edits: dict[tuple[int, float], float | None] = {}
    for time in times_s:
        for number, own in _LOADS.items():
            edits[number, time] = _OUT_OF_REACH + own
            edits[number, round(time + lasts_s, 2)] = own
    return replace(plan, edits=edits)


def _more(leg: LegTracks, compared: Sequence[tuple[float, Sequence[float]]], value: Value) -> float:
    """Return by how much a number is more after a disturbance than in its like: the median."""
    return median_of_known(
        [value(leg, time) - median(value(leg, other) for other in usual) for time, usual in compared]
    )


def _presses_on(leg: LegTracks, time_s: float) -> bool:
    return _lets_go_s(leg, time_s) >= time_s + SOON_S


def _lets_go_s(leg: LegTracks, time_s: float) -> float:
    """Return when ThC1 lets go, not after `time_s` where it has, infinity where it does not any more."""
    return LETS_GO.entered_s(leg, time_s)


def _ground_n(leg: LegTracks, time_s: float) -> float:
    if leg.contact_n is None:
        return math.nan
    inside = (leg.t_foot_s >= time_s + FALLING_S) & (leg.t_foot_s <= time_s + SOON_S)
    return float(np.mean(leg.contact_n[inside])) if inside.any() else math.nan


def _felt_at(leg: LegTracks, time_s: float) -> float:
    """Return the latest load at an instant, as the rules have it."""
    load = leg.module("ThC").load
    last = int(np.searchsorted(leg.t_sensor_s, time_s, side="right")) - 1
    return math.nan if load is None or last < 0 else float(load[last])


def _turning(leg: LegTracks, role: JointRole, time_s: float) -> float:
    """Return how fast a joint turns soon after an instant, in deg/s."""
    begin, end = np.interp([time_s, time_s + SOON_S], leg.t_sensor_s, leg.module(role).angle_deg)
    return float(end - begin) / SOON_S


def _raised_deg(leg: LegTracks, time_s: float) -> float:
    """Return minus the angle at which ThC1 lets go; larger angles are lower."""
    return -float(np.interp(_lets_go_s(leg, time_s), leg.t_sensor_s, leg.module("ThC").angle_deg))


def _part(found: Sequence[bool]) -> float:
    return sum(found) / len(found) if found else math.nan
