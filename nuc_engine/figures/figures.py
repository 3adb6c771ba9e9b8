"""The figures of a bout: summary, path-state plots, joints, muscles, motors (appendix 10.3, sections 5.1 and 5.3.2).

Needs matplotlib (the extra `plot`); nothing else of this package imports this module.
"""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nuc_engine.analysis.bout import Bout, JointInfo
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.series import Series, Span
from nuc_engine.figures.canvas import TITLE_POINTS, NamedSpan, draw_lanes, house_style, save_figure, say_empty
from nuc_engine.figures.joint_figures import draw_muscles, joint_figure, motor_figure, muscle_figure
from nuc_engine.figures.palette import joint_pens
from nuc_engine.figures.path_state import FOOT, TOP, VIEWS, AxisPair, Where, behaviour_figure, path_state_figure
from nuc_engine.figures.timeline import Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


What = Literal["summary", "joints", "muscles", "motors", "path"]

WHAT: tuple[What, ...] = ("summary", "joints", "muscles", "motors", "path")
USUAL: tuple[What, ...] = ("summary", "path")

LATE_S = 1.0


def draw_figures(
    bout: Bout,
    folder: Path | str,
    windows: Sequence[NamedSpan] = (),
    what: Sequence[What] = USUAL,
    *,
    views: Sequence[AxisPair] = (),
    paths: Sequence[Where] = (FOOT,),
    form: str = "png",
    processes: int = 1,
) -> tuple[Path, ...]:
    """Draw a whole bout into `folder` and return the files.

    `summary_sensors.png`, `summary_states.png`, `pathstate.png` and, for each behaviour window, `pathstate_NAME.png`;
    `joint_NAME.png`, `muscle_NAME.png` and `motor_NAME.png` where `what` asks for them. `views` are the projections of
    the path, `paths` whose it is (with a joint's name in the file's, but for the foot), `form` is png, svg or pdf. With
    more `processes` than one, copies of this one share the work (on Linux; for programs without other threads). The
    same bout gives the same bytes (with the same version of matplotlib). Raises AnalysisError for a window in which
    nothing was recorded, or an unknown joint, before anything is written.
    """
    for window in windows:
        _check_recorded(bout, window)
    pictures: dict[str, Callable[[], Figure]] = {}
    if "summary" in what:
        pictures["summary_sensors"] = partial(sensor_figure, bout, windows)
        pictures["summary_states"] = partial(state_figure, bout, windows)
    pictures |= _single(bout, what, _whole(bout), windows)
    if "path" in what:
        for where in paths:
            name = _path_name(bout, where)
            for view in views or (TOP,):
                pictures[name + _view_name(view, views)] = partial(path_state_figure, bout, windows, view, where)
            for window in windows:
                pictures[f"{name}_{window[0]}"] = partial(behaviour_figure, bout, window, views, where)
    return _draw(pictures, folder, "", form, processes)


def draw_window(
    bout: Bout,
    folder: Path | str,
    window: NamedSpan,
    what: Sequence[What] = USUAL,
    *,
    views: Sequence[AxisPair] = (),
    paths: Sequence[Where] = (FOOT,),
    form: str = "png",
    processes: int = 1,
) -> tuple[Path, ...]:
    """Draw one window alone into `folder` and return the files, with the window's name at the end of theirs.

    The path is drawn over the whole window. Raises AnalysisError as `draw_figures` does.
    """
    _check_recorded(bout, window)
    name, span = window[0], (max(window[1], min(0.0, bout.begin_s)), min(window[2], bout.end_s))
    pictures: dict[str, Callable[[], Figure]] = {}
    if "summary" in what:
        pictures["summary_sensors"] = partial(sensor_figure, bout, (), span)
        pictures["summary_states"] = partial(state_figure, bout, (), span)
    pictures |= _single(bout, what, span, ())
    if "path" in what:
        for where in paths:
            drawn = partial(behaviour_figure, bout, (name, *span), views, where, whole=True)
            pictures[_path_name(bout, where)] = drawn
    return _draw(pictures, folder, f"_{name}", form, processes)


