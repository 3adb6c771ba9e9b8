"""What a surrogate is given: numbers made of logged columns, those of the last steps too.

The errors of a step are what its state lacks of its reference, seen from the nose: ahead, to the left, upward, and the
turn that is missing, the shorter way round. The inputs of step k are the errors of steps k, k - 1, ... k - memory + 1,
and the control that was logged for step k - 1. Before its first row an episode had no errors, and the control that
episodes begin with.
"""

from __future__ import annotations

from math import cos, remainder, sin, tau
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nuc_engine.episode.system import Numbers
from nuc_engine.flight.appendix import CONTROL, REFERENCE, STATE

Array = NDArray[np.floating[Any]]

LOGGED = (*STATE, *(f"ref_{name}" for name in REFERENCE), *CONTROL)
"""The columns that are used, in the order of an episode's rows here."""
ERRORS = ("ahead_m", "left_m", "up_m", "ahead_m_s", "left_m_s", "up_m_s", "turn_rad")


def missing(state: Numbers, reference: Numbers) -> Numbers:
    """Return the errors of one step."""
    x, y, z, vx, vy, vz, _, _, yaw = state
    dx, dy, dz, dvx, dvy, dvz = (r - s for r, s in zip(reference[:6], (x, y, z, vx, vy, vz), strict=True))
    c, s = cos(yaw), sin(yaw)
    return (
        dx * c + dy * s,
        dy * c - dx * s,
        dz,
        dvx * c + dvy * s,
        dvy * c - dvx * s,
        dvz,
        remainder(reference[6] - yaw, tau),
    )


def errors(rows: Array) -> Array:
    """Return the errors, (rows, 7), of the rows of an episode, (rows, 20)."""
    lacking = rows[:, 9:15] - rows[:, :6]
    yaw = rows[:, 8]
    c, s = np.cos(yaw), np.sin(yaw)
    turn = rows[:, 15] - yaw
    found = np.empty((len(rows), len(ERRORS)))
    for first in (0, 3):
        x, y, z = lacking[:, first : first + 3].T
        found[:, first], found[:, first + 1], found[:, first + 2] = x * c + y * s, y * c - x * s, z
    found[:, 6] = turn - tau * np.round(turn / tau)
    return found


def inputs(rows: Array, memory: int, before: Array) -> Array:
    """Return the inputs, (rows, 7 memory + 4), of the rows of an episode; `before` is the control before the first."""
    padded = np.vstack([np.zeros((memory - 1, len(ERRORS))), errors(rows)])
    lags = [padded[memory - 1 - lag : memory - 1 - lag + len(rows)] for lag in range(memory)]
    return np.hstack([*lags, np.vstack([before, rows[:-1, 16:]])])
