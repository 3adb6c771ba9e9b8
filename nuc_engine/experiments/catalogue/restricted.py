"""Sideways stepping with the thorax-coxa joint fixed: heights, starts, and a leg that is taken apart (7.1.1)."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence

import numpy as np

from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.phases import angle_minima, rhythm
from nuc_engine.analysis.tracks import FloatArray, Role
from nuc_engine.experiments.catalogue.parts import (
    BOUT,
    Reasons,
    judged,
    not_started,
    period_s,
    unlike,
    window,
    windows_of,
)
from nuc_engine.experiments.protocol import (
    BoutPlan,
    Control,
    Experiment,
    Finding,
    Observation,
    Observations,
    Row,
    Window,
)

STICK = "restricted_pc_stick"
HEIGHT = "world.base_height_cm"
LOWEST_CM = 16.0
HEIGHTS_CM = (16, 18, 20, 22, 24, 26)
OUT_OF_REACH_CM = 46
"""Femur and tibia together measure 38 cm."""

APART = Window("apart", 22.0, 32.0, "interim", 0.5)
RECONNECTED_S = 34.0
SAME_CYCLE = 0.25
"""Joint cycles that differ by less than this share of their duration are the same pattern."""


def criterion_every_bout(seen: Observations) -> Finding:
    """Sideways stepping in every window of every bout."""
    against = tuple(
        f"{label}: {reason}"
        for label, one in seen.items()
        for name in windows_of(one.plan, "final")
        for reason in unlike(one, name, "sideways")
    )
    numbers = {f"{label}: step period (s)": period_s(one, "stepping") for label, one in seen.items()}
    return judged((), against, numbers)


def criterion_raised(seen: Observations) -> Finding:
    """Sideways stepping to begin with, and at every height after it."""
    one = seen[BOUT]
    names = windows_of(one.plan, "final")
    against = tuple(reason for name in names for reason in unlike(one, name, "sideways"))
    numbers = {f"{name}: step period (s)": period_s(one, name) for name in (*windows_of(one.plan, "before"), *names)}
    return judged(not_started([one], "sideways"), against, numbers)


def criterion_disconnect(seen: Observations) -> Finding:
    """Sideways stepping; another pattern or none while the leg is apart; sideways stepping again, if need be kicked."""
    one = seen[BOUT]
    kicks = float(sum(time >= RECONNECTED_S for time in one.kicks_s))
    numbers = {"trapped until kicked (share)": float(kicks > 0), "kicks after the leg was put together": kicks}
    for name in (windows_of(one.plan, "before")[0], "apart"):
        numbers |= _together(one, name)
    return judged(not_started([one], "sideways"), _same_pattern(one), numbers, unlike(one, "final", "sideways"))


def _same_pattern(one: Observation) -> Reasons:
    """Return a reason when the joints go on in the hand as they did on the ground."""
    apart, before = one.outcomes["apart"], one.outcomes[windows_of(one.plan, "before")[0]]
    goes_on = apart.cyclic or apart.kind in {"air stepping", "dragging cycle"}
    if goes_on and abs(apart.cycle_s - before.cycle_s) < SAME_CYCLE * before.cycle_s:
        return (f"apart: {apart.kind} with cycles of {apart.cycle_s:.2f} s, much as before ({before.cycle_s:.2f} s)",)
    return ()


def _together(one: Observation, name: str) -> dict[str, float]:
    """Return, for a window, FTi's cycle and its variation, and the phase that CTr's minima have in it."""
    stretch = window(one.plan, name)
    begin, end = stretch.begin_s + stretch.settle_s, stretch.end_s
    cycle = rhythm(one.leg, one.leg.module("FTi"), begin, end, DEFAULT_CRITERIA)
    phase, strength = phase_of(_minima(one, "CTr", begin, end), _minima(one, "FTi", begin, end))
    return {
        f"{name}: FTi cycle (s)": cycle.period_s,
        f"{name}: variation of the FTi cycle (sd/mean)": cycle.period_cv,
        f"{name}: phase of the smallest CTr angle in the FTi cycle (0 to 1)": phase,
        f"{name}: strength of this phase (0: none, 1: always the same)": strength,
    }


def _minima(one: Observation, role: Role, begin_s: float, end_s: float) -> FloatArray:
    inside = slice(*np.searchsorted(one.leg.t_sensor_s, (begin_s, end_s)))
    return angle_minima(one.leg.t_sensor_s[inside], one.leg.module(role).angle_deg[inside], DEFAULT_CRITERIA)


def phase_of(events_s: FloatArray, marks_s: FloatArray) -> tuple[float, float]:
    """Return the mean phase (0 to 1) of events between the marks of a cycle, and how alike the phases are.

    This is the length of the mean of unit vectors (vector strength). Events outside the marks are left out; both are
    nan without any.
    """
    if marks_s.size < 2:
        return math.nan, math.nan
    inside = events_s[(events_s >= marks_s[0]) & (events_s < marks_s[-1])]
    if not inside.size:
        return math.nan, math.nan
    at = np.searchsorted(marks_s, inside, side="right") - 1
    phases = (inside - marks_s[at]) / np.diff(marks_s)[at]
    mean = complex(np.exp(2j * np.pi * phases).mean())
    return cmath.phase(mean) / (2 * math.pi) % 1.0, abs(mean)


def _stepping(label: str, script: str | None = None, height_cm: float = LOWEST_CM, **pose: float) -> BoutPlan:
    """Return a bout of sideways stepping from standstill; `pose` gives start angles by joint (CTr, FTi)."""
    joints = {"CTr": "joint.Coxa-Trochanter.start_deg", "FTi": "joint.Femur-Tibia.start_deg"}
    return BoutPlan(
        label,
        STICK,
        script,
        25.0,
        (Window("stepping", 0.0, 25.0, "final", 8.0),),
        plant={HEIGHT: height_cm} | {joints[name]: angle for name, angle in pose.items()},
    )


def _raised(script: str, heights_cm: Sequence[int]) -> tuple[BoutPlan]:
    first = Window("16 cm", 0.0, 15.0, "before", 6.0)
    rest = tuple(Window(f"{cm} cm", 15.0 * k, 15.0 * (k + 1), "final") for k, cm in enumerate(heights_cm, 1))
    return (BoutPlan(BOUT, STICK, script, 90.0, (first, *rest), plant={HEIGHT: LOWEST_CM}, start_kick_s=4.0),)


_ACTIONS = {
    "levating, extending": "restricted_start_lev_ext",
    "levating, flexing": "restricted_start_lev_flx",
    "depressing, extending": "restricted_start_dep_ext",
    "depressing, flexing": "restricted_start_dep_flx",
}
_POSES = tuple((ctr, fti) for ctr in (30.0, 70.0) for fti in (70.0, 120.0))


def _starts(height_cm: float = LOWEST_CM) -> tuple[BoutPlan, ...]:
    actions = (_stepping(label, script, height_cm) for label, script in _ACTIONS.items())
    poses = (_stepping(f"CTr {ctr:g}, FTi {fti:g}", None, height_cm, CTr=ctr, FTi=fti) for ctr, fti in _POSES)
    return (*actions, *poses)


EXPERIMENT_RESTRICTED = Experiment(
    name="restricted",
    section="7.1.1",
    title="Sideways stepping at any height and from any start",
    hypothesis="""\
