"""How much steps differ from each other, in duration and in place of lift-off (section 7.2.2, Figure 7-10).

    linear, pieces = step_samples(leg_a, 3, 600), step_samples(leg_b, 3, 600)
    compare(linear.lift_off_difference_deg, pieces.lift_off_difference_deg).ratio

Step duration runs from one minimum of the thorax-coxa angle to the next; the spread of lift-off is that of the
differences between the angles of successive minima. Tests take steps as independent of each other, which they are only
more or less; ratio and interval say how large a difference is, a p only that there is one.

Steps that are all alike seem to differ too: the angle is read every few milliseconds, with noise, in steps of a servo
tick; and the engine looks every 25 ms whether an action has to be changed. `noise_samples` says how much that makes.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from nuc_engine.analysis.criteria import DEFAULT_CRITERIA, Criteria
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.phases import angle_minima
from nuc_engine.analysis.tracks import FloatArray, LegTracks
from nuc_engine.machine.needs import need

SpreadMeasure = Literal["mean deviation", "iqr", "sd"]
"""How the spread of a sample is measured, see `spread`."""

_EXACT_PAIRS = 10_000
_PHASES, _FEWEST_CYCLES = 200, 3
EXACT_UP_TO = 50
"""Number of values up to which the probability of runs is counted out; above, a normal distribution stands for it."""


@dataclass(frozen=True, slots=True, eq=False)
class StepSamples:
    """Minima of a joint's angle in one stretch of a record: times in s since engine start, and angles in degrees."""

    minima_s: FloatArray
    minima_deg: FloatArray

    @property
    def duration_s(self) -> FloatArray:
        """Duration of each step cycle, from minimum to minimum."""
        return np.diff(self.minima_s)

    @property
    def lift_off_difference_deg(self) -> FloatArray:
        """Angle of each minimum less that of the one before: how far apart the foot lifts off in successive steps."""
        return np.diff(self.minima_deg)


def step_samples(leg: LegTracks, begin_s: float, end_s: float, criteria: Criteria = DEFAULT_CRITERIA) -> StepSamples:
    """Return the minima in [begin_s, end_s] of the thorax-coxa angle, or of FTi where that joint is only held.

    Raises AnalysisError when the leg has neither.
    """
    inside = slice(*np.searchsorted(leg.t_sensor_s, (begin_s, end_s)))
    return samples_of(leg.t_sensor_s[inside], leg.pacing_module.angle_deg[inside], criteria)


def samples_of(t_s: FloatArray, angle_deg: FloatArray, criteria: Criteria = DEFAULT_CRITERIA) -> StepSamples:
    """Return the minima of one angle over time."""
    at = angle_minima(t_s, angle_deg, criteria)
    return StepSamples(at, angle_deg[np.searchsorted(t_s, at)])


def spread(values: FloatArray, measure: SpreadMeasure = "mean deviation") -> float:
    """Return the spread of a sample in its own unit; NaN for an empty one.

    "mean deviation" is the mean distance from the median. Tails count in it, and tails are what Figure 7-10 is about; a
    single wild step counts far less than in the standard deviation ("sd"); and it does not jump from one servo tick to
    the next as the interquartile range ("iqr") of such coarse values does.
    """
    if not values.size:
        return float("nan")
    if measure == "mean deviation":
        return float(np.abs(values - np.median(values)).mean())
    if measure == "iqr":
        low, high = np.percentile(values, [25, 75])
        return float(high - low)
    return float(values.std(ddof=1)) if values.size > 1 else 0.0


@dataclass(frozen=True, slots=True)
class SpreadRatio:
    """Spread of one sample over that of another, and the interval it lies in at `level`; 1 means equally wide."""

    ratio: float
    low: float
    high: float
    level: float
    measure: SpreadMeasure


def spread_ratio(
    first: FloatArray,
    second: FloatArray,
    measure: SpreadMeasure = "mean deviation",
    *,
    seed: int = 0,
    resamples: int = 1000,
    level: float = 0.95,
) -> SpreadRatio:
    """Return spread(first) / spread(second) with a percentile bootstrap interval.

    Successive steps depend on each other (a low minimum makes two differences), so blocks of the cube root of the
    sample's length are drawn instead of single values. Same seed, same interval. Raises ValueError when a sample has
    fewer than two values.
    """
    if min(len(first), len(second)) < 2:
        raise ValueError(f"samples of {len(first)} and {len(second)} values, expected at least 2 in each")

    def ratio(one: FloatArray, other: FloatArray) -> float:
        return _ratio(spread(one, measure), spread(other, measure))

    low, high = interval(first, second, ratio, seed=seed, resamples=resamples, level=level)
    return SpreadRatio(ratio(first, second), low, high, level, measure)


def interval(
    first: FloatArray,
    second: FloatArray,
    statistic: Callable[[FloatArray, FloatArray], float],
    *,
    seed: int = 0,
    resamples: int = 1000,
    level: float = 0.95,
) -> tuple[float, float]:
    """Return the ends of a statistic's percentile bootstrap interval, samples drawn as in `spread_ratio`."""
    rng = np.random.Generator(np.random.PCG64(seed))
    values = [statistic(_resample(first, rng), _resample(second, rng)) for _ in range(resamples)]
    tail = (1 - level) / 2
    # The order statistics themselves: a ratio to a resample without any spread is infinite.
    low, high = np.quantile(np.array(values), [tail, 1 - tail], method="inverted_cdf").tolist()
    return low, high


