"""Panels over time: a span is shown whole where its cycles can be told apart, else in parts (as figure 7-22).

Of a long span, the parts around what was changed and its end are shown, all at one scale, below how far each joint
moved in the whole of it.
"""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from nuc_engine.analysis.bout import Bout, JointInfo
from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.phases import minima
from nuc_engine.analysis.series import Series, Span
from nuc_engine.analysis.tracks import FloatArray
from nuc_engine.figures.canvas import (
    WIDE_IN,
    NamedSpan,
    beside,
    mark_contact,
    mark_times,
    name_windows,
    new_figure,
    shade,
    time_axis,
)
from nuc_engine.figures.palette import joint_color

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

MOST_CYCLES = 24.0
"""More cycles than this are no longer told apart over the width of a page."""
SHOWN_CYCLES = 12.0
"""So many cycles of a longer span are shown in all its parts together."""
MOST_PARTS = 4
WITHOUT_CYCLES_S = 1.0
"""A leg that does not cycle is shown as if this were its cycle."""
_OVERVIEW_IN, _MARGIN_IN = 0.5, 1.0
_SHOWN = (0.87, 0.92, 0.98), (0.45, 0.62, 0.85)
"""Colours of the parts in the view of the whole: face and edge, since a part may be too short to be seen otherwise."""
_THICK, _THIN, _INK = 1.2, 0.6, 13.0
"""Widest and thinnest line in points, and what they have to share between them: points times cycles."""


def pacing_joint(bout: Bout) -> JointInfo | None:
    """Return the joint whose cycles are counted: thorax-coxa, and where that is only held, femur-tibia."""
    moved = [joint for joint in bout.joints if joint.angle and len(joint.states) > 1]
    found = {joint.role: joint for joint in reversed(moved)}
    return found.get("ThC") or found.get("FTi")


def cycle_s(bout: Bout, span: Span) -> float | None:
    """Return the median time between two minima of the pacing joint's angle; None where it has no cycles."""
    joint = pacing_joint(bout)
    part = bout.sensors.between(*span)
    if joint is None or joint.angle is None or len(part) < 2:
        return None
    angle = part.column(joint.angle)
    lows = minima(part.t_s, angle, max(DEFAULT_CRITERIA.min_rise_deg, 0.25 * float(np.ptp(angle))))
    return float(np.median(np.diff(lows))) if len(lows) > 1 else None


def is_long(bout: Bout, span: Span) -> bool:
    """Say whether a span has too many cycles to show all of them."""
    return span[1] - span[0] > MOST_CYCLES * (cycle_s(bout, span) or WITHOUT_CYCLES_S)


def parts_of(bout: Bout, span: Span, windows: Sequence[NamedSpan] = ()) -> tuple[Span, ...]:
    """Return what of a span is shown: all of it, or the time around each window's begin, and its end.

    Where there are too many windows, those that begin first count. Parts that meet are one.
    """
    if not is_long(bout, span):
        return (span,)
    begins = sorted({begin for _, begin, _ in windows if span[0] < begin < span[1]})[: MOST_PARTS - 1]
    each = SHOWN_CYCLES * (cycle_s(bout, span) or WITHOUT_CYCLES_S) / (len(begins) + 1)
    parts = [(max(at - each / 2, span[0]), min(at + each / 2, span[1])) for at in begins]
    joined: list[Span] = []
    for part in [*parts, (span[1] - each, span[1])]:
        meets = bool(joined) and part[0] <= joined[-1][1]
        joined.append((joined.pop()[0], part[1]) if meets else part)
    return tuple(joined)


