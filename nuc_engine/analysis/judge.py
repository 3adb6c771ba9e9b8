"""The verdict: is the leg stepping in a window, does it show the behaviour asked for, and if not, what is it.

Every condition of docs/stepping.md is one `Check`, so that a verdict can give all its reasons with the measured number
beside the bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nuc_engine.analysis.behaviour import behaviour_checks
from nuc_engine.analysis.check import Check, at_least, at_most
from nuc_engine.analysis.criteria import DEFAULT_CRITERIA, Behaviour, Criteria, Kind
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.measures import Measures, measure
from nuc_engine.analysis.steps import Steps, detect_steps
from nuc_engine.analysis.tracks import LegTracks

BEHAVIOURS: tuple[Behaviour, ...] = ("FWD", "ITF", "ITB", "stick")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one window showed.

    `stepping` is True only when every condition holds, the behaviour's included. `kind` names what was seen (the
    classes of docs/stepping.md). `reasons` are the conditions that failed. `steady` is the judged part of `window`, and
    `steps` are the complete steps in it. `resembles` are the behaviours whose own conditions hold, asked for or not.
    """

    behaviour: Behaviour
    window: tuple[float, float]
    steady: tuple[float, float]
    stepping: bool
    kind: Kind
    checks: tuple[Check, ...]
    resembles: tuple[Behaviour, ...]
    measures: Measures
    steps: Steps

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return what speaks against stepping, one sentence each; empty when it is stepping."""
        return tuple(check.text for check in self.checks if not check.ok)


def judge(
    leg: LegTracks,
    behaviour: Behaviour,
    window: tuple[float, float],
    criteria: Criteria = DEFAULT_CRITERIA,
    steps: Steps | None = None,
) -> Verdict:
    """Judge one window (begin, end; seconds since engine start) of a record.

    `steps` may be given when they were detected before. Raises AnalysisError when the window is not longer than the
    settling time, reaches beyond the record, or a joint the behaviour speaks of is missing.
    """
    steady = _steady_part(leg, window, criteria)
    steps = (detect_steps(leg, criteria) if steps is None else steps).within(*steady)
    measures = measure(leg, steps, steady, criteria)
    general = _general_checks(measures, steps.contact_known, criteria)
    special = behaviour_checks(behaviour, leg, steps, criteria)
    kind = _kind(measures, general, special, steps.contact_known, criteria)
    return Verdict(
        behaviour=behaviour,
        window=window,
        steady=steady,
        stepping=kind == "stepping",
        kind=kind,
        checks=(*general, *special),
        resembles=tuple(b for b in BEHAVIOURS if _shows(b, leg, steps, criteria)),
        measures=measures,
        steps=steps,
    )


def _shows(behaviour: Behaviour, leg: LegTracks, steps: Steps, criteria: Criteria) -> bool:
    return len(steps) > 0 and all(c.ok for c in behaviour_checks(behaviour, leg, steps, criteria))


def _steady_part(leg: LegTracks, window: tuple[float, float], criteria: Criteria) -> tuple[float, float]:
    begin, end = window
    if not end - begin > criteria.settle_s:
        raise AnalysisError(
            f"window {begin:g} to {end:g} s is not longer than the {criteria.settle_s:g} s left out for settling"
        )
    recorded = min((t[-1] if len(t) else 0.0) for t in (leg.t_state_s, leg.t_sensor_s, leg.t_foot_s))
    if recorded < end - 0.5:
        raise AnalysisError(f"window {begin:g} to {end:g} s reaches beyond the record, which ends at {recorded:.3f} s")
    return begin + criteria.settle_s, end


def _general_checks(m: Measures, contact_known: bool, c: Criteria) -> tuple[Check, ...]:
    longest = c.max_gap_periods * m.period_s
    mismatch = max(c.max_cycle_mismatch * m.steps, float(c.max_cycle_mismatch_count))
    checks = [
        at_least("steps", m.steps, c.min_steps, "", "complete steps"),
        at_most("gap", m.longest_gap_s, longest, "s", "longest stretch without a lift-off"),
        at_least("period", m.period_s, c.min_period_s, "s", "median step period"),
        at_most("period", m.period_s, c.max_period_s, "s", "median step period"),
        at_most("regular", m.period_cv, c.max_period_cv, "", "coefficient of variation of the step period"),
        at_most("cycles", abs(m.steps - m.thc_cycles), mismatch, "", "steps against thorax-coxa cycles, difference"),
        *_module_checks(m, c),
    ]
    if not contact_known:
        return (*checks, Check("contact", False, "contact with the ground was not recorded"))
    return (
        *checks,
        at_least("contact", m.contact_share, c.min_phase_share, "", "share of time in contact"),
        at_least("stance", m.stance_share, c.min_phase_share, "", "share of time in stance"),
        at_least("swing", m.swing_share, c.min_phase_share, "", "share of time in swing"),
        at_least("loaded", m.action_contact, c.min_action_contact, "", "contact in the stance action minus outside"),
    )


def _module_checks(m: Measures, c: Criteria) -> list[Check]:
    checks: list[Check] = []
    for module in m.modules:
        name, most = module.name, c.max_switches_per_action * module.action_count
        checks += [
            at_least("alternates", module.alternating_share, c.share_of_steps, "", f"{name}: steps with two actions"),
            at_most("chatter", module.switches_per_step, most, "", f"{name}: changes of action per step"),
            at_least("excursion", module.range_deg, c.min_excursion_deg, "deg", f"{name}: angle covered per step"),
        ]
    return checks


def _kind(  # noqa: PLR0911  one return per class of docs/stepping.md, in its order
    m: Measures, general: tuple[Check, ...], special: tuple[Check, ...], contact_known: bool, c: Criteria
) -> Kind:
    failed = {check.name for check in general if not check.ok}
    if all(module.still_range_deg < c.min_excursion_deg for module in m.modules):
        return "chatter" if any(mod.still_switches >= c.chatter_switches for mod in m.modules) else "dead"
    if _chatters(m, c):
        return "chatter"
    cycles = m.thc_cycles >= c.min_steps or any(module.still_switches >= 2 for module in m.modules)
    if m.contact_share < c.min_phase_share and cycles:
        return "air stepping"
    if contact_known and m.swing_share < c.min_phase_share:
        return "dragging"
    if failed == {"contact"} and not contact_known:
        return "cyclic" if all(check.ok for check in special) else "wrong direction"
    if failed:
        return "irregular"
    return "stepping" if all(check.ok for check in special) else "wrong direction"


def _chatters(m: Measures, c: Criteria) -> bool:
    """Condition 4, where there are steps to count the changes of action in."""
    too_fast = bool(np.isfinite(m.period_s)) and m.period_s < c.min_period_s
    return too_fast or any(mod.switches_per_step > c.max_switches_per_action * mod.action_count for mod in m.modules)
