"""The figure of a flight: its path beside the one it was to fly, errors, attitude and controls over time."""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nuc_engine.analysis.errors import BoutError
from nuc_engine.figures.canvas import house_style, new_figure, save_figure
from nuc_engine.figures.palette import FAINT, INK
from nuc_engine.recording.rows import read_rows

_COLOURS = ("#c0392b", "#2471a3", "#1e8449")
"""Of x, y and z, and of roll, pitch and yaw."""
_PLACE, _ANGLES = ("x_m", "y_m", "z_m"), ("roll_rad", "pitch_rad", "yaw_rad")
_STEP = "steps-post"
"""Controls are held from one step to the next."""

Logged = dict[str, NDArray[np.float64]]


def draw_flight(folder: Path, path: Path) -> Path:
    """Draw the flight of a data directory into a file. Raises BoutError for a log that is none of a flight's."""
    try:
        names, rows = read_rows(folder)
    except ValueError as error:
        raise BoutError(str(error)) from error
    log: Logged = {name: rows[:, k] for k, name in enumerate(names)}
    if not {*_PLACE, *_ANGLES} <= set(log) or not len(rows):
        raise BoutError(f"{folder}: no rows of a flight")
    with house_style():
        figure = new_figure(9.0, 6.0)
        grid = figure.add_gridspec(4, 2, width_ratios=(1.0, 1.0))
        figure.suptitle(f"{folder.resolve().name}: {log['t_s'][-1]:g} s, {_error(log)}", fontsize=10.0)
        _draw_path(figure.add_subplot(grid[:, 0], projection="3d"), log)
        right = [figure.add_subplot(grid[k, 1]) for k in range(4)]
        _draw_errors(right[0], log)
        _draw_angles(right[1], log)
        _draw_turn(right[2], log)
        _draw_thrust(right[3], log)
        for axes in right[:-1]:
            axes.set_xticklabels([])
        right[-1].set_xlabel("s")
        return save_figure(figure, path)


def _name(axes: Any) -> None:
    """Name the curves above their axes, where they hide none."""
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.96), ncols=3, borderaxespad=0)


def _difference(log: Logged) -> NDArray[np.float64]:
    return np.stack([log[f"ref_{name}"] - log[name] for name in _PLACE])


def _error(log: Logged) -> str:
    return f"{np.sqrt((_difference(log) ** 2).sum(axis=0).mean()):.3g} m rms from its reference"


def _draw_path(axes: Any, log: Logged) -> None:
    axes.plot(*(log[f"ref_{name}"] for name in _PLACE), color=FAINT, linewidth=2.5, label="reference")
    axes.plot(*(log[name] for name in _PLACE), color=INK, label="flown")
    axes.scatter(*([log[name][0]] for name in _PLACE), color=_COLOURS[0], s=14, label="beginning")
    for axis, name in zip("xyz", _PLACE, strict=True):
        getattr(axes, f"set_{axis}label")(f"{name[0]}  m")
    spans = [np.ptp(np.concatenate([log[name], log[f"ref_{name}"]])) for name in _PLACE]
    least = 0.25 * max(*spans, 1e-3)
    axes.set_box_aspect([max(float(span), least) for span in spans])
    axes.legend(loc="upper left")


def _draw_errors(axes: Any, log: Logged) -> None:
    for name, error, colour in zip(_PLACE, _difference(log), _COLOURS, strict=True):
        axes.plot(log["t_s"], error, color=colour, label=name[0])
    axes.set_ylabel("error  m")
    _name(axes)


def _draw_angles(axes: Any, log: Logged) -> None:
    for name, command, colour in zip(_ANGLES[:2], ("roll_cmd_rad", "pitch_cmd_rad"), _COLOURS[:2], strict=True):
        axes.plot(log["t_s"], log[command], color=colour, alpha=0.4, drawstyle=_STEP)
        axes.plot(log["t_s"], log[name], color=colour, label=name.removesuffix("_rad"))
    axes.set_ylabel("tilt  rad")
    _name(axes)


def _draw_turn(axes: Any, log: Logged) -> None:
    axes.plot(log["t_s"], log["ref_yaw_rad"], color=FAINT, linewidth=2.5, label="reference")
    axes.plot(log["t_s"], log["yaw_rad"], color=_COLOURS[2], label="yaw")
    axes.set_ylabel("yaw  rad")
    _name(axes)


def _draw_thrust(axes: Any, log: Logged) -> None:
    axes.plot(log["t_s"], log["thrust_n"], color=INK, drawstyle=_STEP)
    if "limited" in log:
        at = log["limited"] > 0
        axes.plot(log["t_s"][at], log["thrust_n"][at], ".", color=_COLOURS[0], markersize=2, label="limited")
        _name(axes)
    axes.set_ylabel("thrust  N")
