"""One panel of a global state diagram: boxes for states, curved arrows between them, and words where there is room."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from nuc_engine.figures.diagrams.nominal import GlobalState
from nuc_engine.figures.diagrams.svg import INK, PAPER, Paper, Point, paint, text_width, xy
from nuc_engine.figures.diagrams.wiring import Module

ROW, WORDS, NOTE = 19.0, 11.5, 10.0
BEND, BEND_OF_TWO = 0.05, 0.10
"""How far a curve bends out, as a share of its length; more where another leads back."""
_ALONG = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)
_POINTS, _STRUCK = 32, 40.0
"""An arrow is looked at in so many points; this is how bad each of them is that lies under the words of another."""

INNER = 0.62
"""Radius of the cycle's ring, as a share of the half width and half height."""
_SLOTS = 24
_ROUNDS = 40
_GAP = 14.0
_THROUGH_BOX, _CROSSING, _PER_LENGTH = 4.0, 1.0, 0.01
"""What is bad about an arrow: that it leads through a box, that it crosses another, and each pixel of its length."""

Pair = tuple[GlobalState, GlobalState]
Places = dict[GlobalState, Point]
_Area = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class ArrowStyle:
    """How an arrow is drawn."""

    color: str
    weight: float
    dash: str = ""
    head: float = 9.0


@dataclass(frozen=True, slots=True)
class Arrow:
    """A passage from one global state to another, with what is written on it."""

    begin: GlobalState
    end: GlobalState
    pen: ArrowStyle
    words: tuple[str, ...] = ()
    size: float = 11.0
    fill: str = INK


@dataclass(frozen=True, slots=True)
class StateBox:
    """A global state; `note` is written below it."""

    state: GlobalState
    heavy: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Curve:
    begin: Point
    control: Point
    end: Point

    @property
    def angle(self) -> float:
        return math.atan2(self.end[1] - self.control[1], self.end[0] - self.control[0])

    def at(self, share: float) -> Point:
        a, b, c = (1 - share) ** 2, 2 * share * (1 - share), share**2
        return (
            a * self.begin[0] + b * self.control[0] + c * self.end[0],
            a * self.begin[1] + b * self.control[1] + c * self.end[1],
        )


