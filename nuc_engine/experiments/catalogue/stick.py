"""Asks about the stick insect's step: onsets of stance, lag of lift-off, its path by angles, and drift (7.1.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nuc_engine.analysis.kinematic import foot_path
from nuc_engine.analysis.log_columns import joints_of
from nuc_engine.analysis.tracks import FloatArray, LegTracks, ModuleTrack
from nuc_engine.experiments.catalogue.asks import (
    Found,
    Question,
    judged_span,
    last_lift_off_s,
    lift_offs,
    median_of_known,
    within,
)
from nuc_engine.experiments.protocol import Observation, Observations
from nuc_engine.experiments.sharing import prepared_of

FEWEST = 10
"""Steps without which nothing is told of a leg's steps."""
APART_S = 0.02
"""Rules are evaluated every 25 ms: what is further apart than this began at different evaluations."""


class OnsetsApart(Question, kw_only=True, tag="onsets apart"):
    """Whether ThC retraction and FTi flexion begin apart, the same one first, in a share of the stances."""

    share: float

    def look(self, seen: Observations) -> Found:
        """Return by how much FTi flexion is later, and a reason unless it is so."""
        one = self.one(seen)
        span = judged_span(one.plan, self.windows[0])
        retraction = entries(one.leg, one.leg.module("ThC"), "ret", span)
        flexion = entries(one.leg, one.leg.module("FTi"), "flex", span)
        later = nearest(retraction, flexion)
        if len(later) < FEWEST:
            return Found((f"{len(later)} stances with both onsets, expected at least {FEWEST}",))
        apart = max(float(np.mean(later > APART_S)), float(np.mean(later < -APART_S)))
        reason = f"onsets are apart, with the same one first, in {apart:.0%} of stances, expected {self.share:.0%}"
        numbers = {
            "FTi flexion after ThC retraction (s)": float(np.median(later)),
            "stances with onsets apart (share)": apart,
        }
        return Found((reason,) if apart < self.share else (), numbers)


class LiftOffLags(Question, kw_only=True, tag="lift-off lags"):
    """Whether the foot leaves the ground so long after FTi has gone over from flexion to extension, in the median."""

    at_least_s: float

    def look(self, seen: Observations) -> Found:
        """Return the lag, negative where the foot leaves first, and a reason where it is too small."""
        one = self.one(seen)
        span = judged_span(one.plan, self.windows[0])
        switches = entries(one.leg, one.leg.module("FTi"), "extension", span, after="flex")
        lags = nearest(switches, lift_offs(one.steps, *span))
        if len(lags) < FEWEST:
            return Found((f"{len(lags)} lift-offs beside a switch of FTi, expected at least {FEWEST}",))
        lag_s = float(np.median(lags))
        numbers = {
            "lift-off after the switch of FTi (s)": lag_s,
            "lift-offs after their switch (share)": float(np.mean(lags > 0)),
        }
        reason = f"lift-off {lag_s:.3f} s after the switch in the median, expected at least {self.at_least_s:g} s"
        return Found((reason,) if lag_s < self.at_least_s else (), numbers)


class StepPath(Question, kw_only=True, tag="step path"):
    """Whether stance, swing and rearward travel are as printed, within a tolerance; travel by measured angles."""

    stance_s: float
    swing_s: float
    rearward_cm: float
    tolerance: float

    def look(self, seen: Observations) -> Found:
        """Return the medians over steps, and a reason for each that is not."""
        one = self.one(seen)
        begin_s, end_s = judged_span(one.plan, self.windows[0])
        steps = one.steps
        inside = (steps.lift_off_s >= begin_s) & (steps.end_s <= end_s)
        if int(inside.sum()) < FEWEST:
            return Found((f"{int(inside.sum())} steps, expected at least {FEWEST}",))
        off, down, off_again = (times[inside] for times in (steps.lift_off_s, steps.touch_down_s, steps.end_s))
        forward_cm = path_by_angles(one)[:, 0]
        down_x, off_x = (np.interp(times, one.leg.t_sensor_s, forward_cm) for times in (down, off_again))
        found = {
            "stance (s)": (float(np.median(off_again - down)), self.stance_s),
            "swing (s)": (float(np.median(down - off)), self.swing_s),
            "rearward in stance, by angles (cm)": (float(np.median(down_x - off_x)), self.rearward_cm),
        }
        reasons = tuple(
            f"{name}: {value:.2f}, expected {printed:g} within {self.tolerance:.0%}"
            for name, (value, printed) in found.items()
            if abs(value - printed) > self.tolerance * printed
        )
        acting = stretches(one.leg, one.leg.stance_action, (begin_s, end_s))
        numbers = {name: value for name, (value, _) in found.items()}
        travelled = steps.foot_stance_cm[inside, 0]
        return Found(
            reasons,
            numbers
            | {
                "rearward in stance, true foot (cm)": -float(np.median(travelled)),
                "ThC retraction in force (s)": median_of_known(acting.tolist()),
            },
        )


