"""Sensor space of a module's rules: where each action is entered, where none is, and where two are (figure 4-10).

One sensor gives a strip, two a plane; with more, planes of each pair are shown with the others named.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby, pairwise

import numpy as np

from nuc_engine.analysis.tracks import FloatArray
from nuc_engine.figures.diagrams.grid import Interval, SensorAxis, SensorSpace, sensor_space
from nuc_engine.figures.diagrams.svg import FAINT, INK, PAPER, Paper, Point, paint, text_width, wrap
from nuc_engine.figures.diagrams.wiring import Color, DiagramError, Limit, Wiring, leaves, rule_text, when_text
from nuc_engine.model.decimals import number_text

LEFT, PLANE_WIDTH, PLANE_HEIGHT, STRIP_HEIGHT = 190.0, 430.0, 330.0, 40.0
RIGHT, TICKS, GAP = 340.0, 60.0, 26.0
ALARM = "#b00020"
MAX_PLANES = 12
CLOSE = 0.06
"""Thresholds closer than this share of an axis are set at equal distances instead: not to scale."""

Tracks = Mapping[str, FloatArray]
"""Recorded values of sensors, by name, all at the same times."""


def region_diagram(wiring: Wiring, joint: str | None = None, tracks: Tracks | None = None) -> bytes:
    """Return the sensor space of every module, or of one joint's, as SVG.

    `tracks` are drawn over the planes and strips they belong to. Raises DiagramError for a joint without actions.
    """
    modules = [m for m in wiring.modules if joint is None or joint in (m.name, m.role)]
    if not modules:
        known = ", ".join(module.name for module in wiring.modules)
        raise DiagramError(f"{wiring.label}: no joint {joint!r} with actions; there are {known}")
    panels = [panel for module in modules for panel in _panels(sensor_space(module), tracks or {})]
    heights = [panel.height for panel in panels]
    told = "Hatched: where in sensor space each action's entry rule holds. White: no rule holds, the action is kept."
    paper = Paper(LEFT + PLANE_WIDTH + RIGHT, 56 + sum(heights), f"Sensor space of {wiring.label}", told)
    paper.text(24, 28, f"Sensor space: {wiring.label}, {wiring.moment}", size=16, bold=True)
    top = 56.0
    for panel, height in zip(panels, heights, strict=True):
        panel.draw(paper, top)
        top += height
    return paper.to_bytes()


def overlap_lines(space: SensorSpace) -> list[str]:
    """Return one sentence for each block of sensor space in which two or more rules hold."""
    names = {action.index: action.short for action in space.module.actions}
    return [
        f"{' and '.join(names[a] for a in box.actions)}: {_box_text(space.axes, box.sides)}" for box in space.overlaps()
    ]


def _panels(space: SensorSpace, tracks: Tracks) -> list[_Panel]:
    if len(space.axes) <= 2:
        return [_Panel(space, tuple(range(len(space.axes))), {}, space, tracks)]
    found: list[_Panel] = []
    for pair in combinations(range(len(space.axes)), 2):
        rest = [k for k in range(len(space.axes)) if k not in pair]
        for sides, holds in _slices(space, pair, rest):
            axes = tuple(space.axes[k] for k in pair)
            found.append(_Panel(SensorSpace(space.module, axes, holds), (0, 1), sides, space, tracks))
    if len(found) > MAX_PLANES:
        raise DiagramError(
            f"{space.module.name}: its rules read {len(space.axes)} sensors, which takes {len(found)} planes to draw;"
            f" at most {MAX_PLANES} are drawn"
        )
    return found


def _slices(
    space: SensorSpace, pair: Sequence[int], rest: Sequence[int]
) -> Iterator[tuple[Mapping[str, Interval], np.ndarray]]:
    """Yield planes over two sensors, one for each way they can look, with what the other sensors are there."""
    order = (0, *(k + 1 for k in pair), *(k + 1 for k in rest))
    turned = space.holds.transpose(order)
    shape = turned.shape[3:]
    planes = [(index, turned[(slice(None), slice(None), slice(None), *index)]) for index in np.ndindex(*shape)]
    for _, same in groupby(planes, key=lambda item: item[1].tobytes()):
        members = list(same)
        first, last = members[0][0], members[-1][0]
        sides = {
            space.axes[k].sense.name: (space.axes[k].cells[a][0], space.axes[k].cells[b][1])
            for k, a, b in zip(rest, first, last, strict=True)
        }
        yield sides, members[0][1]


@dataclass(frozen=True, slots=True)
class _Scale:
    """Sensor values to pixels: straight between `edges`, which stand at `at`."""

    edges: tuple[float, ...]
    at: tuple[float, ...]
    true_to_scale: bool

    def place(self, value: float) -> float:
        return float(np.interp(value, self.edges, self.at))

    @property
    def text(self) -> str:
        """Pairs of value and pixel, as an attribute."""
        return json.dumps([[edge, round(at, 2)] for edge, at in zip(self.edges, self.at, strict=True)])

    def many(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.interp(values, self.edges, self.at), dtype=np.float64)


class _Panel:
    """One plane, strip or sentence, with its legend."""

    def __init__(
        self,
        space: SensorSpace,
        drawn: Sequence[int],
        others: Mapping[str, Interval],
        whole: SensorSpace,
        tracks: Tracks,
    ) -> None:
        self._space, self._others, self._whole = space, others, whole
        self._axes = [space.axes[k] for k in drawn]
        names = [axis.sense.name for axis in self._axes]
        self._tracks = [tracks[name] for name in names] if all(name in tracks for name in names) else []
        self._tall = (
            PLANE_HEIGHT if len(self._axes) == 2 else STRIP_HEIGHT * (len(space.module.actions) if self._axes else 1)
        )
        rules = sum(25 + 13 * len(wrap(rule_text(a.rule), RIGHT - 44, 9.5)) for a in space.module.actions)
        alarms = sum(len(wrap(line, RIGHT - 44, 9.5)) for line in overlap_lines(space)) + len(whole.never())
        legend = rules + 60.0 + 15.0 * alarms + (len(self._track_words()) * 13.0 + 13.0 if self._tracks else 0.0)
        self.height = max(self._tall + TICKS, legend) + 30.0 + GAP

    def draw(self, paper: Paper, top: float) -> None:
        module = self._space.module
        others = " and ".join(f"{name} {_side_text(side)}" for name, side in self._others.items())
        where = f", where {others}" if others else ""
        paper.text(24, top + 8, f"{module.name}{where}", size=14, bold=True)
        y = top + 30
        if not self._axes:
            paper.text(LEFT, y + 20, "Its rules read no sensor.", size=12)
        elif len(self._axes) == 1:
            self._strip(paper, y)
        else:
            self._plane(paper, y)
        self._legend(paper, LEFT + PLANE_WIDTH + 28, y)

    def _strip(self, paper: Paper, y: float) -> None:
        axis = self._axes[0]
        scale = _scale(axis, LEFT, LEFT + PLANE_WIDTH)
        with paper.part("plane", **self._told(scale), y=f"{y:.1f}", height=f"{self._tall:.1f}"):
            self._draw_strip(paper, y, scale)
            self._boundaries(paper, axis, scale, "x", (y, y + self._tall))
        self._x_axis(paper, axis, scale, y + self._tall)

    def _told(self, x: _Scale, y: _Scale | None = None) -> dict[str, str]:
        """Return what places a reading of the sensors on this plane or strip, as attributes."""
        told = {"joint": self._space.module.name, "x_sense": self._axes[0].sense.name, "x_scale": x.text}
        if y is not None:
            told |= {"y_sense": self._axes[1].sense.name, "y_scale": y.text}
        if self._others:
            sides = {name: [end if math.isfinite(end) else None for end in side] for name, side in self._others.items()}
            told["where"] = json.dumps(sides)
        return told

    def _boundaries(self, paper: Paper, axis: SensorAxis, scale: _Scale, which: str, ends: tuple[float, float]) -> None:
        """Draw a line at each threshold, once for each parameter that is there."""
        for mark, names in _parameters(self._whole, axis).items():
            if mark not in axis.marks:
                continue
            at = scale.place(mark)
            line = [(at, ends[0]), (at, ends[1])] if which == "x" else [(ends[0], at), (ends[1], at)]
            for name in names:
                with paper.part("boundary", parameter=name, axis=which, at=f"{at:.1f}", value=repr(mark)):
                    paper.lines(line, line=FAINT, weight=0.8, dash="2 3")

    def _draw_strip(self, paper: Paper, y: float, scale: _Scale) -> None:
        for row, action in enumerate(self._space.module.actions):
            at = y + STRIP_HEIGHT * row
            paper.text(LEFT - 10, at + STRIP_HEIGHT / 2, action.short, size=11, anchor="end")
            for (side,) in self._space.blocks(self._space.where(action.index)):
                self._hatched(paper, row, (scale.place(side[0]), at + 4), (scale.place(side[1]), at + STRIP_HEIGHT - 4))
        for box in self._space.overlaps():
            left, right = (scale.place(end) for end in box.sides[0])
            paper.rectangle(left, y, right - left, self._tall, fill="none", line=ALARM, weight=3)
        if self._tracks:
            self._time_on(paper, scale, self._tracks[0], y + self._tall - 1)
        paper.rectangle(LEFT, y, PLANE_WIDTH, self._tall, fill="none", weight=1)

    def _track_words(self) -> list[str]:
        """Return what the black line is, as rows of the legend."""
        if len(self._axes) == 1:
            return ["how much of the time it was where, as", "recorded; beyond the axis: at its end"]
        return ["the sensors as recorded;", "beyond an axis: at its end"]

    def _time_on(self, paper: Paper, scale: _Scale, values: FloatArray, base: float) -> None:
        """Draw how much of the time a sensor was where, as a curve over the strip."""
        counts, edges = np.histogram(scale.many(values), bins=86, range=(LEFT, LEFT + PLANE_WIDTH))
        share = counts / max(int(counts.max()), 1)
        middles = (edges[:-1] + edges[1:]) / 2
        points = [(float(x), base - float(s) * (self._tall - 4)) for x, s in zip(middles, share, strict=True)]
        paper.lines(points, line=INK, weight=1.2)

    def _plane(self, paper: Paper, y: float) -> None:
        across, up = self._axes
        sx, sy = _scale(across, LEFT, LEFT + PLANE_WIDTH), _scale(up, y + self._tall, y)
        with paper.part("plane", **self._told(sx, sy), y=f"{y:.1f}", height=f"{self._tall:.1f}"):
            self._draw_plane(paper, y, sx, sy)
        self._x_axis(paper, across, sx, y + self._tall)
        self._y_axis(paper, up, sy, y)

    def _draw_plane(self, paper: Paper, y: float, sx: _Scale, sy: _Scale) -> None:
        across, up = self._axes
        for row, action in enumerate(self._space.module.actions):
            for side_x, side_y in self._space.blocks(self._space.where(action.index)):
                corners = (sx.place(side_x[0]), sy.place(side_y[1])), (sx.place(side_x[1]), sy.place(side_y[0]))
                self._hatched(paper, row, *corners)
        self._boundaries(paper, across, sx, "x", (y, y + self._tall))
        self._boundaries(paper, up, sy, "y", (LEFT, LEFT + PLANE_WIDTH))
        self._overlaps(paper, sx, sy)
        if self._tracks:
            window = paper.clip(LEFT, y, PLANE_WIDTH, self._tall)
            x, z = sx.many(self._tracks[0]), sy.many(self._tracks[1])
            paper.polyline_in(window, list(zip(x.tolist(), z.tolist(), strict=True)), line=INK, weight=0.9)
        paper.rectangle(LEFT, y, PLANE_WIDTH, self._tall, fill="none", weight=1)

    def _overlaps(self, paper: Paper, sx: _Scale, sy: _Scale) -> None:
        for box in self._space.overlaps():
            left, right = (sx.place(end) for end in box.sides[0])
            low, high = (sy.place(end) for end in box.sides[1])
            paper.rectangle(left, high, right - left, low - high, fill="none", line=ALARM, weight=3)
            word = "both" if len(box.actions) == 2 else f"{len(box.actions)} rules"
            if right - left > 30 and low - high > 14:
                paper.text(
                    (left + right) / 2, (low + high) / 2, word, anchor="middle", bold=True, fill=ALARM, halo=PAPER
                )

    def _hatched(self, paper: Paper, row: int, corner: Point, opposite: Point) -> None:
        color = self._color(row)
        fill = paper.hatch(_pattern_name(self._space.module.joint, row), paint(color), row)
        width, height = opposite[0] - corner[0], opposite[1] - corner[1]
        with paper.part("region", action=str(self._space.module.actions[row].index)):
            paper.rectangle(*corner, width, height, fill=fill, line=paint(color), weight=0.8)

    def _color(self, row: int) -> Color:
        return self._space.module.actions[row].color

    def _x_axis(self, paper: Paper, axis: SensorAxis, scale: _Scale, y: float) -> None:
        names = _parameter_names(self._whole, axis)
        free_until = [-math.inf, -math.inf]
        for mark in axis.marks:
            x = scale.place(mark)
            paper.lines([(x, y), (x, y + 5)])
            words = f"{number_text(mark, 'float')} {names.get(mark, '')}".strip()
            row = 0 if x - text_width(words, 9.5) / 2 > free_until[0] else 1
            free_until[row] = x + text_width(words, 9.5) / 2 + 6
            paper.text(x, y + 13 + 13 * row, words, size=9.5, anchor="middle")
        self._ends(paper, axis, [(LEFT, y + 13, "start"), (LEFT + PLANE_WIDTH, y + 13, "end")], scale)
        paper.text(LEFT + PLANE_WIDTH / 2, y + 46, _axis_title(axis, scale), size=11.5, anchor="middle", bold=True)

    def _y_axis(self, paper: Paper, axis: SensorAxis, scale: _Scale, y: float) -> None:
        names = _parameter_names(self._whole, axis)
        for mark in axis.marks:
            at = scale.place(mark)
            paper.lines([(LEFT - 5, at), (LEFT, at)])
            paper.text(LEFT - 8, at - 5, number_text(mark, "float"), size=9.5, anchor="end")
            paper.text(LEFT - 8, at + 6, names.get(mark, ""), size=9.5, anchor="end")
        self._ends(paper, axis, [(LEFT - 8, y + self._tall - 5, "end"), (LEFT - 8, y + 6, "end")], scale)
        paper.text(34, y + self._tall / 2, _axis_title(axis, scale), size=11.5, anchor="middle", bold=True, turn=-90)

    def _ends(self, paper: Paper, axis: SensorAxis, places: Sequence[tuple[float, float, str]], scale: _Scale) -> None:
        """Write what the sensor can be at most, where the axis ends there and no threshold is near."""
        spread = abs(scale.at[-1] - scale.at[0])
        for (x, y, anchor), value, next_at, at in zip(
            places,
            (scale.edges[0], scale.edges[-1]),
            (scale.at[1], scale.at[-2]),
            (scale.at[0], scale.at[-1]),
            strict=True,
        ):
            if value in (axis.sense.low, axis.sense.high) and abs(next_at - at) > 0.2 * spread:
                paper.text(x, y, f"{value:.0f}", size=9.5, anchor=anchor, fill=FAINT)

    def _legend(self, paper: Paper, x: float, y: float) -> None:
        for row, action in enumerate(self._space.module.actions):
            rows = wrap(rule_text(action.rule), RIGHT - 44, 9.5)
            with paper.part("action", action=str(action.index), name=action.name, when=when_text(action.rule)):
                paper.rectangle(x - 5, y - 3, RIGHT - 32, 24 + 13 * len(rows), fill="none", line="none", radius=5)
                self._hatched(paper, row, (x, y), (x + 22, y + 18))
                paper.text(x + 30, y + 9, f"{action.short}:", size=11.5, bold=True)
                for k, line in enumerate(rows):
                    paper.text(x + 2, y + 26 + 13 * k, line, size=9.5)
            y += 25 + 13 * len(rows)
        paper.rectangle(x, y, 22, 18, weight=0.8)
        paper.text(x + 30, y + 9, "no rule holds: the action is kept", size=10.5)
        y += 26
        if self._tracks:
            paper.lines([(x, y + 9), (x + 22, y + 9)], line=INK, weight=1.2)
            for k, line in enumerate(self._track_words()):
                paper.text(x + 30, y + 9 + 13 * k, line, size=10.5)
            y += 13 + 13 * len(self._track_words())
        lines = overlap_lines(self._space)
        if lines:
            paper.rectangle(x, y, 22, 18, line=ALARM, weight=3)
            paper.text(x + 30, y + 9, "both rules hold, switches to and fro:", size=10.5, fill=ALARM, bold=True)
            lines = [row for line in lines for row in wrap(line, RIGHT - 44, 9.5)]
            for k, line in enumerate(lines):
                paper.text(x + 2, y + 28 + 15 * k, line, size=9.5)
        else:
            paper.text(x, y + 9, "Nowhere do two rules hold together.", size=10.5)
        names = {action.index: action.short for action in self._space.module.actions}
        for k, action in enumerate(self._whole.never()):
            paper.text(
                x, y + 28 + 15 * (len(lines) + k), f"{names[action]} can never be entered.", size=10.5, fill=ALARM
            )


def _scale(axis: SensorAxis, begin: float, end: float) -> _Scale:
    marks = axis.marks
    span = marks[-1] - marks[0] if marks else 0.0
    low = axis.sense.low if math.isfinite(axis.sense.low) else (marks[0] if marks else 0.0) - max(span, 1.0)
    high = axis.sense.high if math.isfinite(axis.sense.high) else (marks[-1] if marks else 0.0) + max(span, 1.0)
    edges = (low, *marks, high)
    shares = [(b - a) / (high - low) for a, b in pairwise(edges)]
    if min(shares) >= CLOSE:
        at = [(edge - low) / (high - low) for edge in edges]
        return _Scale(edges, tuple(begin + share * (end - begin) for share in at), true_to_scale=True)
    pad = max(10.0 * span, 10.0) if marks else 1.0
    edges = (max(low, marks[0] - pad), *marks, min(high, marks[-1] + pad)) if marks else edges
    count = len(edges) - 1
    at = [k / count for k in range(count + 1)]
    return _Scale(edges, tuple(begin + share * (end - begin) for share in at), true_to_scale=False)


def _parameters(space: SensorSpace, axis: SensorAxis) -> dict[float, list[str]]:
    """Return the names of a sensor's thresholds, by their values."""
    found: dict[float, list[str]] = {}
    for action in space.module.actions:
        for leaf in leaves(action.rule):
            if isinstance(leaf, Limit) and leaf.sense == axis.sense:
                found.setdefault(leaf.threshold, []).append(leaf.parameter)
    return {mark: list(dict.fromkeys(names)) for mark, names in found.items()}


def _parameter_names(space: SensorSpace, axis: SensorAxis) -> dict[float, str]:
    return {mark: ", ".join(names) for mark, names in _parameters(space, axis).items()}


def _axis_title(axis: SensorAxis, scale: _Scale) -> str:
    unit = f" ({axis.sense.unit})" if axis.sense.unit and axis.sense.unit != "dimensionless" else ""
    return f"{axis.sense.name}{unit}{'' if scale.true_to_scale else ', not to scale'}"


def _box_text(axes: Sequence[SensorAxis], sides: Sequence[Interval]) -> str:
    return ", ".join(f"{axis.sense.name} {_side_text(side)}" for axis, side in zip(axes, sides, strict=True))


def _side_text(side: Interval) -> str:
    return f"{_end_text(side[0])} to {_end_text(side[1])}"


def _end_text(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else ("any lower" if value < 0 else "any higher")


def _pattern_name(joint: int, row: int) -> str:
    return f"hatch{joint}-{row}"
