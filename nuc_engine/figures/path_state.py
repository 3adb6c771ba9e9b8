"""Path-state plots: the path of foot or joint with one line beside it per joint, in the colours of the joint's actions.

Source: appendix 10.3, section 5.3.2; figures 7-1 and 7-23. The path is computed from the joint angles; it begins at
the circle and ends at the triangle. Actions of one joint differ in colour and in line style. An angle has steps of one
servo tick, a few millimetres at the foot: the grey line shows them as they are, the coloured ones run beside their
moving average, so that they do not hide each other.
"""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from nuc_engine.analysis.bout import Bout, JointInfo
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.phases import runs
from nuc_engine.analysis.series import Span
from nuc_engine.analysis.tracks import FloatArray, IntArray
from nuc_engine.figures.canvas import (
    WIDE_IN,
    NamedSpan,
    draw_lanes,
    mark_contact,
    new_figure,
    say_empty,
    shade,
    span_text,
    time_axis,
)
from nuc_engine.figures.palette import (
    FAINT,
    INK,
    STANCE,
    Dashes,
    joint_pens,
    state_color,
    state_dashes,
)
from nuc_engine.figures.timeline import MOST_CYCLES, WITHOUT_CYCLES_S, cycle_s, parts_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

AXIS_NAMES = ("x, forward (cm)", "y, left (cm)", "z, up (cm)")
AxisPair = tuple[int, int]
"""Which coordinates lie to the right and up: 0 x, 1 y, 2 z."""
Projection = Literal["top", "side", "front"]

TOP, SIDE, FRONT = (0, 1), (0, 2), (1, 2)
VIEWS: dict[Projection, AxisPair] = {"top": TOP, "side": SIDE, "front": FRONT}
_VIEW_NAMES = {TOP: "from above", SIDE: "from the side", FRONT: "from the front"}
OFFSET_SHARE = 0.017
"""Distance of neighbouring lines, as a share of the larger extent of the path."""
SMOOTHING_S = 0.08
"""What the path beside which the coloured lines run is averaged over."""
CYCLES = 4.0
"""How many cycles of the leg the plot of a behaviour shows: the last ones of its window."""
_THICK, _THIN, _INK = 1.6, 0.5, 12.0
"""Widest and thinnest line beside the path in points, and points times cycles of those between: loops lie over each
other. A path of so many cycles that the lines could not be told apart is drawn alone, the paler the longer it is."""
_PALEST, _PIECE = 0.03, 50
LEAST_CM = 2.0
"""A smaller path is drawn as small as it is on axes of this length: a foot that rests shows no more than that."""
LEAST_MOVED_CM = 1e-6
NO_CODES: IntArray = np.zeros(0, dtype=np.int64)
_HANDLE = 3.0
"""Length of a line in a legend, in letters: two dashes of it are seen."""


@dataclass(frozen=True, slots=True)
class ActionStyle:
    """How one action is drawn and called."""

    name: str
    color: tuple[float, float, float]
    dashes: Dashes


@dataclass(frozen=True, slots=True, eq=False)
class StateLine:
    """The line of one joint beside a path: its actions by their codes, one for each point, shape (n,), and their pens.

    Where a code has no pen the line has a gap.
    """

    name: str
    codes: IntArray
    pens: Mapping[int, ActionStyle]


@dataclass(frozen=True, slots=True)
class Where:
    """Whose path: a joint's, by name or role (empty: the foot's); and how far apart lines are (None: a share of it)."""

    joint: str = ""
    offset_cm: float | None = None

    def path(self, bout: Bout) -> FloatArray:
        """Return the path, shape (n, 3) in cm. Raises AnalysisError for an unknown joint."""
        return bout.path_from_angles(self.joint)

    def apart(self, path: FloatArray) -> float:
        """Return the distance of neighbouring lines beside this path. Raises AnalysisError for one that is none."""
        if self.offset_cm is None:
            return OFFSET_SHARE * float(np.ptp(path, axis=0).max())
        if not (np.isfinite(self.offset_cm) and self.offset_cm >= 0):
            raise AnalysisError(f"lines {self.offset_cm:g} cm apart; expected 0 or more")
        return self.offset_cm

    def name(self, bout: Bout) -> str:
        """Return how the path is called."""
        return f"path of {bout.joint(self.joint).name}" if self.joint else "foot path"


FOOT = Where()


