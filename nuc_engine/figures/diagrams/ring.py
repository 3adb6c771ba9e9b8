"""Places of global states on paper: the cycle on a ring, all others around it, so that few arrows cross anything.

Positions are pixels from the middle of the drawing; y grows downwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from nuc_engine.figures.diagrams.nominal import GlobalState
from nuc_engine.figures.diagrams.svg import Point

INNER = 0.62
"""Radius of the cycle's ring, as a share of the half width and half height."""
_SLOTS = 24
_ROUNDS = 40
_GAP = 14.0
_THROUGH_BOX, _CROSSING, _PER_LENGTH = 4.0, 1.0, 0.01
"""What is bad about an arrow: that it leads through a box, that it crosses another, and each pixel of its length."""

Pair = tuple[GlobalState, GlobalState]
Places = dict[GlobalState, Point]


def places(
    cycle: Sequence[GlobalState], others: Sequence[GlobalState], joined: Iterable[Pair], reach: Point, box: Point
) -> Mapping[GlobalState, Point]:
    """Return where the middle of each state's box goes: the cycle clockwise from the top, the others around it.

    `reach` is half the width and height there is for middles, `box` width and height of a box. Without a cycle all
    states stand on one ring.
    """
    ring, radius = (cycle, INNER if others else 0.8) if cycle else (others, 0.9)
    found = {state: _on_ellipse(k / len(ring), reach, radius) for k, state in enumerate(ring)}
    if not cycle or not others:
        return found
    free = [slot for slot in _slots(reach) if not any(_close(slot, at, box) for at in found.values())]
    pairs = sorted({(min(a, b), max(a, b)) for a, b in joined if a != b})
    for state in others:
        open_slots = [slot for slot in free if not any(_close(slot, at, box) for at in found.values())]
        if not open_slots:
            open_slots = [(reach[0] * (1.0 + len(found)), 0.0)]
        found[state] = min(open_slots, key=lambda slot: (_cost({**found, state: slot}, pairs, box), slot))
    return _improved(found, others, free, pairs, box)


def _improved(
    found: Places, others: Sequence[GlobalState], free: Sequence[Point], pairs: Sequence[Pair], box: Point
) -> Places:
    """Move or exchange single boxes as long as that makes the drawing better."""
    best = _cost(found, pairs, box)
    for _ in range(_ROUNDS):
        trials = [trial for state in others for trial in _moves(found, state, others, free, box)]
        costs = [_cost(trial, pairs, box) for trial in trials]
        if not costs or min(costs) >= best - 1e-9:
            break
        best = min(costs)
        found = trials[costs.index(best)]
    return found


def _moves(
    found: Places, state: GlobalState, others: Sequence[GlobalState], free: Sequence[Point], box: Point
) -> Iterable[Places]:
    rest = [at for other, at in found.items() if other != state]
    for slot in free:
        if slot != found[state] and not any(_close(slot, at, box) for at in rest):
            yield {**found, state: slot}
    for other in others:
        if other > state:
            yield {**found, state: found[other], other: found[state]}


def _cost(found: Places, pairs: Sequence[Pair], box: Point) -> float:
    """Return how bad the drawing is, arrows taken as straight lines."""
    drawn = [pair for pair in pairs if pair[0] in found and pair[1] in found]
    total = 0.0
    for pair in drawn:
        a, b = found[pair[0]], found[pair[1]]
        total += _PER_LENGTH * math.dist(a, b)
        total += _THROUGH_BOX * sum(_meets(a, b, at, box) for state, at in found.items() if state not in pair)
    for one, other in combinations(drawn, 2):
        if not set(one) & set(other):
            total += _CROSSING * _cross(found[one[0]], found[one[1]], found[other[0]], found[other[1]])
    return total


def _slots(reach: Point) -> list[Point]:
    """Return places along the edge of the drawing, clockwise from the top."""
    found: list[Point] = []
    for k in range(_SLOTS):
        x, y = _on_ellipse(k / _SLOTS, (1.0, 1.0), 1.0)
        longest = max(abs(x), abs(y))
        found.append((round(reach[0] * x / longest, 3), round(reach[1] * y / longest, 3)))
    return found


def _on_ellipse(turn: float, reach: Point, radius: float) -> Point:
    angle = 2 * math.pi * turn
    return radius * reach[0] * math.sin(angle), -radius * reach[1] * math.cos(angle)


def _close(a: Point, b: Point, box: Point) -> bool:
    return abs(a[0] - b[0]) < box[0] + _GAP and abs(a[1] - b[1]) < box[1] + 2 * _GAP


def _meets(a: Point, b: Point, middle: Point, box: Point) -> bool:
    """Say whether the line from a to b goes through a box (Liang and Barsky)."""
    first, last = 0.0, 1.0
    for axis in (0, 1):
        half = box[axis] / 2 + 4.0
        low, high, travel = middle[axis] - half - a[axis], middle[axis] + half - a[axis], b[axis] - a[axis]
        if abs(travel) < 1e-9:
            if low > 0 or high < 0:
                return False
            continue
        enter, leave = sorted((low / travel, high / travel))
        first, last = max(first, enter), min(last, leave)
    return first < last


def _cross(a: Point, b: Point, c: Point, d: Point) -> bool:
    def side(p: Point, q: Point, r: Point) -> float:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0
