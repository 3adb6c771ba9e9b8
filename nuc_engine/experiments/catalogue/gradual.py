"""Experiments G and E: what can be changed gradually, and how that goes with what can not (7.4.2.5 and 7.4.2.6)."""

from __future__ import annotations

import math

from nuc_engine.analysis.outcome import step_kinds
from nuc_engine.experiments.catalogue import caught
from nuc_engine.experiments.catalogue.parts import (
    BOUT,
    PAUSE_S,
    Reasons,
    cycling,
    died_out_s,
    forward_window,
    judged,
    lift_offs,
    longest_pause_s,
    not_started,
    one_bout,
    period_s,
    stepping,
    unlike,
    window,
)
from nuc_engine.experiments.protocol import Control, Experiment, Finding, Observation, Observations, Row, Window

ROUGH_PATCH_S = 4.0
"""Longest a patch without a lift-off may be where the dissertation calls the transition "relatively smooth"."""
ABOUT_HALF_WAY = (0.25, 0.85)
"""Shares of a gradual change between which walking that dies "about halfway" has to die.

In Figure 7-32 it "keeps working slightly past" the middle; the bounds leave 2.5 s to one side and 3.5 s to the other.
"""
STRAY_LIFT_OFFS = 2
"""So many times the foot may still leave the ground after walking has died out, as a leg does that twitches."""
RULES_CHANGE_S, GRADUAL_END_S = 35.0, 40.0
"""When the rules of Eb change, and when its activations have arrived."""
USELESS = 0.5
"""Share of the inward travel in stance, compared with before, up to which a turn is called nearly useless."""


def criterion_ga(seen: Observations) -> Finding:
    """FWD, no stepping in the first half of the gradual change, ITF in the end."""
    one = seen[BOUT]
    change_s, end_s = window(one.plan, "FWD").end_s, window(one.plan, "final").end_s
    numbers = {
        caught.CAUGHT: caught.longest_caught_s(one, change_s),
        "longest time without a stance (s)": caught.longest_in_air_s(one, change_s),
        "ITF begins (s)": caught.begins_s(one, "ITF", change_s, end_s),
        "final step period (s)": period_s(one, "final"),
    }
    return judged(not_started([one], "FWD"), stepping(one, "early"), numbers, unlike(one, "final", "ITF"))


def criterion_gb(seen: Observations) -> Finding:
    """FWD, no long interruption while thresholds and rules change, ITF right after."""
    one = seen[BOUT]
    change = window(one.plan, "change")
    pause = longest_pause_s(lift_offs(one.steps, change.begin_s, change.end_s), change.begin_s, change.end_s)
    against = unlike(one, "final", "ITF")
    if pause > ROUGH_PATCH_S:
        against = (f"change: {pause:.1f} s without a lift-off, expected at most {ROUGH_PATCH_S:g} s", *against)
    numbers = {"longest time without a lift-off (s)": pause, "final step period (s)": period_s(one, "final")}
    return judged(not_started([one], "FWD"), against, numbers)


def criterion_gc(seen: Observations) -> Finding:
    """FWD, which dies out about half way and stays so until the rules change, then ITF."""
    one = seen[BOUT]
    gradual, late = window(one.plan, "gradual"), window(one.plan, "late")
    begin, length = gradual.begin_s, gradual.end_s - gradual.begin_s
    times = lift_offs(one.steps, begin, late.end_s)
    died = died_out_s(times, begin, late.end_s)
    earliest, latest = (begin + share * length for share in ABOUT_HALF_WAY)
    against: Reasons = ()
    if math.isnan(died):
        against = ("walking does not die out before the rules change",)
    elif not earliest <= died <= latest:
        against = (f"walking dies out at {died:.1f} s, expected between {earliest:g} and {latest:g} s",)
    elif (stray := int((times > died).sum())) > STRAY_LIFT_OFFS:
        against = (f"{stray} lift-offs after walking died out, expected at most {STRAY_LIFT_OFFS}",)
    against += cycling(one, "late") + unlike(one, "final", "ITF")
    numbers = {
        "walking dies out after (s of the gradual change)": died - begin,
        "final step period (s)": period_s(one, "final"),
    }
    return judged(not_started([one], "FWD"), against, numbers)


