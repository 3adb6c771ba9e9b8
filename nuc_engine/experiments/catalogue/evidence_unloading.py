"""Experiments beside the rows of unloading: what the leg feels of it, and what it does when it is told.

Every rule that brings a predicted action on asks for one thing, load below 0 (FTi's also for angles). So there are two
steps to look at between the disturbance and the action: until ThC1 lets go, which angles decide, and from then until
the sign of the load turns. At a second level the thresholds of the load are out of reach while the disturbance lasts:
the leg then takes itself for unloaded from the instant on in which it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from statistics import median

import numpy as np

from nuc_engine.analysis.tracks import LegTracks, Role
from nuc_engine.experiments.catalogue.parts import BOUT, not_started
from nuc_engine.experiments.catalogue.unloading import (
    EXPERIMENT_DROPOUT,
    EXPERIMENT_MAGNET,
    LEAST_STANCES,
    LETS_GO,
    PREDICTED,
    SCHEDULES,
    Predicted,
    Schedule,
    Stance,
    criterion,
    disturbed,
    gains,
    stances,
    unaided,
)
from nuc_engine.experiments.protocol import BoutPlan, Experiment, Level, Observation, Observations, Probe

FRESH_SEED = 60201
"""First seed of these experiments; nothing was tried out or judged with seeds from there on."""

SOON_S = 0.06
"""How long after a disturbance it is looked at what the leg feels: about a fifth of a stance."""
FALLING_S = 0.01
"""The ground's force is a mean from here on to `SOON_S`."""

Numbers = Mapping[str, float]
Span = tuple[float, float]
Value = Callable[[float], float]
"""A number at an instant; nan where there is none."""

OWN, TOLD = "by ThC1's current", "told"

_LOADS = {101: 0.0, 102: 0.01, 106: 0.01, 108: 0.0}
"""The four thresholds of the load signal, in ticks; those of "unloaded" and those of "loaded" lie 0.01 apart."""
_OUT_OF_REACH = 19.9
"""Ticks; the most that can be written. In stance the signal is below it, but for the first instants of some."""


@dataclass(frozen=True, slots=True)
class _Single(Schedule):
    """The schedule with only one of its disturbances looked at; undisturbed is what is so in the whole of it."""

    only_s: float = math.nan

    @property
    def times_s(self) -> tuple[float, ...]:
        """The one instant."""
        return (self.only_s,)

    @property
    def calm(self) -> tuple[tuple[float, float], ...]:
        """As in the whole schedule."""
        return Schedule(self.count, self.interval_s, self.calm_after_s).calm


@dataclass(frozen=True, slots=True)
class _Met:
    """A disturbance that counts, alone: since when the foot was down, and when ThC1 lets go."""

    time_s: float
    since_s: float
    let_go_s: float
    alone: Schedule

    @property
    def pressing(self) -> bool:
        """Say whether ThC1 was still pressing the leg down."""
        return self.let_go_s > self.time_s


def told(plan: BoutPlan, schedule: Schedule, lasts_s: float) -> BoutPlan:
    """Return a bout in which load below 19.9 ticks counts as none while a disturbance lasts."""
    edits: dict[tuple[int, float], float | None] = {}
    for time in schedule.times_s:
        for number, own in _LOADS.items():
            edits[number, time] = _OUT_OF_REACH + own
            edits[number, round(time + lasts_s, 2)] = own
    return replace(plan, edits=edits)


def measure_unloading(name: str, kind: str, seen: Observations) -> Numbers:
    """How much sooner the predicted actions come; where the leg feels by its own means, also how that comes about."""
    one, schedule = seen[BOUT], SCHEDULES[kind]
    if not_started([one], kind):
        return {}
    found = criterion(kind, schedule, seen)
    numbers = {"as seen (share)": float(found.ok) if found.enough else math.nan}
    for predicted in PREDICTED[kind]:
        numbers[f"{predicted.label}: sooner by (s)"] = _middle(gains(one, predicted, schedule))
    early = [own for predicted in PREDICTED[kind] for own in unaided(one, predicted, schedule)]
    numbers["before ThC1 lets go (part)"] = _part(early)
    if one.plan.edits:
        return numbers
    numbers["ThC1 lets go: sooner by (s)"] = _middle(gains(one, LETS_GO, schedule))
    by_moment = _by_moment(kind, one) if name == "dropout" and kind != "ITB" else {}
    return {**numbers, **_felt(kind, one), **by_moment}