def path_state_figure(
    bout: Bout, windows: Sequence[NamedSpan] = (), view: AxisPair = TOP, where: Where = FOOT
) -> Figure:
    """Return path-state plots in one projection: of the whole bout, and of the last cycles of each window."""
    spans = [("all", min(0.0, bout.begin_s), bout.end_s), *(_last_cycles(bout, window) for window in windows)]
    columns = min(2, len(spans))
    rows = -(-len(spans) // columns)
    figure = new_figure(0.75 * WIDE_IN if columns == 1 else WIDE_IN, 3.6 * rows + 1.2)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, (name, begin, end) in zip(grid.flat, spans, strict=False):
        draw_path(axes, bout, (begin, end), view, where)
        axes.set_title(f"{name}, {span_text(bout, begin, end)}", loc="left")
    for axes in list(grid.flat)[len(spans) :]:
        axes.set_axis_off()
    fitted_legend(figure, [bout])
    title = f"{bout.label}: {where.name(bout)} {_VIEW_NAMES[view]}, with the joints' actions"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    return figure


def behaviour_figure(
    bout: Bout, window: NamedSpan, views: Sequence[AxisPair] = (), where: Where = FOOT, *, whole: bool = False
) -> Figure:
    """Return one behaviour's last cycles, or the whole window: path-state plots, angles, actions.

    Without `views` the path is shown from above, and from the side or the front, whichever shows more of it.
    """
    name, begin, end = (window[0], window[1], min(window[2], bout.end_s)) if whole else _last_cycles(bout, window)
    span = begin, end
    shown = tuple(views) or (TOP, _better_side(bout, span, where))
    figure = new_figure(WIDE_IN, 6.2)
    left, right = figure.add_gridspec(1, 2, width_ratios=[1.0, 1.15])
    paths = left.subgridspec(len(shown), 1)
    grid = right.subgridspec(2, 1)
    for row, view in enumerate(shown):
        axes = figure.add_subplot(paths[row, 0])
        draw_path(axes, bout, span, view, where)
        axes.set_title(f"{where.name(bout)} {_VIEW_NAMES[view]}", loc="left")
    shown_span = parts_of(bout, span)[-1]
    angles = figure.add_subplot(grid[0, 0])
    _angle_traces(angles, bout, shown_span)
    lanes = figure.add_subplot(grid[1, 0], sharex=angles)
    draw_lanes(lanes, bout, [joint for joint in bout.joints if joint.states], shown_span)
    lanes.set_xlabel(f"time since engine start ({bout.second})")
    time_axis(lanes, bout)
    stances = bout.stance_spans(*shown_span)
    for axes in (angles, lanes):
        shade(axes, stances)
    mark_contact(lanes, bout.contact_spans(*shown_span))
    note = "; shaded: stance, ticks: contact" if stances else ""
    title = f"{bout.label}: {name}, {span_text(bout, begin, end)}{note}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    fitted_legend(figure, [bout])
    return figure


def draw_path(axes: Axes, bout: Bout, span: Span, view: AxisPair, where: Where = FOOT) -> None:
    """Draw the path-state plot of one span in one projection; `view` gives the two axes (0 x, 1 y, 2 z)."""
    part = bout.between(*span)
    times = part.sensors.t_s
    axes.set_xlabel(AXIS_NAMES[view[0]])
    axes.set_ylabel(AXIS_NAMES[view[1]])
    if len(times) < 2:
        say_empty(axes)
        return
    path = where.path(part)[:, list(view)]
    apart = where.apart(path)
    cycles = (times[-1] - times[0]) / (cycle_s(bout, span) or WITHOUT_CYCLES_S)
    for stretch in part.sensors.stretches():
        one = replace(part, sensors=stretch)
        piece = where.path(one)[:, list(view)]
        if cycles > MOST_CYCLES:
            _draw_alone(axes, piece, cycles)
        elif len(stretch) > 1:
            _draw_stretch(axes, bout, one, piece, apart, float(np.clip(_INK / max(cycles, 1.0), _THIN, _THICK)))
    mark_ends(axes, path, LEAST_CM)
    if where.joint and float(np.ptp(path, axis=0).max()) < LEAST_MOVED_CM:
        axes.text(0.5, 0.9, "this joint does not move", transform=axes.transAxes, ha="center", color=FAINT)


def mark_ends(axes: Axes, path: FloatArray, least: float) -> None:
    """Mark where a path, shape (n, 2), begins and ends, and show it undistorted, on axes of `least` at least."""
    axes.plot(*path[0], marker="o", markersize=8, markerfacecolor="white", markeredgecolor=INK, zorder=5)
    axes.plot(*path[-1], marker="^", markersize=8, markerfacecolor=INK, markeredgecolor="white", zorder=5)
    axes.set_aspect("equal", adjustable="datalim")
    low, high = path.min(axis=0), path.max(axis=0)
    if float((high - low).max()) < least:
        axes.update_datalim([(low + high - least) / 2, (low + high + least) / 2])
    axes.autoscale_view()


def _draw_stretch(axes: Axes, bout: Bout, part: Bout, path: FloatArray, apart: float, points: float) -> None:
    """Draw the path of a part without gaps, and the lines beside it, so far `apart`."""
    times = part.sensors.t_s
    smoothing = max(1, round(SMOOTHING_S / max(float(np.median(np.diff(times))), 1e-9)))
    _stance_band(axes, times, bout.stance_spans(float(times[0]), float(times[-1])), path, 5.6 * points)
    lines = [_line_of(bout, joint, bout.actions_at(joint, times)) for joint in bout.joints if joint.states]
    draw_beside(axes, path, lines, apart, smoothing, points)


def draw_beside(
    axes: Axes, path: FloatArray, lines: Sequence[StateLine], apart: float, smoothing: int, points: float
) -> None:
    """Draw a path without gaps, shape (n, 2), and lines so far `apart` beside its average over `smoothing` samples."""
    smooth = moving_average(path, smoothing)
    beside = apart * outward_normals(smooth)
    axes.plot(path[:, 0], path[:, 1], color=FAINT, linewidth=0.45 * points, zorder=2)
    for k, line in enumerate(lines):
        _draw_line(axes, line, smooth + (k + 1) * beside, points)


def _draw_alone(axes: Axes, path: FloatArray, cycles: float) -> None:
    """Draw a long path in pieces, of which those that lie over each other are darker."""
    pieces = [path[k : k + _PIECE + 1] for k in range(0, len(path), _PIECE)]
    pen = {"colors": [INK], "linewidths": _THIN, "alpha": max(_INK / cycles, _PALEST)}
    axes.add_collection(LineCollection(pieces, zorder=2, **pen))


def outward_normals(path: FloatArray) -> FloatArray:
    """Return a unit vector across the path at each of its two or more points, outside its loops, shape (n, 2).

    Where the foot rests, the direction it came in is kept.
    """
    travel = np.gradient(path, axis=0)
    speed = np.hypot(travel[:, 0], travel[:, 1])
    moving = speed > 1e-3 * max(float(speed.max()), 1e-12)
    last = np.maximum.accumulate(np.where(moving, np.arange(len(path)), -1))
    travel = travel[np.where(last < 0, int(np.argmax(moving)), last)]
    length = np.maximum(np.hypot(travel[:, 0], travel[:, 1]), 1e-12)
    area = float(np.sum(path[:-1, 0] * np.diff(path[:, 1]) - path[:-1, 1] * np.diff(path[:, 0])))
    side = 1.0 if area >= 0 else -1.0
    return side * np.stack([travel[:, 1], -travel[:, 0]], axis=1) / length[:, None]


def moving_average(path: FloatArray, width: int) -> FloatArray:
    """Return the centred moving average over `width` samples along the first axis; ends count as if held."""
    width = min(width, len(path))
    kernel = np.ones(width) / width
    padded = np.pad(path, ((width // 2, width - 1 - width // 2), (0, 0)), mode="edge")
    return np.stack([np.convolve(padded[:, k], kernel, mode="valid") for k in range(path.shape[1])], axis=1)


def fitted_legend(figure: Figure, bouts: Sequence[Bout]) -> None:
    """Name actions and marks below a figure, in as many columns as it has room for, and make it so much higher.

    Its panels keep their size. Each joint's actions stand below its name and the place of its line, counted from the
    path outwards, then come the marks. Of several bouts every action is named once.
    """
    fit_legend(figure, _legend_columns(*bouts))


def fit_legend(figure: Figure, columns: Sequence[list[Line2D]]) -> None:
    """Put a legend of these columns below a figure, as `fitted_legend` does."""
    # Of a canvas of `new_figure`; what is measured does not depend on what is drawn.
    renderer = cast("FigureCanvasAgg", figure.canvas).get_renderer()
    for most in range(len(columns), 0, -1):
        entries, piles = _stacked(columns, most)
        legend = figure.legend(
            handles=entries, loc="outside lower center", ncols=piles, handlelength=_HANDLE, columnspacing=1.2
        )
        box = legend.get_window_extent(renderer)
        if box.width <= figure.bbox.width or most == 1:
            more = 1 - len(_stacked(columns, len(columns))[0]) / len(columns) * piles / len(entries)
            figure.set_figheight(figure.get_figheight() + more * box.height / figure.dpi)
            return
        legend.remove()


def _legend_columns(*bouts: Bout) -> list[list[Line2D]]:
    """Return the legend's columns: the actions of each joint, of all bouts together, then the marks."""
    lines = [[_line_of(bout, joint) for joint in bout.joints if joint.states] for bout in bouts]
    marks = [Line2D([], [], color=STANCE, linewidth=7, label="stance")]
    return legend_columns(lines, marks if any(bout.plant is not None for bout in bouts) else [])


def legend_columns(paths: Sequence[Sequence[StateLine]], more: Sequence[Line2D] = ()) -> list[list[Line2D]]:
    """Return the legend's columns of the lines beside several paths: what is of one name and place is named once."""
    named: dict[str, dict[str, Line2D]] = {}
    for lines in paths:
        for k, line in enumerate(lines, 1):
            column = named.setdefault(f"line {k}: {line.name}", {})
            for pen in line.pens.values():
                column.setdefault(pen.name, _entry(pen))
    columns = [[Line2D([], [], linestyle="", label=head), *entries.values()] for head, entries in named.items()]
    path = Line2D([], [], color=FAINT, linewidth=1.0, label="path as measured")
    begin = Line2D([], [], color=INK, marker="o", markerfacecolor="white", linestyle="", label="begin")
    marks = [path, begin, Line2D([], [], color=INK, marker="^", linestyle="", label="end"), *more]
    rows = max([2, *(len(column) for column in columns)])
    return columns + [marks[k : k + rows] for k in range(0, len(marks), rows)]


def _stacked(columns: Sequence[list[Line2D]], most: int) -> tuple[list[Line2D], int]:
    """Return the entries of a legend's columns, put below each other until there are `most` at most, and how many."""
    each = -(-len(columns) // most)
    piles = [list(chain.from_iterable(columns[k : k + each])) for k in range(0, len(columns), each)]
    rows = max(len(pile) for pile in piles)
    return [
        entry
        for pile in piles
        for entry in [*pile, *(Line2D([], [], linestyle="", label=" ") for _ in range(rows - len(pile)))]
    ], len(piles)


def _line_of(bout: Bout, joint: JointInfo, codes: IntArray = NO_CODES) -> StateLine:
    """Return the line of a joint, with the colours and line styles of its actions."""
    states = [bout.states_of[code] for code in joint.states]
    pens = {
        state.code: ActionStyle(state.name, state_color(bout, state), state_dashes(bout, state)) for state in states
    }
    return StateLine(joint.name, codes, pens)


def _entry(pen: ActionStyle) -> Line2D:
    return Line2D([], [], color=pen.color, linestyle=pen.dashes, linewidth=2.4, dash_capstyle="butt", label=pen.name)


def _draw_line(axes: Axes, line: StateLine, path: FloatArray, width: float) -> None:
    pieces: list[FloatArray] = []
    pens: list[ActionStyle] = []
    for code, pen in line.pens.items():
        for begin, end in runs(line.codes == code):
            pieces.append(path[begin : min(end + 1, len(path))])
            pens.append(pen)
    colors, styles = [pen.color for pen in pens], [pen.dashes for pen in pens]
    axes.add_collection(
        LineCollection(pieces, colors=colors, linestyles=styles, linewidths=width, zorder=3, capstyle="butt")
    )


def _stance_band(axes: Axes, times: FloatArray, stances: Sequence[Span], path: FloatArray, width: float) -> None:
    """A broad pale band under the path where the foot stood."""
    edges = [np.searchsorted(times, span) for span in stances]
    pieces = [path[begin:end] for begin, end in edges if end - begin > 1]
    if pieces:
        axes.add_collection(LineCollection(pieces, colors=[STANCE], linewidths=width, zorder=1, capstyle="round"))


def _last_cycles(bout: Bout, window: NamedSpan) -> NamedSpan:
    """Return the window's last `CYCLES` thorax-coxa cycles; a window without cycles is shown from its last 6 s on."""
    name, begin, end = window[0], window[1], min(window[2], bout.end_s)
    period = cycle_s(bout, (begin, end))
    return name, max(begin, end - (6.0 if period is None else CYCLES * period)), end


def _better_side(bout: Bout, span: Span, where: Where = FOOT) -> AxisPair:
    """Choose the vertical projection in which the foot, or joint, moves farther."""
    foot = where.path(bout.between(*span))
    return SIDE if len(foot) == 0 or np.ptp(foot[:, 0]) >= np.ptp(foot[:, 1]) else FRONT


def _angle_traces(axes: Axes, bout: Bout, span: Span) -> None:
    part = bout.sensors.between(*span).parted()
    pens = joint_pens(bout.joints)
    for joint in bout.joints:
        if joint.angle is not None and joint.states:
            color, dashes = pens[joint.name]
            axes.plot(
                part.t_s,
                part.column(joint.angle),
                color=color,
                linestyle=dashes,
                linewidth=1.4,
                label=joint.role or joint.name,
            )
    axes.set_ylabel("joint angle (deg)")
    axes.tick_params(labelbottom=False)
    axes.set_xlim(*span)
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4, borderaxespad=0.2)
