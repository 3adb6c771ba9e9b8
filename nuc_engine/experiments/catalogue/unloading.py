"""Asks about unloading in stance: the predictions of section 7.4.5.3.

What "promotes" means here: a disturbance counts when it begins in stance and the leg was stepping before it. For each
action that is predicted and not yet in force, the time until the leg enters it is measured (at most `LONGEST_S`) and
compared with undisturbed stances of the same bout: their times until the same action, counted from the same time after
touch-down. The gain is the median of these less the one after the disturbance. An action is promoted when the median
gain is at least `LEAST_GAIN_S`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import median

import msgspec
import numpy as np

from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.phases import runs
from nuc_engine.analysis.steps import Steps
from nuc_engine.analysis.tracks import JointRole, LegTracks
from nuc_engine.experiments.catalogue.asks import Found, Question, lift_offs, over_repetitions
from nuc_engine.experiments.protocol import Observation, Observations, Trial

CALM_FROM_S = 13.0
"""From here to the first disturbance stances count as undisturbed."""
FIRST_S = 20.0
VARIED_S = 0.7
LONGEST_S = 1.0
INSTANT_S = 0.02
"""Two samples of contact; one more or less is a matter of rounding."""
LEAST_GAIN_S = 0.05
"""Two evaluations of the rules: less is not told from chance."""
LEAST_EVENTS = 4
"""With 2 chance could let a control come out as predicted."""
LEAST_STANCES = 3
BEFORE_S = 2.0
"""Before a disturbance the foot has to have left the ground twice in this time, unless an ask says another."""
EVALUATED = "time between evaluations of the rules (s)"
"""The number of a repetition that says how finely an action can be timed."""


class Predicted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An action that unloading in stance should promote, by part of its name; above an angle, where one is given."""

    role: JointRole
    action: str
    above_deg: float = -math.inf

    @property
    def label(self) -> str:
        """How it is called in numbers and reasons."""
        return f"{self.role} {self.action}"

    def entered_s(self, leg: LegTracks, time_s: float) -> float:
        """Return when it is entered, not after `time_s` where it is in force, infinity where it does not come."""
        module = leg.module(self.role)
        names = zip(module.actions, module.action_names, strict=True)
        wanted = [code for code, name in names if self.action in name.lower()]
        now = max(0, int(np.searchsorted(leg.t_state_s, time_s, side="right")) - 1)
        entered = np.flatnonzero(np.isin(module.action[now:], wanted))
        return float(leg.t_state_s[now + int(entered[0])]) if entered.size else math.inf

    def waits_s(self, leg: LegTracks, time_s: float) -> float | None:
        """Return the time from `time_s` until it is entered, at most `LONGEST_S`.

        None when it is in force already, or the joint is not flexed enough for it.
        """
        angle = float(np.interp(time_s, leg.t_sensor_s, leg.module(self.role).angle_deg))
        entered_s = self.entered_s(leg, time_s)
        if entered_s <= time_s or angle <= self.above_deg:
            return None
        return min(LONGEST_S, entered_s - time_s)


LETS_GO = Predicted("ThC", "lev")
"""What ends the pressing down: the load signal changes its sign only then (section 7.4.5.2)."""