class Drifts(Question, kw_only=True, tag="drifts"):
    """Whether the leg ceases to step, with ThC near one end of the range it covered in the first window, or beyond.

    `outer` is the part of the range, at either end, that counts as near; `still_s` how long it must have ceased.
    """

    outer: float
    still_s: float

    def look(self, seen: Observations) -> Found:
        """Return when it lifted off last, where ThC ended in its first range, and reasons unless it is so."""
        one = self.one(seen)
        leg, thc = one.leg, one.leg.module("ThC")
        first = slice(*np.searchsorted(leg.t_sensor_s, judged_span(one.plan, self.windows[0])))
        low, high = np.percentile(thc.angle_deg[first], [5, 95])
        end_s = one.plan.duration_s
        last_s = last_lift_off_s(one.steps, 0.0, end_s)
        place = float((np.median(thc.angle_deg[leg.t_sensor_s > end_s - self.still_s]) - low) / (high - low))
        numbers = {"last lift-off (s)": last_s, "ThC in the end, of its first range (0 rear, 1 front)": place}
        reasons: list[str] = []
        if not end_s - last_s >= self.still_s:
            reasons.append(f"last lift-off at {last_s:.1f} s of {end_s:g} s, expected {self.still_s:g} s without")
        elif self.outer < place < 1 - self.outer:
            reasons.append(f"ceases with ThC at {place:.2f} of its range, expected the outer {self.outer:g} or beyond")
        return Found(tuple(reasons), numbers)


def entries(leg: LegTracks, module: ModuleTrack, name: str, span: tuple[float, float], after: str = "") -> FloatArray:
    """Return when a module went over to actions so named, from others; from actions named `after` where one is."""
    own = np.isin(module.action, codes(module, name))
    before = ~own if not after else np.isin(module.action, codes(module, after))
    return within(leg.t_state_s[1:][own[1:] & before[:-1]], *span)


def codes(module: ModuleTrack, name: str) -> list[int]:
    """Return the codes of a module's actions whose names have this in them."""
    return [code for code, own in zip(module.actions, module.action_names, strict=True) if name in own.lower()]


def nearest(times_s: FloatArray, others_s: FloatArray) -> FloatArray:
    """Return, for each of `times_s`, how much later the nearest of the others is; half a period apart they are none's.

    The period is the median interval of `times_s`.
    """
    if len(times_s) < 2 or not len(others_s):
        return np.zeros(0)
    most = 0.5 * float(np.median(np.diff(times_s)))
    found = others_s[np.abs(others_s[None, :] - times_s[:, None]).argmin(axis=1)] - times_s
    return found[np.abs(found) < most]


def stretches(leg: LegTracks, code: int, span: tuple[float, float]) -> FloatArray:
    """Return how long each stretch lasts in which an action is in force, of those that lie within a span."""
    action = leg.stance_module.action
    edges = np.flatnonzero(np.diff((action == code).astype(np.int64)))
    times = leg.t_state_s[edges + 1]
    begins: Sequence[int] = [k for k in range(len(edges) - 1) if action[edges[k] + 1] == code]
    return np.array([times[k + 1] - times[k] for k in begins if times[k] >= span[0] and times[k + 1] <= span[1]])


def path_by_angles(one: Observation) -> FloatArray:
    """Return the foot's path by the configuration's geometry and the measured angles, shape (n, 3) in cm."""
    prepared = prepared_of(one.plan)
    joints = joints_of(prepared.plan, prepared.model)
    by_name = {module.name: module.angle_deg for module in one.leg.modules}
    angles = np.stack([by_name[joint.name] for joint in joints], axis=1)
    return foot_path([joint.amatrix for joint in joints], [joint.dh_line for joint in joints], angles)
