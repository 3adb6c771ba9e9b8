"""Where training data end: rows that are kept of them, and how far from the nearest of these a state may be.

Errors are divided by their standard deviations. Kept are the rows with the smallest and largest of each, then always
the one that is furthest from all that are kept (Gonzalez 1985). Every row of the training data is then no further than
`radius` from a kept one, and a state that is further is beyond them. A box, or an ellipsoid of Mahalanobis distances,
would take in the corners and the middle where nothing was ever seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nuc_engine.surrogate.inputs import Array


@dataclass(frozen=True, slots=True)
class Cover:
    """Kept rows (rows, 7) of errors divided by `scale` (7), and how far from the nearest one training data came."""

    scale: Array
    rows: Array
    radius: float

    def distance(self, found: Array) -> float:
        """Return how far errors (7) are from the nearest kept row; more than `radius` is beyond the training data."""
        apart = self.rows - found / self.scale
        return float(np.sqrt((apart * apart).sum(axis=1).min()))

    def ends(self) -> tuple[Array, Array]:
        """Return the smallest and the largest of each error in the training data."""
        found = self.rows * self.scale
        return found.min(axis=0), found.max(axis=0)


def cover(found: Array, most: int) -> Cover:
    """Return the cover of errors (rows, 7) by so many rows."""
    scale = found.std(axis=0)
    scale[scale == 0] = 1.0
    rows = found / scale
    ends = np.concatenate([rows.argmin(axis=0), rows.argmax(axis=0)])
    kept = list(dict.fromkeys(ends.tolist()))
    apart = np.full(len(rows), np.inf)
    for number in range(most):
        if number == len(kept):
            kept.append(int(apart.argmax()))
        apart = np.minimum(apart, ((rows - rows[kept[number]]) ** 2).sum(axis=1))
    return Cover(scale, rows[kept], float(np.sqrt(apart.max())))