class Schedule(Question, kw_only=True):
    """Asks of a leg that is disturbed `count` times, at intervals of `interval_s` and a varying part of `VARIED_S`.

    That part is about a step: kicks set the phase of stepping anew, and after a fixed time the leg would be met in the
    same phase again and again. From `calm_after_s` after a disturbance to the next one, stances count as undisturbed.
    `actions` are those that are predicted. The foot has to have left the ground twice in the `before_s` before each.
    """

    count: int
    interval_s: float
    calm_after_s: float
    actions: tuple[Predicted, ...]
    before_s: float = BEFORE_S

    @property
    def times_s(self) -> tuple[float, ...]:
        """Instants of the disturbances."""
        return times_s(self.count, self.interval_s)

    @property
    def calm(self) -> tuple[tuple[float, float], ...]:
        """The times in which the leg is left alone, each ending with a disturbance."""
        begins = [CALM_FROM_S] + [time + self.calm_after_s for time in self.times_s[:-1]]
        return tuple(zip(begins, self.times_s, strict=True))

    def disturbed(self, seen: Observation) -> tuple[tuple[float, Stance], ...]:
        """Return the disturbances that count, each with the stance it begins in; the leg stepped before them."""
        down = stances(seen.leg, seen.steps)
        met = ((time, next((one for one in down if one.holds(time)), None)) for time in self.times_s)
        return tuple(
            (time, stance)
            for time, stance in met
            if stance is not None and len(lift_offs(seen.steps, time - self.before_s, time)) >= 2
        )

    def gains(self, seen: Observation, predicted: Predicted) -> dict[float, float]:
        """Return by how many seconds each disturbance that counts, by its time, brought the action forward.

        Negative: it came later.
        """
        found: dict[float, float] = {}
        down = stances(seen.leg, seen.steps)
        for time, stance in self.disturbed(seen):
            waited = predicted.waits_s(seen.leg, time)
            usual = self._usual(seen.leg, predicted, down, time - stance.begin_s)
            if waited is not None and len(usual) >= LEAST_STANCES:
                found[time] = median(usual) - waited
        return found

    def unaided(self, seen: Observation, predicted: Predicted) -> list[bool]:
        """Return, for each disturbance that counts, whether the action came before ThC1 let go: by the load alone."""
        found: list[bool] = []
        for time, _ in self.disturbed(seen):
            waited, held = predicted.waits_s(seen.leg, time), LETS_GO.waits_s(seen.leg, time)
            if waited is not None and held is not None:
                found.append(waited < held - INSTANT_S)
        return found

    def _usual(self, leg: LegTracks, predicted: Predicted, down: Sequence[Stance], since_s: float) -> list[float]:
        """Return the times until the action in undisturbed stances that last `since_s` or longer, from then on."""
        found: list[float] = []
        for stance in down:
            time = stance.begin_s + since_s
            ends = [end for begin, end in self.calm if begin <= stance.begin_s and time < end]
            if not ends or not stance.holds(time):
                continue
            waited = predicted.waits_s(leg, time)
            # What had not happened when the leg was disturbed next is not known.
            if waited is not None and time + waited <= ends[0]:
                found.append(waited)
        return found


class Promoted(Schedule, kw_only=True, tag="promoted"):
    """Whether all actions predicted for a behaviour are promoted; too few disturbances in stance: not judged."""

    def look(self, seen: Observations) -> Found:
        """Return the median gain of each action, a reason where it is too small, and all gains as samples."""
        one = self.one(seen)
        few: list[str] = []
        against: list[str] = []
        numbers: dict[str, float] = {EVALUATED: float(np.median(np.diff(one.leg.t_state_s)))}
        samples: dict[str, tuple[float, ...]] = {}
        for predicted in self.actions:
            found = tuple(self.gains(one, predicted).values())
            numbers[f"{predicted.label}: disturbances that count"] = float(len(found))
            if len(found) < LEAST_EVENTS:
                count = "1 disturbance counts" if len(found) == 1 else f"{len(found)} disturbances count"
                few.append(f"{predicted.label}: {count}, expected at least {LEAST_EVENTS}")
                continue
            gain = median(found)
            numbers[f"{predicted.label}: sooner by (s)"] = gain
            early = self.unaided(one, predicted)
            if early:
                numbers[f"{predicted.label}: before ThC1 lets go (share)"] = sum(early) / len(early)
            samples[f"{predicted.label}: sooner by (s)"] = found
            if gain < LEAST_GAIN_S:
                against.append(f"{predicted.label}: {_sooner(gain)}, expected sooner by at least {LEAST_GAIN_S:g} s")
        return Found(tuple(against), numbers, samples, tuple(few))