With the joint between thorax and coxa fixed, a stick insect's leg still steps, sideways. Since the controller
holds no path of the foot and no height of the ground, but only what to do on which sensor signal, it should go on
stepping when the body is raised, without any value being changed. Nor should it matter much how the joints stand
at the start, or which actions they begin with.""",
    method="""\
The leg of restricted_pc_stick (three states of FTi) steps sideways with the thorax-coxa joint held by its servo.
In the row *raised* the body begins 16 cm above the ground and is raised by 2 cm every 15 s, up to 26 cm. In the
row *heights* the leg starts from standstill at each of these heights. In the row *starts* it begins at 16 cm in
four poses (CTr at 30 or 70 degrees, FTi at 70 or 120 degrees, all with the foot above the ground), and in the four
global states without EXT2, into which it is forced at the start (for 50 ms, two evaluations of the rules). All
bouts of a repetition have the same seed. The leg is not kicked, except at 4 s in the row *raised*.""",
    rows=(
        Row(
            name="raised",
            saw="goes on stepping as the body is raised from about 16 to 26 cm, with no value changed",
            bouts=_raised("restricted_heights", HEIGHTS_CM[1:]),
            criterion_text="At 16 cm, from 6 to 15 s, the leg steps sideways (kicked once at 4 s if it must; else a"
            " failed start). At 18, 20, 22, 24 and 26 cm it steps sideways as well, in the last 12 s"
            " of the 15 s at each height, without a kick.",
            criterion=criterion_raised,
            control=Control(
                why="Raised by 6 cm at a time, up to 46 cm: at the latest where the foot can not reach the ground it"
                " must not be found to step.",
                bouts=_raised("restricted_heights_too_high", (22, 28, 34, 40, OUT_OF_REACH_CM)),
            ),
        ),
        Row(
            name="heights",
            saw="steps at 16 to 26 cm with the same values",
            bouts=tuple(_stepping(f"{cm} cm", height_cm=float(cm)) for cm in HEIGHTS_CM),
            criterion_text="In each of the six bouts, at 16, 18, 20, 22, 24 and 26 cm, the leg steps sideways from 8"
            " to 25 s, without a kick.",
            criterion=criterion_every_bout,
            control=Control(
                why="The same with 46 cm instead of 26 cm, where the foot does not reach the ground.",
                bouts=tuple(_stepping(f"{cm} cm", height_cm=float(cm)) for cm in (*HEIGHTS_CM[:-1], OUT_OF_REACH_CM)),
            ),
        ),
        Row(
            name="starts",
            saw="not obviously vulnerable to the initial state; behaved well over a range of initial poses",
            bouts=_starts(),
            criterion_text="In each of the eight bouts, four start states and four start poses, the leg steps"
            " sideways from 8 to 25 s, without a kick.",
            criterion=criterion_every_bout,
            control=Control(
                why="The same eight starts at 46 cm, where the foot does not reach the ground.",
                bouts=_starts(float(OUT_OF_REACH_CM)),
            ),
        ),
    ),
)


def _disconnect(script: str | None) -> tuple[BoutPlan]:
    windows = (
        Window("whole", 0.0, 20.0, "before", 8.0),
        APART,
        Window("final", RECONNECTED_S, 70.0, "final", 18.0),
    )
    return (
        BoutPlan(
            BOUT,
            STICK,
            script,
            70.0,
            windows,
            plant={HEIGHT: LOWEST_CM},
            kicks_s=(40.0, 46.0),
            start_kick_s=4.0,
        ),
    )


_IN_PHASE = """\
In the hand the joints do not come to rest. They go on cycling in the air, more slowly and less regularly, and they stay
in phase: the femur turns back upward in the same part of the tibia's cycle each time, a little later in it than on the
ground (*apart* and *whole* in the table). Where they cycle, the criterion sees the duration alone, and the leg of its
control is whole. What it shows is that the cycle slows; that the pattern breaks, it does not.
What the hypothesis says a central pattern generator could do, these joints do without one. CTr goes over to levation
and to depression by the angle of FTi (HDSO 103 and 105), and motor and sensor of FTi go on in the hand. FTi flexes and
extends by the load signal of CTr as well. That is the current of its motor, which has spikes when the joint reverses,
whether the leg is attached or not. So the loop through sensors and rules is closed without the ground.
The robot's joints came to rest on plateaus (Figure 7-3), and were sometimes trapped there; this leg was not."""

