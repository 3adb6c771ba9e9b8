"""The runs test of Wald and Wolfowitz: do values above and below their centre follow each other at random?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nuc_engine.analysis.tracks import FloatArray

EXACT_UP_TO = 50
"""Number of values up to which the probability is counted out; a normal distribution stands for it above."""


@dataclass(frozen=True, slots=True)
class RunsTest:
    """Result of a runs test.

    `runs` stretches of values on one side of `centre`, `expected` of them at random, with `above` and `below` values.
    `p` is two-sided; nan where all values are on one side.
    """

    runs: int
    expected: float
    above: int
    below: int
    centre: float
    p: float


def runs_test(values: FloatArray, about: Literal["mean", "median"] = "mean") -> RunsTest:
    """Test a sequence for randomness about its mean or its median.

    Values equal to the centre are left out. Few runs mean a drift, many an alternation of highs and lows. Differences
    of successive values alternate by themselves, even if the values are random: a high one is a rise and then a fall.
    """
    centre = float(np.mean(values) if about == "mean" else np.median(values)) if values.size else float("nan")
    sides = values[values != centre] > centre
    above, below = int(sides.sum()), int((~sides).sum())
    if not above or not below:
        return RunsTest(min(len(sides), 1), float("nan"), above, below, centre, float("nan"))
    count = 1 + int(np.count_nonzero(np.diff(sides)))
    expected = 2 * above * below / (above + below) + 1
    p = _exact(count, above, below) if above + below <= EXACT_UP_TO else _normal(count, above, below)
    return RunsTest(count, expected, above, below, centre, p)


def probability(count: int, above: int, below: int) -> float:
    """Return the probability of exactly so many runs when the order is random; 1 is only possible on one side."""
    k, odd = divmod(count, 2)
    if odd:
        ways = math.comb(above - 1, k) * math.comb(below - 1, k - 1) + math.comb(above - 1, k - 1) * math.comb(
            below - 1, k
        )
    else:
        ways = 2 * math.comb(above - 1, k - 1) * math.comb(below - 1, k - 1)
    return ways / math.comb(above + below, above)


def _exact(count: int, above: int, below: int) -> float:
    most = 2 * min(above, below) + 1
    chance = [probability(r, above, below) for r in range(2, most + 1)]
    fewer = sum(chance[: count - 1])
    more = sum(chance[count - 2 :])
    return min(1.0, 2 * min(fewer, more))


def _normal(count: int, above: int, below: int) -> float:
    n = above + below
    mean = 2 * above * below / n + 1
    deviation = math.sqrt((mean - 1) * (mean - 2) / (n - 1))
    z = max(0.0, abs(count - mean) - 0.5) / deviation
    return math.erfc(z / math.sqrt(2))
