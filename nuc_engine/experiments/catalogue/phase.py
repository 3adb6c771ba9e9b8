"""Asks about the phase of the step at which a leg's changeset comes: how soon it is in its new behaviour, as a map."""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from nuc_engine.analysis.outcome import step_kinds
from nuc_engine.analysis.steps import Steps
from nuc_engine.analysis.tracks import JointRole
from nuc_engine.batch.criterion import wilson
from nuc_engine.experiments.catalogue.asks import (
    Found,
    Question,
    lift_offs,
    median_of_known,
    over_repetitions,
    stepping,
    unlike,
)
from nuc_engine.experiments.protocol import Observation, Observations, TableRow, Trial

_PHASE, _SWING, _TAKES = "phase", "changed in swing (share)", "transient (s)"
_THERE = "as wanted in the end (share)"
_DISTINCT = "bouts that differ from each other"
_IN_A_ROW = 3
"""So many steps of the new behaviour in a row end the transient; so many before the change give a period."""


class Arrives(Question, kw_only=True, tag="arrives"):
    """How soon a leg does the behaviour wanted after its changeset, and at which phase of its step that came.

    The changeset waits for `joint` to be beyond `beyond_deg`, above or below, as its trigger says; when that was is
    found in the record. Phase 0 is lift-off. Where `kind` is "" no stepping is wanted.
    """

    kind: str
    joint: JointRole
    beyond_deg: float
    above: bool

    def look(self, seen: Observations) -> Found:
        """Return phase and transient of each bout, and whether it is there in the end."""
        numbers: dict[str, float] = {}
        for one in self.of(seen):
            changed_s = self.changed_s(one)
            label = one.plan.label
            numbers[f"{label}: {_PHASE}"] = phase(one.steps, changed_s)
            numbers[f"{label}: {_SWING}"] = float(
                any(s.lift_off_s <= changed_s < s.touch_down_s for s in one.steps.swings)
            )
            numbers[f"{label}: {_TAKES}"] = self._takes_s(one, changed_s)
            numbers[f"{label}: {_THERE}"] = float(not any(self._against(one, name) for name in self.windows))
        numbers[_DISTINCT] = float(len({_course(one) for one in self.of(seen)}))
        return Found(numbers=numbers)

    def _against(self, one: Observation, name: str) -> tuple[str, ...]:
        return unlike(one, name, self.kind) if self.kind else stepping(one, name)

    def changed_s(self, one: Observation) -> float:
        """Return when the changeset came; NaN where it never did."""
        if not one.plan.waits:
            return math.nan
        (wait,) = one.plan.waits
        at_s = one.leg.t_state_s[one.leg.t_state_s >= wait.from_s]
        # The rules look at what was measured last before them.
        last = np.maximum(np.searchsorted(one.leg.t_sensor_s, at_s, side="right") - 1, 0)
        angles = one.leg.module(self.joint).angle_deg[last]
        true = np.flatnonzero(angles > self.beyond_deg if self.above else angles < self.beyond_deg)
        return float(at_s[true[0]]) + wait.after_s if true.size else math.nan

    def _takes_s(self, one: Observation, changed_s: float) -> float:
        """Return the time until the first of three steps in a row, NaN without them."""
        if math.isnan(changed_s) or not self.kind:
            return math.nan
        found = step_kinds(one.leg, one.steps, changed_s, one.plan.duration_s)
        for k in range(len(found) - _IN_A_ROW + 1):
            if all(step.kind == self.kind for step in found[k : k + _IN_A_ROW]):
                return found[k].lift_off_s - changed_s
        return math.nan


def _course(one: Observation) -> bytes:
    return b"".join(module.angle_deg.tobytes() for module in one.leg.modules)


def phase(steps: Steps, at_s: float) -> float:
    """Return the time since the last lift-off as a part of the median of the last steps before it; NaN without any."""
    if math.isnan(at_s):
        return math.nan
    before = lift_offs(steps, 0.0, at_s)[-1 - _IN_A_ROW :]
    if len(before) < 2:
        return math.nan
    return (at_s - float(before[-1])) / float(np.median(np.diff(before)))


