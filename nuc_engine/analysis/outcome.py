"""The outcome of a window: what a leg did, from data alone, without knowing what was meant. Rules: docs/outcomes.md.

    outcome = classify(leg, (20.0, 40.0))
    outcome.kind, outcome.cyclic, outcome.state, outcome.reasons

The verdict (`judge`) answers "is this the behaviour asked for?", the outcome "what is this?", with the same bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nuc_engine.analysis.conditions import (
    NO_CONTACT_RECORD,
    ConditionResult,
    Demands,
    behaviour_checks,
    general_checks,
    switches_too_often,
)
from nuc_engine.analysis.criteria import DEFAULT_CRITERIA, Behaviour, Criteria, OutcomeKind
from nuc_engine.analysis.measures import Measures, expect_recorded_end, longest_pause, measure, steady_part
from nuc_engine.analysis.phases import Rhythm, is_periodic, rhythm
from nuc_engine.analysis.steps import Steps, detect_steps
from nuc_engine.analysis.tracks import JointRole, LegTracks, covered_deg

CYCLIC: tuple[OutcomeKind, ...] = ("FWD", "ITF", "ITB", "stick", "sideways", "backward", "unnamed cycle")
"""The kinds that are stepping: a cycle that repeats, with ground contact and air."""

_ABOUT_ACTIONS = ("alternates", "chatter", "loaded")
"""Names of the conditions (3, 4 and 7) that ask what the actions do in a step, and not whether the leg takes one."""

_ROACH: tuple[Behaviour, ...] = ("FWD", "ITB", "ITF", "backward")
_STICK: tuple[Behaviour, ...] = ("stick", "backward")
_THC_HELD: tuple[Behaviour, ...] = ("sideways",)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one window showed.

    `cyclic` is True for a stepping cycle that repeats, with the ground and with the air (`CYCLIC`). `state` names the
    action of each module with several actions when the leg is stuck: the global state it is stuck in. `steady` is the
    part of the window that was looked at. `reasons` say why it is called so, with numbers; a named stepping cycle needs
    none. The last ones name gaps in the record. `resembles` are the behaviours whose movements are there even if it is
    no stepping: in the steps, or, where there are not enough, in the cycles of the actions. `cycle_s` is the median
    joint cycle, nan without one. Without `contact_known`, swing and stance are taken from the actions. `foot_steps` is
    True when the leg steps, whether or not its actions go with it: nothing but what they do (conditions 3, 4 and 7)
    speaks against a stepping cycle.
    """

    kind: OutcomeKind
    cyclic: bool
    state: tuple[str, ...]
    steady: tuple[float, float]
    reasons: tuple[str, ...]
    measures: Measures
    resembles: tuple[Behaviour, ...] = ()
    cycle_s: float = float("nan")
    contact_known: bool = True
    foot_steps: bool = False


@dataclass(frozen=True, slots=True)
class SeenStep:
    """One step by itself: from lift-off to the next one, and what it looks like; "" where like nothing with a name."""

    lift_off_s: float
    end_s: float
    kind: Behaviour | str


def classify(
    leg: LegTracks,
    window: tuple[float, float],
    criteria: Criteria = DEFAULT_CRITERIA,
    steps: Steps | None = None,
    settle_s: float = 3.0,
) -> Outcome:
    """Name what a leg does in a window (begin, end; seconds since engine start), its first `settle_s` left out.

    `steps` may be given when they were detected before. Raises AnalysisError when the window is not longer than
    `settle_s`, reaches beyond the record, the leg has no joints to judge by, or a gap in the record hides whether it
    stands still at the end.
    """
    steady = steady_part(leg, window, settle_s)
    steps = detect_steps(leg, criteria) if steps is None else steps
    held = _thc_held(leg, steps.within(*steady), steady, criteria)
    if held:
        leg = leg.as_held()
        steps = steps if steps.contact_known else detect_steps(leg, criteria)
    seen = steps.within(*steady)
    m = measure(leg, seen, steady, criteria, still_share=criteria.still_share)
    view = _View(leg, seen, m, steady, criteria, thc_held=held)
    kind, reasons = _kind(view)
    reasons += _unrecorded(leg, steady, criteria)
    pace = view.pace
    return Outcome(
        kind=kind,
        cyclic=kind in CYCLIC,
        state=tuple(module.still_action for module in m.modules) if kind == "stuck" else (),
        steady=steady,
        reasons=reasons,
        measures=m,
        resembles=view.resembles,
        cycle_s=float("nan") if pace is None else pace.period_s,
        contact_known=seen.contact_known,
        foot_steps=seen.contact_known and all(check.name in _ABOUT_ACTIONS for check in view.failed),
    )


