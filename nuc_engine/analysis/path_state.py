"""Path-state plots: the foot's path with one line beside it per joint, in the colours of the joint's actions.

Source: appendix 10.3, section 5.3.2; figures 7-1 and 7-23. The path is computed from the joint angles; it begins at
the circle and ends at the triangle.
"""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from nuc_engine.analysis.bout import Bout, JointInfo
from nuc_engine.analysis.canvas import Window, new_figure, shade
from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.palette import FAINT, INK, STANCE, joint_color, state_color
from nuc_engine.analysis.phases import minima, runs
from nuc_engine.analysis.tracks import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AXIS_NAMES = ("x, forward (cm)", "y, left (cm)", "z, up (cm)")
TOP, SIDE, REAR = (0, 1), (0, 2), (1, 2)
_VIEW_NAMES = {TOP: "from above", SIDE: "from the side", REAR: "from behind"}
OFFSET_SHARE = 0.012
"""Distance of neighbouring lines, as a share of the larger extent of the path."""
CYCLES = 4.0
"""How many thorax-coxa cycles the plot of a behaviour shows: the last ones of its window."""


def path_state_figure(bout: Bout, windows: Sequence[Window] = ()) -> Figure:
    """Return path-state plots from above: of the whole bout, and of the last cycles of each window."""
    spans = [("all", 0.0, bout.end_s), *(_last_cycles(bout, window) for window in windows)]
    columns = min(2, len(spans))
    rows = -(-len(spans) // columns)
    figure = new_figure(6.2 * columns + 1.0, 4.9 * rows + 1.0)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, (name, begin, end) in zip(grid.flat, spans, strict=False):
        draw_path(axes, bout, (begin, end), TOP)
        axes.set_title(f"{name}, {begin:.1f} to {end:.1f} s", loc="left")
    for axes in list(grid.flat)[len(spans) :]:
        axes.set_axis_off()
    figure.suptitle(f"{bout.label}: foot path from above, with the joints' actions", x=0.01, ha="left", fontsize=11)
    figure.legend(handles=state_legend(bout), loc="outside lower center", ncols=4)
    return figure


def behaviour_figure(bout: Bout, window: Window) -> Figure:
    """Return one behaviour's last cycles: path-state plots from above and from behind or the side, angles, actions."""
    name, begin, end = _last_cycles(bout, window)
    figure = new_figure(13.0, 7.4)
    grid = figure.add_gridspec(2, 2, width_ratios=[1.0, 1.15], height_ratios=[1.0, 1.0])
    above, across = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[1, 0])
    draw_path(above, bout, (begin, end), TOP)
    draw_path(across, bout, (begin, end), _better_side(bout, (begin, end)))
    angles = figure.add_subplot(grid[0, 1])
    lanes = figure.add_subplot(grid[1, 1], sharex=angles)
    _angle_traces(angles, bout, (begin, end))
    _lanes(lanes, bout, (begin, end))
    note = "; shaded: foot in contact" if bout.plant is not None else ""
    figure.suptitle(f"{bout.label}: {name}, {begin:.1f} to {end:.1f} s{note}", x=0.01, ha="left", fontsize=11)
    figure.legend(handles=state_legend(bout), loc="outside lower center", ncols=6)
    return figure


def draw_path(axes: Axes, bout: Bout, span: tuple[float, float], view: tuple[int, int]) -> None:
    """Draw the path-state plot of one span in one projection; `view` gives the two axes (0 x, 1 y, 2 z)."""
    keep = (bout.sensors.t_s >= span[0]) & (bout.sensors.t_s <= span[1])
    times = bout.sensors.t_s[keep]
    if len(times) < 2:
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center")
        return
    path = _foot(bout, keep)[:, list(view)]
    step = OFFSET_SHARE * float(np.ptp(path, axis=0).max())
    normal = outward_normals(path)
    axes.plot(path[:, 0], path[:, 1], color=FAINT, linewidth=0.7, zorder=2)
    _contact_band(axes, bout, times, path)
    for k, joint in enumerate(joint for joint in bout.joints if joint.states):
        line = path + (k + 1) * step * normal
        _state_line(axes, bout, joint, _actions_at(bout, joint, times), line)
    axes.plot(*path[0], marker="o", markersize=8, markerfacecolor="white", markeredgecolor=INK, zorder=5)
    axes.plot(*path[-1], marker="^", markersize=8, markerfacecolor=INK, markeredgecolor=INK, zorder=5)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel(AXIS_NAMES[view[0]])
    axes.set_ylabel(AXIS_NAMES[view[1]])
    axes.set_title(f"foot path {_VIEW_NAMES[view]}", loc="left")
    axes.autoscale_view()


def outward_normals(path: FloatArray) -> FloatArray:
    """Return a unit vector across the path at each point, on the outer side of its loops, shape (n, 2).

    The direction of travel is smoothed over some samples, and kept where the foot rests, so that the lines beside the
    path run smoothly.
    """
    travel = np.gradient(_smooth(path, 9), axis=0)
    speed = np.hypot(travel[:, 0], travel[:, 1])
    moving = speed > 1e-3 * max(float(speed.max()), 1e-12)
    last = np.maximum.accumulate(np.where(moving, np.arange(len(path)), -1))
    travel = travel[np.where(last < 0, int(np.argmax(moving)), last)]
    length = np.maximum(np.hypot(travel[:, 0], travel[:, 1]), 1e-12)
    area = float(np.sum(path[:-1, 0] * np.diff(path[:, 1]) - path[:-1, 1] * np.diff(path[:, 0])))
    side = 1.0 if area >= 0 else -1.0
    return side * np.stack([travel[:, 1], -travel[:, 0]], axis=1) / length[:, None]


