"""What a sweep varies: `NAME=from:to:n`, `NAME=a,b,c`, and how points are drawn between the ends.

NAME is an HDSO by name or id, `plant.KEY` for a number of plant.toml (`plant.world.friction`), or `seed`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.task import Value
from nuc_engine.machine.needs import need

PLANT = "plant."
SEED = "seed"
MOST = 10**7
"""Bouts of the largest sweep."""

_FORMS = "expected FROM:TO or FROM:TO:N, either with :log, or values with commas between them"


@dataclass(frozen=True, slots=True)
class Axis:
    """One quantity that is varied: over `choices`, or over [low, high], of which a grid takes `count` values.

    `log`: equal ratios instead of equal differences. `whole`: values are rounded to whole numbers.
    """

    name: str
    choices: tuple[Value, ...] = ()
    low: float = math.nan
    high: float = math.nan
    count: int | None = None
    log: bool = False
    whole: bool = False

    @property
    def is_plant(self) -> bool:
        """Whether it is a number of plant.toml."""
        return self.name.startswith(PLANT)

    def values(self) -> tuple[Value, ...]:
        """Return the values of a grid. Raises BulkRefused for a range without a number of values."""
        if self.choices:
            return self.choices
        if self.count is None:
            raise BulkRefused(f"--vary {self.name}={self.low:g}:{self.high:g}: a grid needs FROM:TO:N, so many values")
        shares = [k / (self.count - 1) for k in range(self.count)] if self.count > 1 else [0.0]
        return tuple(dict.fromkeys(self.at(share) for share in shares))

    def at(self, share: float) -> Value:
        """Return the value at a share (0 to 1) of the axis: of the range, or of the list of choices."""
        if self.choices:
            return self.choices[min(int(share * len(self.choices)), len(self.choices) - 1)]
        if share >= 1.0:
            value = self.high  # Not a rounding error beside it.
        elif self.log:
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + share * (self.high - self.low)
        return round(value) if self.whole else value

    def describe(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        if self.choices:
            return {"name": self.name, "choices": list(self.choices)}
        return {"name": self.name, **{key: getattr(self, key) for key in ("low", "high", "count", "log", "whole")}}

    @property
    def ends(self) -> tuple[Value, ...]:
        """Return the values that decide whether all of them are allowed."""
        return self.choices or (self.at(0.0), self.at(1.0))


@dataclass(frozen=True, slots=True)
class Sampling:
    """How points are drawn: every combination of the axes' values, or `count` points at random or in a Latin hypercube.

    `seed` decides which; the bouts' seeds are another matter.
    """

    kind: Literal["grid", "random", "latin"] = "grid"
    count: int = 0
    seed: int = 0


def parse_axis(text: str) -> Axis:
    """Return the axis of `NAME=...`. Raises BulkRefused, saying what was expected."""
    name, equals, given = (part.strip() for part in text.partition("="))
    if not equals or not name or not given:
        raise BulkRefused(f"--vary {text}: not of the form NAME=VALUES; {_FORMS}")
    parts = [part.strip() for part in given.split(":")]
    if len(parts) == 1:
        return _listed(name, given)
    log = len(parts) > 2 and parts[-1] == "log"
    try:
        low, high, *counts = (float(part) for part in (parts[:-1] if log else parts))
        count = None if not counts else int(counts[0]) if counts[0].is_integer() and len(counts) == 1 else 0
    except (ValueError, OverflowError):
        raise BulkRefused(f"--vary {text}: {_FORMS}") from None
    if not (math.isfinite(low) and math.isfinite(high)) or low == high:
        raise BulkRefused(f"--vary {text}: expected two different ends")
    if count is not None and not 2 <= count <= MOST:
        raise BulkRefused(f"--vary {text}: expected a whole number of values, at least 2")
    if log and not (low > 0 and high > 0):
        raise BulkRefused(f"--vary {text}: expected two ends above 0, for equal ratios")
    return Axis(name, low=low, high=high, count=count, log=log)


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of `FIRST:LAST` (inclusive) or `A,B,C`. Raises BulkRefused."""
    try:
        if ":" in text:
            first, last = (int(part) for part in text.split(":"))
            seeds = tuple(range(first, last + 1)) if last - first < MOST else ()
        else:
            seeds = tuple(int(part) for part in text.split(","))
    except ValueError:
        seeds = ()
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise BulkRefused(f"seeds {text}: expected FIRST:LAST, or different whole numbers of at least 0 with commas")
    return seeds


def draw_points(axes: Sequence[Axis], sampling: Sampling) -> tuple[tuple[Value, ...], ...]:
    """Return the points of a sweep: one value per axis each. Without axes there is one point without values.

    Raises BulkRefused where there are too many, or an axis does not fit the sampling.
    """
    if not axes:
        return ((),)
    if sampling.kind == "grid":
        values = [axis.values() for axis in axes]
        if math.prod(map(len, values)) > MOST:
            raise BulkRefused(f"a grid of {math.prod(map(len, values))} points; at most {MOST} can be run")
        return tuple(itertools.product(*values))
    if not 1 <= sampling.count <= MOST:
        raise BulkRefused(f"{sampling.count} points; expected 1 to {MOST}")
    shares = _latin(len(axes), sampling) if sampling.kind == "latin" else _random(len(axes), sampling)
    return tuple(tuple(axis.at(share) for axis, share in zip(axes, point, strict=True)) for point in shares)


def with_whole(axis: Axis, whole: bool) -> Axis:
    """Return the axis with its values rounded where its quantity holds whole numbers only."""
    return replace(axis, whole=whole and not axis.choices)


def _listed(name: str, given: str) -> Axis:
    choices = tuple(_value(part.strip()) for part in given.split(","))
    if any(choice == "" for choice in choices) or len(set(choices)) < len(choices):
        raise BulkRefused(f"--vary {name}={given}: expected different values with commas between them")
    return Axis(name, choices)


def _value(text: str) -> Value:
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number):
        return text
    return int(text) if text.lstrip("+-").isdecimal() else number


def _random(dimensions: int, sampling: Sampling) -> list[list[float]]:
    generator = np.random.Generator(np.random.PCG64(sampling.seed))
    return generator.random((sampling.count, dimensions)).tolist()


def _latin(dimensions: int, sampling: Sampling) -> list[list[float]]:
    need(scipy="a Latin hypercube")
    from scipy.stats import qmc

    generator = np.random.Generator(np.random.PCG64(sampling.seed))
    return qmc.LatinHypercube(dimensions, rng=generator).random(sampling.count).tolist()
