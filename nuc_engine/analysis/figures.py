"""The figures of a bout: summary, path-state plots, joints, muscles, motors (appendix 10.3, sections 5.1 and 5.3.2).

Needs matplotlib (the extra `plot`); nothing else of this package imports this module.
"""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nuc_engine.analysis.bout import Bout, JointInfo, Series, Span
from nuc_engine.analysis.canvas import (
    TITLE_POINTS,
    WIDE_IN,
    Window,
    house_style,
    mark_times,
    name_windows,
    new_figure,
    save_figure,
    say_empty,
    shade,
)
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.joint_figures import draw_muscles, joint_figure, motor_figure, muscle_figure
from nuc_engine.analysis.lanes import draw_lanes
from nuc_engine.analysis.palette import joint_color, joint_dashes
from nuc_engine.analysis.path_state import TOP, VIEWS, View, behaviour_figure, path_state_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


What = Literal["summary", "joints", "muscles", "motors", "path"]

WHAT: tuple[What, ...] = ("summary", "joints", "muscles", "motors", "path")
USUAL: tuple[What, ...] = ("summary", "path")

LATE_S = 1.0
_FEW_S = 12.0
"""Up to this span joints differ in line style, too: of a longer one, dashes are shorter than what they draw."""


def draw_figures(
    bout: Bout,
    folder: Path | str,
    windows: Sequence[Window] = (),
    what: Sequence[What] = USUAL,
    *,
    views: Sequence[View] = (),
    form: str = "png",
) -> tuple[Path, ...]:
    """Draw a whole bout into `folder` and return the files.

    `summary_sensors.png`, `summary_states.png`, `pathstate.png` and, for each behaviour window, `pathstate_NAME.png`;
    `joint_NAME.png`, `muscle_NAME.png` and `motor_NAME.png` where `what` asks for them. `views` are the projections of
    the path, `form` is png, svg or pdf. The same bout gives the same bytes (with the same version of matplotlib).
    Raises AnalysisError for a window in which nothing was recorded, before anything is written.
    """
    for window in windows:
        _check_recorded(bout, window)
    pictures: dict[str, Callable[[], Figure]] = {}
    if "summary" in what:
        pictures["summary_sensors"] = partial(sensor_figure, bout, windows)
        pictures["summary_states"] = partial(state_figure, bout, windows)
    pictures |= _single(bout, what, _whole(bout))
    if "path" in what:
        for view in views or (TOP,):
            pictures[_path_name(view, views)] = partial(path_state_figure, bout, windows, view)
        for window in windows:
            pictures[f"pathstate_{window[0]}"] = partial(behaviour_figure, bout, window, views)
    return _draw(pictures, folder, "", form)


def draw_window(
    bout: Bout,
    folder: Path | str,
    window: Window,
    what: Sequence[What] = USUAL,
    *,
    views: Sequence[View] = (),
    form: str = "png",
) -> tuple[Path, ...]:
    """Draw one window alone into `folder` and return the files, with the window's name at the end of theirs.

    The path is drawn over the whole window. Raises AnalysisError when nothing was recorded in it.
    """
    _check_recorded(bout, window)
    name, span = window[0], (max(window[1], min(0.0, bout.begin_s)), min(window[2], bout.end_s))
    pictures: dict[str, Callable[[], Figure]] = {}
    if "summary" in what:
        pictures["summary_sensors"] = partial(sensor_figure, bout, (), span)
        pictures["summary_states"] = partial(state_figure, bout, (), span)
    pictures |= _single(bout, what, span)
    if "path" in what:
        pictures["pathstate"] = partial(behaviour_figure, bout, (name, *span), views, whole=True)
    return _draw(pictures, folder, f"_{name}", form)


def _single(bout: Bout, what: Sequence[What], span: Span) -> dict[str, Callable[[], Figure]]:
    """Return the figures of single joints, muscles and motors that are asked for, by name."""
    pictures: dict[str, Callable[[], Figure]] = {}
    for joint in bout.joints:
        if "joints" in what and (joint.angle is not None or joint.muscles):
            pictures[f"joint_{joint.name}"] = partial(joint_figure, bout, joint, span)
        if "muscles" in what:
            pictures |= {
                f"muscle_{muscle}": partial(muscle_figure, bout, joint, muscle, span) for muscle in joint.muscles
            }
        if "motors" in what and joint.raw_position is not None:
            pictures[f"motor_{joint.motor or joint.name}"] = partial(motor_figure, bout, joint, span)
    return pictures


def _path_name(view: View, views: Sequence[View]) -> str:
    names = {pair: name for name, pair in VIEWS.items()}
    return "pathstate" if not views else f"pathstate_{names[view]}"


def _draw(pictures: Mapping[str, Callable[[], Figure]], folder: Path | str, suffix: str, form: str) -> tuple[Path, ...]:
    with house_style():
        return tuple(save_figure(make(), Path(folder) / f"{name}{suffix}.{form}") for name, make in pictures.items())


