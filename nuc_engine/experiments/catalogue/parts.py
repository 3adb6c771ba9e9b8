"""What the criteria of several experiments have in common: windows of the roach leg, and questions to an observation.

A question answers with reasons: sentences that say what is not as expected, none when it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.steps import Steps
from nuc_engine.analysis.tracks import FloatArray
from nuc_engine.experiments.protocol import BoutPlan, Finding, Observation, Part, Window

ROACH = "lin_roach"
BOUT = "bout"
"""Label of the bout where a repetition has only one."""

START_KICK_S = 4.0
"""When a leg that does not begin to walk by itself is kicked."""
PAUSE_S = 2.0
"""Longest time from one lift-off, or one minimum of a joint's angle, to the next in a cycle that goes on.

About three steps of the roach leg, as docs/stepping.md allows in a lasting cycle.
"""

Reasons = tuple[str, ...]


def forward_window(end_s: float, settle_s: float = 6.0) -> Window:
    """Return the window in which the leg has to walk forward before anything is done; it may be kicked at 4 s."""
    return Window("FWD", 0.0, end_s, "before", settle_s)


def one_bout(
    script: str | None,
    duration_s: float,
    *windows: Window,
    kicks_s: tuple[float, ...] = (),
    start_kick_s: float | None = START_KICK_S,
) -> tuple[BoutPlan]:
    """Return the only bout of a repetition with the roach leg."""
    return (BoutPlan(BOUT, ROACH, script, duration_s, windows, kicks_s=kicks_s, start_kick_s=start_kick_s),)


def unlike(seen: Observation, window: str, *kinds: str) -> Reasons:
    """Return a reason unless the window was classified as one of these kinds."""
    outcome = seen.outcomes[window]
    if outcome.kind in kinds:
        return ()
    why = f" ({outcome.reasons[0]})" if outcome.reasons else ""
    return (f"{window}: {outcome.kind}, expected {' or '.join(kinds)}{why}",)


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


def moving(seen: Observation, window: str) -> Reasons:
    """Return a reason unless the leg has come to a halt by the end of the window, and did not step in it."""
    outcome = seen.outcomes[window]
    most = max((module.still_range_deg for module in outcome.measures.modules), default=0.0)
    if most >= DEFAULT_CRITERIA.min_excursion_deg:
        return stepping(seen, window) or (f"{window}: {outcome.kind}, and a joint still moves by {most:.0f} degrees",)
    return stepping(seen, window)


def cycling(seen: Observation, window: str) -> Reasons:
    """Return a reason when the joints went through a repeating cycle in the window, on the ground or not."""
    outcome = seen.outcomes[window]
    if outcome.cyclic or outcome.kind in {"dragging cycle", "air stepping"}:
        return (f"{window}: {outcome.kind}, which is a cycle",)
    return stepping(seen, window)


def not_started(seen: Iterable[Observation], kind: str) -> Reasons:
    """Return a reason for every window of the part before in which the leg does not do what it has to start from."""
    return tuple(
        reason for one in seen for name in windows_of(one.plan, "before") for reason in unlike(one, name, kind)
    )


def windows_of(plan: BoutPlan, part: Part) -> tuple[str, ...]:
    """Return the names of a plan's windows of one part."""
    return tuple(window.name for window in plan.windows if window.part == part)


def judged(before: Reasons, against: Reasons, numbers: Mapping[str, float], final: Reasons = ()) -> Finding:
    """Return the finding: a failed start when something speaks against the part before, else what the rest says.

    `final` is what speaks against the final part, where a kick may help; nothing can where something else does too.
    """
    reasons = before or against + final
    return Finding(not reasons, reasons, numbers, started=not before, settled=bool(against))


def lift_offs(steps: Steps, begin_s: float, end_s: float) -> FloatArray:
    """Return when the foot left the ground in [begin_s, end_s]."""
    return within(np.array([swing.lift_off_s for swing in steps.swings if swing.begin_known]), begin_s, end_s)


def last_lift_off_s(steps: Steps, begin_s: float, end_s: float) -> float:
    """Return when the foot left the ground for the last time in [begin_s, end_s], nan when it never did."""
    times = lift_offs(steps, begin_s, end_s)
    return float(times[-1]) if times.size else math.nan


def within(times_s: FloatArray, begin_s: float, end_s: float) -> FloatArray:
    """Return the times in [begin_s, end_s]."""
    return times_s[(times_s >= begin_s) & (times_s <= end_s)]


def longest_pause_s(times_s: Sequence[float] | FloatArray, begin_s: float, end_s: float) -> float:
    """Return the longest time without any of these events from `begin_s` to `end_s`, both ends counted as events."""
    inside = within(np.asarray(times_s, dtype=np.float64), begin_s, end_s)
    return float(np.diff(np.array([begin_s, *inside, end_s])).max())


def died_out_s(times_s: FloatArray, begin_s: float, end_s: float, pause_s: float = PAUSE_S) -> float:
    """Return the time of the last event before the first pause longer than `pause_s`; nan where there is no such pause.

    With no event before the pause it is `begin_s`.
    """
    marks = np.array([begin_s, *within(times_s, begin_s, end_s), end_s])
    long = np.flatnonzero(np.diff(marks) > pause_s)
    return float(marks[long[0]]) if long.size else math.nan


def window(plan: BoutPlan, name: str) -> Window:
    """Return a plan's window by its name. Raises KeyError when it has none of that name."""
    for one in plan.windows:
        if one.name == name:
            return one
    raise KeyError(name)


def period_s(seen: Observation, name: str) -> float:
    """Return the median step period in a window, nan where there was no step."""
    return seen.outcomes[name].measures.period_s
