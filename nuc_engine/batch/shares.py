"""How sure a share of few bouts is: the Wilson interval (Wilson 1927)."""

from __future__ import annotations

import math
from statistics import NormalDist

LEVEL = 0.95
"""Coverage of the intervals."""


def wilson(count: int, of: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the ends of the Wilson score interval for a share; nan where there is nothing to share."""
    if of == 0:
        return math.nan, math.nan
    z = NormalDist().inv_cdf((1 + level) / 2)
    p = count / of
    middle = (p + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    # At 0 and at all the ends are exact; rounding would leave them a hair beside.
    return (0.0 if count == 0 else middle - half), (1.0 if count == of else middle + half)
