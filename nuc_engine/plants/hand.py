"""The hand that takes a leg apart and puts it together: where it holds the piece, step by step.

It lifts the piece straight up from where it was, without turning it, and holds it there; then it brings it to where
the motor's horn is, following the horn. docs/plants.md says what is assumed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

LIFT_M = 0.10
"""How far the piece is lifted when it is taken off. Assumed: the piece mostly misses the ground there."""


class HandHold:
    """A hand that holds a piece of a leg from step `begin` on, having lifted it after `steps` more.

    `place` is where (m), `turn` how it is turned (quaternion, w first), `horn` the angle (rad) that it has turned the
    motor's horn to, where it does.
    """

    def __init__(self, place: Vector, turn: Vector, begin: int, steps: int) -> None:
        self.place, self.turn = place.copy(), turn.copy()
        self._from_place, self._from_turn = place.copy(), turn.copy()
        self._begin, self._steps = begin, steps
        self.bringing = False
        self.horn: float | None = None

    def moves(self, step: int) -> bool:
        """Say whether it still moves after this step."""
        return step < self._begin + self._steps

    def waits(self, step: int) -> int:
        """Return for how many steps it has been where it goes."""
        return max(0, step - self._begin - self._steps)

    def lift(self, step: int) -> None:
        """Go to where it is at a step."""
        self.place = self._from_place + np.array((0.0, 0.0, LIFT_M * self._part(step)))

    def bring(self, begin: int, steps: int) -> None:
        """Begin to bring the piece back at step `begin`, to be there after `steps` more."""
        self._from_place, self._from_turn = self.place, self.turn
        self._begin, self._steps, self.bringing = begin, steps, True

    def follow(self, step: int, place: Vector, turn: Vector) -> None:
        """Go to where it is at a step on its way to the horn, which is at `place` now and turned by `turn`."""
        part = self._part(step)
        self.place = self._from_place + part * (place - self._from_place)
        self.turn = between(self._from_turn, turn, part)

    def _part(self, step: int) -> float:
        """Return how much of the way is done: slow at both ends."""
        part = 1.0 if not self._steps else min(1.0, (step - self._begin) / self._steps)
        return part * part * (3.0 - 2.0 * part)


def between(a: Vector, b: Vector, part: float) -> Vector:
    """Return the rotation (unit quaternion) this part of the shortest way from `a` to `b`."""
    cosine = float(a @ b)
    if cosine < 0.0:
        b, cosine = -b, -cosine
    if cosine > 0.9999:
        straight = a + part * (b - a)
        return straight / math.sqrt(float(straight @ straight))
    angle = math.acos(min(1.0, cosine))
    return (math.sin((1.0 - part) * angle) * a + math.sin(part * angle) * b) / math.sin(angle)