def _single(
    bout: Bout, what: Sequence[What], span: Span, windows: Sequence[NamedSpan]
) -> dict[str, Callable[[], Figure]]:
    """Return the figures of single joints, muscles and motors that are asked for, by name."""
    pictures: dict[str, Callable[[], Figure]] = {}
    for joint in bout.joints:
        if "joints" in what and (joint.angle is not None or joint.muscles):
            pictures[f"joint_{joint.name}"] = partial(joint_figure, bout, joint, span, windows)
        if "muscles" in what:
            pictures |= {
                f"muscle_{muscle}": partial(muscle_figure, bout, joint, muscle, span, windows)
                for muscle in joint.muscles
            }
        if "motors" in what and joint.raw_position is not None:
            pictures[f"motor_{joint.motor or joint.name}"] = partial(motor_figure, bout, joint, span, windows)
    return pictures


def _path_name(bout: Bout, where: Where) -> str:
    return f"pathstate_{bout.joint(where.joint).name}" if where.joint else "pathstate"


def _view_name(view: AxisPair, views: Sequence[AxisPair]) -> str:
    names = {pair: name for name, pair in VIEWS.items()}
    return "" if not views else f"_{names[view]}"


def _draw(
    pictures: Mapping[str, Callable[[], Figure]], folder: Path | str, suffix: str, form: str, processes: int
) -> tuple[Path, ...]:
    paths = {Path(folder) / f"{name}{suffix}.{form}": make for name, make in pictures.items()}
    workers = min(processes, len(paths))
    with house_style():
        if workers < 2 or sys.platform != "linux":
            return tuple(_save(paths, path) for path in paths)
        # Copies of this process: what is drawn is in their memory already, and so is matplotlib.
        fork = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(workers, fork, initializer=_become_worker, initargs=(paths,)) as pool:
            drawn = [pool.submit(_save_own, path) for path in paths]
            try:
                return tuple(future.result() for future in drawn)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


_own: dict[Path, Callable[[], Figure]] = {}
"""In a worker: what it may be asked to draw."""