EXPERIMENT_DISCONNECT = Experiment(
    name="disconnect",
    section="7.1.1",
    title="A leg taken apart and put together again",
    hypothesis="""\
The rhythm of stepping is not in the controller: it takes the leg and the ground to make it. If the leg is taken
apart mechanically, while all motors, sensors and their connections go on working, the joints should lose their
pattern, although not one nerve has been cut. Put together again, the leg should find back into it. In a central
pattern generator the joints could go on in phase.""",
    method="""\
The stick insect leg steps sideways (restricted_pc_stick, 16 cm). From 20 to 22 s everything below the motor of the
coxa-trochanter joint is taken off by hand; what was taken off stays in the hand, and its motor goes on. From 32 to
34 s it is put back. If the leg does not step again by itself it is kicked, once or twice; the kicks are counted.""",
    rows=(
        Row(
            name="disconnect",
            saw="the pattern breaks and resumes; in some cases the leg is trapped until it is disturbed",
            bouts=_disconnect("restricted_disconnect"),
            criterion_text="From 8 to 20 s the leg steps sideways (kicked once at 4 s if it must; else a failed"
            " start). From 22.5 to 32 s, apart, its joints do not go on as before: there is no cycle,"
            " on the ground or in the air, or one whose duration differs by 25 % or more. From 52 to"
            " 70 s, together again, it steps sideways, if need be after a kick at 40 s or two, at 40"
            " and 46 s; then it counts as trapped.",
            criterion=criterion_disconnect,
            reservation="the pattern slows, and the joints go on in phase",
            remark=_IN_PHASE,
            control=Control(
                why="The same bout with the leg left whole: the pattern goes on, and must be seen to.",
                bouts=_disconnect(None),
            ),
            kicks_there="in some cases one, to get the leg out of a plateau in which it was trapped (not shown)",
        ),
    ),
)
