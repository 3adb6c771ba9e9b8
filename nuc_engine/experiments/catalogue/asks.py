"""What a criterion asks of the bouts of one repetition, by name: `RowCriterion` is a list of such asks, as data.

An ask answers with reasons, sentences that say what is not as expected, and with numbers for the result table. A probe
measures by such a list too; of it only the numbers count. More asks are in `gradual`, `joints`, `speed`, `muscles`,
`unloading` and `felt`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec
import numpy as np

from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.steps import Steps
from nuc_engine.analysis.tracks import FloatArray
from nuc_engine.experiments.protocol import BoutPlan, CriterionResult, JudgedWindow, Observation, Observations, Part

Reasons = tuple[str, ...]
_RESAMPLES = 1000
_STILL_GRID_S = 0.1
"""Between looks at joints that may stand still: fine beside the seconds that are asked for."""


@dataclass(frozen=True, slots=True)
class Found:
    """What an ask found: `reasons` against, `few` where too little happened to be judged, numbers, samples."""

    reasons: Reasons = ()
    numbers: Mapping[str, float] = field(default_factory=dict[str, float])
    samples: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    few: Reasons = ()


class Question(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, tag_field="ask"):
    """Something asked of a repetition, in some windows (by name or by part of the bout) of some bouts (empty: all).

    `name` is that of its number, in which {bout} and {window} stand for where it was found. With `final` what it finds
    is about the final part, where a kick may help.
    """

    bouts: tuple[str, ...] = ()
    windows: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    name: str = ""
    final: bool = False

    def look(self, seen: Observations) -> Found:
        """Return what is found in the bouts of a repetition."""
        raise NotImplementedError

    def of(self, seen: Observations) -> list[Observation]:
        """Return the bouts that are asked, in order."""
        return [seen[label] for label in self.bouts or seen]

    def one(self, seen: Observations) -> Observation:
        """Return the only bout that is asked."""
        (one,) = self.of(seen)
        return one

    def places(self, seen: Observations) -> Iterator[tuple[Observation, str]]:
        """Yield each window that is asked, with its bout."""
        for one in self.of(seen):
            names = self.windows or tuple(name for part in self.parts for name in windows_of(one.plan, part))
            yield from ((one, name) for name in names)

    def named(self, one: Observation, window: str) -> str:
        """Return the name of a number found in a window."""
        return self.name.format(bout=one.plan.label, window=window)


class Starts(Question, kw_only=True, tag="starts"):
    """Whether the leg does what it has to start from, in all windows before; else it is a failed start."""

    kind: str

    def look(self, seen: Observations) -> Found:
        """Return a reason for every window before in which it does not."""
        return Found(not_started(self.of(seen), self.kind))


class WindowQuestion(Question):
    """An ask of each window by itself. Several bouts are named in its reasons; `name`: of the number of reasons."""

    def against(self, one: Observation, window: str) -> Reasons:
        """Return what is not as expected in a window."""
        raise NotImplementedError

    def look(self, seen: Observations) -> Found:
        """Return the reasons of all windows."""
        several = len(self.of(seen)) > 1
        reasons = tuple(
            f"{one.plan.label}: {reason}" if several else reason
            for one, name in self.places(seen)
            for reason in self.against(one, name)
        )
        return Found(reasons, {self.name: float(len(reasons))} if self.name else {})


class Is(WindowQuestion, kw_only=True, tag="is"):
    """Whether a window was classified as this kind, and, where one is named, has the movements of a behaviour."""

    kind: str
    resembling: str = ""

    def against(self, one: Observation, window: str) -> Reasons:
        """Return a reason unless it is so."""
        if reasons := unlike(one, window, self.kind):
            return reasons
        if self.resembling and self.resembling not in one.outcomes[window].resembles:
            return (f"{window}: a {self.kind}, but not with the movements of walking {self.resembling}",)
        return ()


class NoStepping(WindowQuestion, kw_only=True, tag="no stepping"):
    """Whether there was no stepping, of whatever kind."""

    def against(self, one: Observation, window: str) -> Reasons:
        """Return a reason where there was."""
        return stepping(one, window)


class NoCycle(WindowQuestion, kw_only=True, tag="no cycle"):
    """Whether the joints went through no repeating cycle, on the ground or not."""

    def against(self, one: Observation, window: str) -> Reasons:
        """Return a reason where they did."""
        outcome = one.outcomes[window]
        if outcome.cyclic or outcome.kind in {"dragging cycle", "air stepping"}:
            return (f"{window}: {outcome.kind}, which is a cycle",)
        return stepping(one, window)


class Halted(WindowQuestion, kw_only=True, tag="halted"):
    """Whether the leg has come to a halt by the end of the window, and did not step in it."""

    def against(self, one: Observation, window: str) -> Reasons:
        """Return a reason unless it has."""
        outcome = one.outcomes[window]
        most = max((module.still_range_deg for module in outcome.measures.modules), default=0.0)
        moves = (f"{window}: {outcome.kind}, and a joint still moves by {most:.0f} degrees",)
        return stepping(one, window) or (moves if most >= DEFAULT_CRITERIA.min_excursion_deg else ())


class Stands(Question, kw_only=True, tag="stands"):
    """Whether the leg stands still for a time, no joint covering 5 degrees; with `never`, that it never does."""

    at_least_s: float
    never: bool = False

    def look(self, seen: Observations) -> Found:
        """Return the longest time it does, and a reason when that is not as expected."""
        one = self.one(seen)
        (name,) = self.windows
        longest_s = still_s(one, *judged_span(one.plan, name))
        bound = f"less than {self.at_least_s:g} s" if self.never else f"at least {self.at_least_s:g} s"
        reason = f"{one.plan.label}: stands still for {longest_s:.1f} s at most, expected {bound}"
        return Found((reason,) if (longest_s >= self.at_least_s) is self.never else (), {self.name: longest_s})


class Measure(Question, kw_only=True, tag="measure"):
    """A number of each window that the classifier measured."""

    what: Literal["period_s", "swing_share"] = "period_s"

    def look(self, seen: Observations) -> Found:
        """Return the numbers."""
        return Found(numbers={self.named(one, name): self._value(one, name) for one, name in self.places(seen)})

    def _value(self, one: Observation, window: str) -> float:
        return getattr(one.outcomes[window].measures, self.what)


class LastLiftOff(Question, kw_only=True, tag="last lift-off"):
    """When the foot left the ground for the last time in the whole bout; NaN when it never did."""

    def look(self, seen: Observations) -> Found:
        """Return the time."""
        one = self.one(seen)
        return Found(numbers={self.name: last_lift_off_s(one.steps, 0.0, one.plan.duration_s)})


class SmallestAngle(Question, kw_only=True, tag="smallest FTi angle"):
    """The smallest angle of FTi (degrees) after a time."""

    after_s: float

    def look(self, seen: Observations) -> Found:
        """Return the angle."""
        leg = self.one(seen).leg
        return Found(numbers={self.name: float(np.min(leg.module("FTi").angle_deg[leg.t_sensor_s > self.after_s]))})


@dataclass(frozen=True, slots=True)
class RowCriterion:
    """What has to be seen in the bouts of one repetition, by asks in order."""

    asks: tuple[Question, ...]

    def __call__(self, seen: Observations) -> CriterionResult:
        """Judge: a failed start when something speaks against the part before; else what all others say.

        Where something speaks against other parts than the final one no kick there can help.
        """
        found = [(ask, ask.look(seen)) for ask in self.asks]
        before = _reasons(one for ask, one in found if isinstance(ask, Starts))
        against = _reasons(one for ask, one in found if not (isinstance(ask, Starts) or ask.final))
        few = tuple(reason for _, one in found for reason in one.few)
        reasons = before or few or against + _reasons(one for ask, one in found if ask.final)
        return CriterionResult(
            not reasons,
            reasons,
            {name: value for _, one in found for name, value in one.numbers.items()},
            {name: values for _, one in found for name, values in one.samples.items()},
            started=not before,
            settled=bool(against),
            enough=not few,
        )

    def measure(self, seen: Observations) -> Mapping[str, float]:
        """Return the numbers alone, nothing where the leg did not start."""
        if any(ask.look(seen).reasons for ask in self.asks if isinstance(ask, Starts)):
            return {}
        return {name: value for ask in self.asks for name, value in ask.look(seen).numbers.items()}


def _reasons(found: Iterable[Found]) -> Reasons:
    return tuple(reason for one in found for reason in one.reasons)


def unlike(seen: Observation, window: str, kind: str) -> Reasons:
    """Return a reason unless the window was classified as this kind."""
    outcome = seen.outcomes[window]
    if outcome.kind == kind:
        return ()
    why = f" ({outcome.reasons[0]})" if outcome.reasons else ""
    return (f"{window}: {outcome.kind}, expected {kind}{why}",)


def stepping(seen: Observation, window: str) -> Reasons:
    """Return a reason when there was stepping in the window, of whatever kind.

    A leg whose actions chatter, or do not go with the ground, has no stepping cycle to its credit; but whoever says
    that it does not step has to be refuted by a foot that does.
    """
    outcome = seen.outcomes[window]
    if outcome.cyclic:
        return (f"{window}: {outcome.kind}, which is stepping",)
    if outcome.foot_steps:
        m = outcome.measures
        return (f"{window}: {outcome.kind}, but the foot steps ({m.steps} steps of {m.period_s:.2f} s)",)
    return ()


def not_started(seen: Iterable[Observation], kind: str) -> Reasons:
    """Return a reason for every window of the part before in which the leg does not do what it has to start from."""
    return tuple(
        reason for one in seen for name in windows_of(one.plan, "before") for reason in unlike(one, name, kind)
    )


def still_s(one: Observation, begin_s: float, end_s: float) -> float:
    """Return the longest time in [begin_s, end_s] in which no joint covers `min_excursion_deg` (docs/stepping.md)."""
    times_s = np.arange(begin_s, end_s, _STILL_GRID_S)
    angles = np.array([np.interp(times_s, one.leg.t_sensor_s, module.angle_deg) for module in one.leg.modules])
    longest = 0
    for k in range(len(times_s)):
        ahead = angles[:, k:]
        covered = np.maximum.accumulate(ahead, axis=1) - np.minimum.accumulate(ahead, axis=1)
        until_it_moves = np.flatnonzero((covered >= DEFAULT_CRITERIA.min_excursion_deg).any(axis=0))
        longest = max(longest, int(until_it_moves[0]) if until_it_moves.size else ahead.shape[1])
    return longest * _STILL_GRID_S


def windows_of(plan: BoutPlan, part: Part) -> tuple[str, ...]:
    """Return the names of a plan's windows of one part."""
    return tuple(window.name for window in plan.windows if window.part == part)