def by_phase(trials: Sequence[Trial]) -> Mapping[str, float]:
    """Return how many bouts are as wanted, by swing and stance, and by how much longer a change in swing takes."""
    found: dict[str, float] = {}
    for swing, name in ((1.0, "swing"), (0.0, "stance")):
        own = [bout for trial in trials for bout in _bouts(trial) if bout[_SWING] == swing and _THERE in bout]
        if own:
            count = sum(bout[_THERE] for bout in own)
            low, high = wilson(round(count), len(own))
            found[f"changed in {name}: bouts"] = float(len(own))
            found |= {
                f"changed in {name}: as wanted in the end": count / len(own),
                f"changed in {name}: low end of its 95 % interval": low,
            }
            found[f"changed in {name}: high end"] = high
            found[f"changed in {name}: transient (s), median"] = median_of_known([bout[_TAKES] for bout in own])
    longer = [_longer_s(trial) for trial in trials]
    known = [value for value in longer if math.isfinite(value)]
    if known:
        low, high = over_repetitions(len(known), lambda drawn: float(np.median([known[k] for k in drawn])))
        found["transient: longer for changes in swing by (s), median of repetitions"] = float(np.median(known))
        found |= {"low end of its bootstrap interval (s)": low, "high end (s)": high}
    return found


def _longer_s(trial: Trial) -> float:
    bouts = [bout for bout in _bouts(trial) if _TAKES in bout]
    swing, stance = (median_of_known([b[_TAKES] for b in bouts if b[_SWING] == own]) for own in (1.0, 0.0))
    return swing - stance


def _bouts(trial: Trial) -> list[dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for name, value in trial.numbers.items():
        label, between, what = name.partition(": ")
        if between:
            found.setdefault(label, {})[what] = value
    return [bout for bout in found.values() if _PHASE in bout]


def draw_phase_map(row: TableRow, trials: Sequence[Trial], path: Path) -> None:
    """Draw what became of each bout against the phase at which its changeset came, and how long that took."""
    from nuc_engine.figures.canvas import house_style, new_figure

    with house_style():
        timed = any(math.isfinite(value) for trial in trials for name, value in trial.numbers.items() if _TAKES in name)
        figure = new_figure(7.0, 4.2 if timed else 2.4)
        panels = figure.subplots(2 if timed else 1, 1, sharex=True, squeeze=False)[:, 0]
        above = panels[0]
        labels = [plan.label for plan in row.bouts]
        for label in labels:
            bouts = [
                {what: trial.numbers[f"{label}: {what}"] for what in (_PHASE, _SWING, _THERE, _TAKES)}
                for trial in trials
                if f"{label}: {_THERE}" in trial.numbers
            ]
            if not bouts:
                continue
            at = float(np.nanmedian([bout[_PHASE] for bout in bouts]))
            there = [bout[_THERE] for bout in bouts]
            low, high = wilson(round(sum(there)), len(there))
            share = sum(there) / len(there)
            swing = sum(bout[_SWING] for bout in bouts) > len(bouts) / 2
            color = "#0d5cad" if swing else "#cc4020"
            mark = "o" if swing else "s"
            bars = [[max(0.0, share - low)], [max(0.0, high - share)]]
            above.errorbar([at], [share], yerr=bars, color=color, marker=mark, capsize=2)
            known = [bout[_TAKES] for bout in bouts if math.isfinite(bout[_TAKES])]
            if known:
                x = [bout[_PHASE] for bout in bouts if math.isfinite(bout[_TAKES])]
                panels[1].plot(x, known, linestyle="", marker=mark, color=color, markersize=3, alpha=0.45)
                panels[1].plot([at], [float(np.median(known))], marker="_", markersize=16, color="black")
        above.set_ylim(-0.05, 1.05)
        above.set_ylabel("as wanted in the end\n(share, 95 %)")
        if timed:
            panels[1].set_ylabel("transient (s)\nlines: medians")
            panels[1].set_ylim(bottom=0)
        panels[-1].set_xlabel("phase of the step at the change (0: lift-off; circles: in swing, squares: in stance)")
        figure.savefig(path, format="svg", metadata={"Date": None})
