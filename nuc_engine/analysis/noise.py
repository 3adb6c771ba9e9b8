"""How much steps would seem to differ if they were all alike: the noise level of the spreads of section 7.2.2.

The angle is read every few milliseconds, with noise, in steps of a servo tick; and the engine looks every 25 ms whether
an action has to be changed, so a step that is ready to end goes on for up to 25 ms. A spread means something as far as
it exceeds what these alone make of equal steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nuc_engine.analysis.criteria import DEFAULT_CRITERIA, Criteria
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.spread import StepSamples, samples_of, step_samples
from nuc_engine.analysis.tracks import FloatArray, LegTracks

_PHASES = 200
_FEWEST_CYCLES = 3


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a leg is seen and controlled with: the servo's tick, its noise in ticks, and the state transition period."""

    tick_deg: float = 0.654
    noise_ticks: float = 0.3
    state_period_s: float = 0.025


def noise_samples(
    leg: LegTracks,
    begin_s: float,
    end_s: float,
    resolution: Resolution | None = None,
    *,
    seed: int = 0,
    cycles: int = 400,
    criteria: Criteria = DEFAULT_CRITERIA,
) -> StepSamples:
    """Return the minima of a leg that repeats the mean cycle of [begin_s, end_s] exactly, seen with this resolution.

    Both changes of action in a cycle come late by up to one state transition period, evenly distributed; what is late
    at the minimum takes it further down, by the mean speed of the fall. A joint that a stop holds at its minimum is
    steadier than this. Raises AnalysisError when there are fewer than three cycles to take the mean of.
    """
    resolution = Resolution() if resolution is None else resolution
    rng = np.random.Generator(np.random.PCG64(seed))
    wave, period_s = _mean_cycle(leg, begin_s, end_s, criteria)
    fall_s = max(1 - int(wave.argmax()) / _PHASES, 1 / _PHASES) * period_s
    speed = float(np.ptp(wave)) / fall_s
    late = rng.uniform(-0.5, 0.5, size=(2, cycles + 1)) * resolution.state_period_s
    edges = np.concatenate(([0.0], np.cumsum(np.maximum(period_s + late[0, :-1] + late[1, :-1], period_s / 10))))
    dt = float(np.median(np.diff(leg.t_sensor_s)))
    t = np.arange(0.0, edges[-1], dt)
    phase = np.interp(t, edges, np.arange(cycles + 1.0)) % 1.0
    angle = np.interp(phase, np.linspace(0, 1, _PHASES + 1), wave) - np.interp(t, edges, speed * late[0])
    ticks = angle / resolution.tick_deg + resolution.noise_ticks * rng.standard_normal(len(t))
    return samples_of(t, np.round(ticks) * resolution.tick_deg, criteria)


def _mean_cycle(leg: LegTracks, begin_s: float, end_s: float, criteria: Criteria) -> tuple[FloatArray, float]:
    """Return the median angle over the cycle, minimum to minimum, at `_PHASES` + 1 phases, and its duration."""
    minima = step_samples(leg, begin_s, end_s, criteria).minima_s
    if len(minima) <= _FEWEST_CYCLES:
        raise AnalysisError(
            f"{max(0, len(minima) - 1)} cycles from {begin_s:g} to {end_s:g} s, expected at least {_FEWEST_CYCLES}"
            " to take the mean of"
        )
    phases = np.linspace(0, 1, _PHASES + 1)
    angle = leg.pacing_module.angle_deg
    each = [np.interp(a + phases * (b - a), leg.t_sensor_s, angle) for a, b in pairwise(minima.tolist())]
    return np.median(each, axis=0), float(np.median(np.diff(minima)))
