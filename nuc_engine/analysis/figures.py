"""The figures of a bout: two summary figures and path-state plots (appendix 10.3, sections 5.1.1 and 5.3.2).

Needs matplotlib (`pip install nuc-engine[plot]`); nothing else of this package imports this module.
"""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nuc_engine.analysis.bout import Bout, JointInfo, Series
from nuc_engine.analysis.canvas import Window, house_style, mark_times, name_windows, new_figure, save_png, shade
from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.palette import joint_color, muscle_colors, state_color
from nuc_engine.analysis.path_state import behaviour_figure, path_state_figure
from nuc_engine.analysis.phases import runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Span = tuple[float, float]


def draw_figures(bout: Bout, folder: Path, windows: Sequence[Window] = ()) -> tuple[Path, ...]:
    """Draw everything into `folder` and return the files.

    `summary_sensors.png`, `summary_states.png`, `pathstate.png` and, for each behaviour window, `pathstate_NAME.png`.
    The same bout gives the same bytes (with the same version of matplotlib).
    """
    with house_style():
        files = [
            save_png(sensor_figure(bout, windows), folder / "summary_sensors.png"),
            save_png(state_figure(bout, windows), folder / "summary_states.png"),
            save_png(path_state_figure(bout, windows), folder / "pathstate.png"),
        ]
        files += [save_png(behaviour_figure(bout, w), folder / f"pathstate_{w[0]}.png") for w in windows]
    return tuple(files)


def sensor_figure(bout: Bout, windows: Sequence[Window] = (), span: Span | None = None) -> Figure:
    """First summary figure: joint angles and filtered load from the sensors, position and current as replied.

    Where the plant was simulated, foot height and contact force too. Stance (contact) is shaded.
    """
    span = (0.0, bout.end_s) if span is None else span
    joints = [joint for joint in bout.joints if joint.angle is not None]
    figure = new_figure(13.0, 10.5 if bout.plant is not None else 8.4)
    rows = 5 if bout.plant is not None else 4
    panels: list[Axes] = list(figure.subplots(rows, 1, sharex=True, height_ratios=[1.6, 1.2, 1.2, 1.0, 0.9][:rows]))
    sensors, motor = bout.sensors.between(*span), bout.motor.between(*span)
    _curves(panels[0], sensors, [(j, j.angle) for j in joints], "joint angle (deg)")
    _curves(panels[1], sensors, [(j, j.current) for j in joints], "load, filtered\n(current ticks)")
    _curves(panels[2], motor, [(j, j.raw_position) for j in joints], "position, raw\n(ticks)")
    _curves(panels[3], motor, [(j, j.raw_current) for j in joints], "current, raw\n(ticks)")
    if bout.plant is not None:
        _plant(panels[4], bout.plant.between(*span))
    panels[1].axhline(0.0, color="0.75", linewidth=0.6, zorder=1)
    panels[0].legend(*_joint_legend(panels[0], joints), loc="upper left", bbox_to_anchor=(1.005, 1.0), borderaxespad=0)
    _finish(figure, panels, bout, windows, span, "sensors")
    return figure


def state_figure(bout: Bout, windows: Sequence[Window] = (), span: Span | None = None) -> Figure:
    """Second summary figure: for each joint with actions, which one is in force, and the muscles' activations."""
    span = (0.0, bout.end_s) if span is None else span
    joints = [joint for joint in bout.joints if joint.states]
    heights = [height for joint in joints for height in (0.35 + 0.25 * len(joint.states), 1.2)]
    figure = new_figure(13.0, 1.0 + 1.45 * sum(heights))
    panels: list[Axes] = list(figure.subplots(len(heights), 1, sharex=True, height_ratios=heights))
    log = bout.states.between(*span)
    for joint, lanes, curves in zip(joints, panels[::2], panels[1::2], strict=True):
        _state_lanes(lanes, bout, joint, log, span[1])
        _activations(curves, joint, log)
    _finish(figure, panels, bout, windows, span, "states and activations")
    return figure


