"""Mean steps of several bouts in one figure: a row for each window, a column for each joint."""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.lines import Line2D

from nuc_engine.analysis.compare import Comparison
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.stepstats import WindowStats
from nuc_engine.figures.canvas import WIDE_IN, new_figure, say_empty
from nuc_engine.figures.palette import FAINT, bout_pen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAND = 0.16
_LEAST_DEG = 2.0
"""Range below which an angle's axis is not stretched: a joint that is held shows a line and not its noise."""


def compare_figure(comparison: Comparison) -> Figure:
    """Return mean joint angles over the step cycle, +- one standard deviation, of every bout in every common window.

    Raises AnalysisError where no bout has steps in any window of the first.
    """
    rows = [(first.window.name, _columns(comparison, first)) for first in comparison.sides[0].windows]
    rows = [(name, columns) for name, columns in rows if any(stats.cycle for _, stats in columns)]
    joints = list(dict.fromkeys(name for _, columns in rows for _, stats in columns for name in _joints(stats)))
    if not rows or not joints:
        raise AnalysisError("no bout has steps in any window of the first one, so there are no mean steps to draw")
    figure = new_figure(max(WIDE_IN, 0.6 + 2.1 * len(joints)), 1.3 + 2.0 * len(rows))
    grid = figure.subplots(len(rows), len(joints), squeeze=False, sharex=True)
    for (name, columns), panels in zip(rows, grid, strict=True):
        for joint, axes in zip(joints, panels, strict=True):
            _draw(axes, joint, columns)
        panels[0].set_ylabel(f"{name}\njoint angle (deg)")
    for joint, top, bottom in zip(joints, grid[0], grid[-1], strict=True):
        top.set_title(joint, loc="left")
        bottom.set_xlabel("share of the step, from lift-off")
    names = [side.name for side in comparison.sides]
    entries = [
        Line2D([], [], color=bout_pen(k)[0], linestyle=bout_pen(k)[1], label=name) for k, name in enumerate(names)
    ]
    entries.append(Line2D([], [], color=FAINT, marker="|", markersize=9, linestyle="", label="touch-down"))
    figure.legend(handles=entries, loc="outside lower center", ncols=min(4, len(entries)), handlelength=3.6)
    figure.suptitle("Mean step and standard deviation of the steps", x=0.01, ha="left", fontsize=11)
    return figure


def _columns(comparison: Comparison, first: WindowStats) -> list[tuple[int, WindowStats]]:
    """Return the windows that belong to one of the first bout's, with the number of their bout."""
    found = [(0, first)]
    for k, matches in enumerate(comparison.matches, 1):
        found += [(k, match.other) for match in matches if match.first is first]
    return found


def _joints(stats: WindowStats) -> tuple[str, ...]:
    return () if stats.cycle is None else stats.cycle.joints


def _draw(axes: Axes, joint: str, columns: Sequence[tuple[int, WindowStats]]) -> None:
    drawn = False
    for k, stats in columns:
        cycle = stats.cycle
        if cycle is None or joint not in cycle.joints:
            continue
        color, dashes = bout_pen(k)
        mean, sd = cycle.joint(joint)
        if np.isfinite(sd).all():
            axes.fill_between(cycle.phase, mean - sd, mean + sd, color=color, alpha=_BAND, linewidth=0)
        axes.plot(cycle.phase, mean, color=color, linestyle=dashes, linewidth=1.5)
        axes.plot(cycle.touch_down, np.interp(cycle.touch_down, cycle.phase, mean), "|", color=color, markersize=11)
        drawn = True
    if not drawn:
        say_empty(axes)
    low, high = axes.get_ylim()
    if high - low < _LEAST_DEG:
        middle = (low + high) / 2
        axes.set_ylim(middle - _LEAST_DEG / 2, middle + _LEAST_DEG / 2)
    axes.set_xlim(0.0, 1.0)
