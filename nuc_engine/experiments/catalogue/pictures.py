"""Pictures over all repetitions of a row, after Figures 7-10 and 7-11 (need matplotlib)."""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nuc_engine.analysis.tracks import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 40
_PENS: tuple[tuple[str, str, str], ...] = (
    ("#0d5cad", "-", "o"),
    ("#cc4020", "-", "s"),
    ("#00805a", "-", "^"),
    ("#0d5cad", "--", "o"),
    ("#cc4020", "--", "s"),
    ("#00805a", "--", "^"),
)
"""Colour, line and mark: none is told by its colour alone."""

Panel = tuple[str, Sequence[tuple[str, FloatArray]]]
"""A quantity with its unit, and a sample of it by name."""


def draw_histograms(panels: Sequence[Panel], path: Path) -> None:
    """Draw one panel per quantity, with the share of the steps of each sample in each of the same bins."""
    from nuc_engine.analysis.canvas import house_style, new_figure

    with house_style():
        figure = new_figure(7.0, 3.0)
        for k, (quantity, samples) in enumerate(panels, 1):
            axes = figure.add_subplot(1, len(panels), k)
            _histogram(axes, [values for _, values in samples], [name for name, _ in samples])
            axes.set_xlabel(quantity)
            axes.set_ylabel("share of steps (%)")
        figure.axes[0].legend(loc="upper right")
        _save(figure, path)


def _histogram(axes: Axes, samples: Sequence[FloatArray], names: Sequence[str]) -> None:
    every = np.concatenate(samples) if samples else np.array([])
    if not every.size:
        return
    # A wild step or two must not squeeze all others into one bin; what lies beyond is in the last bins.
    low, high = np.percentile(every, [0.2, 99.8])
    edges = np.linspace(low, max(high, low + 1e-6), BINS + 1)
    for values, name, (color, _, _) in zip(samples, names, _PENS, strict=False):
        counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
        filled = name == names[0]
        share = 100.0 * counts / max(1, len(values))
        axes.stairs(share, edges, fill=filled, alpha=0.45 if filled else 1.0, color=color, linewidth=1.4, label=name)


def draw_speed(period_s: FloatArray, drives: Mapping[str, Sequence[float]], path: Path) -> None:
    """Draw the activation of each agonist against the median step period; `period_s` is (repetitions, levels)."""
    from nuc_engine.analysis.canvas import house_style, new_figure

    with house_style():
        figure = new_figure(5.5, 3.6)
        axes = figure.add_subplot()
        middle = np.nanmedian(period_s, axis=0)
        low, high = np.nanpercentile(period_s, [25, 75], axis=0)
        for (name, drive), (color, line, mark) in zip(drives.items(), _PENS, strict=False):
            axes.errorbar(
                middle,
                drive,
                xerr=[middle - low, high - middle],
                color=color,
                linestyle=line,
                marker=mark,
                markersize=4,
                markerfacecolor=color if line == "-" else "white",
                capsize=2,
                linewidth=1.2,
                elinewidth=0.7,
                label=name,
            )
        axes.set_xlabel("step period (s), median and quartiles over repetitions")
        axes.set_ylabel("activation of the agonist (no unit)")
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper right")
        _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, format=path.suffix.removeprefix(".") or "svg", metadata={"Date": None})
