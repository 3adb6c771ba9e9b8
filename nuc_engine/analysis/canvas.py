"""Paper and pens of the figures: style, time axes, and PNG files that are equal to the byte for equal data."""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from nuc_engine.analysis.bout import Span
from nuc_engine.analysis.palette import FAINT, INK, STANCE
from nuc_engine.endings import FIGURES, ending

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLE_POINTS = 14.0
"""Height that a panel's own title takes."""

Window = tuple[str, float, float]
"""A behaviour's name and the begin and end of its time, in seconds since engine start."""

WIDE_IN = 9.0
"""Width of a figure: on a page of 17 cm its letters are still three quarters of their size, 5.9 points and more."""
DPI = 150
_STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.labelsize": 9.0,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "lines.linewidth": 1.0,
    "path.simplify": False,
    "svg.hashsalt": "nuc",
}


@contextmanager
def house_style() -> Generator[None]:
    """Draw with this package's style only, whatever the user's own settings are."""
    with matplotlib.rc_context():
        own = {key: value for key, value in matplotlib.rcParamsDefault.items() if not key.startswith("backend")}
        settings = cast(Any, matplotlib.rcParams)  # their keys are typed one by one
        settings.update(own)
        settings.update(_STYLE)
        yield


def new_figure(width_in: float, height_in: float) -> Figure:
    """Return an empty figure with its own canvas, free of any global state."""
    figure = Figure(figsize=(width_in, height_in), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def say_empty(axes: Axes) -> None:
    """Say in the middle of the axes that nothing was recorded."""
    axes.text(0.5, 0.5, "nothing recorded", transform=axes.transAxes, ha="center", color=FAINT)


def save_png(figure: Figure, path: Path) -> Path:
    """Write a PNG without date, version or other metadata; return its path. Raises OSError as open does."""
    figure.savefig(path, format="png", dpi=DPI, metadata={"Software": None})
    return path


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure in the format its file's name ends in (`FIGURES`), without date or version; return the path.

    Raises WrongEnding, and OSError as open does.
    """
    kind = ending(path, FIGURES)
    if kind == "png":
        return save_png(figure, path)
    unsaid = ("Date", "Creator") if kind == "svg" else ("CreationDate", "Creator", "Producer")
    figure.savefig(path, format=kind, dpi=DPI, metadata=dict.fromkeys(unsaid))
    return path


def shade(axes: Axes, spans: Sequence[Span]) -> None:
    """Shade time spans (begin, end in s) over the full height, behind the curves."""
    axes.broken_barh(
        [(begin, end - begin) for begin, end in spans],
        (0.0, 1.0),
        transform=axes.get_xaxis_transform(),
        facecolors=STANCE,
        linewidth=0,
        zorder=0,
    )


def mark_times(axes: Axes, times_s: Sequence[float]) -> None:
    """Draw a dashed line at each time (changesets)."""
    for time in times_s:
        axes.axvline(time, color=INK, linewidth=0.8, linestyle=(0, (4, 3)), zorder=3)


def name_windows(axes: Axes, windows: Sequence[Window], span: Span, above_points: float = 0.0) -> None:
    """Write each behaviour's name above its part of a time axis, so far above the axes."""
    for name, begin, end in windows:
        left, right = max(begin, span[0]), min(end, span[1])
        if right > left:
            axes.annotate(
                name,
                ((left + right) / 2, 1.0),
                xycoords=axes.get_xaxis_transform(),
                xytext=(0, 4 + above_points),
                textcoords="offset points",
                ha="center",
                fontweight="bold",
            )