def _felt(kind: str, one: Observation) -> Numbers:
    """What becomes of the ground's force and of the load as felt, soon after; ThC1 presses until then, in all of it."""
    leg, compared = one.leg, _compared(one, SCHEDULES[kind])
    numbers = {
        "force of the ground: more by (N)": _more(compared, partial(_ground_n, leg)),
        "load as felt: more by (ticks)": _more(compared, partial(_load, leg)),
    }
    if kind == "ITB":
        numbers["FTi flexes faster by (deg/s)"] = _more(compared, partial(_turning, leg, "FTi"))
        numbers["ThC1 when it lets go: raised by (deg)"] = _more(compared, partial(_raised_deg, leg))
    else:
        numbers["CTr depresses faster by (deg/s)"] = -_more(compared, partial(_turning, leg, "CTr"))
    if kind == "FWD":
        numbers["FTi flexion by its angle when undisturbed (part)"] = _by_angle(one)
    return numbers


def _by_moment(kind: str, one: Observation) -> Numbers:
    """The gains of disturbances that meet ThC1 pressing, and of those that come when it has let go already."""
    met = _met(one, SCHEDULES[kind])
    counting = [each for each in met if any(gains(one, own, each.alone) for own in PREDICTED[kind])]
    numbers = {"ThC1 has let go already (part)": _part([not each.pressing for each in counting])}
    for pressing, when in ((True, "ThC1 still presses"), (False, "ThC1 has let go")):
        for own in PREDICTED[kind]:
            some = chain.from_iterable(gains(one, own, each.alone) for each in met if each.pressing == pressing)
            numbers[f"{own.label}, {when}: sooner by (s)"] = _middle(tuple(some))
    return numbers


def _met(one: Observation, schedule: Schedule) -> list[_Met]:
    """Return the disturbances that count."""
    return [
        _Met(
            time,
            time - stance.begin_s,
            _lets_go_s(one.leg, time),
            _Single(schedule.count, schedule.interval_s, schedule.calm_after_s, time),
        )
        for time, stance in disturbed(one, schedule)
    ]


def _compared(one: Observation, schedule: Schedule) -> list[tuple[float, list[float]]]:
    """Return disturbances that meet ThC1 pressing, which it goes on with for a while, each with its like.

    These are the same times after touch-down in stances in which nothing was done and ThC1 pressed on as well.
    """
    down, calm = stances(one.leg, one.steps), schedule.calm
    found: list[tuple[float, list[float]]] = []
    for met in _met(one, schedule):
        if met.let_go_s >= met.time_s + SOON_S:
            usual = [time for time in _undisturbed(down, met.since_s, calm) if _presses_on(one.leg, time)]
            if len(usual) >= LEAST_STANCES:
                found.append((met.time_s, usual))
    return found


def _more(compared: Sequence[tuple[float, Sequence[float]]], value: Value) -> float:
    """Return by how much a number is more after a disturbance than in its like: the median."""
    return _middle([value(time) - median(map(value, usual)) for time, usual in compared])


def _undisturbed(down: Sequence[Stance], since_s: float, calm: Sequence[Span]) -> Iterator[float]:
    """Yield the instants so long after touch-down in stances in which the leg is left alone until `SOON_S` later."""
    for stance in down:
        time = stance.begin_s + since_s
        if stance.holds(time) and any(a <= stance.begin_s and time + SOON_S <= b for a, b in calm):
            yield time


def _presses_on(leg: LegTracks, time_s: float) -> bool:
    return _lets_go_s(leg, time_s) >= time_s + SOON_S


