"""The figure of an evaluation: paths of surrogates beside their teacher's, and how far apart they came over seeds."""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from nuc_engine.figures.canvas import house_style, new_figure, save_figure
from nuc_engine.figures.palette import FAINT, INK, Color
from nuc_engine.surrogate.evaluate import NEAR_M, STRETCH_M, TEACHER, Flown, Trace

_WHO: tuple[Color, ...] = (
    (0.0, 0.45, 0.70),
    (0.84, 0.37, 0.0),
    (0.0, 0.62, 0.45),
    (0.80, 0.47, 0.65),
    (0.50, 0.50, 0.52),
)
_FURTHEST_M = 12.0
"""Paths are drawn up to here from where their reference is."""
_PANEL_IN = 3.2


def draw_evaluation(flights: Sequence[Flown], traces: Sequence[Trace], path: Path) -> Path:
    """Draw the first flight of every RunConfig from above, and the distances from the teacher's of all of them."""
    who = list(dict.fromkeys(flown.who for flown in flights if flown.who != TEACHER))
    colours = {name: _WHO[k % len(_WHO)] for k, name in enumerate(who)}
    columns = min(len(traces), 3)
    rows = -(-len(traces) // columns)
    with house_style():
        figure = new_figure(_PANEL_IN * max(columns, 2), _PANEL_IN * (rows + 0.9))
        grid = figure.add_gridspec(rows + 1, columns)
        for number, trace in enumerate(traces):
            _draw_paths(figure.add_subplot(grid[number // columns, number % columns]), trace, colours, number == 0)
        _draw_distances(figure.add_subplot(grid[rows, :]), flights, colours)
        return save_figure(figure, path)


def _draw_paths(axes: Any, trace: Trace, colours: dict[str, Color], named: bool) -> None:
    axes.set_title(f"{trace.config}, seed {trace.seed}", fontsize=9.0)
    axes.plot(*trace.reference[:, :2].T, color=FAINT, linewidth=2.5, label="reference")
    for name, (places, marks) in trace.paths.items():
        near = np.abs(places[:, :2] - trace.reference[: len(places), :2]).max(axis=1) < _FURTHEST_M
        colour = colours.get(name, INK)
        axes.plot(*np.where(near[:, None], places[:, :2], np.nan).T, color=colour, label=name)
        beyond = near & (marks > 0)
        axes.plot(*places[beyond, :2].T, ".", color=colour, markersize=3)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x  m; dots: beyond the training data" if named else "x  m")
    axes.set_ylabel("y  m")
    if named:
        axes.legend(loc="best", fontsize=7.0)


def _draw_distances(axes: Any, flights: Sequence[Flown], colours: dict[str, Color]) -> None:
    configs = list(dict.fromkeys(flown.config for flown in flights))
    apart = [flown.apart_m for flown in flights if flown.who in colours and isfinite(flown.apart_m)]
    top = 2.0 * max([1.0, *apart])
    for row, config in enumerate(configs):
        for k, (name, colour) in enumerate(colours.items()):
            found = [f.apart_m for f in flights if (f.config, f.who) == (config, name)]
            height = row + 0.6 * ((k + 0.5) / len(colours) - 0.5)
            inside = [max(each, 1e-4) for each in found if isfinite(each)]
            axes.plot(inside, [height] * len(inside), "o", color=colour, markersize=4, alpha=0.6)
            ended = len(found) - len(inside)
            axes.plot([top] * ended, [height] * ended, "x", color=colour, markersize=4)
    for bound in (NEAR_M, STRETCH_M):
        axes.axvline(bound, color=FAINT, linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(configs)), configs)
    axes.invert_yaxis()
    axes.set_xlabel("from the teacher's flight, m rms, one mark a seed; lines at 5 and 15 cm; crosses: ended early")