class StateGraph:
    """Boxes and arrows in a rectangle of the paper."""

    def __init__(self, paper: Paper, modules: Sequence[Module], corner: Point, size: Point) -> None:
        self._paper, self._modules = paper, modules
        self._centre = corner[0] + size[0] / 2, corner[1] + size[1] / 2
        words = [action.short for module in modules for action in module.actions]
        self._box = 40.0 + max(text_width(word, 12.5) for word in words), ROW * len(modules) + 6.0
        self._reach = size[0] / 2 - self._box[0] / 2 - 16.0, size[1] / 2 - self._box[1] / 2 - 22.0

    def draw(self, cycle: Sequence[GlobalState], boxes: Sequence[StateBox], arrows: Sequence[Arrow]) -> None:
        """Draw everything: the cycle on a ring, arrows in the order given, boxes over them, words on top."""
        others = sorted(box.state for box in boxes if box.state not in cycle)
        joined = [(arrow.begin, arrow.end) for arrow in arrows]
        unit = places(cycle, others, joined, self._reach, self._box)
        at = {state: (self._centre[0] + x, self._centre[1] + y) for state, (x, y) in unit.items()}
        two_way = set(joined) & {(end, begin) for begin, end in joined}
        curves = [self._curve(at[a.begin], at[a.end], (a.begin, a.end) in two_way, a.pen.head) for a in arrows]
        for arrow, curve in zip(arrows, curves, strict=True):
            self._arrow(arrow, curve)
        for box in boxes:
            self._draw_box(box, at[box.state])
        self._labels(list(zip(arrows, curves, strict=True)), [self._area(place) for place in at.values()])

    def _draw_box(self, box: StateBox, at: Point) -> None:
        with self._paper.part("state", state=_codes(box.state)):
            self._fill_box(box, at)

    def _fill_box(self, box: StateBox, at: Point) -> None:
        left, top, width, height = self._area(at)
        self._paper.rectangle(left, top, width, height, weight=3.0 if box.heavy else 1.0, radius=7)
        for k, (module, code) in enumerate(zip(self._modules, box.state, strict=True)):
            action = module.action(code)
            middle = top + 3.0 + ROW * (k + 0.5)
            self._paper.rectangle(left + 7, middle - 6, 15, 12, fill=paint(action.color), weight=0.6, told=action.name)
            self._paper.text(left + 28, middle, action.short, size=WORDS, bold=box.heavy)
        if box.note:
            self._paper.text(at[0], top + height + 10, box.note, size=NOTE, anchor="middle", halo=PAPER)

    def _arrow(self, arrow: Arrow, curve: _Curve) -> None:
        pen = arrow.pen
        data = f"M{xy(curve.begin)}Q{xy(curve.control)} {xy(curve.end)}"
        reach = 0.8 * pen.head
        tip = curve.end[0] + reach * math.cos(curve.angle), curve.end[1] + reach * math.sin(curve.angle)
        with self._paper.part("passage", begin=_codes(arrow.begin), end=_codes(arrow.end)):
            self._paper.path(data, line=pen.color, weight=pen.weight, dash=pen.dash)
            self._paper.arrow_head(tip, curve.angle, size=pen.head, fill=pen.color)

    def _labels(self, drawn: Sequence[tuple[Arrow, _Curve]], boxes: Sequence[_Area]) -> None:
        """Write what stands at the arrows, the larger words first, where they hide as little as possible."""
        taken = list(boxes)
        lines = [(curve, [curve.at(k / _POINTS) for k in range(_POINTS + 1)]) for _, curve in drawn]
        for arrow, curve in sorted(drawn, key=lambda item: -item[0].size):
            if not arrow.words:
                continue
            width = max(text_width(word, arrow.size) for word in arrow.words)
            height = len(arrow.words) * (arrow.size + 2)
            fitting = [one for one in _label_areas(curve, width, height) if self._on_paper(one[0])]
            others = [at for other, points in lines if other is not curve for at in points]
            found = fitting or list(_label_areas(curve, width, height))
            area, _ = min(found, key=lambda one: _hidden(one[0], taken) + _struck(one[0], others) + one[1])
            taken.append((area[0] - 4, area[1] - 4, area[2] + 8, area[3] + 8))
            for k, word in enumerate(arrow.words):
                middle = area[0] + width / 2, area[1] + (k + 0.5) * (arrow.size + 2)
                self._paper.text(*middle, word, size=arrow.size, anchor="middle", fill=arrow.fill, halo=PAPER)

    def _on_paper(self, area: _Area) -> bool:
        return area[0] >= 2.0 and area[0] + area[2] <= self._paper.width - 2.0

    def _curve(self, a: Point, b: Point, two_way: bool, head: float) -> _Curve:
        dx, dy = b[0] - a[0], b[1] - a[1]
        bend = BEND_OF_TWO if two_way else BEND
        control = (a[0] + b[0]) / 2 - bend * dy, (a[1] + b[1]) / 2 + bend * dx
        return _Curve(self._edge(a, control, 0.0), control, self._edge(b, control, head * 0.8 + 1.5))

    def _edge(self, middle: Point, towards: Point, gap: float) -> Point:
        """Return where the line from a box's middle leaves the box, `gap` farther out."""
        dx, dy = towards[0] - middle[0], towards[1] - middle[1]
        half = self._box[0] / 2 + 2, self._box[1] / 2 + 2
        share = min(half[0] / max(abs(dx), 1e-9), half[1] / max(abs(dy), 1e-9))
        share += gap / max(math.hypot(dx, dy), 1e-9)
        return middle[0] + dx * share, middle[1] + dy * share

    def _area(self, at: Point) -> _Area:
        return at[0] - self._box[0] / 2, at[1] - self._box[1] / 2, *self._box


def _codes(state: GlobalState) -> str:
    return " ".join(map(str, state))


def _label_areas(curve: _Curve, width: float, height: float) -> Iterable[tuple[_Area, float]]:
    """Yield where a label could stand, and what speaks against it: it hides its own arrow, or stands beside it."""
    length = max(math.dist(curve.begin, curve.end), 1.0)
    across = -(curve.end[1] - curve.begin[1]) / length, (curve.end[0] - curve.begin[0]) / length
    apart = 6.0 + abs(across[0]) * width / 2 + abs(across[1]) * height / 2
    for share in _ALONG:
        x, y = curve.at(share)
        for side in (0.0, 1.0, -1.0):
            middle = x + side * apart * across[0], y + side * apart * across[1]
            against = 20.0 if side else 0.6 * width * height * min(width / length, 1.0) ** 2
            yield (middle[0] - width / 2, middle[1] - height / 2, width, height), against


def _struck(area: _Area, points: Iterable[Point]) -> float:
    """Return how bad it is that lines of other arrows, given by points along them, run through an area."""
    x, y, width, height = area
    return _STRUCK * sum(x - 2 <= u <= x + width + 2 and y - 1 <= v <= y + height + 1 for u, v in points)


def _hidden(area: _Area, taken: Iterable[_Area]) -> float:
    """Return how much of an area is covered by others."""
    x, y, width, height = area
    covered = 0.0
    for u, v, wide, high in taken:
        across = min(x + width, u + wide) - max(x, u)
        down = min(y + height, v + high) - max(y, v)
        covered += max(across, 0.0) * max(down, 0.0)
    return covered


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
