"""The verdict: is the leg stepping in a window, does it show the behaviour asked for, and if not, what is it.

Every condition of docs/stepping.md is one `Check`, so that a verdict can give all its reasons with the measured number
beside the bound.
"""

from __future__ import annotations

from dataclasses import dataclass

from nuc_engine.analysis.conditions import (
    ConditionResult,
    asked_of,
    behaviour_checks,
    general_checks,
    switches_too_often,
)
from nuc_engine.analysis.criteria import DEFAULT_CRITERIA, Behaviour, Criteria, VerdictKind
from nuc_engine.analysis.measures import Measures, expect_recorded_end, measure, steady_part
from nuc_engine.analysis.steps import Steps, detect_steps
from nuc_engine.analysis.tracks import LegTracks

BEHAVIOURS: tuple[Behaviour, ...] = ("FWD", "ITF", "ITB", "stick", "sideways", "backward")


@dataclass(frozen=True, slots=True)
class WindowVerdict:
    """What one window showed.

    `stepping` is True only when every condition holds, the behaviour's included. `kind` names what was seen (the
    classes of docs/stepping.md). `reasons` are the conditions that failed. `steady` is the judged part of `window`, and
    `steps` are the complete steps in it. `resembles` are the behaviours whose own conditions hold, asked for or not.
    """

    behaviour: Behaviour
    window: tuple[float, float]
    steady: tuple[float, float]
    stepping: bool
    kind: VerdictKind
    checks: tuple[ConditionResult, ...]
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
) -> WindowVerdict:
    """Judge one window (begin, end; seconds since engine start) of a record.

    `steps` may be given when they were detected before. Raises AnalysisError when the window is not longer than the
    settling time, reaches beyond the record, a joint the behaviour speaks of is missing, or a gap in the record hides
    whether the leg stands still at the end.
    """
    steady = steady_part(leg, window, criteria.settle_s)
    held = ("ThC",) if behaviour == "sideways" and not leg.thc_acts else ()
    leg = leg.as_held() if held else leg
    steps = (detect_steps(leg, criteria) if steps is None or held else steps).within(*steady)
    measures = measure(leg, steps, steady, criteria)
    if all(module.still_range_deg < criteria.min_excursion_deg for module in measures.modules):
        expect_recorded_end(leg, max(steady[0], steady[1] - criteria.still_s), steady[1])
    general = general_checks(measures, asked_of(measures, criteria, held), steps.contact_known, criteria)
    special = behaviour_checks(behaviour, leg, steps, criteria)
    too_often = switches_too_often(measures, criteria, held)
    kind = _kind(measures, general, special, steps.contact_known, too_often, criteria)
    return WindowVerdict(
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


def _kind(  # noqa: PLR0911  one return per class of docs/stepping.md, in its order
    m: Measures,
    general: tuple[ConditionResult, ...],
    special: tuple[ConditionResult, ...],
    contact_known: bool,
    too_often: bool,
    c: Criteria,
) -> VerdictKind:
    failed = {check.name for check in general if not check.ok}
    if all(module.still_range_deg < c.min_excursion_deg for module in m.modules):
        return "chatter" if any(mod.still_switches >= c.chatter_switches for mod in m.modules) else "dead"
    if too_often:
        return "chatter"
    cycles = m.joint_cycles >= c.min_steps or any(module.still_switches >= c.idle_switches for module in m.modules)
    if m.contact_share < c.min_phase_share and cycles:
        return "air stepping"
    if contact_known and m.swing_share < c.min_phase_share:
        return "dragging"
    if failed == {"contact"} and not contact_known:
        return "cyclic" if all(check.ok for check in special) else "wrong direction"
    if failed:
        return "irregular"
    return "stepping" if all(check.ok for check in special) else "wrong direction"