def criterion_ea(seen: Observations) -> Finding:
    """ITF, then a backward cycle that drags the foot, and ITB in the end."""
    one = seen[BOUT]
    early = one.outcomes["early"]
    against = unlike(one, "early", "dragging cycle")
    if not against and "backward" not in early.resembles:
        against = ("early: a dragging cycle, but not with the movements of walking backward",)
    numbers = {
        "foot in the air early (share of time)": early.measures.swing_share,
        "final step period (s)": period_s(one, "final"),
    }
    return judged(not_started([one], "ITF"), against + unlike(one, "final", "ITB"), numbers)


def criterion_eb(seen: Observations) -> Finding:
    """ITF until the rules change, ITB after it."""
    one = seen[BOUT]
    numbers = {f"{name} step period (s)": period_s(one, name) for name in ("early", "final")}
    numbers["backward steps from 35 to 40 s"] = float(_backward_steps(one, RULES_CHANGE_S, GRADUAL_END_S))
    return judged(not_started([one], "ITF"), unlike(one, "early", "ITF") + unlike(one, "final", "ITB"), numbers)


def _backward_steps(one: Observation, begin_s: float, end_s: float) -> int:
    return sum(step.kind == "backward" for step in step_kinds(one.leg, one.steps, begin_s, end_s))


def criterion_ec(seen: Observations) -> Finding:
    """ITF, whose cycle goes on until the rules change but becomes nearly useless, and ITB after it."""
    one = seen[BOUT]
    gradual, late = window(one.plan, "gradual"), window(one.plan, "late")
    pause = longest_pause_s(one.steps.thc_minima_s, gradual.begin_s, late.end_s)
    left = _inward_left(one)
    against: Reasons = ()
    if pause > PAUSE_S:
        against = (f"{pause:.1f} s without a ThC cycle before the rules change, expected at most {PAUSE_S:g} s",)
    late_seen = one.outcomes["late"]
    kind = late_seen.kind
    # A turn that is merely irregular still has its use, unless there is not one whole step in it.
    useful = kind in {"FWD", "ITF", "ITB"} or (kind == "irregular" and late_seen.measures.steps > 0)
    if useful and not left <= USELESS:
        against += (f"late: {kind}, with {left:.0%} of the inward travel in stance, expected {USELESS:.0%} or less",)
    against += unlike(one, "final", "ITB")
    numbers = {
        "longest time without a ThC cycle (s)": pause,
        "inward travel left at the end of the change (share)": left,
        "final step period (s)": period_s(one, "final"),
    }
    return judged(not_started([one], "ITF"), against, numbers)


def _inward_left(one: Observation) -> float:
    """Return the foot's inward travel in stance late in the change, as a share of that before; nan without steps."""
    before, late = (one.outcomes[name].measures.inward_cm for name in ("ITF", "late"))
    return late / before if before > 0 else math.nan


_G_HYPOTHESIS = """\
Some of the values in a changeset are thresholds, which can change bit by bit; others are Boolean rules, which can
only change at once. If thresholds are changed gradually, there should be a moment for the rules at which behaviour
passes from one to the other, and other moments at which it does not. In the animal both may be one and the same
thing, the excitation of neurons with opposing inputs."""

_G_METHOD = """\
The leg starts in forward stepping (FWD). Between 10 and 20 s the five thresholds in the changeset of the
forward-type inside turn (ITF; HDSO 103, 104, 105, 107 and 109) go over to their new values in ten equal steps, one per
second. The four rules (161, 162, 165 and 166) change at once {when}."""

_G_START = "From 6 to 10 s the leg steps as in FWD (kicked once at 4 s if it must; else a failed start)."


def _g(name: str, when: str, row: Row) -> Experiment:
    return Experiment(
        name=name,
        section="7.4.4.5",
        seed=30001,
        title=f"Thresholds changed gradually, rules {when}",
        hypothesis=_G_HYPOTHESIS,
        method=_G_METHOD.format(when=when),
        rows=(row,),
    )


