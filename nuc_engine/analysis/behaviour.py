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
    if behaviour == "sideways":
        return (
            *_flexes(leg, steps, criteria),
            *_inward(leg, steps, criteria),
            *_recovery(leg, steps, criteria),
            *_thc_held(leg, steps, criteria),
        )
    if behaviour == "backward":
        forward = steps.foot_stance_cm[:, 0]
        return (*_flexes(leg, steps, criteria), *_strides("forward", forward, "foot forward in stance", leg, criteria))
    rearward = _strides("rearward", -steps.foot_stance_cm[:, 0], "foot rearward in stance", leg, criteria)
    if behaviour == "FWD":
        return (
            *_joint(leg, steps, "FTi", -1, "FTi extension in stance", criteria),
            *_joint(leg, steps, "CTr", -1, "CTr depression in stance", criteria),
            *rearward,
        )
    if behaviour == "stick":
        return (*_flexes(leg, steps, criteria), *rearward)
    if behaviour == "ITF":
        return (
            *_flexes(leg, steps, criteria),
            *_inward(leg, steps, criteria),
            _not_levating(leg, steps, criteria),
        )
    return (
        *_flexes(leg, steps, criteria),
        *_inward(leg, steps, criteria),
        *_joint(leg, steps, "CTr", +1, "CTr levation in stance", criteria),
        *_recovery(leg, steps, criteria),
    )


def _flexes(leg: LegTracks, steps: Steps, criteria: Criteria) -> tuple[Check, ...]:
    return _joint(leg, steps, "FTi", +1, "FTi flexion in stance", criteria)


def _inward(leg: LegTracks, steps: Steps, criteria: Criteria) -> tuple[Check, ...]:
    return _strides("inward", -leg.outward_y * steps.foot_stance_cm[:, 1], "foot inward in stance", leg, criteria)


def _recovery(leg: LegTracks, steps: Steps, criteria: Criteria) -> tuple[Check, ...]:
    return _strides("recovery", leg.outward_y * steps.foot_swing_cm[:, 1], "foot outward in swing", leg, criteria)


def _strides(name: str, amount: FloatArray, what: str, leg: LegTracks, criteria: Criteria) -> tuple[Check, Check]:
    return _moved(name, amount, criteria.min_stride_legs * leg.leg_length_cm, "cm", what, criteria)


def _thc_held(leg: LegTracks, steps: Steps, criteria: Criteria) -> tuple[Check, ...]:
    if leg.find_module("ThC") is None:
        return ()
    covered = steps.module("ThC").range_deg
    median = float(np.median(covered)) if covered.size else float("nan")
    return (below("ThC held", median, criteria.min_excursion_deg, "deg", "ThC angle covered per step"),)


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