def _become_worker(paths: Mapping[Path, Callable[[], Figure]]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    _own.update(paths)


def _save_own(path: Path) -> Path:
    return _save(_own, path)


def _save(pictures: Mapping[Path, Callable[[], Figure]], path: Path) -> Path:
    return save_figure(pictures[path](), path)


def sensor_figure(bout: Bout, windows: Sequence[NamedSpan] = (), span: Span | None = None) -> Figure:
    """First summary figure: joint angles and filtered load from the sensors, position and current as replied.

    Where the plant was simulated, foot height and contact force too. Stance is shaded. Of a long span, parts are shown.
    Currents, which jump, have a lane for each joint: there line styles do not tell them apart.
    """
    span = _whole(bout) if span is None else span
    joints = [joint for joint in bout.joints if joint.angle is not None]
    ratios = [1.6, 1.2, 1.0, *[0.45] * len(joints), *([] if bout.plant is None else [0.9])]
    timeline = Timeline(bout, span, ratios, 1.0 + 1.25 * sum(ratios), joints, windows)
    for k, (log, columns, label) in enumerate(
        (
            (bout.sensors, [joint.angle for joint in joints], "joint angle (deg)"),
            (bout.sensors, [joint.current for joint in joints], "load, filtered\n(current ticks)"),
            (bout.motor, [joint.raw_position for joint in joints], "position, raw\n(ticks)"),
        )
    ):
        for axes, part in timeline.panel(k):
            _curves(axes, log.between(*part).parted(), joints, columns, timeline.line_points)
        timeline.label(k, label)
    for axes in timeline.rows[1]:
        axes.axhline(0.0, color="0.75", linewidth=0.6, zorder=1)
    for k, joint in enumerate(joints, 3):
        for axes, part in timeline.panel(k):
            log = bout.motor.between(*part).parted()
            _curves(axes, log, [joint], [joint.raw_current], timeline.line_points)
        timeline.label(k, joint.role or joint.name, rotation=0, ha="right", va="center")
    if joints:
        timeline.rows[3][0].set_title("current, raw (ticks)", loc="left", pad=2, fontsize=9)
    if bout.plant is not None:
        _plant(timeline, len(ratios) - 1, bout.plant)
    timeline.legend(0)
    timeline.finish("sensors")
    return timeline.figure


def state_figure(bout: Bout, windows: Sequence[NamedSpan] = (), span: Span | None = None) -> Figure:
    """Second summary figure: for each joint with actions, which one is in force, and the muscles' activations.

    Of a long span, parts are shown. Raises AnalysisError when the configuration has no actions.
    """
    span = _whole(bout) if span is None else span
    joints = [joint for joint in bout.joints if joint.states]
    if not joints:
        raise AnalysisError(f"{bout.label}: no joint has actions, so there are no states to draw")
    ratios = [ratio for joint in joints for ratio in (0.35 + 0.25 * len(joint.states), 1.2)]
    timeline = Timeline(bout, span, ratios, 1.0 + 1.1 * sum(ratios), joints, windows)
    for k, joint in enumerate(joints):
        for axes, part in timeline.panel(2 * k):
            draw_lanes(axes, bout, [joint], part)
        timeline.rows[2 * k][0].set_title(joint.name, loc="left", pad=3, fontsize=9, fontweight="bold")
        for axes, part in timeline.panel(2 * k + 1):
            log = bout.states.between(*part).parted()
            draw_muscles(axes, joint, log, joint.activations, timeline.line_points)
        timeline.from_zero(2 * k + 1)
        timeline.label(2 * k + 1, "activation")
        timeline.legend(2 * k + 1)
    timeline.finish("states and activations", TITLE_POINTS)
    return timeline.figure


def _whole(bout: Bout) -> Span:
    """Return from when to when a bout is drawn: from the engine's start, unless logging began much later."""
    begin_s = bout.begin_s
    return (0.0 if 0 <= begin_s < LATE_S else begin_s), bout.end_s or 1.0


def _check_recorded(bout: Bout, window: NamedSpan) -> None:
    name, begin_s, end_s = window
    if not begin_s < min(end_s, bout.end_s):
        raise AnalysisError(
            f"{name}, {begin_s:g} to {end_s:g} s: nothing was recorded in it; the bout ends at {bout.end_s:.4g} s"
        )


def _curves(
    axes: Axes, series: Series, joints: Sequence[JointInfo], columns: Sequence[str | None], points: float
) -> None:
    pens = joint_pens(joints)
    for joint, column in zip(joints, columns, strict=True):
        if column is not None:
            color, dashes = pens[joint.name]
            axes.plot(
                series.t_s,
                series.column(column),
                color=color,
                linestyle=dashes,
                linewidth=points,
                label=joint.name,
            )
    if not len(series):
        say_empty(axes)


def _plant(timeline: Timeline, k: int, plant: Series) -> None:
    """Contact force on the left axis and behind, the foot's z on the right and in front."""
    heights: list[Axes] = []
    for axes, part in timeline.panel(k):
        log = plant.between(*part).parted()
        axes.plot(log.t_s, log.values[:, 3], color="0.6", linewidth=0.7)
        above = axes.twinx()
        if heights:
            above.sharey(heights[0])
        above.plot(log.t_s, log.values[:, 2], color="0.1", linewidth=0.9)
        above.tick_params(right=False, labelright=False)
        heights.append(above)
    timeline.from_zero(k)
    timeline.label(k, "contact\n(N, grey)")
    heights[-1].set_ylabel("foot z, up\n(cm, black)")
    heights[-1].tick_params(right=True, labelright=True)
    heights[-1].spines["right"].set_visible(True)
