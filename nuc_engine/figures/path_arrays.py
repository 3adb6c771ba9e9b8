"""Path-state plots of plain arrays: any path, and any modules' states beside it (appendix 10.3, `pathstateplot`).

    from nuc_engine.figures import path_state_plot
    figure = path_state_plot(knee_cm, {"FTi": codes}, names={"FTi": ["flexion", "extension"]}, view="side")
    figure.savefig("knee.png")

For what was not recorded by this engine, or was computed; of a bout, `nuc plot --what path` does it all.
"""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.phases import runs
from nuc_engine.analysis.tracks import FloatArray, IntArray
from nuc_engine.figures.canvas import WIDE_IN, house_style, new_figure
from nuc_engine.figures.palette import Color, bout_pen
from nuc_engine.figures.path_state import (
    OFFSET_SHARE,
    VIEWS,
    ActionStyle,
    Projection,
    StateLine,
    draw_beside,
    fit_legend,
    legend_columns,
    mark_ends,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_AXES = ("x, forward", "y, left", "z, up")
_NO_NAMES: Mapping[str, Sequence[str]] = MappingProxyType({})
_NO_COLORS: Mapping[str, Sequence[Color]] = MappingProxyType({})


def path_state_plot(
    path: ArrayLike,
    states: Mapping[str, ArrayLike],
    *,
    names: Mapping[str, Sequence[str]] = _NO_NAMES,
    colors: Mapping[str, Sequence[Color]] = _NO_COLORS,
    view: Projection = "top",
    offset: float | None = None,
    smoothing: int = 1,
    between: tuple[int, int] | None = None,
    unit: str = "cm",
    title: str = "",
) -> Figure:
    """Return a figure of one path, with a line beside it for each module in the colour and style of its state.

    `path` has shape (n, 2), to the right and up, or (n, 3): x forward, y left, z up, seen from `view`; rows with nan
    are gaps. `states` has each module's state at every point, shape (n,), whole numbers from 0; negative ones are none.
    `names` and `colors` (red, green, blue in 0..1) are those of a module's states, by number; without, colours are
    given in order. Lines are `offset` apart, in the path's unit (None: a small share of its extent), and run beside its
    moving average over `smoothing` points. `between` are first and last index, both drawn. Raises AnalysisError.
    """
    points, labels = _project(path, view)
    codes = {name: _codes(name, code, len(points)) for name, code in states.items()}
    part = _part(between, len(points))
    lines = _lines({name: code[part] for name, code in codes.items()}, codes, names, colors)
    with house_style():
        figure = new_figure(0.75 * WIDE_IN, 5.0)
        axes = figure.subplots()
        _draw(axes, points[part], lines, offset, smoothing)
        axes.set_xlabel(labels[0] + f" ({unit})")
        axes.set_ylabel(labels[1] + f" ({unit})")
        axes.set_title(title, loc="left")
        fit_legend(figure, legend_columns([lines]))
    return figure


def _project(path: ArrayLike, view: Projection) -> tuple[FloatArray, tuple[str, str]]:
    """Return points, shape (n, 2), and what their two coordinates are called."""
    points = _numbers("a path", path)
    if points.ndim != 2 or points.shape[1] not in (2, 3) or len(points) < 2:
        raise AnalysisError(f"a path of shape {points.shape}; expected (n, 2) or (n, 3) of two points or more")
    if points.shape[1] == 2:
        return points, ("right", "up")
    if view not in VIEWS:
        raise AnalysisError(f"view {view!r}; expected {', '.join(VIEWS)}")
    right, up = VIEWS[view]
    return points[:, [right, up]], (_AXES[right], _AXES[up])


def _numbers(what: str, given: ArrayLike) -> FloatArray:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise AnalysisError(f"{what} of something else than numbers: {error}") from error


def _codes(name: str, states: ArrayLike, count: int) -> IntArray:
    given = _numbers(f"states of {name}", states)
    if given.shape != (count,):
        raise AnalysisError(
            f"states of {name}, shape {given.shape}; expected ({count},), one for each point of the path"
        )
    if not (np.isfinite(given).all() and np.array_equal(given, np.round(given))):
        raise AnalysisError(f"states of {name} are not whole numbers")
    return given.astype(np.int64)


def _part(between: tuple[int, int] | None, count: int) -> slice:
    first, last = (0, count - 1) if between is None else between
    if not 0 <= first < last < count:
        raise AnalysisError(f"points {first} to {last}; expected two of 0 to {count - 1}, the first before the last")
    return slice(first, last + 1)


def _lines(
    shown: Mapping[str, IntArray],
    codes: Mapping[str, IntArray],
    names: Mapping[str, Sequence[str]],
    colors: Mapping[str, Sequence[Color]],
) -> list[StateLine]:
    """Return the lines; a part of a path has the colours that all of it has."""
    if unknown := sorted((names.keys() | colors.keys()) - codes.keys()):
        raise AnalysisError(f"names or colours of {', '.join(unknown)}, which has no states")
    lines: list[StateLine] = []
    drawn = 0
    for module, code in codes.items():
        known, own = names.get(module, ()), colors.get(module, ())
        pens: dict[int, ActionStyle] = {}
        for state in sorted({int(state) for state in code[code >= 0]} | set(range(len(known)))):
            color, dashes = bout_pen(drawn)
            label = known[state] if state < len(known) else f"{module} {state}"
            pens[state] = ActionStyle(label, own[state] if state < len(own) else color, dashes)
            drawn += 1
        lines.append(StateLine(module, shown[module], pens))
    return lines


def _draw(axes: Axes, path: FloatArray, lines: Sequence[StateLine], offset: float | None, smoothing: int) -> None:
    known = np.isfinite(path[:, 0]) & np.isfinite(path[:, 1])
    if not known.any():
        raise AnalysisError("a path of nothing but gaps")
    extent = float(np.ptp(path[known], axis=0).max())
    apart = OFFSET_SHARE * extent if offset is None else offset
    if not (np.isfinite(apart) and apart >= 0) or smoothing < 1:
        raise AnalysisError(f"offset {apart:g}, smoothing {smoothing}; expected 0 or more, and 1 or more")
    for begin, end in runs(known):
        if end - begin > 1:
            stretch = [StateLine(line.name, line.codes[begin:end], line.pens) for line in lines]
            draw_beside(axes, path[begin:end], stretch, apart, smoothing, 1.6)
    mark_ends(axes, path[known], 0.0)