def _ratio(first: float, second: float) -> float:
    if second > 0:
        return first / second
    return float("inf") if first > 0 else 1.0


def _resample(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw a sample of the same length out of blocks of neighbours, the end joined to the beginning."""
    n = len(values)
    length = max(1, round(n ** (1 / 3)))
    starts = rng.integers(0, n, size=-(-n // length))
    return values[(starts[:, None] + np.arange(length)).ravel()[:n] % n]


def ks_p(first: FloatArray, second: FloatArray) -> float:
    """Return the two-sided p of the Kolmogorov-Smirnov test: do the distributions differ in any way?

    Raises AnalysisError when scipy is not installed.
    """
    method = "exact" if len(first) * len(second) <= _EXACT_PAIRS else "asymp"
    return float(_stats().ks_2samp(first, second, method=method).pvalue)


def rank_sum_p(first: FloatArray, second: FloatArray) -> float:
    """Return the two-sided p of Wilcoxon's rank-sum test (Mann and Whitney's), corrected for ties: do medians differ?

    Raises AnalysisError when scipy is not installed.
    """
    return float(_stats().mannwhitneyu(first, second, alternative="two-sided", method="asymptotic").pvalue)


def bimodality(values: FloatArray) -> float:
    """Return Sarle's bimodality coefficient: 0.33 for a normal, 0.56 for a uniform distribution, up to 1 for two peaks.

    More than 0.56 speaks for two peaks, but so does a strong skew. NaN for fewer than four or only equal values.
    """
    n = len(values)
    centred = values - values.mean() if n else values
    variance = float((centred**2).sum()) / (n - 1) if n > 3 else 0.0
    if variance <= 0:
        return float("nan")
    m2, m3, m4 = (float((centred**k).mean()) for k in (2, 3, 4))
    skew = m3 / m2**1.5 * np.sqrt(n * (n - 1)) / (n - 2)
    excess = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (m4 / m2**2 - 3) + 6)
    return float((skew**2 + 1) / (excess + 3 * (n - 1) ** 2 / ((n - 2) * (n - 3))))


@dataclass(frozen=True, slots=True)
class RunsTest:
    """Result of a runs test.

    `runs` stretches of values on one side of `centre`, `expected` of them at random, with `above` and `below` values.
    `p` is two-sided; NaN where all values are on one side.
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


@dataclass(frozen=True, slots=True)
class SampleComparison:
    """Two samples side by side, as under Figure 7-10: sizes, medians, spreads, their ratio, and the tests' p."""

    sizes: tuple[int, int]
    medians: tuple[float, float]
    spreads: tuple[float, float]
    bimodalities: tuple[float, float]
    runs: tuple[RunsTest, RunsTest]
    ratio: SpreadRatio
    rank_sum_p: float
    ks_p: float

    def numbers(self) -> Mapping[str, float]:
        """Return everything as plain numbers by name, the first sample before the second."""
        named: dict[str, float] = {
            "spread ratio": self.ratio.ratio,
            "spread ratio, low": self.ratio.low,
            "spread ratio, high": self.ratio.high,
            "rank-sum p": self.rank_sum_p,
            "KS p": self.ks_p,
        }
        pairs = {"n": self.sizes, "median": self.medians, "spread": self.spreads, "bimodality": self.bimodalities}
        for what, pair in pairs.items():
            named |= {f"{what} {k}": float(value) for k, value in enumerate(pair, 1)}
        return named | {f"runs p {k}": test.p for k, test in enumerate(self.runs, 1)}


def compare(
    first: FloatArray, second: FloatArray, measure: SpreadMeasure = "mean deviation", *, seed: int = 0
) -> SampleComparison:
    """Compare two samples of steps by everything section 7.2.2 reports, and the ratio of their spreads.

    Raises ValueError when a sample has fewer than two values, AnalysisError when scipy is not installed.
    """
    return SampleComparison(
        sizes=(len(first), len(second)),
        medians=(float(np.median(first)), float(np.median(second))),
        spreads=(spread(first, measure), spread(second, measure)),
        bimodalities=(bimodality(first), bimodality(second)),
        runs=(runs_test(first), runs_test(second)),
        ratio=spread_ratio(first, second, measure, seed=seed),
        rank_sum_p=rank_sum_p(first, second),
        ks_p=ks_p(first, second),
    )


def dip_p(values: FloatArray, grid: float, *, seed: int = 0) -> float:
    """Return p of Hartigan's dip test: can values that were counted in steps of `grid` come from one mode?

    Values that lie on a grid have a mode on each of its points. So each gets an even random part of the grid's width.
    Raises AnalysisError when diptest is not installed.
    """
    need(diptest="a test for more than one mode")
    rng = np.random.Generator(np.random.PCG64(seed))
    dithered = values + grid * rng.uniform(-0.5, 0.5, len(values))
    return float(importlib.import_module("diptest").diptest(dithered)[1])


def _stats() -> Any:
    need(scipy="a test of two samples")
    return importlib.import_module("scipy.stats")


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
