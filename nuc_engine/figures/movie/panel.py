"""One view of the leg in a movie: ground, the foot's path, segments, joints, and the foot as large as it is."""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.patches import Ellipse, Polygon

from nuc_engine.analysis.phases import runs
from nuc_engine.analysis.tracks import FloatArray, IntArray
from nuc_engine.figures.movie.scene import Scene
from nuc_engine.figures.palette import INK
from nuc_engine.figures.path_state import moving_average, outward_normals

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

GROUND_COLOR, GROUND_EDGE, SHADOW_COLOR = (0.90, 0.86, 0.78), (0.60, 0.50, 0.36), (0.66, 0.60, 0.50)
CONTACT_COLOR, AIR_COLOR = (0.78, 0.10, 0.10), (1.0, 1.0, 1.0)
SMOOTHING_S = 0.08
"""What the path beside which the coloured lines of the trail run is averaged over, as in the path-state plots."""
OFFSET_SHARE = 0.013
FOOT_CM, MARGIN_CM = 0.5, 0.7
"""Radius of a foot whose own is not known; what is left free around all that is shown."""
_TURN, _TILT = math.radians(35.0), math.radians(22.0)
_TRAIL_POINTS, _BONE_POINTS = 2.2, 6.5
_FAR_CM, _ABOVE_SHARE = 1000.0, 0.6


@dataclass(frozen=True, slots=True)
class PanelView:
    """A projection: two rows that make paper out of (x, y, z), its axes' names ("" for none), and its title."""

    title: str
    axes: tuple[str, str]
    rows: tuple[tuple[float, float, float], tuple[float, float, float]]


def _slanted(side: float) -> PanelView:
    """Return the view from in front, beside and above; `side` is +1 for a left leg, -1 for a right one."""
    ct, st, ce, se = math.cos(_TURN), side * math.sin(_TURN), math.cos(_TILT), math.sin(_TILT)
    return PanelView("from in front and above", ("", ""), ((-st, ct, 0.0), (-se * ct, -se * st, ce)))


_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
VIEWS: Mapping[str, PanelView] = MappingProxyType(
    {
        "side": PanelView("from the side", ("x, forward (cm)", "z, up (cm)"), (_X, _Z)),
        "front": PanelView("from the front", ("y, left (cm)", "z, up (cm)"), (_Y, _Z)),
        "top": PanelView("from above", ("x, forward (cm)", "y, left (cm)"), (_X, _Y)),
        "3d": _slanted(1.0),
    }
)
"""All views, by the name they are asked for by."""


def view_of(scene: Scene, name: str) -> PanelView:
    """Return a view by its name; the slanted one is from the side on which the leg is."""
    return VIEWS[name] if name != "3d" else _slanted(-1.0 if float(np.median(known_of(scene.foot)[:, 1])) < 0 else 1.0)


def known_of(points: FloatArray) -> FloatArray:
    """Return those points of (n, k) that were recorded; the origin where none was."""
    known = points[np.isfinite(points).all(axis=1)]
    return known if len(known) else np.zeros((1, points.shape[1]))


