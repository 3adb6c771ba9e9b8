"""From measured rows to numbers: N m per tick of servo delta, dead band, saturation, what speed costs; and a table.

At standstill the torque is taken to be nothing within a dead band, then to rise in a straight line, then to stay where
the servo's limit is, alike in both directions. Turning, a torque in proportion to the speed is missing; the bus's delay
adds to it, since the shaft has turned on when the goal arrives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from drivers.bench.torque import TorquePoint
from drivers.errors import BusError

FEWEST: Final = 3
"""Points that a straight line with an interval needs."""

# Two-sided 95 % points of Student's t for 1, 2, 3, ... degrees of freedom; beyond them the normal distribution's.
_T95: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
)  # fmt: skip
_NORMAL95: Final = 1.96

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Fit:
    """What the rows say.

    `per_tick_n_m` holds beyond the dead band, below the saturation. `saturation_n_m` is None where the torque still
    rose at the largest delta; `damping_n_m_s` is N m lost per tick/s of speed, None where nothing turned.
    `residual_n_m` is how far the `points` lie from the fit (root mean square): a size of delta that stood each.
    """

    per_tick_n_m: Estimate
    dead_ticks: float
    saturation_n_m: float | None
    damping_n_m_s: Estimate | None
    residual_n_m: float
    points: int

    def torque_n_m(self, ticks: float) -> float:
        """Return the torque of a delta at standstill."""
        return _bent(ticks, self.per_tick_n_m.value, self.dead_ticks, self.saturation_n_m)


def fit_rows(rows: Sequence[TorquePoint], *, resolution_n_m: float = 0.0) -> Fit:
    """Fit the standing rows, then the turning ones; no torque is known better than to a count of the reading.

    Raises `BusError` where there are too few.
    """
    floor = resolution_n_m / math.sqrt(12.0)
    points = _means(rows)
    if len(points) < FEWEST:
        raise BusError(
            f"{len(points)} deltas at which the shaft stood: expected at least {FEWEST};"
            " hold the horn against a stop, and try more or larger deltas"
        )
    tried = [found for first in range(len(points)) for found in _fits_from(points, first, floor)]
    if not tried:
        raise BusError(
            "the load does not rise with the delta: is the horn held, the supply on, the delta large enough?"
        )
    slope, dead, saturation = min(tried, key=lambda found: found[0])[1]
    turning = [row for row in rows if not row.stood]
    squares = _squares(points, slope.value, dead, saturation)
    fit = Fit(slope, dead, saturation, None, math.sqrt(squares / len(points)), len(points))
    return Fit(slope, dead, saturation, _damping(fit, turning, floor), fit.residual_n_m, fit.points)


def table_of(rows: Sequence[TorquePoint]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return ticks and torques (N m) from 0 up, alike in both directions: the means of the standing rows.

    Torques do not fall while ticks rise: neighbours in the wrong order are averaged.
    """
    table = [(0.0, 0.0), *_rising([(ticks, max(torque, 0.0)) for ticks, torque in _means(rows)])]
    return tuple(ticks for ticks, _ in table), tuple(torque for _, torque in table)


def _means(rows: Sequence[TorquePoint]) -> list[Point]:
    """Return size of delta and mean torque along it, of the standing rows, from small to large.

    Both directions are one point: what a reading is rounded by is the same in both.
    """
    by_ticks: dict[int, list[float]] = {}
    for row in rows:
        if row.stood:
            by_ticks.setdefault(abs(row.ticks), []).append(row.torque_n_m if row.ticks > 0 else -row.torque_n_m)
    return [(float(ticks), fmean(found)) for ticks, found in sorted(by_ticks.items())]


def _bent(ticks: float, slope: float, dead: float, saturation: float | None) -> float:
    rising = slope * max(abs(ticks) - dead, 0.0)
    return math.copysign(rising if saturation is None else min(rising, saturation), ticks)


