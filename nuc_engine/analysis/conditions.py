"""Conditions 1 to 9 of docs/stepping.md: that a leg steps at all, whatever it does by it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from nuc_engine.analysis.check import Check, at_least, at_most
from nuc_engine.analysis.criteria import Criteria
from nuc_engine.analysis.measures import Measures, ModuleMeasures

NO_CONTACT_RECORD = "contact with the ground was not recorded"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of one window: number of steps, longest stretch (s) without a lift-off, joint cycles to match.

    `held` are roles of joints that need not alternate.
    """

    steps: int
    gap_s: float
    cycles: int
    held: Collection[str] = ()


def asked_of(m: Measures, c: Criteria, held: Collection[str] = ()) -> Asked:
    """Return what docs/stepping.md asks of every window."""
    return Asked(c.min_steps, c.max_gap_periods * m.period_s, m.joint_cycles, held)


def general_checks(m: Measures, asked: Asked, contact_known: bool, c: Criteria) -> tuple[Check, ...]:
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
        return (*checks, Check("contact", False, NO_CONTACT_RECORD))
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


def _module_checks(module: ModuleMeasures, c: Criteria) -> tuple[Check, ...]:
    name, most = module.name, c.max_switches_per_action * module.action_count
    return (
        at_least("alternates", module.alternating_share, c.share_of_steps, "", f"{name}: steps with two actions"),
        at_most("chatter", module.switches_per_step, most, "", f"{name}: changes of action per step"),
        at_least("excursion", module.range_deg, c.min_excursion_deg, "deg", f"{name}: angle covered per step"),
    )