@dataclass(frozen=True, slots=True)
class Stance:
    """Foot down from `begin_s` to `end_s` (infinity where the record ends in it)."""

    begin_s: float
    end_s: float

    def holds(self, time_s: float) -> bool:
        """Say whether the foot is down, or was until this very instant: a disturbance may be what lifts it."""
        return self.begin_s < time_s <= self.end_s + INSTANT_S


def times_s(count: int, interval_s: float) -> tuple[float, ...]:
    """Return the instants of so many disturbances."""
    intervals = (interval_s + VARIED_S * (0.618 * k % 1.0) for k in range(1, count))
    return tuple(round(time, 2) for time in accumulate(intervals, initial=FIRST_S))


def stances(leg: LegTracks, steps: Steps) -> tuple[Stance, ...]:
    """Return when the foot was down: stretches of contact, with gaps shorter than a swing bridged.

    A stance that a disturbance ends at once counts as well; the step detector would not call it one. Where contact was
    not recorded, stances are what lies between swings.
    """
    if leg.contact_n is None:
        ends = [swing.lift_off_s for swing in steps.swings[1:]] + [math.inf]
        return tuple(
            Stance(own.touch_down_s, end) for own, end in zip(steps.swings, ends, strict=False) if own.end_known
        )
    found: list[Stance] = []
    for begin, end in runs(leg.contact_n > DEFAULT_CRITERIA.contact_n):
        down = Stance(float(leg.t_foot_s[begin]), float(leg.t_foot_s[end]) if end < len(leg.t_foot_s) else math.inf)
        if found and down.begin_s - found[-1].end_s < DEFAULT_CRITERIA.min_swing_s:
            down = Stance(found.pop().begin_s, down.end_s)
        found.append(down)
    return tuple(found)


def _sooner(gain_s: float) -> str:
    rounded = round(gain_s, 3)
    return f"later by {-rounded:.3f} s" if rounded < 0 else f"sooner by {abs(rounded):.3f} s"


def pooled(trials: Sequence[Trial]) -> dict[str, float]:
    """Return, over all repetitions, gains of disturbances, an interval of their median, and a sign test of medians."""
    numbers: dict[str, float] = {}
    for name in dict.fromkeys(name for trial in trials for name in trial.samples):
        # What rounding leaves of no gain is no gain.
        own = [tuple(round(gain, 6) for gain in found) for trial in trials if (found := trial.samples.get(name, ()))]
        values = [value for each in own for value in each]
        medians = [median(each) for each in own]
        sooner, later = sum(value > 0 for value in medians), sum(value < 0 for value in medians)
        low, high = median_interval(own)
        action = name.partition(":")[0]
        numbers |= {
            f"{action}: median gain of all disturbances (s)": median(values),
            f"{action}: low end of its 95 % interval (s)": low,
            f"{action}: high end of its 95 % interval (s)": high,
            f"{action}: share of disturbances with a gain": sum(value > 0 for value in values) / len(values),
            f"{action}: repetitions that are sooner in the median": float(sooner),
            f"{action}: repetitions that are later": float(later),
            f"{action}: sign test over repetitions, p": sign_test(sooner, later),
        }
    evaluated = [trial.numbers[EVALUATED] for trial in trials if EVALUATED in trial.numbers]
    if evaluated:
        numbers[f"noise level: {EVALUATED}"] = median(evaluated)
    return numbers


def median_interval(own: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the ends of the 95 % bootstrap interval of the median over all values; whole repetitions are drawn."""
    values = [np.asarray(each, dtype=np.float64) for each in own]
    return over_repetitions(len(values), lambda drawn: float(np.median(np.concatenate([values[k] for k in drawn]))))


def sign_test(more: int, less: int) -> float:
    """Return the two-sided p of so many differences of one sign and so many of the other, ties left out."""
    total = more + less
    tail = sum(math.comb(total, k) for k in range(min(more, less) + 1)) / 2**total
    return min(1.0, 2 * tail)
