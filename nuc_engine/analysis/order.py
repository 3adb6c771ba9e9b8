"""In which order a step's events come: lift-off, touch-down, and when each module goes over to each of its actions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nuc_engine.analysis.steps import Steps
from nuc_engine.analysis.tracks import FloatArray, IntArray, LegTracks

LIFT_OFF, TOUCH_DOWN = "lift-off", "touch-down"


@dataclass(frozen=True, slots=True)
class StepEvent:
    """One event of the mean step; `phase` is 0 at lift-off and 1 at the next one."""

    what: str
    phase: float


def step_order(leg: LegTracks, steps: Steps) -> tuple[StepEvent, ...]:
    """Return the events of the mean step in order, from lift-off on; empty where there are no complete steps.

    An action counts from the beginning of its longest run that reaches into the step, so that chatter at a threshold
    does not hide the order. Phases are means on the circle.
    """
    if not len(steps):
        return ()
    touch_down = [(b - a) / (c - a) for a, b, c in _times(steps)]
    events = [StepEvent(LIFT_OFF, 0.0), StepEvent(TOUCH_DOWN, _mean_phase(touch_down))]
    for module in leg.modules:
        if not module.alternates:
            continue
        phases: dict[int, list[float]] = {}
        for begin, _, end in _times(steps):
            for action, start in _main_runs(leg.t_state_s, module.action, begin, end).items():
                phases.setdefault(action, []).append((start - begin) / (end - begin))
        events += [
            StepEvent(module.action_name(action), _mean_phase(phases[action]))
            for action in module.actions
            if action in phases
        ]
    return tuple(sorted(events, key=lambda event: event.phase))


def _times(steps: Steps) -> list[tuple[float, float, float]]:
    times = zip(steps.lift_off_s, steps.touch_down_s, steps.end_s, strict=True)
    return [(float(a), float(b), float(c)) for a, b, c in times]


def _main_runs(t_s: FloatArray, action: IntArray, begin_s: float, end_s: float) -> dict[int, float]:
    """Return action -> when its longest run that overlaps [begin, end) began."""
    changes = np.flatnonzero(np.diff(action)) + 1
    starts = np.concatenate(([0], changes))
    longest: dict[int, tuple[float, float]] = {}
    for first, after in zip(starts, [*starts[1:], len(t_s)], strict=True):
        start = float(t_s[first])
        stop = float(t_s[after]) if after < len(t_s) else end_s
        overlap = min(stop, end_s) - max(start, begin_s)
        code = int(action[first])
        if overlap > longest.get(code, (0.0, 0.0))[0]:
            longest[code] = (overlap, start)
    return {code: start for code, (_, start) in longest.items()}


def _mean_phase(phases: list[float]) -> float:
    angle = math.atan2(*(sum(f(2 * math.pi * phase) for phase in phases) for f in (math.sin, math.cos)))
    return round(angle / (2 * math.pi) % 1.0, 6) % 1.0
