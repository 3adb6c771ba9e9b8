"""Tiny experiments: short bouts and criteria that look at little, so that what is around them can be tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nuc_engine.experiments.protocol import (
    BoutPlan,
    CriterionResult,
    Experiment,
    JudgedWindow,
    NegativeControl,
    Observation,
    Observations,
    TableRow,
    Trial,
)

CONFIG = "lin_roach"
SECONDS = 2.0
STILL = {
    "FT_extension_flexor_activation": 0.0,
    "FT_extension_extensor_activation": 0.0,
    "FT_flexion_flexor_activation": 0.0,
    "FT_flexion_extensor_activation": 0.0,
}
"""Without activation the tibia's motor is not driven."""


class Inline:
    """Workers in this process, which finish in the opposite order."""

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, function, items, done=None):
        for count, index in enumerate(reversed(range(len(items)))):
            result = function(items[index])
            if done is not None:
                done(count + 1, len(items))
            yield index, result


def plan(label: str = "only", **changes) -> BoutPlan:
    given = {
        "label": label,
        "config": CONFIG,
        "script": None,
        "duration_s": SECONDS,
        "windows": (JudgedWindow("all", 0.0, SECONDS, "final", 0.5),),
    }
    return BoutPlan(**(given | changes))


def moved(seen: Observations) -> CriterionResult:
    """The tibia covers 20 degrees in every bout."""
    ranges = {label: _range(one) for label, one in seen.items()}
    against = tuple(f"{label}: {value:.1f} deg, expected 20" for label, value in ranges.items() if value < 20)
    numbers = {f"{label} range (deg)": value for label, value in ranges.items()}
    samples = {"range": tuple(ranges.values())}
    return CriterionResult(not against, against, numbers, samples)


def _range(one: Observation) -> float:
    angle = one.leg.module("FTi").angle_deg
    return float(angle.max() - angle.min())


def kicked(seen: Observations) -> CriterionResult:
    """Every bout has been kicked: nothing is as wanted without."""
    missing = tuple(f"{label}: not kicked" for label, one in seen.items() if not one.kicks_s)
    return CriterionResult(not missing, missing)


def never(seen: Observations) -> CriterionResult:
    """Nothing is ever right."""
    return CriterionResult(False, tuple(f"{label}: no good" for label in seen))


def never_started(seen: Observations) -> CriterionResult:
    """Nothing ever starts."""
    return CriterionResult(False, ("it never starts",), started=False)


def mean_range(trials: Sequence[Trial]) -> Mapping[str, float]:
    values = [value for trial in trials for value in trial.samples["range"]]
    return {"mean range (deg)": sum(values) / len(values)}


def picture(row: TableRow, trials: Sequence[Trial], path: Path) -> None:
    from nuc_engine.figures.canvas import new_figure

    figure = new_figure(3, 2)
    axes = figure.subplots()
    axes.plot([trial.seed for trial in trials], [trial.samples["range"][0] for trial in trials], "o")
    figure.savefig(path, format="svg")


def row(name: str = "tiny", **changes) -> TableRow:
    given = {
        "name": name,
        "saw": "it moves",
        "bouts": (plan(),),
        "criterion_text": "The tibia covers 20 degrees | more.",
        "criterion": moved,
        "control": NegativeControl("The tibia is held where it is.", (plan(values=STILL),), 2),
    }
    return TableRow(**(given | changes))


def experiment(*rows: TableRow, name: str = "T") -> Experiment:
    return Experiment(
        name=name,
        section="0.0",
        title="A leg that moves",
        hypothesis="Legs move.",
        method="We look.",
        rows=rows or (row(),),
    )


def trial(seed: int, state: str = "as seen", **changes) -> Trial:
    given = {
        "seed": seed,
        "state": state,
        "reasons": () if state == "as seen" else ("it did not",),
        "numbers": {"period (s)": 1.0 + seed / 10},
        "samples": {},
        "kicks": 0,
        "outcomes": {"only": {"all": "FWD" if state == "as seen" else "stuck in A + B"}},
    }
    return Trial(**(given | changes))