class _View:
    """A window with everything the classes are decided by."""

    def __init__(
        self,
        leg: LegTracks,
        seen: Steps,
        m: Measures,
        steady: tuple[float, float],
        criteria: Criteria,
        *,
        thc_held: bool,
    ) -> None:
        self.leg, self.seen, self.m, self.c = leg, seen, m, criteria
        self.length_s, self.end_s = steady[1] - steady[0], steady[1]
        self.steps_asked = _steps_asked(self.length_s, criteria)
        self.held: tuple[str, ...] = ("ThC",) if thc_held else ()
        self.rhythms = _rhythms(leg, steady, criteria)
        pacer = "FTi" if thc_held else "ThC"
        self.pace: Rhythm | None = next((r for r in self.rhythms if r.role == pacer), None)
        cycles = 0 if self.pace is None else self.pace.cycles
        asked = Demands(self.steps_asked, self.longest_gap_s(m.period_s), cycles, self.held)
        self.failed = tuple(
            check
            for check in general_checks(m, asked, seen.contact_known, criteria)
            if not check.ok and check.text != NO_CONTACT_RECORD
        )
        self.candidates = _candidates(leg, thc_held=thc_held)
        moved = seen if len(seen) >= self.steps_asked else detect_steps(leg, criteria, by="actions").within(*steady)
        self.resembles: tuple[Behaviour, ...] = tuple(
            b
            for b in self.candidates
            if len(moved) >= criteria.fewest_steps and all(c.ok for c in behaviour_checks(b, leg, moved, criteria))
        )

    def longest_gap_s(self, period_s: float) -> float:
        """Return the longest time without a lift-off, or a joint's minimum, that a lasting cycle may have."""
        c = self.c
        return min(c.max_gap_periods * period_s, max(c.min_gap_periods * period_s, c.max_gap_share * self.length_s))

    @property
    def still_s(self) -> float:
        """Length of the end that is looked at for standing still."""
        return min(self.c.still_s, self.c.still_share * self.length_s)


def _kind(view: _View) -> tuple[OutcomeKind, tuple[str, ...]]:
    m, c = view.m, view.c
    against = tuple(check.text for check in view.failed)
    if all(module.still_range_deg < c.min_excursion_deg for module in m.modules):
        return _standing(view, against)
    if not view.failed:
        return _named(view)
    if why := _chatter(view):
        return "chattering", (why, *against)
    switching = any(module.still_switches >= c.idle_switches for module in m.modules)
    cycling = view.pace is not None and view.pace.cycles >= view.steps_asked
    if m.contact_share < c.min_phase_share and (cycling or switching):
        return "air stepping", against
    if view.seen.contact_known and m.swing_share < c.min_phase_share and (found := _periodic(view)):
        why = f"{found.role} goes through {found.cycles} cycles of {found.period_s:.2f} s, and the foot stays down"
        return "dragging cycle", (why, *against)
    return "irregular", against


def _standing(view: _View, against: tuple[str, ...]) -> tuple[OutcomeKind, tuple[str, ...]]:
    c = view.c
    expect_recorded_end(view.leg, view.end_s - view.still_s, view.end_s)
    busiest = max(view.m.modules, key=lambda module: module.still_switches, default=None)
    still = f"no joint covers {c.min_excursion_deg:g} degrees in the last {view.still_s:.3g} s"
    if busiest is not None and busiest.still_switches >= c.chatter_switches * view.still_s / c.still_s:
        why = f"{still}, but {busiest.name} changes its action {busiest.still_switches} times in them"
        return "chattering", (why, *against)
    return "stuck", (still, *against)


def _unrecorded(leg: LegTracks, steady: tuple[float, float], c: Criteria) -> tuple[str, ...]:
    """Say where nothing was recorded for so long that a step's part may be missing: the longest gap of each record."""
    records = (("joint angles", leg.t_sensor_s), ("actions", leg.t_state_s), ("foot", leg.t_foot_s))
    if np.array_equal(leg.t_foot_s, leg.t_sensor_s):
        # Its place was computed from the joint angles.
        records = records[:2]
    found = ((name, *longest_pause(times_s, *steady)) for name, times_s in records)
    return tuple(
        f"{name}: nothing recorded for {gap_s:.2f} s from {since_s:.2f} s on; what the leg did then is not known"
        for name, since_s, gap_s in found
        if gap_s > c.max_unrecorded_s
    )


def _named(view: _View) -> tuple[OutcomeKind, tuple[str, ...]]:
    """All general conditions hold: give the cycle its name."""
    unseen: tuple[str, ...] = (
        () if view.seen.contact_known else (f"{NO_CONTACT_RECORD}: swing and stance are taken from the actions",)
    )
    if view.resembles:
        return view.resembles[0], unseen
    reasons = [
        f"not {behaviour}: {check.text}"
        for behaviour in view.candidates
        for check in behaviour_checks(behaviour, view.leg, view.seen, view.c)
        if not check.ok
    ]
    return "unnamed cycle", (*unseen, *reasons)