EXPERIMENT_GA = _g(
    "Ga",
    "at the start of it (10 s)",
    Row(
        name="Ga",
        saw="inappropriate, uncoordinated behaviour, which the change of thresholds gradually brings to ITF",
        bouts=one_bout(
            "experiment_ga",
            45.0,
            forward_window(10.0),
            Window("early", 10.0, 16.0, "interim", 1.0),
            Window("final", 20.0, 45.0, "final", 14.0),
            kicks_s=(24.0, 29.0),
        ),
        criterion_text=f"{_G_START} From 11 to 16 s, in the first half of the gradual change, there is no stepping"
        " of any kind. From 34 to 45 s the leg steps as in ITF, if need be after a kick at 24 s or"
        " two, at 24 and 29 s.",
        criterion=criterion_ga,
        control=Control(
            why="The first changeset of experiment A, thresholds and rules at once at 20 s: no patch that lasts, so"
            " that from 26 to 31 s, once the change is over, there is stepping where none is asked for.",
            bouts=one_bout(
                "experiment_a",
                40.0,
                forward_window(20.0),
                Window("early", 25.0, 31.0, "interim", 1.0),
                Window("final", 31.0, 40.0, "final", 3.0),
            ),
        ),
        kicks_there="one repetition needed one to begin ITF",
        reservation="mostly the leg is caught in the air, and does not get out by the change of thresholds",
        remark=caught.TEXT,
        summary=caught.counted,
    ),
)

EXPERIMENT_GB = _g(
    "Gb",
    "in the middle of it (15 s)",
    Row(
        name="Gb",
        saw="a relatively smooth transition to ITF, spastic for a short while near the change of rules; no kick needed",
        bouts=one_bout(
            "experiment_gb",
            45.0,
            forward_window(10.0),
            Window("change", 10.0, 25.0, "interim", 0.0),
            Window("final", 20.0, 45.0, "final", 5.0),
        ),
        criterion_text=f"{_G_START} From 10 to 25 s the foot never stays without a lift-off for longer than"
        f" {ROUGH_PATCH_S:g} s. From 25 to 45 s the leg steps as in ITF, without a kick.",
        criterion=criterion_gb,
        control=Control(
            why="The thresholds alone: experiment Gc up to 25 s, where its rules change. Whether walking goes on or"
            " dies, without the rules it must not be taken for ITF.",
            bouts=one_bout(
                "experiment_gc",
                25.0,
                forward_window(10.0),
                Window("change", 10.0, 25.0, "interim", 0.0),
                Window("final", 20.0, 25.0, "final", 0.0),
            ),
        ),
    ),
)

EXPERIMENT_GC = _g(
    "Gc",
    "5 s after its end (25 s)",
    Row(
        name="Gc",
        saw="walking dies out about half way and stops; ITF as soon as the rules change (three repetitions of three)",
        bouts=one_bout(
            "experiment_gc",
            45.0,
            forward_window(10.0),
            Window("gradual", 10.0, 20.0, "interim", 0.0),
            Window("late", 20.0, 25.0, "interim", 0.0),
            Window("final", 25.0, 45.0, "final"),
        ),
        criterion_text=f"{_G_START} Walking dies out between 12.5 and 18.5 s (25 and 85 % of the gradual change):"
        f" the last lift-off before a pause of more than {PAUSE_S:g} s falls in this time. From there"
        f" until 25 s the foot leaves the ground at most {STRAY_LIFT_OFFS} more times, and from 20 to"
        " 25 s there is no cycle, on the ground or in the air. From 28 to 45 s the leg steps as in"
        " ITF, without a kick.",
        criterion=criterion_gc,
        control=Control(
            why="Experiment A, whose thresholds change together with the rules: between 10 and 20 s nothing changes,"
            " so that walking must not die. Its rules change at 20 s.",
            bouts=one_bout(
                "experiment_a",
                40.0,
                forward_window(10.0),
                Window("gradual", 10.0, 15.0, "interim", 0.0),
                Window("late", 15.0, 20.0, "interim", 0.0),
                Window("final", 20.0, 40.0, "final"),
            ),
        ),
        kicks_there="one repetition needed one to begin FWD; none later",
    ),
)

_E_HYPOTHESIS = """\
How strongly a muscle is activated in an action can be changed over a certain range without losing the cycle. Where
such a change is part of a changeset, some timings relative to the rules should give orderly behaviour in between
and others not. One would expect more freedom here than with thresholds, since activations do not decide when an
action ends."""

_E_METHOD = """\
The leg starts in forward stepping (FWD) and goes over to the forward-type inside turn (ITF) at 20 s. Between 30
and 40 s the four activations in the changeset of the backward-type turn (ITB; HDSO 122, 124, 125 and 126) go over
to their new values in ten equal steps, one per second. Its rules (162, 163 and 164) and the threshold of CTr on
ThC1 (104) change at once {when}. All times are those of the dissertation plus 20 s, in which the leg gets to ITF."""

