"""What the foot, FTi and CTr have to do in stance for each behaviour (docs/stepping.md, section 7.4.1)."""

from __future__ import annotations

import numpy as np

from nuc_engine.analysis.check import Check, at_least, below
from nuc_engine.analysis.criteria import Behaviour, Criteria
from nuc_engine.analysis.steps import Steps
from nuc_engine.analysis.tracks import FloatArray, LegTracks, Role


def behaviour_checks(behaviour: Behaviour, leg: LegTracks, steps: Steps, criteria: Criteria) -> tuple[Check, ...]:
    """Return the behaviour's own conditions over the given steps.

    Raises AnalysisError when the leg lacks a joint the behaviour speaks of. A joint with fewer than two actions is only
    held, and conditions on it do not apply.
    """
    rear = -steps.foot_stance_cm[:, 0]
    inward = -leg.outward_y * steps.foot_stance_cm[:, 1]
    stride = criteria.min_stride_legs * leg.leg_length_cm
    if behaviour == "FWD":
        return (
            *_joint(leg, steps, "FTi", -1, "FTi extension in stance", criteria),
            *_joint(leg, steps, "CTr", -1, "CTr depression in stance", criteria),
            *_moved("rearward", rear, stride, "cm", "foot rearward in stance", criteria),
        )
    flexes = _joint(leg, steps, "FTi", +1, "FTi flexion in stance", criteria)
    if behaviour == "stick":
        return (*flexes, *_moved("rearward", rear, stride, "cm", "foot rearward in stance", criteria))
    inwards = _moved("inward", inward, stride, "cm", "foot inward in stance", criteria)
    if behaviour == "ITF":
        return (*flexes, *inwards, _not_levating(leg, steps, criteria))
    outward = leg.outward_y * steps.foot_swing_cm[:, 1]
    return (
        *flexes,
        *inwards,
        *_joint(leg, steps, "CTr", +1, "CTr levation in stance", criteria),
        *_moved("recovery", outward, stride, "cm", "foot outward in swing", criteria),
    )


def _joint(leg: LegTracks, steps: Steps, role: Role, sign: int, what: str, criteria: Criteria) -> tuple[Check, ...]:
    if not leg.module(role).alternates:
        return ()
    return _moved(
        role, sign * steps.module(role).change_stance_deg, criteria.min_angle_change_deg, "deg", what, criteria
    )


def _not_levating(leg: LegTracks, steps: Steps, criteria: Criteria) -> Check:
    leg.module("CTr")
    change = steps.module("CTr").change_stance_deg
    median = float(np.median(change)) if change.size else float("nan")
    return below("CTr", median, criteria.min_angle_change_deg, "deg", "CTr levation in stance")


def _moved(
    name: str, amount: FloatArray, least: float, unit: str, what: str, criteria: Criteria
) -> tuple[Check, Check]:
    """The median has to be large enough, and the sign right in most steps."""
    median = float(np.median(amount)) if amount.size else float("nan")
    share = float((amount > 0).mean()) if amount.size else float("nan")
    return (
        at_least(name, median, least, unit, f"{what} (median)"),
        at_least(f"{name} sign", share, criteria.share_of_steps, "", f"{what}, share of steps with this direction"),
    )
