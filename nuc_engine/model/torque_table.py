"""Torque tables: what torque a servo gives for how many ticks between its goal and its shaft, as it was measured.

A table is a JSON file beside a configuration's documents, as `nuc bus characterise` writes it:

    {"ticks": [0, 4, 20, 60], "torque_n_m": [0, 0, 0.05, 0.18], "model": "XM430-W350", "gain": 180}

Torque never falls while ticks rise. Without negative ticks it is the same in both directions. `model` and `gain` are
held against the configuration where they stand; other keys are for people.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from nuc_engine.model.plan import PlanError

MOST_POINTS = 1000

Points = tuple[tuple[float, float], ...]
"""(ticks, N m), rising."""


@dataclass(frozen=True, slots=True)
class TorqueTable:
    """A table, in both directions, and what it was measured on: no model and gain None where it does not say."""

    points: Points
    model: str = ""
    gain: int | None = None


def read_table(data: bytes, name: str) -> TorqueTable:
    """Return the table of a file. Raises PlanError, saying what was expected."""
    try:
        record = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise PlanError(f"{name}: can not be read ({error}); expected JSON") from error
    if not isinstance(record, dict):
        raise PlanError(f"{name}: expected an object with ticks and torque_n_m")
    found = cast(dict[str, Any], record)
    ticks, torques = (_numbers(found.get(key), f"{name}: {key}") for key in ("ticks", "torque_n_m"))
    if len(ticks) != len(torques) or len(ticks) < 2:
        raise PlanError(f"{name}: {len(ticks)} ticks and {len(torques)} torques; expected as many, two at least")
    if any(b <= a for a, b in pairwise(ticks)) or any(b < a for a, b in pairwise(torques)):
        raise PlanError(f"{name}: expected ticks that rise, and torques that do not fall")
    model, gain = found.get("model", ""), found.get("gain")
    if not isinstance(model, str) or not (gain is None or (isinstance(gain, int) and not isinstance(gain, bool))):
        raise PlanError(f"{name}: model {model!r} and gain {gain!r}; expected a text and a whole number")
    return TorqueTable(_both_ways(tuple(zip(ticks, torques, strict=True)), name), model, gain)


def _numbers(value: Any, what: str) -> list[float]:
    items = cast(list[Any], value) if isinstance(value, list) else [None]
    if len(items) > MOST_POINTS:
        raise PlanError(f"{what}: {len(items)} numbers; expected {MOST_POINTS} at most")
    numbers: list[float] = []
    for item in items:
        if isinstance(item, bool) or not isinstance(item, int | float) or not abs(item) < 1e9:
            raise PlanError(f"{what}: {str(item)[:40]}; expected a list of numbers")
        numbers.append(float(item))
    return numbers


def _both_ways(points: Points, name: str) -> Points:
    """Return a table through zero in both directions, without flat ends: more ticks than needed give nothing."""
    if points[0][0] >= 0.0:
        rest = points[1:] if points[0] == (0.0, 0.0) else points
        if points[0][1] < 0.0:
            raise PlanError(f"{name}: {points[0][1]:g} N m at {points[0][0]:g} ticks; expected 0 or more")
        if points[0][0] == 0.0 and points[0][1] != 0.0:
            raise PlanError(f"{name}: {points[0][1]:g} N m at 0 ticks; expected none, or negative ticks too")
        points = (*((-ticks, -torque) for ticks, torque in reversed(rest)), (0.0, 0.0), *rest)
    if not points[0][1] < 0.0 < points[-1][1]:
        raise PlanError(f"{name}: {points[0][1]:g} to {points[-1][1]:g} N m; expected torque in both directions")
    first = max(k for k, (_, torque) in enumerate(points) if torque == points[0][1])
    last = min(k for k, (_, torque) in enumerate(points) if torque == points[-1][1])
    return points[first : last + 1]


class Inverse:
    """How many ticks give a torque: straight lines between the points, the nearest end beyond them.

    Where the same torque stands at several ticks it is those nearest to 0, and none for no torque.
    """

    __slots__ = ("_ticks", "_torques")

    def __init__(self, points: Sequence[tuple[float, float]]) -> None:
        """Take a table through zero, in both directions."""
        self._ticks = [ticks for ticks, _ in points]
        self._torques = [torque for _, torque in points]

    def ticks(self, torque_n_m: float) -> float:
        """Return the ticks for a torque; NaN for NaN."""
        if torque_n_m == 0.0 or math.isnan(torque_n_m):
            return torque_n_m
        ticks, torques = self._ticks, self._torques
        find = bisect_left if torque_n_m > 0.0 else bisect_right
        after = find(torques, torque_n_m)
        if after == 0:
            return ticks[0]
        if after == len(torques):
            return ticks[-1]
        low, high = torques[after - 1], torques[after]
        share = (torque_n_m - low) / (high - low)
        return ticks[after - 1] + share * (ticks[after] - ticks[after - 1])

    def reaches(self, torque_n_m: float) -> bool:
        """Say whether a torque lies within the table."""
        return self._torques[0] <= torque_n_m <= self._torques[-1]

    def torque(self, ticks: float) -> float:
        """Return the torque at so many ticks, as the table has it: its ends' beyond them."""
        after = bisect_right(self._ticks, ticks)
        if after == 0:
            return self._torques[0]
        if after == len(self._ticks):
            return self._torques[-1]
        low, high = self._ticks[after - 1], self._ticks[after]
        share = (ticks - low) / (high - low)
        return self._torques[after - 1] + share * (self._torques[after] - self._torques[after - 1])
