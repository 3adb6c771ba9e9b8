"""The control system of a bout at any of its times, by what its script really did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from drivers.units import NS_PER_S
from nuc_engine.analysis.log_columns import model_of
from nuc_engine.analysis.scriptlog import read_script_log
from nuc_engine.figures.diagrams.wiring import Wiring, wiring_at
from nuc_engine.model.changes import Changeset, prepare
from nuc_engine.model.plan import Plan
from nuc_engine.model.planning import build_plan
from sccils_schemas.model import Model


@dataclass(frozen=True, slots=True)
class RecordedControl:
    """A bout's model, and every change of its values."""

    model: Model
    plan: Plan
    changesets: Sequence[Changeset]

    def wiring(self, time_s: float, label: str) -> Wiring:
        """Return the control system at a time. Raises DiagramError as `wiring_at`."""
        return wiring_at(self.model, self.plan, self.changesets, time_s, label)

    def span(self, time_s: float) -> tuple[float, float | None]:
        """Return from when to when (s) it is the same as at a time; None: to the end."""
        times = [changeset.time_ns / NS_PER_S for changeset in self.changesets]
        before = [at for at in times if at <= time_s]
        return max(before, default=0.0), min((at for at in times if at > time_s), default=None)


def recorded_control(folder: Path) -> RecordedControl:
    """Return what a data directory tells. Raises AnalysisError."""
    model = model_of(folder)
    plan = build_plan(model)
    script = read_script_log(folder, model).script
    return RecordedControl(model, plan, () if script is None else prepare(script, plan, model.ids))