def state_legend(bout: Bout) -> list[Line2D]:
    """Return legend entries for all actions, and for the path's marks."""
    entries = [Line2D([], [], color=state_color(bout, state), linewidth=3, label=state.name) for state in bout.states_of]
    if bout.plant is not None:
        entries.append(Line2D([], [], color=STANCE, linewidth=7, label="foot in contact"))
    circle = Line2D([], [], color=INK, marker="o", markerfacecolor="white", linestyle="", label="begin")
    return [*entries, circle, Line2D([], [], color=INK, marker="^", linestyle="", label="end")]


def _foot(bout: Bout, keep: object) -> FloatArray:
    from dataclasses import replace

    series = bout.sensors
    part = replace(series, t_s=series.t_s[keep], values=series.values[keep])  # type: ignore[index]
    return replace(bout, sensors=part).foot_from_angles()


def _smooth(path: FloatArray, width: int) -> FloatArray:
    width = min(width, len(path))
    kernel = np.ones(width) / width
    padded = np.pad(path, ((width // 2, width - 1 - width // 2), (0, 0)), mode="edge")
    return np.stack([np.convolve(padded[:, k], kernel, mode="valid") for k in range(path.shape[1])], axis=1)


def _actions_at(bout: Bout, joint: JointInfo, times: FloatArray) -> IntArray:
    codes = bout.states.column(joint.action or "").astype(np.int64)
    if not len(codes):
        return np.full(len(times), -1)
    return codes[np.clip(np.searchsorted(bout.states.t_s, times, side="right") - 1, 0, None)]


def _state_line(axes: Axes, bout: Bout, joint: JointInfo, codes: IntArray, line: FloatArray) -> None:
    pieces: list[FloatArray] = []
    colors: list[tuple[float, float, float]] = []
    for code in joint.states:
        for begin, end in runs(codes == code):
            pieces.append(line[begin : min(end + 1, len(line))])
            colors.append(state_color(bout, bout.states_of[code]))
    axes.add_collection(LineCollection(pieces, colors=colors, linewidths=1.6, zorder=3, capstyle="butt"))


def _contact_band(axes: Axes, bout: Bout, times: FloatArray, path: FloatArray) -> None:
    """A broad pale band under the path where the foot touches the ground."""
    if bout.plant is None or not len(bout.plant):
        return
    force = np.interp(times, bout.plant.t_s, bout.plant.values[:, 3])
    pieces = [path[begin:end] for begin, end in runs(force > DEFAULT_CRITERIA.contact_n) if end - begin > 1]
    axes.add_collection(LineCollection(pieces, colors=[STANCE], linewidths=9.0, zorder=1, capstyle="round"))


def _last_cycles(bout: Bout, window: Window) -> Window:
    """Return the window's last `CYCLES` thorax-coxa cycles; a window without cycles is shown from its last 6 s on."""
    name, begin, end = window
    end = min(end, bout.end_s)
    joint = next((j for j in bout.joints if j.role == "ThC" and j.angle), None)
    part = bout.sensors.between(begin, end)
    if joint is None or joint.angle is None or len(part) < 2:
        return name, begin, end
    angle = part.column(joint.angle)
    lows = minima(part.t_s, angle, max(DEFAULT_CRITERIA.min_rise_deg, 0.25 * float(np.ptp(angle))))
    if len(lows) < 2:
        return name, max(begin, end - 6.0), end
    period = float(np.median(np.diff(lows)))
    return name, max(begin, end - CYCLES * period), end


def _better_side(bout: Bout, span: tuple[float, float]) -> tuple[int, int]:
    """Choose the vertical projection in which the foot moves farther."""
    keep = (bout.sensors.t_s >= span[0]) & (bout.sensors.t_s <= span[1])
    foot = _foot(bout, keep)
    return SIDE if len(foot) == 0 or np.ptp(foot[:, 0]) >= np.ptp(foot[:, 1]) else REAR


def _angle_traces(axes: Axes, bout: Bout, span: tuple[float, float]) -> None:
    part = bout.sensors.between(*span)
    for joint in bout.joints:
        if joint.angle is not None and joint.states:
            axes.plot(part.t_s, part.column(joint.angle), color=joint_color(joint), linewidth=1.4, label=joint.name)
    _shade_contact(axes, bout, span)
    axes.set_ylabel("joint angle (deg)")
    axes.tick_params(labelbottom=False)
    axes.set_xlim(*span)
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4, borderaxespad=0.2)


def _lanes(axes: Axes, bout: Bout, span: tuple[float, float]) -> None:
    log = bout.states.between(*span)
    names: list[str] = []
    joints = [joint for joint in bout.joints if joint.states]
    for joint in joints:
        codes = log.column(joint.action or "").astype(np.int64)
        edges = np.append(log.t_s, span[1])
        for code in joint.states:
            state = bout.states_of[code]
            spans = [(float(edges[a]), float(edges[b] - edges[a])) for a, b in runs(codes == code)]
            axes.broken_barh(spans, (len(names) - 0.36, 0.72), facecolors=state_color(bout, state), linewidth=0, zorder=2)
            names.append(state.name)
    _shade_contact(axes, bout, span)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("time since engine start (s)")


def _shade_contact(axes: Axes, bout: Bout, span: tuple[float, float]) -> None:
    if bout.plant is None:
        return
    plant = bout.plant.between(*span)
    touching = plant.values[:, 3] > DEFAULT_CRITERIA.contact_n
    last = len(plant) - 1
    shade(axes, [(float(plant.t_s[a]), float(plant.t_s[min(b, last)])) for a, b in runs(touching)])