def _lets_go_s(leg: LegTracks, time_s: float) -> float:
    """Return when ThC1 lets go, not after `time_s` where it has, infinity where it does not any more."""
    return _enters_s(leg, LETS_GO, time_s)


def _enters_s(leg: LegTracks, predicted: Predicted, time_s: float) -> float:
    """Return when an action is entered, not after `time_s` where it is in force, infinity where it does not come."""
    module = leg.module(predicted.role)
    wanted = [code for code, name in zip(module.actions, module.action_names, strict=True) if _is(predicted, name)]
    now = max(0, int(np.searchsorted(leg.t_state_s, time_s, side="right")) - 1)
    entered = np.flatnonzero(np.isin(module.action[now:], wanted))
    return float(leg.t_state_s[now + int(entered[0])]) if entered.size else math.inf


def _is(predicted: Predicted, name: str) -> bool:
    return predicted.action in name.lower()


def _ground_n(leg: LegTracks, time_s: float) -> float:
    if leg.contact_n is None:
        return math.nan
    inside = (leg.t_foot_s >= time_s + FALLING_S) & (leg.t_foot_s <= time_s + SOON_S)
    return float(np.mean(leg.contact_n[inside])) if inside.any() else math.nan


def _load(leg: LegTracks, time_s: float) -> float:
    """Return the load as felt soon after an instant."""
    return _felt_at(leg, time_s + SOON_S)


def _felt_at(leg: LegTracks, time_s: float) -> float:
    """Return the latest load at an instant, as the rules have it."""
    load = leg.module("ThC").load
    last = int(np.searchsorted(leg.t_sensor_s, time_s, side="right")) - 1
    return math.nan if load is None or last < 0 else float(load[last])


def _turning(leg: LegTracks, role: Role, time_s: float) -> float:
    """Return how fast a joint turns soon after an instant, in deg/s."""
    begin, end = np.interp([time_s, time_s + SOON_S], leg.t_sensor_s, leg.module(role).angle_deg)
    return float(end - begin) / SOON_S


def _raised_deg(leg: LegTracks, time_s: float) -> float:
    """Return minus the angle at which ThC1 lets go; larger angles are lower."""
    return -float(np.interp(_lets_go_s(leg, time_s), leg.t_sensor_s, leg.module("ThC").angle_deg))


def _by_angle(one: Observation) -> float:
    """Return the part of undisturbed stances in which FTi flexion comes while the leg still feels load."""
    flexion, calm = PREDICTED["FWD"][0], SCHEDULES["FWD"].calm
    found: list[bool] = []
    for stance in stances(one.leg, one.steps):
        time = _enters_s(one.leg, flexion, stance.begin_s)
        if stance.begin_s < time and any(a <= stance.begin_s and time <= b for a, b in calm):
            found.append(_felt_at(one.leg, time) >= 0.0)
    return _part(found)


def _middle(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return median(known) if known else math.nan


def _part(found: Sequence[bool]) -> float:
    return sum(found) / len(found) if found else math.nan


_LASTS_S = {"dropout": 0.5, "magnet": 0.4}


def _probe(experiment: Experiment, kind: str, what: str) -> Probe:
    (plan,) = next(row for row in experiment.rows if row.name == kind).bouts
    return Probe(
        name="told that it is unloaded",
        question=f"Do the predicted actions come when the leg is told that {what}? And what does it feel by itself?",
        quantity="how the leg learns of it",
        levels=(Level(OWN, (plan,)), Level(TOLD, (told(plan, SCHEDULES[kind], _LASTS_S[experiment.name]),))),
        measure=partial(measure_unloading, experiment.name, kind),
        as_is=OWN,
        repetitions=12,
        seed=FRESH_SEED,
    )


PROBES_UNLOADING: Mapping[tuple[str, str], tuple[Probe, ...]] = {
    (experiment.name, kind): (_probe(experiment, kind, what),)
    for experiment, what in ((EXPERIMENT_DROPOUT, "the ground is gone"), (EXPERIMENT_MAGNET, "the magnet pulls"))
    for kind in PREDICTED
}
