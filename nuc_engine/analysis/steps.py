"""The step detector: when the foot leaves the ground and touches it again, and what the leg does in between.

It works from recorded data alone. Where the ground's force on the foot was recorded, swing and stance are what the
foot did; where not, they are what the actions tell and `Steps.contact_known` says so. Definitions: docs/stepping.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from nuc_engine.analysis.criteria import DEFAULT_CRITERIA, Criteria
from nuc_engine.analysis.phases import Swing, action_swings, angle_minima, find_swings, mean_load, runs_at_ends
from nuc_engine.analysis.tracks import BoolArray, FloatArray, IntArray, JointRole, LegTracks, ModuleTrack


@dataclass(frozen=True, slots=True)
class ModuleSteps:
    """What one module did in each step; every array has one value per step.

    `change_stance_deg` is the angle at lift-off minus that at the touch-down before it, `range_deg` the angle's span
    over the whole step, `visited` the number of different actions, `switches` the number of changes of action.
    """

    name: str
    role: JointRole
    action_count: int
    change_stance_deg: FloatArray
    range_deg: FloatArray
    visited: IntArray
    switches: IntArray

    @property
    def alternates(self) -> bool:
        """True when the module has two or more actions."""
        return self.action_count >= 2


@dataclass(frozen=True, slots=True)
class Steps:
    """Complete steps in order: lift-off, touch-down, and the next lift-off, in seconds since engine start.

    `foot_stance_cm` and `foot_swing_cm` have shape (n, 3): how far the foot moved in stance and in swing (x forward,
    y left, z up). `clearance_cm` is how high the foot rose above its higher end; `load_n` the mean normal force of the
    stance (nan without a contact record). `swings` are all swings of the record, `thc_minima_s` all minima of the
    thorax-coxa angle, and `pace_minima_s` those of the joint whose cycles are counted: the same, or the femur-tibia
    angle's where the thorax-coxa joint is only held. `contact_known` is True where swings are what the foot did.
    """

    contact_known: bool
    lift_off_s: FloatArray
    touch_down_s: FloatArray
    end_s: FloatArray
    clearance_cm: FloatArray
    load_n: FloatArray
    foot_stance_cm: FloatArray
    foot_swing_cm: FloatArray
    modules: tuple[ModuleSteps, ...]
    swings: tuple[Swing, ...]
    thc_minima_s: FloatArray
    pace_minima_s: FloatArray

    def __len__(self) -> int:
        """Return the number of complete steps."""
        return len(self.lift_off_s)

    @property
    def period_s(self) -> FloatArray:
        """Duration of each step, lift-off to lift-off."""
        return self.end_s - self.lift_off_s

    @property
    def swing_s(self) -> FloatArray:
        """Duration of each swing."""
        return self.touch_down_s - self.lift_off_s

    @property
    def stance_s(self) -> FloatArray:
        """Duration of each stance."""
        return self.end_s - self.touch_down_s

    @property
    def thc_period_s(self) -> FloatArray:
        """Step cycles as section 7.2.2 measures them: from one minimum of the thorax-coxa angle to the next."""
        return np.diff(self.thc_minima_s)

    def module(self, role: JointRole) -> ModuleSteps:
        """Return the module with this role. Raises KeyError when there is none."""
        for module in self.modules:
            if module.role == role:
                return module
        raise KeyError(role)

    def within(self, begin_s: float, end_s: float) -> Steps:
        """Return only the steps that lie completely in [begin_s, end_s], and only the minima in it.

        `swings` are clipped to it; a swing's clearance stays that of the whole.
        """
        keep = (self.lift_off_s >= begin_s) & (self.end_s <= end_s)
        return replace(
            self,
            lift_off_s=self.lift_off_s[keep],
            touch_down_s=self.touch_down_s[keep],
            end_s=self.end_s[keep],
            clearance_cm=self.clearance_cm[keep],
            load_n=self.load_n[keep],
            foot_stance_cm=self.foot_stance_cm[keep],
            foot_swing_cm=self.foot_swing_cm[keep],
            modules=tuple(_select(m, keep) for m in self.modules),
            swings=tuple(_clip(s, begin_s, end_s) for s in self.swings if _overlaps(s, begin_s, end_s)),
            thc_minima_s=_inside(self.thc_minima_s, begin_s, end_s),
            pace_minima_s=_inside(self.pace_minima_s, begin_s, end_s),
        )


def detect_steps(
    leg: LegTracks, criteria: Criteria = DEFAULT_CRITERIA, *, by: Literal["contact", "actions"] = "contact"
) -> Steps:
    """Return every complete step of a record.

    With `by="actions"`, swing and stance are taken from the actions even where contact was recorded: what the joints
    do while the foot drags, or in the air. Raises AnalysisError when the leg has no module to tell or count steps by.
    """
    contact_known = leg.contact_n is not None and by == "contact"
    if leg.contact_n is None or by == "actions":
        swings = action_swings(leg.t_state_s, _stance_by_actions(leg), criteria)
    elif len(leg.t_foot_s):
        swings = find_swings(leg.t_foot_s, leg.foot_cm[:, 2], leg.contact_n, leg.leg_length_cm, criteria)
    else:
        swings = []
    pairs = [(a, b) for a, b in zip(swings, swings[1:], strict=False) if a.begin_known]  # noqa: RUF007
    lift_off = np.array([a.lift_off_s for a, _ in pairs])
    touch_down = np.array([a.touch_down_s for a, _ in pairs])
    end = np.array([b.lift_off_s for _, b in pairs])
    foot_at = [_foot_at(leg, times) for times in (lift_off, touch_down, end)]
    return Steps(
        contact_known=contact_known,
        lift_off_s=lift_off,
        touch_down_s=touch_down,
        end_s=end,
        clearance_cm=np.array([a.clearance_cm for a, _ in pairs]),
        load_n=_loads(leg, touch_down, end, criteria),
        foot_stance_cm=foot_at[2] - foot_at[1],
        foot_swing_cm=foot_at[1] - foot_at[0],
        modules=tuple(_module_steps(leg, m, lift_off, touch_down, end) for m in leg.modules),
        swings=tuple(swings),
        thc_minima_s=_minima(leg, leg.find_module("ThC"), criteria),
        pace_minima_s=_minima(leg, leg.pacing_module, criteria),
    )


def _stance_by_actions(leg: LegTracks) -> BoolArray:
    """Return, per state time, whether the actions say that the leg is in stance.

    A stick insect leg goes over to its stance action when it feels load, as any leg that only flexes does. The roach
    leg's thorax-coxa joint presses it down and leads; its other joints answer to the load, so the stance is theirs
    (event spaces of section 7.4.1).
    """
    pressing = leg.stance_module.action == leg.stance_action
    if not leg.is_roach or leg.stance_module.role != "ThC":
        return pressing
    answering = next((m for role in ("CTr", "FTi") if (m := leg.find_module(role)) and m.alternates), None)
    return pressing if answering is None else runs_at_ends(answering.action, pressing)


def _minima(leg: LegTracks, module: ModuleTrack | None, criteria: Criteria) -> FloatArray:
    return np.array([]) if module is None else angle_minima(leg.t_sensor_s, module.angle_deg, criteria)


def _module_steps(
    leg: LegTracks, module: ModuleTrack, lift_off: FloatArray, touch_down: FloatArray, end: FloatArray
) -> ModuleSteps:
    change = _at(leg.t_sensor_s, module.angle_deg, end) - _at(leg.t_sensor_s, module.angle_deg, touch_down)
    spans = np.zeros(len(lift_off))
    visited = np.zeros(len(lift_off), dtype=np.int64)
    switches = np.zeros(len(lift_off), dtype=np.int64)
    for i, (begin, stop) in enumerate(zip(lift_off, end, strict=True)):
        angles = module.angle_deg[slice(*np.searchsorted(leg.t_sensor_s, (begin, stop)))]
        spans[i] = np.ptp(angles) if angles.size else 0.0
        actions = _actions_during(leg.t_state_s, module.action, begin, stop)
        visited[i] = len(set(actions.tolist()) & set(module.actions))
        switches[i] = np.count_nonzero(np.diff(actions))
    return ModuleSteps(module.name, module.role, len(module.actions), change, spans, visited, switches)


def _actions_during(t_state_s: FloatArray, action: IntArray, begin_s: float, end_s: float) -> IntArray:
    """Return the actions logged in [begin_s, end_s), led by the one that was in force at its beginning."""
    first, last = np.searchsorted(t_state_s, (begin_s, end_s))
    return action[max(0, int(first) - 1) : int(last)]


def _loads(leg: LegTracks, touch_down: FloatArray, end: FloatArray, criteria: Criteria) -> FloatArray:
    force = leg.contact_n
    if force is None:
        return np.full(len(touch_down), np.nan)
    return np.array(
        [mean_load(leg.t_foot_s, force, a, b, criteria) for a, b in zip(touch_down, end, strict=True)], dtype=np.float64
    )


def _at(t_s: FloatArray, value: FloatArray, times: FloatArray) -> FloatArray:
    return np.interp(times, t_s, value) if len(t_s) else np.full(len(times), np.nan)


def _foot_at(leg: LegTracks, times: FloatArray) -> FloatArray:
    return np.stack([_at(leg.t_foot_s, leg.foot_cm[:, axis], times) for axis in range(3)], axis=1)


def _select(module: ModuleSteps, keep: BoolArray) -> ModuleSteps:
    return replace(
        module,
        change_stance_deg=module.change_stance_deg[keep],
        range_deg=module.range_deg[keep],
        visited=module.visited[keep],
        switches=module.switches[keep],
    )


def _inside(times_s: FloatArray, begin_s: float, end_s: float) -> FloatArray:
    return times_s[(times_s >= begin_s) & (times_s <= end_s)]


def _overlaps(swing: Swing, begin_s: float, end_s: float) -> bool:
    return swing.lift_off_s < end_s and swing.touch_down_s > begin_s


def _clip(swing: Swing, begin_s: float, end_s: float) -> Swing:
    return replace(
        swing,
        lift_off_s=max(swing.lift_off_s, begin_s),
        touch_down_s=min(swing.touch_down_s, end_s),
        begin_known=swing.begin_known and swing.lift_off_s >= begin_s,
        end_known=swing.end_known and swing.touch_down_s <= end_s,
    )


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