def sensor_figure(bout: Bout, windows: Sequence[Window] = (), span: Span | None = None) -> Figure:
    """First summary figure: joint angles and filtered load from the sensors, position and current as replied.

    Where the plant was simulated, foot height and contact force too. Contact is shaded.
    """
    span = _whole(bout) if span is None else span
    joints = [joint for joint in bout.joints if joint.angle is not None]
    figure = new_figure(WIDE_IN, 8.4 if bout.plant is not None else 6.8)
    rows = 5 if bout.plant is not None else 4
    panels: list[Axes] = list(figure.subplots(rows, 1, sharex=True, height_ratios=[1.6, 1.2, 1.2, 1.0, 0.9][:rows]))
    sensors, motor = bout.sensors.between(*span).parted(), bout.motor.between(*span).parted()
    _curves(panels[0], sensors, [(j, j.angle) for j in joints], "joint angle (deg)")
    _curves(panels[1], sensors, [(j, j.current) for j in joints], "load, filtered\n(current ticks)")
    _curves(panels[2], motor, [(j, j.raw_position) for j in joints], "position, raw\n(ticks)")
    _curves(panels[3], motor, [(j, j.raw_current) for j in joints], "current, raw\n(ticks)")
    if bout.plant is not None:
        _plant(panels[4], bout.plant.between(*span).parted())
    panels[1].axhline(0.0, color="0.75", linewidth=0.6, zorder=1)
    _legend_beside(panels[0])
    _finish(figure, panels, bout, span, "sensors")
    name_windows(panels[0], windows, span)
    figure.align_ylabels(panels)
    return figure


def state_figure(bout: Bout, windows: Sequence[Window] = (), span: Span | None = None) -> Figure:
    """Second summary figure: for each joint with actions, which one is in force, and the muscles' activations.

    Raises AnalysisError when the configuration has no actions.
    """
    span = _whole(bout) if span is None else span
    joints = [joint for joint in bout.joints if joint.states]
    if not joints:
        raise AnalysisError(f"{bout.label}: no joint has actions, so there are no states to draw")
    heights = [height for joint in joints for height in (0.35 + 0.25 * len(joint.states), 1.2)]
    figure = new_figure(WIDE_IN, 1.0 + 1.1 * sum(heights))
    panels: list[Axes] = list(figure.subplots(len(heights), 1, sharex=True, height_ratios=heights))
    log = bout.states.between(*span).parted()
    for joint, lanes, curves in zip(joints, panels[::2], panels[1::2], strict=True):
        draw_lanes(lanes, bout, [joint], span)
        lanes.set_title(joint.name, loc="left", pad=3, fontsize=9, fontweight="bold")
        _activations(curves, joint, log)
    _finish(figure, panels, bout, span, "states and activations")
    name_windows(panels[0], windows, span, TITLE_POINTS)
    return figure


def _whole(bout: Bout) -> Span:
    """Return from when to when a bout is drawn: from the engine's start, unless logging began much later."""
    begin_s = bout.begin_s
    return (0.0 if 0 <= begin_s < LATE_S else begin_s), bout.end_s or 1.0


def _check_recorded(bout: Bout, window: Window) -> None:
    name, begin_s, end_s = window
    if not begin_s < min(end_s, bout.end_s):
        raise AnalysisError(
            f"{name}, {begin_s:g} to {end_s:g} s: nothing was recorded in it; the bout ends at {bout.end_s:.4g} s"
        )


def _curves(axes: Axes, series: Series, columns: Sequence[tuple[JointInfo, str | None]], label: str) -> None:
    few = len(series) > 0 and series.t_s[-1] - series.t_s[0] <= _FEW_S
    for joint, column in columns:
        if column is not None:
            axes.plot(
                series.t_s,
                series.column(column),
                color=joint_color(joint),
                linestyle=joint_dashes(joint) if few else "-",
                linewidth=0.8,
                label=joint.name,
            )
    if not len(series):
        say_empty(axes)
    axes.set_ylabel(label)


def _legend_beside(axes: Axes) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", bbox_to_anchor=(1.005, 1.0), borderaxespad=0, handlelength=2.6)


def _plant(axes: Axes, plant: Series) -> None:
    """Contact force on the left axis and behind, the foot's z on the right and in front."""
    axes.plot(plant.t_s, plant.values[:, 3], color="0.6", linewidth=0.7)
    axes.set_ylabel("contact\n(N, grey)")
    axes.set_ylim(bottom=0.0)
    above = axes.twinx()
    above.plot(plant.t_s, plant.values[:, 2], color="0.1", linewidth=0.9)
    above.set_ylabel("foot z, up\n(cm, black)")
    above.spines["right"].set_visible(True)


def _activations(axes: Axes, joint: JointInfo, log: Series) -> None:
    draw_muscles(axes, joint, log, joint.activations)
    axes.set_ylabel("activation")
    axes.set_ylim(bottom=0.0)
    _legend_beside(axes)


def _finish(figure: Figure, panels: Sequence[Axes], bout: Bout, span: Span, what: str) -> None:
    spans = bout.contact_spans(*span)
    for axes in panels:
        shade(axes, spans)
        mark_times(axes, [t for t in bout.changesets_s if span[0] < t < span[1]])
        axes.margins(x=0)
    panels[-1].set_xlim(*span)
    panels[-1].set_xlabel("time since engine start (s)")
    note = "; shaded: foot in contact" if spans else ""
    figure.suptitle(f"{bout.label}: {what}{note}", x=0.01, ha="left", fontsize=11)
