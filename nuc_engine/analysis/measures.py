"""Numbers of one window's steady part that the verdict compares with its bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nuc_engine.analysis.criteria import Criteria
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.steps import ModuleSteps, Steps
from nuc_engine.analysis.tracks import BoolArray, FloatArray, IntArray, LegTracks, ModuleTrack, median


@dataclass(frozen=True, slots=True)
class ModuleMeasures:
    """One alternating module: share of steps with two or more actions, changes and degrees per step (medians).

    `stance_change_deg` is the median change of its angle in stance. `still_range_deg`, `still_switches` and
    `still_action` (the name of the action in force longest) describe the window's end, where the detector looks whether
    the leg stands still. `switch_rate_hz` counts changes of action over the whole steady part.
    """

    name: str
    role: str
    action_count: int
    alternating_share: float
    switches_per_step: float
    range_deg: float
    stance_change_deg: float
    still_range_deg: float
    still_switches: int
    still_action: str
    switch_rate_hz: float


@dataclass(frozen=True, slots=True)
class Measures:
    """What was measured in the steady part; NaN where there was nothing to measure.

    Periods and durations are seconds; `stride_cm` is the median foot movement in stance (x forward, y left, z up),
    `inward_cm` the same towards the midline, `outward_swing_cm` away from it in swing. `contact_share`, `swing_share`
    and `stance_share` are shares of the steady part; `action_contact` is the contact fraction in the stance action
    minus that in the others. `joint_cycles` are those of the thorax-coxa angle, or of the femur-tibia angle where the
    thorax-coxa joint is only held.
    """

    steps: int
    joint_cycles: int
    longest_gap_s: float
    period_s: float
    period_mean_s: float
    period_sd_s: float
    thc_period_mean_s: float
    thc_period_sd_s: float
    swing_mean_s: float
    stance_mean_s: float
    contact_share: float
    swing_share: float
    stance_share: float
    action_contact: float
    clearance_cm: float
    load_n: float
    stride_cm: tuple[float, float, float]
    inward_cm: float
    outward_swing_cm: float
    modules: tuple[ModuleMeasures, ...]

    @property
    def period_cv(self) -> float:
        """Coefficient of variation of the step period, lift-off to lift-off."""
        return self.period_sd_s / self.period_mean_s if self.steps > 1 else float("nan")


MISSING_END_S = 0.5
"""So much of a window's end may be missing."""


def steady_part(leg: LegTracks, window: tuple[float, float], settle_s: float) -> tuple[float, float]:
    """Return the part of a window that is judged. Raises AnalysisError when there is none or the record ends before."""
    begin, end = window
    if not end - begin > settle_s:
        raise AnalysisError(
            f"window {begin:g} to {end:g} s is not longer than the {settle_s:g} s left out for settling"
        )
    recorded = min((t[-1] if len(t) else 0.0) for t in (leg.t_state_s, leg.t_sensor_s, leg.t_foot_s))
    if recorded < end - MISSING_END_S:
        raise AnalysisError(f"window {begin:g} to {end:g} s reaches beyond the record, which ends at {recorded:.3f} s")
    return begin + settle_s, end


def expect_recorded_end(leg: LegTracks, begin_s: float, end_s: float) -> None:
    """Raise AnalysisError where too little of [begin, end] was recorded to say that no joint moves in it."""
    most_s = min(MISSING_END_S, (end_s - begin_s) / 2)
    for name, times_s in (("joint angles", leg.t_sensor_s), ("actions", leg.t_state_s)):
        since_s, gap_s = longest_pause(times_s, begin_s, end_s)
        if gap_s > most_s:
            raise AnalysisError(
                f"{name}: nothing recorded for {gap_s:.2f} s from {since_s:.2f} s on; whether the leg stands still in"
                f" the last {end_s - begin_s:.3g} s is not known"
            )


def longest_pause(times_s: FloatArray, begin_s: float, end_s: float) -> tuple[float, float]:
    """Return when the longest time without a record began, and how long it was, within [begin, end]."""
    inside = times_s[(times_s > begin_s) & (times_s < end_s)]
    marks = np.concatenate(([begin_s], inside, [end_s]))
    pauses = np.diff(marks)
    at = int(pauses.argmax())
    return float(marks[at]), float(pauses[at])