def _fits_from(
    points: Sequence[Point], first: int, floor: float
) -> list[tuple[float, tuple[Estimate, float, float | None]]]:
    """Return a score (the lower the better) and the numbers for each straight part that begins with point `first`."""
    found: list[tuple[float, tuple[Estimate, float, float | None]]] = []
    largest = max(abs(torque) for _, torque in points)
    for last in range(first + FEWEST, len(points) + 1):
        line = _line(points[first:last], floor)
        if line is None:
            continue
        slope, dead = line
        beyond = [torque for _, torque in points[last:]]
        saturation = fmean(beyond) if beyond else None
        squares = _squares(points, slope.value, dead, saturation)
        # Each further number has to explain more than chance would (Bayesian information criterion).
        count, numbers = len(points), 2 + (saturation is not None)
        spread = max(squares / count, floor**2, (1e-3 * largest) ** 2)
        found.append((count * math.log(spread) + numbers * math.log(count), (slope, dead, saturation)))
    return found


def _line(points: Sequence[Point], floor: float) -> tuple[Estimate, float] | None:
    """Return slope and where the line leaves zero; through the origin when it would leave it on the other side.

    None where it does not rise. There are `FEWEST` points at least, no two of one delta.
    """
    count = len(points)
    middle_x, middle_y = (fmean(values) for values in zip(*points, strict=True))
    spread = math.fsum((x - middle_x) ** 2 for x, _ in points)
    slope = math.fsum((x - middle_x) * (y - middle_y) for x, y in points) / spread
    if slope <= 0.0:
        return None
    dead = middle_x - middle_y / slope
    if dead < 0.0:
        return _through_origin(points, floor), 0.0
    squares = math.fsum((y - slope * (x - dead)) ** 2 for x, y in points)
    error = max(math.sqrt(squares / (count - 2)), floor) / math.sqrt(spread)
    return _estimate(slope, error, count - 2), dead


def _through_origin(points: Sequence[Point], floor: float) -> Estimate:
    spread = math.fsum(x * x for x, _ in points)
    slope = math.fsum(x * y for x, y in points) / spread
    squares = math.fsum((y - slope * x) ** 2 for x, y in points)
    free = len(points) - 1
    return _estimate(slope, max(math.sqrt(squares / free), floor) / math.sqrt(spread), free)


def _damping(fit: Fit, turning: Sequence[TorquePoint], floor: float) -> Estimate | None:
    """Return what is missing per speed, from rows that turned the way they were driven, short of the limit.

    At the limit the delay costs nothing.
    """
    limit = math.inf if fit.saturation_n_m is None else fit.saturation_n_m
    points = [
        (row.speed_ticks_s, fit.torque_n_m(row.ticks) - row.torque_n_m)
        for row in turning
        if row.speed_ticks_s * row.ticks > 0 and abs(fit.torque_n_m(row.ticks)) < limit
    ]
    return _through_origin(points, floor) if len(points) >= FEWEST else None


def _estimate(value: float, error: float, free: int) -> Estimate:
    reach = error * (_T95[free - 1] if free <= len(_T95) else _NORMAL95)
    return Estimate(value, value - reach, value + reach)


def _squares(points: Sequence[Point], slope: float, dead: float, saturation: float | None) -> float:
    return math.fsum((torque - _bent(ticks, slope, dead, saturation)) ** 2 for ticks, torque in points)


def _rising(points: Sequence[Point]) -> list[Point]:
    """Return the points with torques that never fall: neighbours in the wrong order get their common mean."""
    pools: list[list[Point]] = []
    for point in points:
        pools.append([point])
        while len(pools) > 1 and _mean(pools[-2]) >= _mean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    return [(ticks, _mean(pool)) for pool in pools for ticks, _ in pool]


def _mean(pool: Sequence[Point]) -> float:
    return fmean(torque for _, torque in pool)


def as_data(fit: Fit) -> Mapping[str, object]:
    """Return the fit ready for JSON."""

    def spread(found: Estimate | None) -> Mapping[str, float] | None:
        return None if found is None else {"value": found.value, "low": found.low, "high": found.high}

    return {
        "per_tick_n_m": spread(fit.per_tick_n_m),
        "dead_ticks": fit.dead_ticks,
        "saturation_n_m": fit.saturation_n_m,
        "damping_n_m_s": spread(fit.damping_n_m_s),
        "residual_n_m": fit.residual_n_m,
        "points": fit.points,
    }
