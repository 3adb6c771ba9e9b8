"""Figures as they are printed: their texts, and which of them lie on one another."""

from __future__ import annotations

import itertools

from matplotlib.figure import Figure
from matplotlib.text import Text

from nuc_engine.figures.canvas import house_style

PAGE_IN = 17.0 / 2.54
"""Width of the text on a page of A4, to which a wider figure is shrunk."""


def texts(figure: Figure) -> list[Text]:
    """Every text that is seen, ticks outside their axis left out."""
    found = []
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            low, high = sorted(axis.get_view_interval())
            shown = [t for t in axis.get_major_ticks() if low <= t.get_loc() <= high]
            found += [label for t in shown for label in (t.label1, t.label2)]
            found.append(axis.label)
        found += [axes.title, axes._left_title, axes._right_title, *axes.texts]
        if axes.get_legend():
            found += axes.get_legend().get_texts()
    for legend in figure.legends:
        found += legend.get_texts()
    found.append(figure._suptitle)
    return [text for text in found if text is not None and text.get_visible() and text.get_text().strip()]


def collisions(figure: Figure) -> list[tuple[str, str]]:
    with house_style():
        figure.draw_without_rendering()
        boxes = [(text.get_text(), text.get_window_extent()) for text in texts(figure)]
    width, height = figure.get_size_inches() * figure.dpi
    for text, box in boxes:
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= width + 1, text
        assert box.y1 <= height + 1, text
    return [(a, b) for (a, box), (b, other) in itertools.combinations(boxes, 2) if _overlap(box, other)]


def _overlap(a: object, b: object) -> bool:
    wide = min(a.x1, b.x1) - max(a.x0, b.x0)
    high = min(a.y1, b.y1) - max(a.y0, b.y0)
    return wide > 0.5 and high > 0.5


def smallest_points(figure: Figure) -> float:
    """Height of the smallest letters there are in a figure (points) when it is as wide as a page, if not smaller."""
    with house_style():
        figure.draw_without_rendering()
        drawn = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return min(text.get_fontsize() for text in drawn) * min(1.0, PAGE_IN / figure.get_figwidth())