def extent_of(scene: Scene, view: PanelView) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest corner, each (2,), of what a view shows in the whole movie."""
    rows, around = np.array(view.rows), MARGIN_CM + (scene.radius_cm or FOOT_CM)
    points = [scene.leg.reshape(-1, 3) @ rows.T, (scene.path @ rows.T)]
    if scene.ground is not None and rows[1, 2]:
        # Below the foot; the ground farther away is drawn as far as there is room for it.
        below = scene.foot.copy()
        below[:, 2] = scene.ground
        points.append(below @ rows.T)
    every = known_of(np.concatenate(points))
    return every.min(axis=0) - around, every.max(axis=0) + around


class LegPanel:
    """One view of the leg. What never moves is drawn with the figure, the rest by `draw`."""

    def __init__(self, axes: Axes, scene: Scene, view: PanelView) -> None:
        self._axes, self._scene = axes, scene
        self._rows = rows = np.array(view.rows)
        self._leg, self._foot = scene.leg @ rows.T, scene.foot @ rows.T
        self._trail = Trail(scene, rows)
        axes.set_title(view.title, loc="left", pad=3)
        axes.set_xlabel(view.axes[0], labelpad=1)
        axes.set_ylabel(view.axes[1], labelpad=1)
        if not any(view.axes):
            axes.set_axis_off()
        self._extent = extent_of(scene, view)
        self._ground = Polygon(np.zeros((4, 2)), facecolor=GROUND_COLOR, edgecolor=GROUND_EDGE, linewidth=1.2, zorder=0)
        self._ground.set_visible(False)
        axes.add_patch(self._ground)
        self._moving = self._make()

    def fit(self) -> None:
        """Set the limits so that all fits into the axes as they are, fills them, and a centimetre is one both ways."""
        low, high = self._extent
        box = self._axes.get_window_extent()
        half = np.array([box.width, box.height]) / 2 * float(((high - low) / (box.width, box.height)).max())
        middle = (low + high) / 2
        if self._upright:
            # There is more to see above the ground than below it.
            middle[1] += _ABOVE_SHARE * (half[1] - (high[1] - low[1]) / 2)
        self._axes.set_xlim(middle[0] - half[0], middle[0] + half[0])
        self._axes.set_ylim(middle[1] - half[1], middle[1] + half[1])

    def place_ground(self, height_cm: float) -> None:
        """Put the ground, which is no moving artist, at a height; nan takes it away."""
        self._ground.set_visible(self._scene.ground is not None and bool(self._rows[1, 2]) and math.isfinite(height_cm))
        if not self._ground.get_visible():
            return
        if self._upright:
            far = _FAR_CM
            self._ground.set_xy([(-far, -far), (far, -far), (far, height_cm), (-far, height_cm)])
        else:
            points = known_of(np.concatenate([self._scene.leg.reshape(-1, 3), self._scene.path]))[:, :2]
            (x0, y0), (x1, y1) = points.min(axis=0) - 2.0, points.max(axis=0) + 2.0
            corners = np.array([(x, y, height_cm) for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))])
            self._ground.set_xy(corners @ self._rows.T)

    def draw(self, frame: int) -> None:
        """Draw what moves."""
        scene = self._scene
        shadow, lines, joints, foot = (cast(Any, artist) for artist in self._moving)
        first, last = np.searchsorted(scene.path_s, [scene.times_s[frame] - scene.trail_s, scene.times_s[frame]])
        pieces, colors = self._trail.pieces(int(first), int(last))
        widths = [_TRAIL_POINTS] * len(pieces)
        shown: list[Artist] = [lines]
        leg, place = self._leg[frame], self._foot[frame]
        if np.isfinite(leg).all():
            pieces += list(np.stack([leg[:-1], leg[1:]], axis=1))
            colors = np.concatenate([colors, scene.segments[frame]])
            widths += [_BONE_POINTS] * (len(leg) - 1)
            joints.set_data(leg[:-1, 0], leg[:-1, 1])
            shown.append(joints)
        lines.set(segments=pieces, colors=colors, linewidths=widths)
        if np.isfinite(place).all():
            touching = scene.contact is not None and bool(scene.contact[frame])
            foot.set_center(place)
            foot.set_facecolor(CONTACT_COLOR if touching else AIR_COLOR)
            shown.append(foot)
            if self._has_shadow and scene.ground is not None and math.isfinite(scene.ground[frame]):
                shadow.set_center(np.array([*scene.foot[frame, :2], scene.ground[frame]]) @ self._rows.T)
                shown.insert(0, shadow)
        for artist in shown:
            self._axes.draw_artist(artist)

    @property
    def _upright(self) -> bool:
        """Whether the view is along the ground, which is a line in it."""
        return float(self._rows[1, 2]) == 1.0

    @property
    def _has_shadow(self) -> bool:
        """Only a view from aslant needs one to tell how high the foot is above the ground."""
        return 0.0 < self._rows[1, 2] < 1.0

    def _make(self) -> list[Artist]:
        axes, size = self._axes, 2 * (self._scene.radius_cm or FOOT_CM)
        tilt = math.sqrt(max(0.0, 1.0 - float(self._rows[1, 2]) ** 2))
        shadow = Ellipse((0, 0), size, size * tilt, facecolor=SHADOW_COLOR, linewidth=0, animated=True)
        foot = Ellipse((0, 0), size, size, edgecolor=INK, linewidth=1.0, animated=True)
        # The trail and, over it, the segments, in one: each artist costs time in every frame.
        lines = LineCollection([], animated=True, capstyle="round")
        for artist in (shadow, foot):
            axes.add_artist(artist)
        axes.add_collection(lines, autolim=False)
        (joints,) = axes.plot([], [], "o", color=INK, markersize=5.5, markerfacecolor="white", animated=True)
        return [shadow, lines, joints, foot]


class Trail:
    """The foot's path once per joint with actions, side by side, in the colours of the actions."""

    def __init__(self, scene: Scene, rows: FloatArray) -> None:
        path, lanes = scene.path @ rows.T, len(scene.path_colors)
        self._lines: FloatArray = np.full((lanes, len(path), 2), np.nan)
        known = np.isfinite(path[:, 0])
        self._colors = scene.path_colors
        width = max(1, round(SMOOTHING_S / (float(np.median(np.diff(scene.path_s))) if len(path) > 1 else SMOOTHING_S)))
        size = float(np.ptp(known_of(scene.leg.reshape(-1, 3)), axis=0).max())
        for begin, end in runs(known):
            if end - begin > 1:
                smooth = moving_average(path[begin:end], width)
                apart = OFFSET_SHARE * size * outward_normals(smooth)
                for k in range(lanes):
                    self._lines[k, begin:end] = smooth + (k - (lanes - 1) / 2) * apart
        gaps = known[1:] != known[:-1]
        other = np.any(scene.path_colors[:, 1:] != scene.path_colors[:, :-1], axis=2)
        self._edges: list[IntArray] = [np.flatnonzero(change | gaps) + 1 for change in other]

    def pieces(self, first: int, last: int) -> tuple[list[FloatArray], FloatArray]:
        """Return the lines from point `first` to before `last`, one for each stretch of one colour, and the colours."""
        found: list[FloatArray] = []
        colors: list[FloatArray] = []
        for line, color, edges in zip(self._lines, self._colors, self._edges, strict=True):
            inside = edges[np.searchsorted(edges, first, side="right") : np.searchsorted(edges, last)]
            for begin, end in pairwise([first, *inside.tolist(), last]):
                piece = line[begin : min(end + 1, last)]
                if end > begin and np.isfinite(line[begin]).all():
                    found.append(piece[np.isfinite(piece).all(axis=1)])
                    colors.append(color[begin])
        return found, np.array(colors).reshape(-1, 3)
