"""What unloading gained over all repetitions: medians with intervals, and a sign test, by repetition.

Disturbances of one leg belong together: they share its friction, its noise and its pace. So whole repetitions are drawn
for an interval, and each of them counts once in the sign test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import numpy as np

from nuc_engine.experiments.protocol import Trial

EVALUATED = "time between evaluations of the rules (s)"
"""The number of a repetition that says how finely an action can be timed."""
_RESAMPLES = 1000


def pooled(trials: Sequence[Trial]) -> dict[str, float]:
    """Return, over all repetitions, gains of disturbances, an interval of their median, and a sign test of medians."""
    numbers: dict[str, float] = {}
    for name in dict.fromkeys(name for trial in trials for name in trial.samples):
        # What rounding leaves of no gain is no gain.
        own = [tuple(round(gain, 6) for gain in found) for trial in trials if (found := trial.samples.get(name, ()))]
        values = [value for each in own for value in each]
        medians = [median(each) for each in own]
        sooner, later = sum(value > 0 for value in medians), sum(value < 0 for value in medians)
        low, high = median_interval(own)
        action = name.partition(":")[0]
        numbers |= {
            f"{action}: median gain of all disturbances (s)": median(values),
            f"{action}: low end of its 95 % interval (s)": low,
            f"{action}: high end of its 95 % interval (s)": high,
            f"{action}: share of disturbances with a gain": sum(value > 0 for value in values) / len(values),
            f"{action}: repetitions that are sooner in the median": float(sooner),
            f"{action}: repetitions that are later": float(later),
            f"{action}: sign test over repetitions, p": sign_test(sooner, later),
        }
    evaluated = [trial.numbers[EVALUATED] for trial in trials if EVALUATED in trial.numbers]
    if evaluated:
        numbers[f"noise level: {EVALUATED}"] = median(evaluated)
    return numbers


def median_interval(own: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the ends of the 95 % bootstrap interval of the median over all values; whole repetitions are drawn."""
    values = [np.asarray(each, dtype=np.float64) for each in own]
    rng = np.random.Generator(np.random.PCG64(0))
    drawn = rng.integers(0, len(values), size=(_RESAMPLES, len(values))).tolist()
    medians = [float(np.median(np.concatenate([values[k] for k in each]))) for each in drawn]
    low, high = np.quantile(np.array(medians), [0.025, 0.975], method="inverted_cdf").tolist()
    return low, high


def sign_test(more: int, less: int) -> float:
    """Return the two-sided p of so many differences of one sign and so many of the other, ties left out."""
    total = more + less
    tail = sum(math.comb(total, k) for k in range(min(more, less) + 1)) / 2**total
    return min(1.0, 2 * tail)
