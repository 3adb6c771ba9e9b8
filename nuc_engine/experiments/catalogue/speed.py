"""Speed: the six agonist activations alone shorten the step (7.3, Figure 7-11)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from nuc_engine.analysis.spread import step_samples
from nuc_engine.analysis.tracks import FloatArray
from nuc_engine.experiments.catalogue.parts import Reasons, judged, unlike, window
from nuc_engine.experiments.catalogue.pictures import draw_speed
from nuc_engine.experiments.protocol import (
    BoutPlan,
    Control,
    Experiment,
    Finding,
    Observation,
    Observations,
    Row,
    Trial,
    Window,
)

CONFIG = "null_roach"

AGONISTS: dict[str, tuple[float, ...]] = {
    "122": (0.0625, 0.0716, 0.0821, 0.0941, 0.131),
    "123": (0.064, 0.0698, 0.0761, 0.083, 0.102),
    "127": (0.056, 0.0603, 0.0648, 0.0698, 0.0832),
    "126": (0.2, 0.203, 0.206, 0.21, 0.218),
    "130": (0.0255, 0.0286, 0.0321, 0.0359, 0.0473),
    "131": (0.026, 0.0273, 0.0286, 0.03, 0.0336),
}
"""HDSO -> its value at each level, slowest first. The first level is the configuration's own.

Of each pair the stance agonist is the first, and rises more, as under Figure 7-11. Found with tuning seeds.
"""

NAMES = {
    "122": "ThC1 protractor, pro(DEP), stance",
    "123": "ThC1 retractor, ret(LEV), swing",
    "126": "CTr levator, lev(PRO), swing",
    "127": "CTr depressor, dep(RET), stance",
    "130": "FTi extensor, stance",
    "131": "FTi flexor, swing",
}
"""The agonist of each action of the cockroach leg, by its activation's HDSO."""

ANTAGONISTS = {
    "121": (0.015, "123"),
    "124": (0.012, "122"),
    "125": (0.017, "127"),
    "128": (0.029, "126"),
    "129": (0.012, "131"),
    "132": (0.006, "130"),
}
"""Activation of each antagonist -> its value in the configuration, and the activation of that muscle as an agonist."""

SHORTENING = 0.30
"""Least share of the step period that has to be gone at the last level."""


def criterion_speed(seen: Observations) -> Finding:
    """Stepping at every level, periods that fall from level to level by more than their error, and by 30 % in all."""
    bouts = list(seen.values())
    against: Reasons = tuple(
        f"{one.plan.label}: {reason}" for one in bouts for reason in unlike(one, "stepping", "FWD")
    )
    durations = [_durations(one) for one in bouts]
    periods = [float(np.median(own)) if own.size else math.nan for own in durations]
    errors = [median_error(own) for own in durations]
    for k in range(1, len(bouts)):
        fall, error = periods[k - 1] - periods[k], math.hypot(errors[k - 1], errors[k])
        if not fall > error:
            against += (
                f"{bouts[k].plan.label}: period {periods[k]:.3f} s after {periods[k - 1]:.3f} s, expected shorter by"
                f" more than the standard error of the difference, {error:.3f} s",
            )
    shortening = 1 - periods[-1] / periods[0]
    if not shortening >= SHORTENING:
        against += (f"the period is {shortening:.0%} shorter at the last level, expected {SHORTENING:.0%} or more",)
    numbers = {f"{one.plan.label}: step period (s)": period for one, period in zip(bouts, periods, strict=True)}
    return judged((), against, numbers | {"shortening (share)": shortening})


def median_error(values: FloatArray) -> float:
    """Return a median's standard error, as of a normal sample: 1.253 s / sqrt(n); nan for fewer than two values."""
    if len(values) < 2:
        return math.nan
    return 1.2533 * float(values.std(ddof=1)) / math.sqrt(len(values))


def antagonist_levels() -> dict[str, tuple[float, ...]]:
    """Return the antagonists' activations, raised in the end by the factors by which those muscles rise as agonists.

    From level to level the factor is the same: with the agonists' own steps two levels would be one and the same bout,
    since these activations are small and the servo takes whole ticks.
    """
    return {hdso: _raised(value, AGONISTS[agonist]) for hdso, (value, agonist) in ANTAGONISTS.items()}


def _raised(value: float, as_agonist: Sequence[float]) -> tuple[float, ...]:
    last = len(as_agonist) - 1
    return tuple(round(value * (as_agonist[-1] / as_agonist[0]) ** (k / last), 6) for k in range(last + 1))


def _durations(one: Observation) -> FloatArray:
    stretch = window(one.plan, "stepping")
    return step_samples(one.leg, stretch.begin_s + stretch.settle_s, stretch.end_s).duration_s


def draw_figure_7_11(trials: Sequence[Trial], path: Path) -> None:
    """Draw the activations of the agonists against the step period."""
    levels = len(next(iter(AGONISTS.values())))
    periods = np.array(
        [[trial.numbers.get(f"{label(k)}: step period (s)", math.nan) for k in range(levels)] for trial in trials]
    )
    draw_speed(periods, {NAMES[hdso]: values for hdso, values in AGONISTS.items()}, path)


def label(level: int) -> str:
    """Return the label of a level's bout, counted from 0."""
    return f"level {level + 1}"


def level_bouts(tables: Mapping[str, Sequence[float]]) -> tuple[BoutPlan, ...]:
    """Return one bout per level, with each HDSO at its value of that level."""
    levels = len(next(iter(tables.values())))
    return tuple(
        BoutPlan(
            label(k),
            CONFIG,
            None,
            40.0,
            (Window("stepping", 0.0, 40.0, "final", 8.0),),
            values={hdso: own[k] for hdso, own in tables.items()},
        )
        for k in range(levels)
    )


CRITERION_TEXT = (
    "At every level the leg steps as in FWD from 8 to 40 s, without a kick. From each level to the next the median step"
    " duration (from one minimum of the thorax-coxa angle to the next) falls by more than the standard error of the"
    " difference of the two medians. At the last level it is at least 30 % shorter than at the first."
)

HYPOTHESIS = """\
Stepping is driven by sensory events, and how soon they come depends on how strongly muscles pull. A tonic change of
drive to the agonists alone, the muscle that each action is named after, should therefore change the speed of stepping.
No rhythm has to be set anywhere."""

METHOD = """\
The cockroach leg walks forward with muscles whose force does not depend on their length (null_roach), once at each
of five levels of drive. From level to level only the activations of the six agonists change: those of protractor
and retractor (ThC1), levator and depressor (CTr), extensor and flexor (FTi) in the action in which each is the
agonist. They do not rise by one common factor; those of stance rise more than those of swing. The first level is
the configuration as it stands. All bouts of a repetition have the same seed. The leg is not kicked."""

EXPERIMENT_SPEED = Experiment(
    name="speed",
    section="7.3",
    title="Speed by drive alone",
    hypothesis=HYPOTHESIS,
    method=METHOD,
    rows=(
        Row(
            name="speed",
            saw="the step period falls as the six agonist activations rise (Figure 7-11)",
            bouts=level_bouts(AGONISTS),
            criterion_text=CRITERION_TEXT,
            criterion=criterion_speed,
            control=Control(
                why="The same muscles are activated more, in the end by the same factors, but where they are"
                " antagonists: more tone, which must not be found to make the leg faster and faster. From level to"
                " level they rise by one factor each, so that every level differs from the others in what the servos"
                " are told.",
                bouts=level_bouts(antagonist_levels()),
            ),
            picture=draw_figure_7_11,
        ),
    ),
)
