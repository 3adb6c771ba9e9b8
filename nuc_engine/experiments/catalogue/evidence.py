"""Experiments beside rows that come out otherwise: the row's bouts with one thing varied, all else left as it is.

Each asks what the explanation of its row claims. They were made after the verdicts, and change none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from nuc_engine.experiments.catalogue.evidence_firm import PROBE_D1, PROBE_GB
from nuc_engine.experiments.catalogue.evidence_muscles import PROBE_LIFT_OFF
from nuc_engine.experiments.catalogue.evidence_unloading import PROBES_UNLOADING
from nuc_engine.experiments.catalogue.gradual import (
    EXPERIMENT_EA,
    EXPERIMENT_EB,
    EXPERIMENT_EC,
    EXPERIMENT_GC,
    criterion_eb,
    criterion_ec,
    criterion_gc,
)
from nuc_engine.experiments.catalogue.muscles import NULL, PIECES
from nuc_engine.experiments.catalogue.parts import (
    BOUT,
    cycling,
    died_out_s,
    lift_offs,
    moving,
    not_started,
    window,
    windows_of,
)
from nuc_engine.experiments.catalogue.restricted import HEIGHT
from nuc_engine.experiments.catalogue.subsets import EXPERIMENT_FB
from nuc_engine.experiments.catalogue.transitions import EXPERIMENT_D1, EXPERIMENT_D2, criterion_d1
from nuc_engine.experiments.protocol import BoutPlan, Level, Observation, Observations, Probe, Window

Numbers = Mapping[str, float]
Edits = Mapping[tuple[int, float], float | None]


def _edited(plan: BoutPlan, edits: Edits, label: str = BOUT) -> BoutPlan:
    return replace(plan, label=label, edits=edits)


def _levels(values: Iterable[float], bouts: Callable[[float], tuple[BoutPlan, ...]]) -> tuple[Level, ...]:
    return tuple(Level(f"{value:g}", bouts(value), value) for value in values)


def _is(one: Observation, name: str, kind: str) -> float:
    return float(one.outcomes[name].kind == kind)


# Fb: the tibia's cycle in the interim, against the threshold at which it turns.

(_FB,) = EXPERIMENT_FB.rows[0].bouts


def measure_fb(seen: Observations) -> Numbers:
    """Cycles in the interim, and what becomes of ITF."""
    one = seen[BOUT]
    if not_started([one], "FWD"):
        return {}
    cycles = sum(bool(cycling(one, name)) for name in windows_of(one.plan, "interim"))
    return {
        "parts of the interim with a cycle, of 3": float(cycles),
        "no cycle in the interim (share)": float(cycles == 0),
        "ITF in the end, not kicked (share)": _is(one, "final", "ITF"),
    }


def _fb(value: float) -> tuple[BoutPlan, ...]:
    return (_edited(_FB, {(103, 20.0): value}),)


PROBE_FB = Probe(
    name="HDSO 103",
    question="Does the cycle in the interim depend on the tibia's angle at which ThC1 lowers the leg? And the turn?",
    quantity="HDSO 103 from 20 s on (deg)",
    levels=_levels((76, 84, 92, 100, 108), _fb),
    measure=measure_fb,
    as_is="108",
)


# Gc: whether walking dies, and what becomes of D, against the threshold that the tibia would have to get past.

(_GC,) = EXPERIMENT_GC.rows[0].bouts
(_D,) = EXPERIMENT_D2.rows[0].bouts


def measure_gc(seen: Observations) -> Numbers:
    """When walking dies out in Gc; ITF in its end; and where D in its literal order ends with the same value."""
    gc, d = seen[BOUT], seen["D"]
    if not_started([gc, d], "FWD"):
        return {}
    gradual, late = window(gc.plan, "gradual"), window(gc.plan, "late")
    died = died_out_s(lift_offs(gc.steps, gradual.begin_s, late.end_s), gradual.begin_s, late.end_s)
    return {
        "Gc: walking dies out after (s of the gradual change)": died - gradual.begin_s,
        "Gc as seen (share)": float(criterion_gc({BOUT: gc}).ok),
        "D ends in ITB, not kicked (share)": _is(d, "final", "ITB"),
        "Gc ends in ITF (share)": _is(gc, "final", "ITF"),
    }


def _gc(value: float) -> tuple[BoutPlan, ...]:
    return _edited(_GC, {(105, 10.0): value}), _edited(_D, {(105, 40.0): value}, "D")


PROBE_GC = Probe(
    name="HDSO 105",
    question="Does walking die when the threshold that lowers the leg leaves the tibia's range? What becomes of D?",
    quantity="HDSO 105 of ITF (deg)",
    levels=_levels((115, 125, 135, 145, 155, 164), _gc),
    measure=measure_gc,
    as_is="115",
)


# Ea: how much of the time the foot is in the air, against the tone that holds the levating femur back.

(_EA,) = EXPERIMENT_EA.rows[0].bouts
_TONE = 125
_JUST_BEFORE_S = 29.95
"""A value that changes gradually from 30 s on can be written before that only."""


def measure_ea(seen: Observations) -> Numbers:
    """What the leg does between the change of rules and that of activations."""
    one = seen[BOUT]
    if not_started([one], "ITF"):
        return {}
    early = one.outcomes["early"]
    return {
        "foot in the air, 30.5 to 35 s (part of the time)": early.measures.swing_share,
        "movements of walking backward (share)": float("backward" in early.resembles),
        "dragging cycle (share)": _is(one, "early", "dragging cycle"),
        "ITB in the end (share)": _is(one, "final", "ITB"),
    }


def _ea(value: float) -> tuple[BoutPlan, ...]:
    return (_edited(_EA, {(_TONE, _JUST_BEFORE_S): value}),)


PROBE_EA = Probe(
    name="tone against the levating femur",
    question="Does the foot stay down, as the robot's did, when the femur levates against more tone of its depressor?",
    quantity="HDSO 125 when the rules change (no unit); it goes over to 0.06 by 40 s as in the row",
    levels=_levels((0.01, 0.06, 0.1, 0.15, 0.2, 0.3), _ea),
    measure=measure_ea,
    as_is="0.01",
)


# Eb, Ec and D1: three rows that the activations of ITB decide, on the way from its set to another one.

(_EB,) = EXPERIMENT_EB.rows[0].bouts
(_EC,) = EXPERIMENT_EC.rows[0].bouts
(_D1,) = EXPERIMENT_D1.rows[0].bouts
_ITB = {122: 0.33, 124: 0.18, 125: 0.06, 126: 0.9}
_OTHER = {122: 0.299, 124: 0.126, 125: 0.134, 126: 0.905}


_EC_NUMBERS = ("longest time without a ThC cycle (s)", "inward travel left at the end of the change (share)")


def measure_e(seen: Observations) -> Numbers:
    """Which of the three rows come out as seen, and what Eb and Ec are judged by."""
    eb, ec, d1 = (seen[name] for name in ("Eb", "Ec", "D1"))
    if not_started([eb, ec], "ITF") or not_started([d1], "FWD"):
        return {}
    found = criterion_ec({BOUT: ec})
    return {
        "Eb as seen (share)": float(criterion_eb({BOUT: eb}).ok),
        "Ec as seen (share)": float(found.ok),
        "D1 as seen (share)": float(criterion_d1({BOUT: d1}).ok),
        "Eb: variation of the step period, 30.5 to 35 s (sd/mean)": eb.outcomes["early"].measures.period_cv,
        **{f"Ec: {what}": found.numbers[what] for what in _EC_NUMBERS},
    }


def _e(share: float) -> tuple[BoutPlan, ...]:
    values = {number: round(own + share * (_OTHER[number] - own), 4) for number, own in _ITB.items()}
    gradual = {(number, 30.0): value for number, value in values.items()}
    first = {(number, 20.0): value for number, value in values.items()}
    return _edited(_EB, gradual, "Eb"), _edited(_EC, gradual, "Ec"), _edited(_D1, first, "D1")


PROBE_E = Probe(
    name="another set of activations",
    question="Can the activations of ITB be chosen so that Eb and Ec come out as seen, and D1 still does?",
    quantity="activations of ITB: part of the way from those of the scripts to another set (no unit)",
    levels=_levels((0, 0.25, 0.5, 0.75, 1), _e),
    measure=measure_e,
    as_is="0",
    repetitions=20,
    seed=60401,
)


# Sideways: both models with every value as printed, against the height of the body.

_PRINTED = {"103": 115.0, "108": 0.2}
"""The two thresholds in which the sideways configurations differ from print."""
_SIDEWAYS_S = 60.0


def measure_sideways(seen: Observations) -> Numbers:
    """Whether null has come to a halt, and whether piecewise constant steps."""
    null, pieces = seen[NULL], seen[PIECES]
    stretched = float(np.min(null.leg.module("FTi").angle_deg[null.leg.t_sensor_s > _SIDEWAYS_S / 2]))
    return {
        "null has stopped (share)": float(not moving(null, "end")),
        "piecewise constant steps sideways (share)": _is(pieces, "end", "sideways"),
        "null: smallest FTi angle in the second half (deg)": stretched,
    }


def _high(height_cm: float) -> tuple[BoutPlan, ...]:
    windows = (Window("end", _SIDEWAYS_S / 2, _SIDEWAYS_S, "final", 0.0),)
    pairs = ((NULL, "restricted_null_stick"), (PIECES, "restricted_pc_stick"))
    return tuple(
        BoutPlan(label, config, None, _SIDEWAYS_S, windows, values=_PRINTED, plant={HEIGHT: height_cm})
        for label, config in pairs
    )


PROBE_SIDEWAYS = Probe(
    name="height of the body, values as printed",
    question="Does the null leg stop where the foot has further to reach down, when all thresholds are as printed?",
    quantity="height of the body (cm)",
    levels=_levels((16, 18, 20, 22, 24, 25, 26), _high),
    measure=measure_sideways,
    repetitions=5,
)


PROBES: Mapping[tuple[str, str], tuple[Probe, ...]] = {
    ("D1", "literal"): (PROBE_D1,),
    ("D1", "commuting"): (PROBE_D1,),
    ("Gb", "Gb"): (PROBE_GB,),
    ("Fb", "Fb"): (PROBE_FB,),
    ("Gc", "Gc"): (PROBE_GC,),
    ("Ea", "Ea"): (PROBE_EA,),
    ("Eb", "Eb"): (PROBE_E,),
    ("Ec", "Ec"): (PROBE_E,),
    ("muscles-sideways", "muscles-sideways"): (PROBE_SIDEWAYS,),
    ("muscles-forward", "ten minutes"): (PROBE_LIFT_OFF,),
    **PROBES_UNLOADING,
}
