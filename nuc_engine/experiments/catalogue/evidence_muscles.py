"""What decides the place of lift-off in ten minutes of walking: the coxa's angle or the tibia's, and how strong it is.

The rule that lifts the leg has two conditions, either of which will do. The experiment has seeds of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from nuc_engine.analysis.spread import StepSamples, bimodality, spread, step_samples
from nuc_engine.experiments.catalogue.muscles import LINEAR, PIECES
from nuc_engine.experiments.catalogue.parts import not_started, window
from nuc_engine.experiments.protocol import BoutPlan, Level, Observation, Observations, Probe, Window

FRESH_SEED = 60301
"""First seed of this experiment."""
FAR_DEG = 10.0
"""Differences of successive minima beyond this are tails: the leg of the row has none."""

REACHED, FLEXION = "103", "131"
"""HDSO of the tibia's angle that lifts the leg, and of the flexor's activation in stance."""
COXA_DEG = -20.0
"""HDSO 104: further back than this the coxa lifts the leg, whatever the tibia does."""
_LEGS = ((PIECES, "pc_stickmiddle", 6.0), (LINEAR, "lin_stickmiddle", 1.7))
"""Label, configuration and flexor's activation of both legs."""
_S = 100.0


def measure_lift_off(seen: Observations) -> Mapping[str, float]:
    """Spread of successive minima, its tails, kinds of steps, and what decided lift-off, of both models."""
    if not_started(seen.values(), "stick"):
        return {}
    samples = {label: _samples(one) for label, one in seen.items()}
    widths = {label: spread(own.lift_off_difference_deg) for label, own in samples.items()}
    numbers = {"spread ratio, linear to piecewise constant": _over(widths[LINEAR], widths[PIECES])}
    for what, measured in (
        ("lift-offs by the tibia (part)", {label: by_tibia(one) for label, one in seen.items()}),
        ("differences of successive minima beyond 10 degrees (part)", {k: _far(own) for k, own in samples.items()}),
        ("spread of successive minima (deg)", widths),
        ("bimodality of step duration (no unit)", {k: bimodality(own.duration_s) for k, own in samples.items()}),
    ):
        numbers |= {f"{label}: {what}": measured[label] for label in (LINEAR, PIECES)}
    return numbers


def by_tibia(one: Observation) -> float:
    """Return the part of the lift-offs at which the coxa was not far enough back, so that the tibia must have decided.

    A lift-off is the beginning of levation at CTr; nan without any.
    """
    rest, leg = window(one.plan, "rest"), one.leg
    ctr = leg.module("CTr")
    levation = ctr.actions[next(k for k, name in enumerate(ctr.action_names) if "Levation" in name)]
    begins = np.flatnonzero((ctr.action[1:] == levation) & (ctr.action[:-1] != levation)) + 1
    at_s = leg.t_state_s[begins]
    at_s = at_s[(at_s >= rest.begin_s) & (at_s < rest.end_s)]
    if not at_s.size:
        return math.nan
    # The rules look at what was measured last before them.
    seen = np.maximum(np.searchsorted(leg.t_sensor_s, at_s) - 1, 0)
    return float(np.mean(leg.module("ThC").angle_deg[seen] >= COXA_DEG))


def _samples(one: Observation) -> StepSamples:
    rest = window(one.plan, "rest")
    return step_samples(one.leg, rest.begin_s, rest.end_s)


def _far(own: StepSamples) -> float:
    differences = own.lift_off_difference_deg
    return float(np.mean(np.abs(differences) > FAR_DEG)) if differences.size else math.nan


def _over(one: float, other: float) -> float:
    return one / other if other else math.nan


def _bouts(tibia_deg: float, strength: float) -> tuple[BoutPlan, ...]:
    windows = (Window("first", 0.0, 20.0, "before", 6.0), Window("rest", 20.0, _S, "final", 0.0))
    return tuple(
        BoutPlan(
            label, config, None, _S, windows, values={REACHED: tibia_deg, FLEXION: round(activation * strength, 3)}
        )
        for label, config, activation in _LEGS
    )


_AS_IS = "120, full"
PROBE_LIFT_OFF = Probe(
    name="the tibia decides",
    question="Is lift-off steadier with the linear model where the tibia decides on it too, and its muscle is not so"
    " strong that the servo gives all it has?",
    quantity="tibia's angle that lifts the leg (HDSO 103, degrees), and strength of its flexor in stance (HDSO 131)",
    levels=(
        Level(_AS_IS, _bouts(120.0, 1.0)),
        Level("120, a tenth", _bouts(120.0, 0.1)),
        Level("110, full", _bouts(110.0, 1.0)),
        Level("110, a tenth", _bouts(110.0, 0.1)),
        Level("108, full", _bouts(108.0, 1.0)),
        Level("108, a tenth", _bouts(108.0, 0.1)),
        Level("106, full", _bouts(106.0, 1.0)),
    ),
    measure=measure_lift_off,
    as_is=_AS_IS,
    repetitions=6,
    seed=FRESH_SEED,
)
