"""One bout of many: run, looked at, and written down only where it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.load import load_bout
from nuc_engine.analysis.measures import finite
from nuc_engine.analysis.outcome import Outcome, classify
from nuc_engine.analysis.steps import Steps, detect_steps
from nuc_engine.analysis.tracks import LegTracks
from nuc_engine.batch.inputs import BoutInputs
from nuc_engine.batch.scratch import scratch_folder
from nuc_engine.batch.watch import Watched, watch_bout
from nuc_engine.bout.described import PLANT, VALUES, read_leg
from nuc_engine.bout.run import BoutRefused, BoutResult, BoutSpec, run_bout
from nuc_engine.episode.document import RunConfigError
from nuc_engine.machine.locations import PLANT_SPEC_FILE
from nuc_engine.plants import PlantSpecError

Value = float | int | str
Cell = float | int | str | bool | None

REFUSED = "refused"
"""State of a bout that could not start; the others are those of a manifest."""

_NO_ROOM = "logging_failed:"

MEASURES: Mapping[str, str] = MappingProxyType(
    {
        "steps": "complete steps in the steady part",
        "period_mean_s": "mean step period, lift-off to lift-off",
        "period_sd_s": "its sample standard deviation",
        "thc_period_mean_s": "mean step period, minimum to minimum of the thorax-coxa angle",
        "thc_period_sd_s": "its sample standard deviation",
        "swing_mean_s": "mean duration of swing",
        "stance_mean_s": "mean duration of stance",
        "contact_share": "share of the steady part with the foot on the ground",
        "clearance_cm": "median height of the foot's lift in swing",
        "load_n": "mean normal force in stance",
        "inward_cm": "median movement of the foot towards the midline in stance",
    }
)
"""Numbers of `Measures` that become columns, and what they are."""
STRIDE = ("stride_x_cm", "stride_y_cm", "stride_z_cm")
"""Median movement of the foot in stance: forward, left, up."""


@dataclass(frozen=True, slots=True)
class WatchWindow:
    """A stretch of a bout that is looked at (seconds since engine start), and what its columns begin with."""

    name: str
    begin_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class BoutTask:
    """One bout. `values` (HDSO name, value) are written at time 0, `plant` replaces numbers of plant.toml.

    `keep` is where its data directory stays, None for none. The first `settle_s` of each window are not looked at.
    `described` is the RunConfig that describes it, in which these replace what it says, and its seed draws anew.
    """

    inputs: BoutInputs
    duration_s: float
    seed: int
    windows: tuple[WatchWindow, ...]
    values: tuple[tuple[str, Value], ...] = ()
    plant: tuple[tuple[str, float], ...] = ()
    keep: Path | None = None
    settle_s: float = 3.0
    described: Mapping[str, Any] | None = None

    def spec(self, config: Path, script: Path | None, out: Path) -> BoutSpec:
        """Return the bout, of documents that are there. Raises RunConfigError."""
        base = BoutSpec(str(config), out, values=dict(self.values), plant=dict(self.plant))
        if self.described is not None:
            changes = {"seed": self.seed, "timing.duration_s": self.duration_s}
            changes |= {f"{VALUES}{name}": value for name, value in self.values}
            changes |= {f"{PLANT}{key}": number for key, number in self.plant}
            base = read_leg(self.described, changes, checked=True)
        return replace(
            base,
            config=str(config),
            out=out,
            script=None if script is None else str(script),
            duration_s=self.duration_s,
            seed=self.seed,
            name=self.inputs.name,
            overwrite=True,
            plant_file=PLANT_SPEC_FILE,
        )

    def __str__(self) -> str:
        script = "" if self.inputs.script is None else f" with {self.inputs.script_name}"
        return f"{self.inputs.name}{script}, seed {self.seed}"


@dataclass(frozen=True, slots=True, eq=False)
class BoutObservation:
    """What was seen in a bout. `state` is complete, fault or refused, with the reason.

    `outcomes` by window name; for a window that has none `why_not` says why. `leg` and `steps` are None where the bout
    is not complete or cannot be looked at.
    """

    state: str
    reason: str
    simulated_s: float = 0.0
    leg: LegTracks | None = None
    steps: Steps | None = None
    outcomes: Mapping[str, Outcome] = field(default_factory=dict[str, Outcome])
    why_not: Mapping[str, str] = field(default_factory=dict[str, str])


def see(task: BoutTask) -> BoutObservation:
    """Run a bout and look at it. What keeps it from running or being judged is in the result.

    Raises OSError where its data could not be written.
    """
    with ExitStack() as stack:
        scratch = stack.enter_context(scratch_folder())
        config, script = task.inputs.unpack(scratch)
        out = scratch / "bout" if task.keep is None else task.keep
        try:
            spec = task.spec(config, script, out)
            if task.keep is None:
                return _sight(watch_bout(spec), task)
            result = run_bout(spec)
        except (BoutRefused, PlantSpecError, RunConfigError) as refused:
            return BoutObservation(REFUSED, " ".join(str(refused).replace(str(config), task.inputs.name).split()))
        if result.reason.startswith(_NO_ROOM):
            # That is the machine's doing, and would be another row with more room.
            raise OSError(f"{out}: {result.reason}")
        return _sight(result, task)


def _sight(result: BoutResult | Watched, task: BoutTask) -> BoutObservation:
    """Say what was seen in the windows of a bout, if it is complete."""
    if result.state != "complete":
        return BoutObservation(result.state, result.reason, result.simulated_s)
    try:
        bout = result.read() if isinstance(result, Watched) else load_bout(result.folder)
        leg = bout.tracks()
        steps = detect_steps(leg)
    except AnalysisError as error:
        why = {window.name: str(error) for window in task.windows}
        return BoutObservation(result.state, result.reason, result.simulated_s, why_not=why)
    outcomes: dict[str, Outcome] = {}
    why_not: dict[str, str] = {}
    for window in task.windows:
        try:
            span = window.begin_s, window.end_s
            outcomes[window.name] = classify(leg, span, steps=steps, settle_s=task.settle_s)
        except AnalysisError as error:
            why_not[window.name] = str(error)
    return BoutObservation(result.state, result.reason, result.simulated_s, leg, steps, outcomes, why_not)


def row_of(task: BoutTask) -> dict[str, Cell]:
    """Run a bout and return what was seen as cells: how it ended, its folder, and `WINDOW.COLUMN` for each window."""
    sight = see(task)
    row: dict[str, Cell] = {"state": sight.state, "reason": sight.reason, "simulated_s": sight.simulated_s}
    row["folder"] = None if task.keep is None or sight.state == REFUSED else str(task.keep)
    for window in task.windows:
        cells = _cells(sight.outcomes.get(window.name), sight.why_not.get(window.name, ""))
        row.update((f"{window.name}.{column}", cell) for column, cell in cells.items())
    return row


WINDOW_COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "outcome": "text",
        "cyclic": "yes or no",
        "stuck_in": "text",
        "reasons": "text",
        **dict.fromkeys(MEASURES, "number"),
        **dict.fromkeys(STRIDE, "number"),
        "steps": "whole number",
    }
)
"""Columns of one window and what they hold; every one of them may be empty."""


def _cells(outcome: Outcome | None, why_not: str) -> dict[str, Cell]:
    if outcome is None:
        return dict.fromkeys(WINDOW_COLUMNS, None) | {"reasons": why_not or None}
    measures = outcome.measures
    numbers: dict[str, Cell] = {name: finite(getattr(measures, name)) for name in MEASURES}
    numbers |= {name: finite(value) for name, value in zip(STRIDE, measures.stride_cm, strict=True)}
    return {
        "outcome": outcome.kind,
        "cyclic": outcome.cyclic,
        "stuck_in": "; ".join(outcome.state) or None,
        "reasons": "; ".join(outcome.reasons) or None,
        **numbers,
    }