def window(plan: BoutPlan, name: str) -> JudgedWindow:
    """Return a plan's window by its name. Raises KeyError when it has none of that name."""
    for one in plan.windows:
        if one.name == name:
            return one
    raise KeyError(name)


def judged_span(plan: BoutPlan, name: str) -> tuple[float, float]:
    """Return begin and end (s) of the part of a window that is judged."""
    stretch = window(plan, name)
    return stretch.begin_s + stretch.settle_s, stretch.end_s


def lift_offs(steps: Steps, begin_s: float, end_s: float) -> FloatArray:
    """Return when the foot left the ground in [begin_s, end_s]."""
    return within(np.array([swing.lift_off_s for swing in steps.swings if swing.begin_known]), begin_s, end_s)


def last_lift_off_s(steps: Steps, begin_s: float, end_s: float) -> float:
    """Return when the foot left the ground for the last time in [begin_s, end_s], NaN when it never did."""
    times = lift_offs(steps, begin_s, end_s)
    return float(times[-1]) if times.size else math.nan


def within(times_s: FloatArray, begin_s: float, end_s: float) -> FloatArray:
    """Return the times in [begin_s, end_s]."""
    return times_s[(times_s >= begin_s) & (times_s <= end_s)]


def median_of_known(values: Sequence[float]) -> float:
    """Return the median of those that are numbers; NaN without any."""
    known = [value for value in values if math.isfinite(value)]
    return float(np.median(known)) if known else math.nan


def over_repetitions(count: int, statistic: Callable[[Sequence[int]], float]) -> tuple[float, float]:
    """Return the ends of the 95 % bootstrap interval of a statistic; so many whole repetitions are drawn, by place."""
    rng = np.random.Generator(np.random.PCG64(0))
    values = [statistic(drawn) for drawn in rng.integers(0, count, size=(_RESAMPLES, count)).tolist()]
    low, high = np.quantile(np.array(values), [0.025, 0.975], method="inverted_cdf").tolist()
    return low, high