def _chatter(view: _View) -> str:
    """Say how a moving leg chatters; "" when it does not."""
    m, c = view.m, view.c
    if len(view.seen) >= view.steps_asked:
        return "actions or steps follow each other too fast" if switches_too_often(m, c, view.held) else ""
    pace = view.pace
    counted, limit, per = 1.0, c.max_switch_rate_hz, "second"
    if pace is not None and pace.cycles >= view.steps_asked:
        counted, limit, per = pace.period_s, c.max_switches_per_action, "joint cycle"
    for module in (module for module in m.modules if module.role not in view.held):
        changes, most = counted * module.switch_rate_hz, limit * module.action_count
        if changes > most:
            return f"{module.name} changes its action {changes:.3g} times per {per}, more than {most:g}"
    return ""


def _periodic(view: _View) -> Rhythm | None:
    """Return the first joint, thorax-coxa before femur-tibia, whose movement repeats."""
    return next(
        (r for r in view.rhythms if is_periodic(r, view.steps_asked, view.longest_gap_s(r.period_s), view.c)), None
    )


def _rhythms(leg: LegTracks, steady: tuple[float, float], criteria: Criteria) -> tuple[Rhythm, ...]:
    roles: tuple[JointRole, ...] = ("ThC", "FTi")
    modules = [leg.find_module(role) for role in roles]
    return tuple(rhythm(leg, m, *steady, criteria) for m in modules if m is not None and m.alternates)


def _steps_asked(length_s: float, c: Criteria) -> int:
    """`min_steps`, in short windows proportionally fewer, but never fewer than `fewest_steps`."""
    share = min(1.0, length_s / c.short_window_s)
    return max(c.fewest_steps, int(c.min_steps * share + 1e-9))


def _thc_held(leg: LegTracks, seen: Steps, steady: tuple[float, float], c: Criteria) -> bool:
    """Say whether the thorax-coxa joint takes no part: fewer than two actions, or it hardly moves (in the steps)."""
    thc = leg.find_module("ThC")
    if thc is None or not thc.alternates:
        return True
    inside = slice(*np.searchsorted(leg.t_sensor_s, steady))
    per_step = seen.module("ThC").range_deg
    moves_in_steps = not per_step.size or float(np.median(per_step)) >= c.min_excursion_deg
    return not moves_in_steps or covered_deg(thc.angle_deg[inside]) < c.min_excursion_deg


def _candidates(leg: LegTracks, *, thc_held: bool) -> tuple[Behaviour, ...]:
    """Return the behaviours a leg can be seen in; a roach leg's stance action is named after depression."""
    if thc_held:
        return _THC_HELD
    return _ROACH if leg.is_roach else _STICK


def step_kinds(
    leg: LegTracks, steps: Steps, begin_s: float, end_s: float, criteria: Criteria = DEFAULT_CRITERIA
) -> tuple[SeenStep, ...]:
    """Return the steps that lie in [begin_s, end_s] in order, each with the behaviour it looks like by itself.

    The bounds are those of the medians. Give `detect_steps(leg, by="actions")` for the cycles of a leg that drags.
    """
    seen: list[SeenStep] = []
    for lift_off, end in zip(steps.lift_off_s.tolist(), steps.end_s.tolist(), strict=True):
        if lift_off < begin_s or end > end_s:
            continue
        one = steps.within(lift_off, end)
        thc = leg.find_module("ThC")
        held = thc is None or not thc.alternates or bool(one.module("ThC").range_deg[0] < criteria.min_excursion_deg)
        named = (b for b in _candidates(leg, thc_held=held) if _all_ok(behaviour_checks(b, leg, one, criteria)))
        seen.append(SeenStep(lift_off, end, next(named, "")))
    return tuple(seen)


def last_lift_off(steps: Steps, begin_s: float, end_s: float) -> float | None:
    """Return when the foot left the ground for the last time in [begin_s, end_s], None when it never did."""
    times = [s.lift_off_s for s in steps.swings if s.begin_known and begin_s <= s.lift_off_s <= end_s]
    return max(times, default=None)


def still_since(leg: LegTracks, begin_s: float, end_s: float, criteria: Criteria = DEFAULT_CRITERIA) -> float | None:
    """Return from when on, until `end_s`, no joint covers `criteria.min_excursion_deg`.

    None when the leg moves at the end: what has to be still is as long as for "stuck", `still_s`, or `still_share` of
    [begin_s, end_s] if that is shorter.
    """
    inside = slice(*np.searchsorted(leg.t_sensor_s, (begin_s, end_s)))
    times = leg.t_sensor_s[inside]
    still = np.ones(len(times), dtype=np.bool_)
    for module in leg.modules:
        if module.alternates:
            backwards = module.angle_deg[inside][::-1]
            covered = np.maximum.accumulate(backwards) - np.minimum.accumulate(backwards)
            still &= covered[::-1] < criteria.min_excursion_deg
    if not still.any():
        return None
    since = float(times[int(np.argmax(still))])
    least = min(criteria.still_s, criteria.still_share * (end_s - begin_s))
    return since if end_s - since >= least else None


def _all_ok(checks: Sequence[ConditionResult]) -> bool:
    return all(check.ok for check in checks)
