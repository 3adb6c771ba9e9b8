"""A leg that is caught in the air, as in experiments Ga, Gb and Gc: how it is told, and how it comes about."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nuc_engine.analysis.outcome import step_kinds
from nuc_engine.experiments.catalogue.parts import PAUSE_S
from nuc_engine.experiments.protocol import Observation, Trial

CAUGHT = "longest time caught in the air (s)"
"""The number by which repetitions are counted as caught."""
CAUGHT_S = 4.0
"""From here on a leg counts as caught: about six steps, and the longest rough patch that Gb allows."""

TEXT = """\
In most repetitions the leg is *caught in the air*; how many, for how long, and when ITF begins stands in the tables. No
load is on the foot then. Without load the femur levates, up to the end of its range (174 degrees). The tibia extends
until it gets below HDSO 109 and flexes again until it gets above HDSO 107, to and fro between these two, and never so
far flexed as ThC1 asks for before it lifts the leg (HDSO 105: 120 degrees in the beginning, 115 in the end). So ThC1
stands still in the action that lowers the leg, and with the femur up there this does not bring the foot to the ground.
As HDSO 107 and 109 change, the tibia's movement gets smaller, until it switches at every evaluation of the rules, at
about 73 degrees. The classifier calls this air stepping or chattering; it is the tibia alone that moves.
The leg does not get out by the change of thresholds, which ends before. The motor of ThC1 draws no current then, and
the load as felt, a little below 0, only fades in its filter: by the same factor with every sample, as long as a
32-bit float can hold it. After some ten seconds it is 0, and the tibia's rule of extension, which asks for less,
holds no more. So the tibia flexes on beyond 115 degrees, ThC1 lifts the leg, and within a few seconds it steps as in
ITF. For how long it is caught is thus a matter of how numbers are kept, and not of the leg; a current that is never
quite at rest would change it.
Uncoordinated behaviour to begin with, and ITF in the end, are there in all repetitions. That thresholds bring one over
to the other gradually is to be seen at most in those that are not caught. Other criteria do not allow the same: in Gb
four seconds without a lift-off count against a leg, and in Fa, Fb and Gc any cycle does, in the air too. The robot got
stuck once in Ga as well, and needed a kick; in what way is not said."""


def longest_caught_s(one: Observation, begin_s: float) -> float:
    """Return the longest time from `begin_s` on in which the foot is up and ThC1 does not change its action."""
    thc, times = one.leg.module("ThC"), one.leg.t_state_s
    changes = times[1:][np.diff(thc.action) != 0]
    longest = 0.0
    for swing in one.steps.swings:
        begin = max(begin_s, swing.lift_off_s)
        if swing.touch_down_s > begin:
            inside = changes[(changes > begin) & (changes < swing.touch_down_s)]
            longest = max(longest, float(np.diff([begin, *inside.tolist(), swing.touch_down_s]).max()))
    return longest


def longest_in_air_s(one: Observation, begin_s: float) -> float:
    """Return the longest time without a stance from `begin_s` on."""
    return max((swing.touch_down_s - max(begin_s, swing.lift_off_s) for swing in one.steps.swings), default=0.0)


def begins_s(one: Observation, kind: str, begin_s: float, end_s: float) -> float:
    """Return when the leg begins to step in a way that it keeps up until `end_s`, without a pause; nan when never."""
    found = math.nan
    for step in reversed(step_kinds(one.leg, one.steps, begin_s, end_s)):
        if step.kind != kind or step.end_s - step.lift_off_s > PAUSE_S:
            break
        found = step.lift_off_s
    return found


def counted(trials: Sequence[Trial]) -> dict[str, float]:
    """Return how many repetitions are caught in the air, and of how many."""
    times = [trial.numbers[CAUGHT] for trial in trials if CAUGHT in trial.numbers]
    return {
        f"repetitions caught in the air for more than {CAUGHT_S:g} s": float(sum(time > CAUGHT_S for time in times)),
        "of repetitions": float(len(times)),
    }
