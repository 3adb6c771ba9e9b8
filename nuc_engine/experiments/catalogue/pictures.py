"""Pictures over all repetitions of a row, after Figures 7-10 and 7-11 (need matplotlib)."""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nuc_engine.analysis.tracks import FloatArray
from nuc_engine.batch.criterion import wilson

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 40
_THC, _CTR, _FTI = "#00805a", "#0d5cad", "#cc4020"
_PENS: tuple[tuple[str, str, str], ...] = (
    (_THC, "-", "o"),
    (_THC, "--", "o"),
    (_CTR, "-", "s"),
    (_CTR, "--", "s"),
    (_FTI, "-", "^"),
    (_FTI, "--", "^"),
)
"""Colour, line and mark: the stance and the swing agonist of each joint; none is told by its colour alone."""
_FILLED, _OUTLINED = _CTR, _FTI

HistogramPanel = tuple[str, float | None, Sequence[tuple[str, FloatArray]]]
"""A quantity with its unit, the width of a bin where the quantity has steps of its own, and a sample of it by name."""


def draw_histograms(panels: Sequence[HistogramPanel], path: Path) -> None:
    """Draw one panel per quantity, with the share of the steps of two samples in each of the same bins."""
    from nuc_engine.figures.canvas import house_style, new_figure

    with house_style():
        figure = new_figure(7.0, 3.2)
        for k, (quantity, width, samples) in enumerate(panels, 1):
            axes = figure.add_subplot(1, len(panels), k)
            _histogram(axes, samples, width)
            axes.set_xlabel(f"{quantity}\nsteps beyond are in the outer bins")
            axes.set_ylabel("share of steps (%)")
        handles, names = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=2)
        _save(figure, path)


def _histogram(axes: Axes, samples: Sequence[tuple[str, FloatArray]], width: float | None) -> None:
    every = np.concatenate([values for _, values in samples])
    if not every.size:
        return
    edges = _edges(every, width)
    for k, (name, values) in enumerate(samples):
        # A wild step or two must not squeeze all others into one bin; what lies beyond is in the last bins.
        counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
        share = 100.0 * counts / max(1, len(values))
        if k == 0:
            axes.stairs(share, edges, fill=True, alpha=0.45, color=_FILLED, label=name)
        else:
            axes.stairs(share, edges, color=_OUTLINED, linewidth=1.4, label=name)


def _edges(every: FloatArray, width: float | None) -> FloatArray:
    """Return the edges of the bins; with a width, bins of it around its multiples."""
    low, high = np.percentile(every, [0.2, 99.8])
    if width is None:
        return np.linspace(low, max(high, low + 1e-6), BINS + 1)
    first, last = round(low / width), round(high / width)
    return (np.arange(first, last + 2) - 0.5) * width


def draw_speed(period_s: FloatArray, drives: Mapping[str, Sequence[float]], path: Path) -> None:
    """Draw the activation of each agonist against the median step period; `period_s` is (repetitions, levels)."""
    from nuc_engine.figures.canvas import house_style, new_figure

    with house_style():
        figure = new_figure(7.0, 3.6)
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
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right center")
        _save(figure, path)


def draw_shares(counts: Mapping[str, Mapping[str, Mapping[float, tuple[int, int]]]], quantity: str, path: Path) -> None:
    """Draw shares of repetitions that step, with their intervals, over a quantity: panel -> line -> place -> counts.

    Places stand at equal distances: they may reach from little to far too much.
    """
    from nuc_engine.figures.canvas import house_style, new_figure

    names = list(dict.fromkeys(name for lines in counts.values() for name in lines))
    drawn: dict[str, Any] = {}
    with house_style():
        figure = new_figure(2.4 * len(counts) + 0.8, 3.0)
        for k, (panel, lines) in enumerate(counts.items(), 1):
            axes = figure.add_subplot(1, len(counts), k)
            places = sorted({place for line in lines.values() for place in line})
            for name, line in lines.items():
                j = names.index(name)
                beside = {places.index(at) + 0.06 * j: own for at, own in line.items()}
                drawn[name] = _share_line(axes, beside, _PENS[2 * j % 6 + j // 3])
            axes.set_xticks(range(len(places)), [f"{place:g}" for place in places])
            axes.set_ylim(-0.05, 1.05)
            axes.set_title(panel)
            axes.set_xlabel(quantity)
        figure.axes[0].set_ylabel("share of repetitions that step")
        figure.legend(list(drawn.values()), list(drawn), loc="outside upper center", ncols=4)
        _save(figure, path)


def draw_return_maps(samples: Mapping[str, FloatArray], path: Path) -> None:
    """Draw each value of some samples against the one before it, a panel for each sample."""
    from nuc_engine.figures.canvas import house_style, new_figure

    with house_style():
        figure = new_figure(3.4 * len(samples) + 0.4, 3.4)
        for k, (name, values) in enumerate(samples.items(), 1):
            axes = figure.add_subplot(1, len(samples), k)
            axes.plot(values[:-1], values[1:], "o", color=_CTR, markersize=3.5)
            axes.axline((0.7, 0.7), slope=1, color="0.6", linewidth=0.8)
            axes.set_title(name)
            axes.set_xlabel("duration of a step (s)")
        figure.axes[0].set_ylabel("duration of the next one (s)")
        _save(figure, path)


def _share_line(axes: Axes, line: Mapping[float, tuple[int, int]], pen: tuple[str, str, str]) -> Any:
    color, dash, mark = pen
    known = {at: (count / of, *wilson(count, of)) for at, (count, of) in sorted(line.items()) if of}
    share, low, high = np.array(list(known.values())).T
    return axes.errorbar(
        list(known),
        share,
        yerr=[np.maximum(share - low, 0.0), np.maximum(high - share, 0.0)],
        color=color,
        linestyle=dash,
        marker=mark,
        markersize=4,
        markerfacecolor=color if dash == "-" else "white",
        capsize=2,
        linewidth=1.2,
        elinewidth=0.7,
    )


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, format=path.suffix.removeprefix(".") or "svg", metadata={"Date": None})
