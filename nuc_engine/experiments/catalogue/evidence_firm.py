"""Experiments beside rows that are as seen by one set of seeds and not by both: what decides in a single repetition.

They have seeds of their own, which were in neither set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean

from nuc_engine.analysis.outcome import Outcome
from nuc_engine.experiments.catalogue.gradual import EXPERIMENT_GB, criterion_gb
from nuc_engine.experiments.catalogue.parts import BOUT, last_lift_off_s, not_started, windows_of
from nuc_engine.experiments.catalogue.transitions import EXPERIMENT_A, EXPERIMENT_D1, criterion_d1
from nuc_engine.experiments.protocol import BoutPlan, Level, Observations, Probe

FRESH_SEED = 60001
"""First seed of these experiments."""

Numbers = Mapping[str, float]


# D1: how regular the hops of the interim are, against the femur's angle at which ThC1 lifts.

(_D1,) = EXPERIMENT_D1.rows[0].bouts
(_A,) = EXPERIMENT_A.rows[0].bouts
_LIFTS = 104
_TURN = "A"


def measure_d1(seen: Observations) -> Numbers:
    """Whether the interim has no stepping; how many hops and how regular; and whether A still ends in ITB."""
    one, turn = seen[BOUT], seen[_TURN]
    if not_started([one, turn], "FWD"):
        return {}
    parts = [one.outcomes[name] for name in windows_of(one.plan, "interim")]
    return {
        "no stepping in the interim (share)": float(criterion_d1({BOUT: one}).ok),
        "hops of the foot per second": fmean(map(_hops_hz, parts)),
        "variation of their intervals (sd/mean)": fmean(part.measures.period_cv for part in parts),
        "A ends in ITB (share)": float(turn.outcomes["ITB"].kind == "ITB"),
    }


def _hops_hz(part: Outcome) -> float:
    begin_s, end_s = part.steady
    return part.measures.steps / (end_s - begin_s)


def _d1(value: float) -> tuple[BoutPlan, ...]:
    return replace(_D1, edits={(_LIFTS, 20.0): value}), replace(_A, label=_TURN, edits={(_LIFTS, 40.0): value})


PROBE_D1 = Probe(
    name="HDSO 104",
    question="Do the hops of the interim lose their beat when the threshold leaves the femur's range? And the turn?",
    quantity="HDSO 104 of ITB, at which the levating femur has ThC1 lift the leg (deg)",
    levels=tuple(Level(f"{value:g}", _d1(value), value) for value in (110.0, 125.0, 140.0, 155.0, 170.0)),
    measure=measure_d1,
    as_is="140",
    repetitions=12,
    seed=FRESH_SEED,
)


# Gb: whether the leg gets over the change of rules, against the moment of the step at which they change.

(_GB,) = EXPERIMENT_GB.rows[0].bouts
_RULES_S = 15.0
_DELICATE_S = (0.1, 0.4)
"""Time since the last lift-off, from the middle of swing to the beginning of stance; chosen with tuning seeds."""


def measure_gb(seen: Observations) -> Numbers:
    """Whether the repetition is as seen, by the moment of the step in which its rules change."""
    one = seen[BOUT]
    if not_started([one], "FWD"):
        return {}
    changed_s = one.plan.moved.get(_RULES_S, _RULES_S)
    since_s = changed_s - last_lift_off_s(one.steps, 0.0, changed_s)
    found = criterion_gb(seen)
    ok = float(found.ok)
    low_s, high_s = _DELICATE_S
    delicate = low_s <= since_s < high_s
    moment = f"changed {low_s:g} to {high_s:g} s after a lift-off"
    return {
        f"{moment}: as seen (share)": ok if delicate else math.nan,
        "changed at another moment of the step: as seen (share)": math.nan if delicate else ok,
        "as seen (share)": ok,
        f"{moment} (share)": float(delicate),
        "longest time without a lift-off (s)": found.numbers["longest time without a lift-off (s)"],
    }


def _gb(time_s: float) -> tuple[BoutPlan, ...]:
    return (replace(_GB, moved={} if time_s == _RULES_S else {_RULES_S: time_s}),)


PROBE_GB = Probe(
    name="the moment of the change",
    question="Is it the moment of the step in which the rules change that decides, whenever that is?",
    quantity="change of rules (s); the thresholds are half way at all these times",
    levels=tuple(Level(f"{time_s:g}", _gb(time_s), time_s) for time_s in (15.0, 15.2, 15.4, 15.6)),
    measure=measure_gb,
    as_is="15",
    repetitions=24,
    seed=FRESH_SEED,
)
