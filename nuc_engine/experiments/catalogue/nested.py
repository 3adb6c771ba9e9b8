"""Asks made of other asks, and `AnyAsk`: every ask there is, as data may have it."""

from __future__ import annotations

import math
from typing import cast

from nuc_engine.experiments.catalogue.asks import (
    Found,
    Halted,
    Is,
    LastLiftOff,
    Measure,
    NoCycle,
    NoStepping,
    Question,
    RowCriterion,
    SmallestAngle,
    Stands,
    Starts,
    last_lift_off_s,
)
from nuc_engine.experiments.catalogue.cuts import Foretold
from nuc_engine.experiments.catalogue.drive import Overdriven, SetTheSpeed
from nuc_engine.experiments.catalogue.felt import Felt
from nuc_engine.experiments.catalogue.gradual import (
    BackwardSteps,
    Brought,
    Caught,
    DiesOut,
    NoPause,
    Sequences,
    Useless,
)
from nuc_engine.experiments.catalogue.joints import AnotherPattern, JointPhase, KicksAfter
from nuc_engine.experiments.catalogue.ladders import Bears
from nuc_engine.experiments.catalogue.muscles import LiftOff, Steadier
from nuc_engine.experiments.catalogue.phase import Arrives
from nuc_engine.experiments.catalogue.searching import Searches, StepsAgain, StepsBefore
from nuc_engine.experiments.catalogue.speed import Faster
from nuc_engine.experiments.catalogue.spreads import Narrower, SameMedian, ThinnerTails, TwoModes
from nuc_engine.experiments.catalogue.stick import Drifts, LiftOffLags, OnsetsApart, StepPath
from nuc_engine.experiments.catalogue.timers import PeriodBeside, SameMovement, Slows
from nuc_engine.experiments.catalogue.unloading import Promoted
from nuc_engine.experiments.catalogue.variations import LastsLonger, Sinks, SteppingCombinations, StepSpread
from nuc_engine.experiments.protocol import CriterionResult, Observations


class Nested(Question, kw_only=True):
    """Something asked of what a criterion says of the bouts: its own, or in data that of the row it names."""

    criterion: tuple[AnyAsk, ...] | str

    def judged(self, seen: Observations) -> CriterionResult:
        """Return what the criterion says."""
        return RowCriterion(cast(tuple[Question, ...], self.criterion))({one.plan.label: one for one in self.of(seen)})


class AsSeenShare(Nested, kw_only=True, tag="share"):
    """Whether it is as seen, as 0 or 1; NaN where too little happened to be judged."""

    def look(self, seen: Observations) -> Found:
        """Return that."""
        finding = self.judged(seen)
        return Found(numbers={self.name: float(finding.ok) if finding.enough else math.nan})


class NotSo(Nested, kw_only=True, tag="not"):
    """Whether it is otherwise: what must not be seen."""

    def look(self, seen: Observations) -> Found:
        """Return a reason where it is as seen, and in how many ways it is not."""
        reasons = self.judged(seen).reasons
        return Found(() if reasons else (f"{self.name}: so, expected otherwise",), {self.name: float(len(reasons))})


class ReasonCount(Nested, kw_only=True, tag="count"):
    """How many reasons speak against it."""

    def look(self, seen: Observations) -> Found:
        """Return their number."""
        return Found(numbers={self.name: float(len(self.judged(seen).reasons))})


class MomentOfStep(Nested, kw_only=True, tag="moment of the step"):
    """Whether it is as seen, by the time since the last lift-off at which the rules of its bout change."""

    rules_s: float
    since_s: tuple[float, float]

    def look(self, seen: Observations) -> Found:
        """Return shares, NaN where the rules changed at another moment."""
        one = self.one(seen)
        changed_s = one.plan.moved.get(self.rules_s, self.rules_s)
        since_s = changed_s - last_lift_off_s(one.steps, 0.0, changed_s)
        ok = float(self.judged(seen).ok)
        low_s, high_s = self.since_s
        delicate = low_s <= since_s < high_s
        moment = f"changed {low_s:g} to {high_s:g} s after a lift-off"
        return Found(
            numbers={
                f"{moment}: as seen (share)": ok if delicate else math.nan,
                "changed at another moment of the step: as seen (share)": math.nan if delicate else ok,
                "as seen (share)": ok,
                f"{moment} (share)": float(delicate),
            }
        )


AnyAsk = (
    Starts
    | Is
    | NoStepping
    | NoCycle
    | Halted
    | Measure
    | LastLiftOff
    | SmallestAngle
    | Stands
    | NoPause
    | DiesOut
    | Useless
    | BackwardSteps
    | Brought
    | Caught
    | Sequences
    | AnotherPattern
    | KicksAfter
    | JointPhase
    | Faster
    | Steadier
    | LiftOff
    | Promoted
    | Felt
    | Narrower
    | SameMedian
    | TwoModes
    | ThinnerTails
    | OnsetsApart
    | LiftOffLags
    | StepPath
    | Drifts
    | Foretold
    | SetTheSpeed
    | Overdriven
    | Arrives
    | Bears
    | SameMovement
    | PeriodBeside
    | Slows
    | StepsBefore
    | StepsAgain
    | Searches
    | StepSpread
    | Sinks
    | LastsLonger
    | SteppingCombinations
    | AsSeenShare
    | NotSo
    | ReasonCount
    | MomentOfStep
)
