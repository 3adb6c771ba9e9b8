"""Bouts of which nothing was recorded for a while, and what a figure shows there all the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.series import Series, Span

LOGS = ("motor", "sensors", "states", "muscles", "plant")
NEAR_S = 0.1
"""The last record before a gap and the first one after it are not farther from it than this."""


def without(one: Bout, begin_s: float, end_s: float, logs: Sequence[str] = LOGS) -> Bout:
    """The same bout, in some logs of which nothing stands from one time to another."""

    def cut(log: Series) -> Series:
        kept = (log.t_s < begin_s) | (log.t_s >= end_s)
        return replace(log, t_s=log.t_s[kept], values=log.values[kept])

    return replace(one, **{name: cut(getattr(one, name)) for name in logs})


def always_in_contact(one: Bout) -> Bout:
    """The same bout with the foot on the ground from the first record to the last."""
    assert one.plant is not None
    values = one.plant.values.copy()
    values[:, 3] = 1.0
    return replace(one, plant=replace(one.plant, values=values))


def curves_over_time(figure: Figure, *, thresholds: bool = False) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Every curve of a figure's panels over time: its panel, times and values; no lines for levels and moments.

    Thresholds, whose names have two lines, only where asked for.
    """
    found = []
    for axes in _over_time(figure):
        for line in axes.lines:
            times, values = (np.asarray(data, dtype=float) for data in line.get_data())
            if len(times) > 2 and (thresholds or "\n" not in line.get_label()):
                found.append((axes.get_ylabel(), times, values))
    return found


def drawn_across(figure: Figure, gap: Span) -> list[str]:
    """What runs over a gap in panels over time: a curve, an action or contact, by the panel's name."""
    begin_s, end_s = gap[0] + NEAR_S, gap[1] - NEAR_S
    found = [
        f"curve: {label}"
        for label, times, values in curves_over_time(figure, thresholds=True)
        if (np.isfinite(values[:-1] + values[1:]) & (times[:-1] < end_s) & (times[1:] > begin_s)).any()
    ]
    bars = [(axes, path) for axes in _over_time(figure) for c in axes.collections for path in c.get_paths()]
    return found + [
        f"bar: {axes.get_ylabel()}"
        for axes, path in bars
        if path.vertices[:, 0].min() < end_s and path.vertices[:, 0].max() > begin_s
    ]


def longest_steps_cm(figure: Figure) -> list[float]:
    """The longest straight piece of every line in a figure's plots of the foot's path."""
    found = []
    for axes in (axes for axes in figure.axes if _of_the_path(axes)):
        pieces = [line.get_xydata() for line in axes.lines]
        pieces += [segment for collection in axes.collections for segment in collection.get_segments()]
        found += [float(np.hypot(*np.diff(piece, axis=0).T).max()) for piece in pieces if len(piece) > 1]
    return found


def _of_the_path(axes: Axes) -> bool:
    return axes.get_xlabel().endswith("(cm)")


def _over_time(figure: Figure) -> Iterator[Axes]:
    return (axes for axes in figure.axes if axes.axison and not _of_the_path(axes))