def contact_spans(bout: Bout, span: Span) -> list[Span]:
    """Return when the foot touched the ground; nothing where contact was not recorded."""
    if bout.plant is None:
        return []
    plant = bout.plant.between(*span)
    if not len(plant):
        return []
    last = len(plant) - 1
    touching = plant.values[:, 3] > DEFAULT_CRITERIA.contact_n
    return [(float(plant.t_s[a]), float(plant.t_s[min(b, last)])) for a, b in runs(touching)]


def _curves(axes: Axes, series: Series, columns: Sequence[tuple[JointInfo, str | None]], label: str) -> None:
    for joint, column in columns:
        if column is not None:
            axes.plot(series.t_s, series.column(column), color=joint_color(joint), linewidth=0.9, label=joint.name)
    axes.set_ylabel(label)


def _joint_legend(axes: Axes, joints: Sequence[JointInfo]) -> tuple[list[object], list[str]]:
    handles, labels = axes.get_legend_handles_labels()
    del joints
    return handles, labels


def _plant(axes: Axes, plant: Series) -> None:
    height = plant.values[:, 2] - (plant.values[:, 2].min() if len(plant) else 0.0)
    axes.plot(plant.t_s, height, color="0.25", linewidth=0.9)
    axes.set_ylabel("foot height\n(cm)")
    force = axes.twinx()
    force.plot(plant.t_s, plant.values[:, 3], color="0.55", linewidth=0.7)
    force.set_ylabel("contact (N)", color="0.45")
    force.spines["right"].set_visible(True)
    force.set_ylim(bottom=0.0)


def _state_lanes(axes: Axes, bout: Bout, joint: JointInfo, log: Series, end_s: float) -> None:
    """One lane per action, the first at the bottom, as the toolbox draws them."""
    codes = log.column(joint.action or "").astype(int)
    edges = np.append(log.t_s, end_s)
    for lane, code in enumerate(joint.states):
        state = bout.states_of[code]
        spans = [(float(edges[a]), float(edges[b] - edges[a])) for a, b in runs(codes == code)]
        axes.broken_barh(spans, (lane - 0.36, 0.72), facecolors=state_color(bout, state), linewidth=0, zorder=2)
    axes.set_yticks(range(len(joint.states)), [bout.states_of[code].name for code in joint.states])
    axes.set_ylim(-0.6, len(joint.states) - 0.4)
    axes.set_title(joint.name, loc="left", pad=3, fontsize=9, fontweight="bold")
    axes.tick_params(axis="y", length=0)


def _activations(axes: Axes, joint: JointInfo, log: Series) -> None:
    columns = zip(joint.muscles, joint.activations, muscle_colors(joint), strict=True)
    for muscle, column, color in columns:
        axes.plot(log.t_s, log.column(column), color=color, linewidth=1.0, drawstyle="steps-post", label=muscle)
    axes.set_ylabel("activation")
    axes.set_ylim(bottom=0.0)
    axes.legend(loc="upper left", bbox_to_anchor=(1.005, 1.0), borderaxespad=0)


def _finish(
    figure: Figure, panels: Sequence[Axes], bout: Bout, windows: Sequence[Window], span: Span, what: str
) -> None:
    spans = contact_spans(bout, span)
    for axes in panels:
        shade(axes, spans)
        mark_times(axes, [t for t in bout.changesets_s if span[0] < t < span[1]])
        axes.margins(x=0)
    name_windows(panels[0], windows, span)
    panels[-1].set_xlim(*span)
    panels[-1].set_xlabel("time since engine start (s)")
    note = "; shaded: foot in contact" if spans else ""
    figure.suptitle(f"{bout.label}: {what}{note}", x=0.01, ha="left", fontsize=11)
    figure.align_ylabels(list(panels))