_E_BEFORE = Window("ITF", 20.0, 30.0, "before", 5.0)
_E_START = "From 25 to 30 s the leg steps as in ITF (kicked once at 23.5 s if it must; else a failed start)."
_E_START_KICK_S = 23.5
_EARLY = Window("early", 30.0, 35.0, "interim", 0.5)


def _e(name: str, when: str, row: Row) -> Experiment:
    return Experiment(
        name=name,
        section="7.4.4.6",
        seed=30001,
        title=f"Activations changed gradually, rules {when}",
        hypothesis=_E_HYPOTHESIS,
        method=_E_METHOD.format(when=when),
        rows=(row,),
    )


_EA_WINDOWS = (_E_BEFORE, _EARLY, Window("final", 40.0, 65.0, "final"))

EXPERIMENT_EA = _e(
    "Ea",
    "at the start of it (30 s)",
    Row(
        name="Ea",
        saw="walking backward, except that the foot does not leave the ground; then gradually ITB",
        bouts=one_bout("experiment_ea", 65.0, *_EA_WINDOWS, start_kick_s=_E_START_KICK_S),
        criterion_text=f"{_E_START} From 30.5 to 35 s the leg goes through a dragging cycle: one that repeats, with"
        " the foot in the air for less than a tenth of the time, and with the movements of walking"
        " backward (FTi flexes and the foot moves forward in the stance action). From 43 to 65 s it"
        " steps as in ITB, without a kick.",
        criterion=criterion_ea,
        control=Control(
            why="Experiment Eb, judged alike: its rules change at 35 s, so that early in the gradual change the leg"
            " still turns in the forward type.",
            bouts=one_bout("experiment_eb", 65.0, *_EA_WINDOWS, start_kick_s=_E_START_KICK_S),
        ),
    ),
)

EXPERIMENT_EB = _e(
    "Eb",
    "in the middle of it (35 s)",
    Row(
        name="Eb",
        saw="ITF until the rules change, a few backward steps, then ITB",
        bouts=one_bout("experiment_eb", 65.0, *_EA_WINDOWS, start_kick_s=_E_START_KICK_S),
        criterion_text=f"{_E_START} From 30.5 to 35 s it still steps as in ITF, and from 43 to 65 s as in ITB,"
        " without a kick. Backward steps from 35 to 40 s are counted, since the robot made a few; they are no part of"
        " the criterion.",
        criterion=criterion_eb,
        control=Control(
            why="Experiment Ea, judged alike: its rules change at 30 s, and ITF must not outlast them.",
            bouts=one_bout("experiment_ea", 65.0, *_EA_WINDOWS, start_kick_s=_E_START_KICK_S),
        ),
    ),
)

EXPERIMENT_EC = _e(
    "Ec",
    "5 s after its end (45 s)",
    Row(
        name="Ec",
        saw="the cycle continues throughout the change but becomes nearly useless; ITB when the rules change",
        bouts=one_bout(
            "experiment_ec",
            65.0,
            _E_BEFORE,
            Window("gradual", 30.0, 40.0, "interim", 0.0),
            Window("late", 40.0, 45.0, "interim", 0.0),
            Window("final", 45.0, 65.0, "final"),
            start_kick_s=_E_START_KICK_S,
        ),
        criterion_text=f"{_E_START} From 30 to 45 s the thorax-coxa angle never goes without a minimum for longer"
        f" than {PAUSE_S:g} s: the cycle goes on. From 40 to 45 s it is nearly useless: it is no walk"
        " or turn any more (none of FWD, ITF and ITB, nor an irregular one with at least one whole step), or the foot's"
        f" inward travel in stance is at most {USELESS:.0%} of that from 25 to 30 s. From 48 to 65 s the leg steps as"
        " in ITB, without a kick.",
        criterion=criterion_ec,
        control=Control(
            why="Experiment A, in which no activation changes before the rules do, at 40 s: the cycle goes on, but"
            " as a sound ITF. Windows within its 20 s of ITF.",
            bouts=one_bout(
                "experiment_a",
                60.0,
                Window("ITF", 20.0, 28.0, "before", 3.0),
                Window("gradual", 28.0, 35.0, "interim", 0.0),
                Window("late", 35.0, 40.0, "interim", 0.0),
                Window("final", 40.0, 60.0, "final"),
                start_kick_s=None,
            ),
        ),
    ),
)
