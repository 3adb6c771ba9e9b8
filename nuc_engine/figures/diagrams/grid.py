"""Where in sensor space the rules of a module hold, exactly, and where they overlap (figure 4-10, section 9.5.1.2).

Between two neighbouring thresholds of a sensor nothing about a rule changes, so one point of each cell of the grid of
all thresholds tells everything. Rules compare strictly (< and >), so wherever two of them hold together they do so
inside a cell, and the thresholds themselves need no cells. Where sensors are compared with each other, each interval
has one point per sensor of that kind, so that every order of them is among the points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nuc_engine.figures.diagrams.wiring import (
    AllOf,
    Condition,
    ConstantCondition,
    DiagramError,
    Limit,
    Module,
    NonZero,
    Sense,
    SensorOrder,
    leaves,
    senses_of,
)

BoolArray = NDArray[np.bool_]
Interval = tuple[float, float]
MAX_CELLS = 1_000_000


@dataclass(frozen=True, slots=True)
class SensorAxis:
    """One sensor: its thresholds, the open intervals between them, and a point in each (several where compared)."""

    sense: Sense
    marks: tuple[float, ...]
    cells: tuple[Interval, ...]
    points: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SensorBox:
    """A block of sensor space, one open interval per axis, and the actions whose rules hold in all of it."""

    actions: tuple[int, ...]
    sides: tuple[Interval, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SensorSpace:
    """A module's rules over the sensors they read: `holds` has shape (actions, cells of axis 0, of axis 1, ...)."""

    module: Module
    axes: tuple[SensorAxis, ...]
    holds: BoolArray

    def overlaps(self) -> tuple[SensorBox, ...]:
        """Return where two or more rules hold together, in blocks: the module then switches at every evaluation."""
        counts = self.holds.sum(axis=0)
        together = self.holds.reshape(len(self.holds), -1).T[(counts >= 2).ravel()]
        found: list[SensorBox] = []
        for row in np.unique(together, axis=0):
            where = (self.holds == row.reshape(-1, *[1] * len(self.axes))).all(axis=0)
            actions = tuple(a.index for a, yes in zip(self.module.actions, row, strict=True) if yes)
            found += [SensorBox(actions, sides) for sides in self.blocks(where)]
        return tuple(found)

    def never(self) -> tuple[int, ...]:
        """Return the actions whose rule holds nowhere within what the sensors can be."""
        rows: BoolArray = np.asarray(self.holds.reshape(len(self.holds), -1).any(axis=1))
        return tuple(a.index for a, yes in zip(self.module.actions, rows.tolist(), strict=True) if not yes)

    def where(self, action: int) -> BoolArray:
        """Return the cells in which an action's rule holds. Raises KeyError for another module's action."""
        for place, candidate in enumerate(self.module.actions):
            if candidate.index == action:
                return self.holds[place]
        raise KeyError(action)

    def blocks(self, where: BoolArray) -> list[tuple[Interval, ...]]:
        """Return cells as few non-overlapping blocks, each an interval per axis."""
        return [
            tuple((axis.cells[a][0], axis.cells[b][1]) for axis, (a, b) in zip(self.axes, block, strict=True))
            for block in _merge(where)
        ]


def sensor_space(module: Module) -> SensorSpace:
    """Return where the rules of a module hold. Raises DiagramError for a grid of more than MAX_CELLS cells."""
    senses = tuple(dict.fromkeys(sense for action in module.actions for sense in senses_of(action.rule)))
    found = [leaf for action in module.actions for leaf in leaves(action.rule)]
    axes = tuple(_axis(sense, *_marks(sense, found)) for sense in senses)
    size = math.prod(len(axis.points) for axis in axes)
    if size > MAX_CELLS:
        raise DiagramError(f"{module.name}: its rules cut sensor space into {size} cells, more than {MAX_CELLS}")
    grids = np.meshgrid(*[np.array(axis.points) for axis in axes], indexing="ij") if axes else []
    values = {axis.sense.hdso: grid for axis, grid in zip(axes, grids, strict=True)}
    shape = tuple(len(axis.points) for axis in axes)
    return SensorSpace(module, axes, np.array([_holds(action.rule, values, shape) for action in module.actions]))


def _marks(sense: Sense, found: Sequence[object]) -> tuple[set[float], int]:
    """Return the thresholds of one sensor and of all it is compared with, and how many sensors these are."""
    group = {sense}
    orders = [leaf for leaf in found if isinstance(leaf, SensorOrder)]
    for _ in orders:
        for order in orders:
            if order.left in group or order.right in group:
                group |= {order.left, order.right}
    marks = {leaf.threshold for leaf in found if isinstance(leaf, Limit) and leaf.sense in group}
    marks |= {0.0 for leaf in found if isinstance(leaf, NonZero) and leaf.sense in group}
    if len(group) > 1:
        marks |= {end for other in group for end in (other.low, other.high) if math.isfinite(end)}
    return marks, len(group)


def _axis(sense: Sense, thresholds: set[float], kinds: int) -> SensorAxis:
    inside = tuple(sorted(mark for mark in thresholds if sense.low < mark < sense.high))
    edges = [sense.low, *inside, sense.high]
    cells: list[Interval] = []
    points: list[float] = []
    for low, high in pairwise(edges):
        begin, end = _finite(low, high)
        cells += [(low, high)] * kinds
        points += [begin + (end - begin) * (k + 1) / (kinds + 1) for k in range(kinds)]
    return SensorAxis(sense, inside, tuple(cells), tuple(points))


def _finite(low: float, high: float) -> Interval:
    """Return an interval to take points from, where one without an end stands for all beyond."""
    if math.isfinite(low) and math.isfinite(high):
        return low, high
    if math.isfinite(low):
        return low, low + 1.0 + abs(low)
    if math.isfinite(high):
        return high - 1.0 - abs(high), high
    return 1.0, 2.0


def _holds(rule: Condition, values: dict[int, NDArray[np.float64]], shape: tuple[int, ...]) -> BoolArray:
    if isinstance(rule, ConstantCondition):
        return np.full(shape, rule.holds)
    if isinstance(rule, Limit):
        value = values[rule.sense.hdso]
        return value > rule.threshold if rule.above else value < rule.threshold
    if isinstance(rule, SensorOrder):
        left, right = values[rule.left.hdso], values[rule.right.hdso]
        return left > right if rule.above else left < right
    if isinstance(rule, NonZero):
        return values[rule.sense.hdso] != 0.0
    terms = [_holds(term, values, shape) for term in rule.terms]
    return np.logical_and.reduce(terms) if isinstance(rule, AllOf) else np.logical_or.reduce(terms)


def _merge(where: BoolArray) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield blocks (first, last cell per axis) that together are the marked cells, each cell once."""
    left = where.copy()
    while left.any():
        start = np.unravel_index(int(np.argmax(left)), left.shape)
        block = [(int(k), int(k)) for k in start]
        for axis in reversed(range(left.ndim)):
            while True:
                first, last = block[axis]
                grown = [*block[:axis], (last + 1, last + 1), *block[axis + 1 :]]
                part = left[tuple(slice(a, b + 1) for a, b in grown)]
                if part.size == 0 or not part.all():
                    break
                block[axis] = (first, last + 1)
        left[tuple(slice(a, b + 1) for a, b in block)] = False
        yield tuple(block)
