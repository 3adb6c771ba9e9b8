"""Observations made up for criteria: outcomes by window, and a leg whose foot leaves the ground when it is told to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from nuc_engine.analysis.measures import Measures
from nuc_engine.analysis.outcome import CYCLIC, Outcome
from nuc_engine.analysis.phases import Swing
from nuc_engine.analysis.steps import Steps
from nuc_engine.analysis.tracks import LegTracks, ModuleTrack
from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.protocol import BoutPlan, CriterionResult, Observation, TableRow
from tests.analysis.synthetic import MODULES

NAN = float("nan")
MEASURES = Measures(
    steps=10,
    joint_cycles=10,
    longest_gap_s=0.7,
    period_s=0.7,
    period_mean_s=0.7,
    period_sd_s=0.01,
    thc_period_mean_s=0.7,
    thc_period_sd_s=0.01,
    swing_mean_s=0.3,
    stance_mean_s=0.4,
    contact_share=0.5,
    swing_share=0.5,
    stance_share=0.5,
    action_contact=0.6,
    clearance_cm=2.0,
    load_n=1.0,
    stride_cm=(-7.0, 0.0, 0.0),
    inward_cm=8.0,
    outward_swing_cm=8.0,
    modules=(),
)


def outcome(
    kind: str, *, resembles: Sequence[str] = (), cycle_s: float = 0.7, foot_steps: bool = False, **measured: object
) -> Outcome:
    """An outcome of this kind, with some of its measures replaced."""
    return Outcome(
        kind=kind,
        cyclic=kind in CYCLIC,
        state=(),
        steady=(0.0, 1.0),
        reasons=("measured against bound",),
        measures=replace(MEASURES, **measured),
        resembles=tuple(resembles),
        cycle_s=cycle_s,
        foot_steps=foot_steps,
    )


def leg(
    duration_s: float = 1.0, actions: Mapping[str, Sequence[tuple[float, str]]] | None = None, fti_deg: float = 100.0
) -> LegTracks:
    """A leg that enters the named actions at the given times, from the first action of each module on."""
    t = np.arange(0.0, duration_s + 1e-9, 0.025)
    modules: list[ModuleTrack] = []
    for role, name, codes, names in MODULES:
        action = np.full(len(t), codes[0])
        for time, entered in (actions or {}).get(role, ()):
            action[t >= time - 1e-9] = codes[names.index(entered)]
        angle = np.full(len(t), fti_deg if role == "FTi" else 50.0)
        modules.append(ModuleTrack(name, role, codes, names, action, angle))
    return LegTracks(t, t, t, tuple(modules), np.zeros((len(t), 3)), np.zeros(len(t)), 28.1, 0)


def steps(lift_offs: Sequence[float] = (), swing_s: float = 0.3, minima: Sequence[float] | None = None) -> Steps:
    """Steps with a swing of `swing_s` at each lift-off; the thorax-coxa minima are there too, unless given."""
    none = np.array([])
    at = np.array(list(lift_offs) if minima is None else list(minima), dtype=np.float64)
    return Steps(
        contact_known=True,
        lift_off_s=none,
        touch_down_s=none,
        end_s=none,
        clearance_cm=none,
        load_n=none,
        foot_stance_cm=np.empty((0, 3)),
        foot_swing_cm=np.empty((0, 3)),
        modules=(),
        swings=tuple(Swing(time, time + swing_s, 2.0) for time in lift_offs),
        thc_minima_s=at,
        pace_minima_s=at,
    )


def observe(
    plan: BoutPlan,
    kinds: Mapping[str, str | Outcome],
    *,
    tracks: LegTracks | None = None,
    found: Steps | None = None,
    kicks_s: tuple[float, ...] = (),
) -> Observation:
    """What was seen in a bout: each window's kind or outcome. Windows that are not named were irregular."""
    given = {name: kind if isinstance(kind, Outcome) else outcome(kind) for name, kind in kinds.items()}
    unknown = given.keys() - {window.name for window in plan.windows}
    assert not unknown, f"{plan.label} has no window {unknown}"
    outcomes = {window.name: given.get(window.name, outcome("irregular")) for window in plan.windows}
    return Observation(plan, tracks or leg(), steps() if found is None else found, outcomes, kicks_s)


def every(begin: float, end: float, period: float = 0.7) -> list[float]:
    """Lift-offs at a steady pace."""
    return np.arange(begin, end, period).tolist()


def row_of(name: str) -> TableRow:
    """A shipped row, by its experiment's name and, where it differs, its own."""
    found = {f"{each.name} {row.name}": row for each in EXPERIMENTS for row in each.rows}
    return found.get(name) or found[f"{name} {name}"]


def judge(name: str, found: Steps | None = None, *, control: bool = False, **kinds: str | Outcome) -> CriterionResult:
    """What the criterion of a row with one bout says of windows of these kinds; blanks in their names are _."""
    row = row_of(name)
    (plan,) = row.control.bouts if control else row.bouts
    given = {window.replace("_", " "): kind for window, kind in kinds.items()}
    return row.criterion({plan.label: observe(plan, given, found=found)})
