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
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import AutoLocator, FuncFormatter, Locator
from matplotlib.transforms import Bbox

from nuc_engine.analysis.bout import Bout, JointInfo
from nuc_engine.analysis.series import Span
from nuc_engine.figures.palette import FAINT, INK, STANCE, Color, state_color
from nuc_engine.recording.formats import FIGURES, appearing, ending

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

TITLE_POINTS = 14.0
"""Height that a panel's own title takes."""

NamedSpan = tuple[str, float, float]
"""A behaviour's name and the begin and end of its time, in seconds since engine start."""

WIDE_IN = 9.0
"""Width of a figure: on a page of 17 cm its letters are still three quarters of their size, 5.9 points and more."""
DPI = 150
_PANEL_IN, _LETTER_POINTS = 6.0, 7.5
"""Least width of the panels of a figure, and width of a bold letter, for names above windows."""
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
    figure = Figure(figsize=(width_in, height_in), dpi=DPI, layout=RepeatableLayout())
    FigureCanvasAgg(figure)
    return figure


class RepeatableLayout(ConstrainedLayoutEngine):
    """The constrained layout, with places that are the same each time.

    Its solver goes through constraints in the order of their addresses, so that places differ in their last bits, and
    now and then a pixel by one shade.
    """

    def execute(self, fig: Figure) -> None:
        """Lay out the figure and round where axes are, to a billionth of its size."""
        super().execute(fig)
        for axes in fig.axes:
            if axes.get_in_layout():
                axes.set_position(Bbox(axes.get_position(original=True).get_points().round(9)))
                axes.set_in_layout(True)  # which set_position ends


def say_empty(axes: Axes) -> None:
    """Say in the middle of the axes that nothing was recorded."""
    axes.text(0.5, 0.5, "nothing recorded", transform=axes.transAxes, ha="center", color=FAINT)


def save_png(figure: Figure, path: Path) -> Path:
    """Write a PNG without date, version or other metadata; return its path. Raises OSError as open does."""
    _lay_out(figure)
    with appearing(path) as part:
        figure.savefig(part, format="png", dpi=DPI, metadata={"Software": None})
    return path


def _lay_out(figure: Figure) -> None:
    """Lay a figure out once and for all: `savefig` would draw all of it for that, and throw away what it drew."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine("none")


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure in the format its file's name ends in (`FIGURES`), without date or version; return the path.

    Raises WrongEnding, and OSError as open does.
    """
    kind = ending(path, FIGURES)
    if kind == "png":
        return save_png(figure, path)
    _lay_out(figure)
    unsaid = ("Date", "Creator") if kind == "svg" else ("CreationDate", "Creator", "Producer")
    with appearing(path) as part:
        figure.savefig(part, format=kind, dpi=DPI, metadata=dict.fromkeys(unsaid))
    return path


def beside(axes: Axes, handles: Sequence[Artist], labels: Sequence[str], **style: Any) -> None:
    """Name curves or marks at the right of the axes."""
    axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.005, 1.0), borderaxespad=0, **style)


def shade(axes: Axes, spans: Sequence[Span]) -> None:
    """Shade time spans (begin, end in s) over the full height, behind the curves."""
    _bars(axes, spans, (0.0, 1.0), STANCE, 0)


def mark_contact(axes: Axes, spans: Sequence[Span]) -> None:
    """Draw when the foot touched the ground as a row of ticks along the upper edge."""
    _bars(axes, spans, (0.965, 0.035), INK, 3)


def _bars(axes: Axes, spans: Sequence[Span], heights: tuple[float, float], color: Color, zorder: int) -> None:
    """Fill time spans (begin, end in s) between two heights, as shares of the axes."""
    axes.broken_barh(
        [(begin, end - begin) for begin, end in spans],
        heights,
        transform=axes.get_xaxis_transform(),
        facecolors=color,
        linewidth=0,
        zorder=zorder,
    )


def mark_times(axes: Axes, times_s: Sequence[float], span: Span) -> None:
    """Draw a dashed line at each time within a span (changesets), of a row of close ones at the first and the last."""
    near = (span[1] - span[0]) / 40
    times = [time for time in times_s if span[0] < time < span[1]]
    for k, time in enumerate(times):
        if k in (0, len(times) - 1) or max(time - times[k - 1], times[k + 1] - time) > near:
            axes.axvline(time, color=INK, linewidth=0.8, linestyle=(0, (4, 3)), zorder=3)


def name_windows(
    axes: Axes, windows: Sequence[NamedSpan], span: Span, share: float = 1.0, above_points: float = 0.0
) -> None:
    """Write each behaviour's name above its part of a time axis, so far above the axes.

    `share` is how much of the figure's panels the axes take; a name for which there is no room is left out.
    """
    room = share * _PANEL_IN * 72
    for name, begin, end in windows:
        left, right = max(begin, span[0]), min(end, span[1])
        if (right - left) / (span[1] - span[0]) * room > _LETTER_POINTS * len(name):
            axes.annotate(
                name,
                ((left + right) / 2, 1.0),
                xycoords=axes.get_xaxis_transform(),
                xytext=(0, 4 + above_points),
                textcoords="offset points",
                ha="center",
                fontweight="bold",
            )


HALF_HEIGHT = 0.36


def time_axis(axes: Axes, bout: Bout, locator: Locator | None = None) -> None:
    """Tick a time axis, by the locator if one is given, in the seconds that the bout is shown in."""
    if bout.second_s == 1.0:
        if locator is not None:
            axes.xaxis.set_major_locator(locator)
        return
    axes.xaxis.set_major_locator(_OtherSeconds(locator or AutoLocator(), bout.second_s))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda t_s, _: f"{round(t_s / bout.second_s, 9):g}"))


class _OtherSeconds(Locator):
    """Ticks where another locator has them, on an axis of seconds of another length."""

    def __init__(self, ticks: Locator, second_s: float) -> None:
        self._ticks, self._second_s = ticks, second_s

    def __call__(self) -> Sequence[float]:
        self._ticks.set_axis(self.axis)
        return self.tick_values(*cast("Axis", self.axis).get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Return the places of ticks between two times."""
        return [tick * self._second_s for tick in self._ticks.tick_values(vmin / self._second_s, vmax / self._second_s)]


def span_text(bout: Bout, begin_s: float, end_s: float) -> str:
    """Return a span of time in the seconds that the bout is shown in."""
    return f"{begin_s / bout.second_s:.1f} to {end_s / bout.second_s:.1f} {bout.second}"


def draw_lanes(axes: Axes, bout: Bout, joints: Sequence[JointInfo], span: Span) -> None:
    """Draw the lanes of some joints, the first joint's first action at the bottom (appendix 10.3, figure 5-1)."""
    states = [(joint, bout.states_of[code]) for joint in joints for code in joint.states]
    for lane, (joint, state) in enumerate(states):
        spans = [(begin, end - begin) for begin, end in bout.action_spans(joint, state.code, *span)]
        color = state_color(bout, state)
        axes.broken_barh(spans, (lane - HALF_HEIGHT, 2 * HALF_HEIGHT), facecolors=color, linewidth=0, zorder=2)
    axes.set_yticks(range(len(states)), [state.name for _, state in states])
    axes.set_ylim(-0.6, max(len(states), 1) - 0.4)
    axes.tick_params(axis="y", length=0)
