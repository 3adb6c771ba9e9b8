"""What was done to a simulated leg from outside, and where the ground was by it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from drivers.units import S_PER_NS
from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.tracks import FloatArray
from nuc_engine.plants.events import BaseHeight, Ground, Load, PlantEvent, kind_of, read_event
from nuc_engine.plants.moving_ground import MovingGround
from nuc_engine.plants.spec import PlantSpec
from nuc_engine.recording.inputs import FILE, InputRecordError, read_inputs

_CM, _MM = 1e-2, 1e-3
_AWAY_CM, _STEP_S = -1e4, 0.005
"""What is farther below is no ground any more; and in which steps it comes up."""


def events_by_hand(bout: Bout) -> tuple[PlantEvent, ...]:
    """Return what happened to the leg of a bout, in order, by its input record; nothing where that can not be read."""
    try:
        return tuple(read_event(record[3]) for record in read_inputs(bout.folder / FILE) if record[0] == "happened")
    except (OSError, InputRecordError):
        return ()


def event_text(event: PlantEvent) -> str:
    """Return what was done, in few words."""
    match event:
        case Ground():
            return "ground back" if event.present else "no ground"
        case BaseHeight():
            return f"{event.height_cm:g} cm high"
        case Load():
            return f"{event.down_n:+g} N on the foot"
        case _:
            return kind_of(event)


def ground_cm(bout: Bout, spec: PlantSpec, events: Sequence[PlantEvent], times_s: FloatArray) -> FloatArray:
    """Return the height of the ground's surface at each time, shape (n,), as the plant had it; nan: it was away."""
    amatrix = bout.joints[0].amatrix
    stage = MovingGround(0.0 if amatrix is None else float(amatrix[2, 3]) * _CM, spec.world.base_height_cm * _CM)
    places = [(-math.inf, stage.place_m)]
    for event in events:
        if isinstance(event, Ground | BaseHeight):
            at_s = event.at_ns * S_PER_NS + bout.shifted_s
            places += _rise(stage, places[-1][0], at_s)
            foot_m = _foot_m(bout, at_s) - spec.world.foot_radius_mm * _MM
            if isinstance(event, Ground):
                stage.go(present=event.present, foot_m=foot_m)
            else:
                stage.go(below_m=event.height_cm * _CM, foot_m=foot_m)
            places.append((at_s, stage.place_m))
    places += _rise(stage, places[-1][0], math.inf)
    when, heights = np.array(places).T
    found = heights[np.searchsorted(when, times_s, side="right") - 1] / _CM
    return np.where(found > _AWAY_CM, found, np.nan)


def _rise(stage: MovingGround, since_s: float, until_s: float) -> list[tuple[float, float]]:
    """Let the ground come up, and return its places (time, height in m) on the way."""
    places: list[tuple[float, float]] = []
    while stage.rises and since_s + _STEP_S < until_s:
        since_s += _STEP_S
        stage.rise(_STEP_S)
        places.append((since_s, stage.place_m))
    return places


def _foot_m(bout: Bout, time_s: float) -> float:
    """Return how high the centre of the foot was."""
    log = bout.plant
    return float(np.interp(time_s, log.t_s, log.values[:, 2])) * _CM if log is not None and len(log) else 0.0
