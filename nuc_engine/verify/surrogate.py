"""A flight whose controller was learned: the control that its weights mean, by what stands in the document.

Inputs are the errors of the last `memory` steps, the newest first, each as (ahead, left, up) of what is missing of the
position, the same of the velocity, and the turn; then the control of the step before. The weights are little-endian
floats: the control before the first step, weights and biases of the linear part, of each layer, the scale of the
errors, the kept rows, and their radius.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from nuc_engine.verify.flight import FlightEquations, Limiter, Vector, about, times

KIND = "surrogate"
_ERRORS, _CONTROLS = 7, 4


class SurrogateEquations(FlightEquations):
    """What a resolved document means whose controller is a surrogate. `control` has a memory: steps in their order."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        table: Mapping[str, Any] = document["controller"]
        self.memory: int = table["memory"]
        given = _ERRORS * self.memory + _CONTROLS
        numbers = iter(np.frombuffer(base64.b64decode(table["weights"]), "<f4").astype(float).tolist())

        def take(rows: int, columns: int = 0) -> Any:
            found = [next(numbers) for _ in range(rows * max(columns, 1))]
            return np.array(found).reshape(rows, columns) if columns else np.array(found)

        self.last = take(_CONTROLS)
        self.linear = take(given, _CONTROLS), take(_CONTROLS)
        sizes = [given, *table["hidden"], _CONTROLS] if table["hidden"] else []
        self.layers = [(take(a, b), take(b)) for a, b in pairwise(sizes)]
        self.scale = take(_ERRORS)
        self.kept = take(table["cover"], _ERRORS)
        self.radius = next(numbers)
        self.errors: list[Vector] = [[0.0] * _ERRORS for _ in range(self.memory)]

    def control(self, state: Sequence[float], reference: Sequence[float]) -> Vector:
        """Return the control, and remember the step."""
        seen = about(2, -state[8])
        missing: Vector = []
        for first in (0, 3):
            column = [[reference[first + i] - state[first + i]] for i in range(3)]
            missing += [row[0] for row in times(seen, column)]
        turn = reference[6] - state[8]
        missing.append(math.atan2(math.sin(turn), math.cos(turn)))
        self.errors = [missing, *self.errors[:-1]]
        x = np.array([number for step in self.errors for number in step] + list(self.last))
        weights, biases = self.linear
        found = biases + (weights * x[:, None]).sum(axis=0)
        for k, (weights, biases) in enumerate(self.layers):
            x = biases + (weights * x[:, None]).sum(axis=0)
            x = x if k == len(self.layers) - 1 else np.where(x > 0, x, 0.0)
        self.last = found + x if self.layers else found
        return [float(number) for number in self.last]

    def limiter(self) -> Limiter:
        """Return what says which steps are beyond the training data."""
        return _Marker(self)


class _Marker(Limiter):
    """Leaves the control as it is, and marks it where the errors are too far from every kept row."""

    def __init__(self, equations: SurrogateEquations) -> None:
        self.there, self.mark, self.equations = True, "beyond", equations

    def next(self, t: float, wanted: Vector) -> tuple[Vector, bool]:
        """Return the control, and whether its state is beyond the training data."""
        own = self.equations
        far = np.linalg.norm(own.kept - np.array(own.errors[0]) / own.scale, axis=1).min()
        return wanted, not bool(far <= own.radius)
