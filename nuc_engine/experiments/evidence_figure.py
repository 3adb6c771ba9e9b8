"""The picture of a probe: its numbers against what was varied, one dot per repetition (needs matplotlib)."""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nuc_engine.experiments.course import file_stem
from nuc_engine.experiments.probes import SHARE, Probed, evidence
from nuc_engine.experiments.verdict import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_PANELS = 3
_DOT, _MIDDLE, _AS_IS = "#0d5cad", "#cc4020", "0.93"
_WRAP = 30
_BETWEEN_IN = 0.12
"""Room between panels, so that no label stands at the neighbour's axis (inches)."""
_BESIDE = 0.6
"""Room beside the first and the last level that have no order, as a part of that between two."""
_OF_ONE = (SHARE, "(part)", "(part of the time)")
"""How names of numbers end that lie between 0 and 1."""


def draw_probe(probed: Probed, row: str, folder: Path) -> tuple[Figure, ...]:
    """Draw a probe of a row into `folder`; nothing where no repetition has a number."""
    from nuc_engine.figures.canvas import RepeatableLayout, house_style, new_figure, save_figure

    names = probed.names[:_MOST_PANELS]
    if not names:
        return ()
    path = folder / f"{file_stem(f'{row} {probed.probe.name}')}_probe.svg"
    with house_style():
        figure = new_figure(3.3 * len(names) + 0.6, 3.2)
        figure.set_layout_engine(RepeatableLayout(w_pad=_BETWEEN_IN))
        for k, name in enumerate(names, 1):
            _panel(figure.add_subplot(1, len(names), k), probed, name)
        save_figure(figure, path)
    return (Figure(path.name, _caption(probed)),)


def _panel(axes: Axes, probed: Probed, name: str) -> None:
    levels = probed.probe.levels
    ordered = all(math.isfinite(level.value) for level in levels)
    places = [level.value for level in levels] if ordered else [float(k) for k in range(len(levels))]
    width = min((b - a for a, b in zip(sorted(places), sorted(places)[1:], strict=False)), default=1.0)
    found = evidence(probed, 0)
    for k, (place, level) in enumerate(zip(places, levels, strict=True)):
        values = probed.values(k, name)
        if level.label == probed.probe.as_is:
            axes.axvspan(place - 0.35 * width, place + 0.35 * width, color=_AS_IS, linewidth=0, zorder=0)
        if not name.endswith(SHARE):
            # Equal values, which are frequent, stand beside each other.
            apart = min(0.08, 0.6 / max(1, len(values)))
            aside = (np.arange(len(values)) - (len(values) - 1) / 2) * apart * width
            axes.plot(place + aside, values, "o", color=_DOT, markersize=3.2, alpha=0.75, zorder=3)
        elif values:
            axes.plot(place, found.levels[k].numbers[name].middle, "o", color=_DOT, markersize=5, zorder=3)
    middle = [level.numbers[name].middle if name in level.numbers else math.nan for level in found.levels]
    line = "-" if ordered else "none"
    axes.plot(places, middle, color=_MIDDLE, linewidth=1.3, linestyle=line, marker="_", markersize=9, zorder=2)
    axes.set_ylabel("\n".join(textwrap.wrap(name.replace(SHARE, "(share of repetitions)"), _WRAP)))
    axes.set_xlabel("\n".join(textwrap.wrap(probed.probe.quantity, _WRAP + 6)))
    axes.set_xticks(places, [level.label for level in levels], rotation=0 if ordered else 30)
    if not ordered:
        # Names have no distances: room beside the first and the last one as between two.
        axes.set_xlim(min(places) - _BESIDE * width, max(places) + _BESIDE * width)
    if name.endswith(_OF_ONE):
        axes.set_ylim(-0.05, 1.05)


def _caption(probed: Probed) -> str:
    notes: list[str] = []
    if probed.probe.as_is:
        notes.append(f"Shaded: {probed.probe.as_is}, as in the row.")
    names = probed.names
    if any(not probed.values(k, name) for k in range(len(probed.levels)) for name in names[:_MOST_PANELS]):
        notes.append("No dot: no repetition has the number.")
    if len(names) > _MOST_PANELS:
        notes.append(f"Drawn are the first {_MOST_PANELS} numbers of the table.")
    return " ".join(
        (
            f"{probed.probe.question} Dots: single repetitions, of shares all together; line or bar: median, of shares"
            " the mean.",
            *notes,
        )
    )
