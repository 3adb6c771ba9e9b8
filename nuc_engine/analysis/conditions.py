"""Conditions of a verdict: 1 to 9 of docs/stepping.md, that a leg steps at all, and what each behaviour asks of stance.

A condition has a name, whether it holds, and a sentence with the number and its bound. Behaviours: section 7.4.1.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from nuc_engine.analysis.criteria import Behaviour, Criteria
from nuc_engine.analysis.measures import Measures, ModuleMeasures
from nuc_engine.analysis.steps import Steps
from nuc_engine.analysis.tracks import FloatArray, JointRole, LegTracks, median


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """One condition. `name` is short and stable; `text` says what was measured and what was expected."""

    name: str
    ok: bool
    text: str


def at_least(name: str, value: float, bound: float, unit: str, what: str) -> ConditionResult:
    """Check value >= bound; a value that could not be measured (NaN) fails."""
    return ConditionResult(name, value >= bound, _text(what, value, unit, "at least", bound))


def at_most(name: str, value: float, bound: float, unit: str, what: str) -> ConditionResult:
    """Check value <= bound; a value or bound that could not be measured (NaN) fails."""
    return ConditionResult(name, value <= bound, _text(what, value, unit, "at most", bound))


def below(name: str, value: float, bound: float, unit: str, what: str) -> ConditionResult:
    """Check value < bound; a value that could not be measured (NaN) fails."""
    return ConditionResult(name, value < bound, _text(what, value, unit, "below", bound))


def _text(what: str, value: float, unit: str, sense: str, bound: float) -> str:
    space = f" {unit}" if unit else ""
    measured = "not measurable" if math.isnan(value) else f"{value:.3g}{space}"
    needed = "a bound that only steps can give" if math.isnan(bound) else f"{bound:.3g}{space}"
    return f"{what}: {measured}, expected {sense} {needed}"


NO_CONTACT_RECORD = "contact with the ground was not recorded"


@dataclass(frozen=True, slots=True)
class Demands:
    """What is asked of one window: number of steps, longest stretch (s) without a lift-off, joint cycles to match.

    `held` are roles of joints that need not alternate.
    """

    steps: int
    gap_s: float
    cycles: int
    held: Collection[str] = ()


def asked_of(m: Measures, c: Criteria, held: Collection[str] = ()) -> Demands:
    """Return what docs/stepping.md asks of every window."""
    return Demands(c.min_steps, c.max_gap_periods * m.period_s, m.joint_cycles, held)


def general_checks(m: Measures, asked: Demands, contact_known: bool, c: Criteria) -> tuple[ConditionResult, ...]:
    """Return conditions 1 to 9, one check each or more; without a contact record a failed one says so."""
    mismatch = max(c.max_cycle_mismatch * m.steps, float(c.max_cycle_mismatch_count))
    checks = [
        at_least("steps", m.steps, asked.steps, "", "complete steps"),
        at_most("gap", m.longest_gap_s, asked.gap_s, "s", "longest stretch without a lift-off"),
        at_least("period", m.period_s, c.min_period_s, "s", "median step period"),
        at_most("period", m.period_s, c.max_period_s, "s", "median step period"),
        at_most("regular", m.period_cv, c.max_period_cv, "", "coefficient of variation of the step period"),
        at_most("cycles", abs(m.steps - asked.cycles), mismatch, "", "steps against joint cycles, difference"),
        *(check for module in m.modules if module.role not in asked.held for check in _module_checks(module, c)),
    ]
    if not contact_known:
        return (*checks, ConditionResult("contact", False, NO_CONTACT_RECORD))
    return (
        *checks,
        at_least("contact", m.contact_share, c.min_phase_share, "", "share of time in contact"),
        at_least("stance", m.stance_share, c.min_phase_share, "", "share of time in stance"),
        at_least("swing", m.swing_share, c.min_phase_share, "", "share of time in swing"),
        at_least("loaded", m.action_contact, c.min_action_contact, "", "contact in the stance action minus outside"),
    )


def switches_too_often(m: Measures, c: Criteria, held: Collection[str] = ()) -> bool:
    """Say whether condition 4 is violated, where there are steps to count the changes of action in."""
    too_fast = bool(np.isfinite(m.period_s)) and m.period_s < c.min_period_s
    acting = (module for module in m.modules if module.role not in held)
    return too_fast or any(mod.switches_per_step > c.max_switches_per_action * mod.action_count for mod in acting)


def _module_checks(module: ModuleMeasures, c: Criteria) -> tuple[ConditionResult, ...]:
    name, most = module.name, c.max_switches_per_action * module.action_count
    return (
        at_least("alternates", module.alternating_share, c.share_of_steps, "", f"{name}: steps with two actions"),
        at_most("chatter", module.switches_per_step, most, "", f"{name}: changes of action per step"),
        at_least("excursion", module.range_deg, c.min_excursion_deg, "deg", f"{name}: angle covered per step"),
    )


def behaviour_checks(
    behaviour: Behaviour, leg: LegTracks, steps: Steps, criteria: Criteria
) -> tuple[ConditionResult, ...]:
    """Return the behaviour's own conditions over the given steps.

    Raises AnalysisError when the leg lacks a joint the behaviour speaks of. A joint with fewer than two actions is only
    held, and conditions on it do not apply.
    """
    if behaviour == "sideways":
        return (
            *_flexes(leg, steps, criteria),
            *_inward(leg, steps, criteria),
            *_recovery(leg, steps, criteria),
            *_thc_held(leg, steps, criteria),
        )
    if behaviour == "backward":
        forward = steps.foot_stance_cm[:, 0]
        return (*_flexes(leg, steps, criteria), *_strides("forward", forward, "foot forward in stance", leg, criteria))
    rearward = _strides("rearward", -steps.foot_stance_cm[:, 0], "foot rearward in stance", leg, criteria)
    if behaviour == "FWD":
        return (
            *_joint(leg, steps, "FTi", -1, "FTi extension in stance", criteria),
            *_joint(leg, steps, "CTr", -1, "CTr depression in stance", criteria),
            *rearward,
        )
    if behaviour == "stick":
        return (*_flexes(leg, steps, criteria), *rearward)
    if behaviour == "ITF":
        return (
            *_flexes(leg, steps, criteria),
            *_inward(leg, steps, criteria),
            _not_levating(leg, steps, criteria),
        )
    return (
        *_flexes(leg, steps, criteria),
        *_inward(leg, steps, criteria),
        *_joint(leg, steps, "CTr", +1, "CTr levation in stance", criteria),
        *_recovery(leg, steps, criteria),
    )


def _flexes(leg: LegTracks, steps: Steps, criteria: Criteria) -> tuple[ConditionResult, ...]:
    return _joint(leg, steps, "FTi", +1, "FTi flexion in stance", criteria)


def _inward(leg: LegTracks, steps: Steps, criteria: Criteria) -> tuple[ConditionResult, ...]:
    return _strides("inward", -leg.outward_y * steps.foot_stance_cm[:, 1], "foot inward in stance", leg, criteria)


def _recovery(leg: LegTracks, steps: Steps, criteria: Criteria) -> tuple[ConditionResult, ...]:
    return _strides("recovery", leg.outward_y * steps.foot_swing_cm[:, 1], "foot outward in swing", leg, criteria)


def _strides(
    name: str, amount: FloatArray, what: str, leg: LegTracks, criteria: Criteria
) -> tuple[ConditionResult, ConditionResult]:
    return _moved(name, amount, criteria.min_stride_legs * leg.leg_length_cm, "cm", what, criteria)


def _thc_held(leg: LegTracks, steps: Steps, criteria: Criteria) -> tuple[ConditionResult, ...]:
    if leg.find_module("ThC") is None:
        return ()
    covered = steps.module("ThC").range_deg
    return (below("ThC held", median(covered), criteria.min_excursion_deg, "deg", "ThC angle covered per step"),)


def _joint(
    leg: LegTracks, steps: Steps, role: JointRole, sign: int, what: str, criteria: Criteria
) -> tuple[ConditionResult, ...]:
    if not leg.module(role).alternates:
        return ()
    return _moved(
        role, sign * steps.module(role).change_stance_deg, criteria.min_angle_change_deg, "deg", what, criteria
    )


def _not_levating(leg: LegTracks, steps: Steps, criteria: Criteria) -> ConditionResult:
    leg.module("CTr")
    change = steps.module("CTr").change_stance_deg
    return below("CTr", median(change), criteria.min_angle_change_deg, "deg", "CTr levation in stance")


def _moved(
    name: str, amount: FloatArray, least: float, unit: str, what: str, criteria: Criteria
) -> tuple[ConditionResult, ConditionResult]:
    """The median has to be large enough, and the sign right in most steps."""
    share = float((amount > 0).mean()) if amount.size else float("nan")
    return (
        at_least(name, median(amount), least, unit, f"{what} (median)"),
        at_least(f"{name} sign", share, criteria.share_of_steps, "", f"{what}, share of steps with this direction"),
    )