def measure(
    leg: LegTracks, steps: Steps, steady: tuple[float, float], criteria: Criteria, *, still_share: float = 1.0
) -> Measures:
    """Measure the steady part of a window; `steps` are those within it.

    Its end is `criteria.still_s` long, but not longer than `still_share` of the whole.
    """
    begin, end = steady
    swing_share = sum(s.duration_s for s in steps.swings) / max(end - begin, 1e-9)
    stride = tuple(median(steps.foot_stance_cm[:, axis]) for axis in range(3))
    return Measures(
        steps=len(steps),
        joint_cycles=max(0, len(steps.pace_minima_s) - 1),
        longest_gap_s=_longest_gap(steps, begin, end),
        period_s=median(steps.period_s),
        period_mean_s=_mean(steps.period_s),
        period_sd_s=_sd(steps.period_s),
        thc_period_mean_s=_mean(steps.thc_period_s),
        thc_period_sd_s=_sd(steps.thc_period_s),
        swing_mean_s=_mean(steps.swing_s),
        stance_mean_s=_mean(steps.stance_s),
        contact_share=_contact_share(leg, begin, end, criteria),
        swing_share=swing_share,
        stance_share=1.0 - swing_share,
        action_contact=_action_contact(leg, begin, end, criteria),
        clearance_cm=median(steps.clearance_cm),
        load_n=_mean(steps.load_n),
        stride_cm=(stride[0], stride[1], stride[2]),
        inward_cm=-leg.outward_y * stride[1],
        outward_swing_cm=leg.outward_y * median(steps.foot_swing_cm[:, 1]),
        modules=_module_measures(leg, steps, steady, criteria, still_share),
    )


def _module_measures(
    leg: LegTracks, steps: Steps, steady: tuple[float, float], criteria: Criteria, still_share: float
) -> tuple[ModuleMeasures, ...]:
    begin, end = steady
    still = (end - min(criteria.still_s, still_share * (end - begin)), end)
    pairs = zip(leg.modules, steps.modules, strict=True)
    return tuple(_one_module(leg, track, done, steady, still) for track, done in pairs if track.alternates)


def _one_module(
    leg: LegTracks, track: ModuleTrack, done: ModuleSteps, steady: tuple[float, float], still: tuple[float, float]
) -> ModuleMeasures:
    angles = track.angle_deg[_between(leg.t_sensor_s, *still)]
    actions = track.action[_between(leg.t_state_s, *still)]
    whole = track.action[_between(leg.t_state_s, *steady)]
    return ModuleMeasures(
        name=track.name,
        role=track.role,
        action_count=len(track.actions),
        alternating_share=_mean((done.visited >= 2).astype(np.float64)),
        switches_per_step=median(done.switches.astype(np.float64)),
        range_deg=median(done.range_deg),
        stance_change_deg=median(done.change_stance_deg),
        still_range_deg=float(np.ptp(angles)) if angles.size else 0.0,
        still_switches=int(np.count_nonzero(np.diff(actions))),
        still_action=_longest_in_force(track, actions),
        switch_rate_hz=float(np.count_nonzero(np.diff(whole))) / max(steady[1] - steady[0], 1e-9),
    )


def _longest_in_force(track: ModuleTrack, actions: IntArray) -> str:
    """Return the name of the most frequent action, the earlier of equals; "" where none was logged."""
    if not actions.size:
        return ""
    codes, counts = np.unique(actions, return_counts=True)
    return track.action_name(int(codes[counts.argmax()]))


def _longest_gap(steps: Steps, begin: float, end: float) -> float:
    lift_offs = [s.lift_off_s for s in steps.swings if s.begin_known]
    marks = np.array([begin, *lift_offs, end])
    return float(np.diff(marks).max())


def _contact_share(leg: LegTracks, begin: float, end: float, criteria: Criteria) -> float:
    if leg.contact_n is None:
        return float("nan")
    return _mean((leg.contact_n[_between(leg.t_foot_s, begin, end)] > criteria.contact_n).astype(np.float64))


def _action_contact(leg: LegTracks, begin: float, end: float, criteria: Criteria) -> float:
    """Difference of the contact fractions; NaN unless both the stance action and another were seen."""
    if leg.contact_n is None or not len(leg.t_state_s):
        return float("nan")
    inside = _between(leg.t_foot_s, begin, end)
    times = leg.t_foot_s[inside]
    contact = leg.contact_n[inside] > criteria.contact_n
    at = np.clip(np.searchsorted(leg.t_state_s, times, side="right") - 1, 0, None)
    action = leg.stance_module.action[at]
    stance, other = action == leg.stance_action, (action != leg.stance_action) & (action >= 0)
    if not stance.any() or not other.any():
        return float("nan")
    return float(contact[stance].mean() - contact[other].mean())


def _between(t_s: FloatArray, begin: float, end: float) -> BoolArray:
    return (t_s >= begin) & (t_s <= end)


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if values.size else float("nan")


def _sd(values: FloatArray) -> float:
    """Sample standard deviation; 0 for a single value."""
    if not values.size:
        return float("nan")
    return float(values.std(ddof=1)) if values.size > 1 else 0.0


def finite(value: float) -> float | None:
    """Return a number as JSON has it: None for what could not be measured."""
    return value if math.isfinite(value) else None