class Timeline:
    """A figure of panels over time. `rows[k]` are the axes of panel k, one for each of `parts`.

    `ratios` are the heights of the panels, `height_in` that of a figure which shows its span whole. `line_points` is
    the width of a curve in it. `overview` are the axes that show how far each of the `joints` moved in a long span.
    """

    def __init__(
        self,
        bout: Bout,
        span: Span,
        ratios: Sequence[float],
        height_in: float,
        joints: Sequence[JointInfo],
        windows: Sequence[NamedSpan] = (),
    ) -> None:
        self._bout, self._windows, self.span = bout, windows, span
        self.parts = parts_of(bout, span, windows)
        shown_s = sum(end - begin for begin, end in self.parts)
        cycles = shown_s / (cycle_s(bout, span) or WITHOUT_CYCLES_S)
        self.line_points = float(np.clip(_INK / max(cycles, 1.0), _THIN, _THICK))
        above = [joint for joint in joints if joint.angle is not None] if self.parts != (span,) else []
        unit = (height_in - _MARGIN_IN) / sum(ratios)
        self.figure = new_figure(WIDE_IN, height_in + _OVERVIEW_IN * len(above) + (0.3 if above else 0.0))
        grid = self.figure.add_gridspec(
            len(above) + len(ratios),
            len(self.parts),
            width_ratios=[end - begin for begin, end in self.parts],
            height_ratios=[_OVERVIEW_IN / unit] * len(above) + list(ratios),
        )
        self.overview: list[Axes] = []
        for k, joint in enumerate(above):
            axes = self.figure.add_subplot(grid[k, :], sharex=self.overview[0] if k else None)
            self._draw_range(axes, joint)
            axes.tick_params(labelbottom=k == len(above) - 1)
            self.overview.append(axes)
        self.rows: list[list[Axes]] = []
        for k in range(len(ratios)):
            row: list[Axes] = []
            for column in range(len(self.parts)):
                above_it = self.rows[0][column] if k else None
                place = grid[len(above) + k, column]
                axes = self.figure.add_subplot(place, sharex=above_it, sharey=row[0] if row else None)
                axes.tick_params(labelbottom=k == len(ratios) - 1, labelleft=not row)
                row.append(axes)
            self.rows.append(row)

    def panel(self, k: int) -> list[tuple[Axes, Span]]:
        """Return the axes of a panel, each with the span it shows."""
        return list(zip(self.rows[k], self.parts, strict=True))

    def label(self, k: int, text: str, **style: Any) -> None:
        """Name the vertical axis of a panel."""
        self.rows[k][0].set_ylabel(text, **style)

    def legend(self, k: int) -> None:
        """Name a panel's curves at its right."""
        named: dict[str, Artist] = {}
        for axes in self.rows[k]:
            named |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        if named:
            beside(self.rows[k][-1], list(named.values()), list(named), handlelength=2.6)

    def from_zero(self, k: int) -> None:
        """Let the vertical axis of a panel begin at 0, or below where there are negative values."""
        lows = [float(axes.dataLim.y0) for axes in self.rows[k] if np.isfinite(axes.dataLim.y0)]
        self.rows[k][0].set_ylim(bottom=min(0.0, *lows) if lows else 0.0)

    def finish(self, title: str, name_above_points: float = 0.0) -> None:
        """Shade stance, mark contact and changesets, name windows and axes, and write the title."""
        bout = self._bout
        stances = [bout.stance_spans(*part) for part in self.parts]
        for row in self.rows:
            for axes, part, stood in zip(row, self.parts, stances, strict=True):
                shade(axes, stood)
                mark_times(axes, bout.changesets_s, part)
        for axes, part in self.panel(-1):
            mark_contact(axes, bout.contact_spans(*part))
            axes.set_xlim(*part)
            time_axis(axes, bout, MaxNLocator(nbins=max(2, round(8 * self._share(part))), steps=[1, 2, 5, 10]))
        for axes, part in self.panel(0):
            name_windows(axes, self._windows, part, self._share(part), name_above_points)
        self.rows[-1][len(self.parts) // 2].set_xlabel(f"time since engine start ({bout.second})")
        for axes in self.overview:
            time_axis(axes, bout)
            mark_times(axes, bout.changesets_s, self.span)
        for axes in self.overview[:1]:
            name_windows(axes, self._windows, self.span, 1.0)
        self.figure.align_ylabels([*self.overview, *(row[0] for row in self.rows)])
        notes = ["; shaded: stance, ticks: contact"] if any(stances) else []
        if self.overview:
            notes.append("; above: each joint's range in degrees")
        self.figure.suptitle(f"{bout.label}: {title}{''.join(notes)}", x=0.01, ha="left", fontsize=11)

    def _share(self, part: Span) -> float:
        return (part[1] - part[0]) / sum(end - begin for begin, end in self.parts)

    def _draw_range(self, axes: Axes, joint: JointInfo) -> None:
        """Draw how far a joint moved all the time, and which parts are shown below."""
        length_s = max(1.5 * (cycle_s(self._bout, self.span) or WITHOUT_CYCLES_S), (self.span[1] - self.span[0]) / 200)
        edges, low, high = envelope(self._bout.sensors.between(*self.span), joint.angle or "", length_s)
        low, high = (np.append(ends, ends[-1:]) for ends in (low, high))
        axes.fill_between(edges, low, high, color=joint_color(joint), alpha=0.45, linewidth=0, step="post")
        for part in self.parts:
            axes.axvspan(*part, facecolor=_SHOWN[0], edgecolor=_SHOWN[1], linewidth=0.8, zorder=0)
        axes.set_xlim(*self.span)
        axes.set_ylabel(joint.role or joint.name, rotation=0, ha="right", va="center")
        axes.yaxis.set_major_locator(MaxNLocator(nbins=2))


def envelope(log: Series, column: str, length_s: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the edges (n + 1,) of stretches of `length_s`, and the lowest and highest value of a column in each, (n,).

    NaN for a stretch without records.
    """
    if not len(log):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    edges = np.append(np.arange(float(log.t_s[0]), float(log.t_s[-1]), length_s), float(log.t_s[-1]))
    low, high = np.full((2, len(edges) - 1), np.nan)
    values = log.column(column)
    for k, (first, last) in enumerate(pairwise(np.searchsorted(log.t_s, edges).tolist())):
        if last > first:
            low[k], high[k] = values[first:last].min(), values[first:last].max()
    return edges, low, high
