"""The stage of a movie: axes, ground and legends are drawn once, the leg anew in every frame."""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image

from nuc_engine.analysis.movie_camera import PAPER_GREY, Film
from nuc_engine.analysis.movie_file import Picture
from nuc_engine.analysis.movie_scene import Scene
from nuc_engine.analysis.palette import FAINT, INK
from nuc_engine.analysis.path_state import moving_average, outward_normals
from nuc_engine.analysis.tracks import FloatArray

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

ASPECT = 16 / 9
INCHES, SMALL_INCHES, SMALL = 7.2, 5.4, 600
"""Height of the figure: a picture of fewer than `SMALL` pixels is a smaller figure, so that its words can be read."""
GROUND_COLOR, CONTACT_COLOR, AIR_COLOR = (0.60, 0.50, 0.36), (0.78, 0.10, 0.10), (1.0, 1.0, 1.0)
SMOOTHING_S = 0.08
"""What the path beside which the coloured lines of the trail run is averaged over, as in the path-state plots."""
OFFSET_SHARE = 0.013
_TURN, _TILT = math.radians(35.0), math.radians(22.0)


@dataclass(frozen=True, slots=True)
class View:
    """A projection: two rows that make paper out of (x, y, z), its axes' names ("" for none), and its title."""

    title: str
    axes: tuple[str, str]
    rows: tuple[tuple[float, float, float], tuple[float, float, float]]


def _slanted(side: float) -> View:
    """Return the view from in front, beside and above; `side` is +1 for a left leg, -1 for a right one."""
    ct, st, ce, se = math.cos(_TURN), side * math.sin(_TURN), math.cos(_TILT), math.sin(_TILT)
    return View("from in front and above", ("", ""), ((-st, ct, 0.0), (-se * ct, -se * st, ce)))


_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
VIEWS: Mapping[str, View] = MappingProxyType(
    {
        "side": View("from the side", ("x, forward (cm)", "z, up (cm)"), (_X, _Z)),
        "front": View("from the front", ("y, left (cm)", "z, up (cm)"), (_Y, _Z)),
        "top": View("from above", ("x, forward (cm)", "y, left (cm)"), (_X, _Y)),
        "3d": _slanted(1.0),
    }
)
"""All views, by the name they are asked for by."""

_Rectangle = tuple[float, float, float, float]
"""Left, bottom, width and height, as shares of the picture."""


class Stage:
    """Draws the frames of one scene. `size` is (width, height) in pixels, both even."""

    def __init__(self, scene: Scene, views: Sequence[str], speed: float, height: int, *, with_camera: bool) -> None:
        self._scene = scene
        inches = SMALL_INCHES if height < SMALL else INCHES
        self._figure = Figure(figsize=(inches * ASPECT, inches), dpi=height / inches)
        self._canvas = FigureCanvasAgg(self._figure)
        width, tall = (round(edge) for edge in self._canvas.get_width_height(physical=True))
        self.size = width // 2 * 2, tall // 2 * 2
        self._camera = (0.02, 0.08, 0.46, 0.85) if with_camera else None
        area = (0.50, 0.07, 0.49, 0.87) if with_camera else (0.01, 0.07, 0.98, 0.87)
        places = _places(len(views), area, 1.0 / (inches * ASPECT), upright=with_camera)
        self._panels = [
            _Panel(self._figure.add_axes(place), scene, _view(scene, name))
            for name, place in zip(views, places, strict=True)
        ]
        self._words = _Words(self._figure, scene, speed)
        self._canvas.draw()
        self._background: Any = self._canvas.copy_from_bbox(self._figure.bbox)

    def picture(self, frame: int, film: Film | None) -> Picture:
        """Return one frame, with the camera's picture where there is a camera."""
        canvas = cast(Any, self._canvas)
        canvas.restore_region(self._background)
        for panel in self._panels:
            panel.draw(frame)
        self._words.draw(frame)
        pixels = np.asarray(canvas.buffer_rgba())[: self.size[1], : self.size[0], :3].copy()
        if self._camera is not None:
            self._paste(pixels, film)
        return pixels

    def _paste(self, pixels: Picture, film: Film | None) -> None:
        """Put the camera's picture into its place, as large as fits; grey where there is none."""
        if self._camera is None:
            return
        width, height = self.size
        left, bottom, wide, high = self._camera
        x, y = round(left * width), round((1.0 - bottom - high) * height)
        w, h = round(wide * width), round(high * height)
        pixels[y : y + h, x : x + w] = PAPER_GREY
        if film is None:
            return
        share = min(w / film.shape[1], h / film.shape[0])
        size = max(1, round(film.shape[1] * share)), max(1, round(film.shape[0] * share))
        scaled = np.asarray(Image.fromarray(film).resize(size, Image.Resampling.BILINEAR))
        x, y = x + (w - size[0]) // 2, y + (h - size[1]) // 2
        pixels[y : y + size[1], x : x + size[0]] = scaled


class _Panel:
    """One view of the leg."""

    def __init__(self, axes: Axes, scene: Scene, view: View) -> None:
        self._axes, self._scene = axes, scene
        rows = np.array(view.rows)
        self._leg, self._foot = scene.leg @ rows.T, scene.foot @ rows.T
        path = scene.path @ rows.T
        self._trail = _Trail(scene, path)
        self._ground = None if scene.ground is None else _ground_lines(scene, rows)
        self._limits(path)
        axes.set_title(view.title, loc="left", pad=3)
        axes.set_xlabel(view.axes[0], labelpad=1)
        axes.set_ylabel(view.axes[1], labelpad=1)
        if not any(view.axes):
            axes.set_axis_off()
        self._artists = self._make()

    def draw(self, frame: int) -> None:
        """Draw what moves."""
        scene = self._scene
        ground, trail, bones, joints, foot = self._artists
        if self._ground is not None:
            cast(Any, ground).set_segments(self._ground[frame])
        first, last = np.searchsorted(scene.path_s, [scene.times_s[frame] - scene.trail_s, scene.times_s[frame]])
        pieces, colors = self._trail.pieces(int(first), int(last))
        cast(Any, trail).set_segments(pieces)
        cast(Any, trail).set_color(colors)
        leg = self._leg[frame]
        cast(Any, bones).set_segments(np.stack([leg[:-1], leg[1:]], axis=1))
        cast(Any, bones).set_color(scene.segments[frame])
        cast(Any, joints).set_data(leg[:-1, 0], leg[:-1, 1])
        cast(Any, foot).set_data(self._foot[frame, :1], self._foot[frame, 1:])
        touching = scene.contact is not None and bool(scene.contact[frame])
        cast(Any, foot).set_markerfacecolor(CONTACT_COLOR if touching else AIR_COLOR)
        cast(Any, foot).set_markersize(12 if touching else 8)
        for artist in self._artists:
            self._axes.draw_artist(artist)

    def _make(self) -> list[Artist]:
        axes = self._axes
        ground = LineCollection([], colors=[GROUND_COLOR], linewidths=2.0, animated=True, capstyle="round")
        trail = LineCollection([], linewidths=2.2, animated=True, capstyle="butt")
        bones = LineCollection([], linewidths=6.5, animated=True, capstyle="round")
        for collection in (ground, trail, bones):
            axes.add_collection(collection, autolim=False)
        (joints,) = axes.plot([], [], "o", color=INK, markersize=5.5, markerfacecolor="white", animated=True)
        (foot,) = axes.plot([], [], "o", color=INK, markersize=8, animated=True)
        return [ground, trail, bones, joints, foot]

    def _limits(self, path: FloatArray) -> None:
        """Set the limits so that everything fits and a centimetre is as long in both directions."""
        points = np.concatenate([self._leg.reshape(-1, 2), path])
        if self._ground is not None:
            points = np.concatenate([points, self._ground.reshape(-1, 2)])
        low, high = points.min(axis=0), points.max(axis=0)
        margin = 0.05 * float((high - low).max())
        low, high = low - margin, high + margin
        box = self._axes.get_window_extent()
        scale = max((high[0] - low[0]) / box.width, (high[1] - low[1]) / box.height)
        middle = (low + high) / 2
        half = scale * box.width / 2, scale * box.height / 2
        self._axes.set_xlim(middle[0] - half[0], middle[0] + half[0])
        self._axes.set_ylim(middle[1] - half[1], middle[1] + half[1])


class _Trail:
    """The foot's path once per joint with actions, side by side, in the colours of the actions."""

    def __init__(self, scene: Scene, path: FloatArray) -> None:
        lanes = len(scene.path_colors)
        self._lines: FloatArray = np.zeros((0, len(path), 2))
        self._colors = scene.path_colors
        if len(path) >= 2 and lanes:
            step = float(np.median(np.diff(scene.path_s)))
            smooth = moving_average(path, max(1, round(SMOOTHING_S / step)))
            beside = OFFSET_SHARE * float(np.ptp(scene.leg.reshape(-1, 3), axis=0).max()) * outward_normals(smooth)
            self._lines = np.array([smooth + (k - (lanes - 1) / 2) * beside for k in range(lanes)])
        changes = [(colors[1:] != colors[:-1]).any(axis=1) for colors in self._colors]
        self._changes = [np.flatnonzero(change) + 1 for change in changes]

    def pieces(self, first: int, last: int) -> tuple[list[FloatArray], list[FloatArray]]:
        """Return the lines from point `first` to before `last`, one for each stretch of one colour, and the colours."""
        found: list[FloatArray] = []
        colors: list[FloatArray] = []
        for line, color, changes in zip(self._lines, self._colors, self._changes, strict=False):
            edges = [first, *(int(k) for k in changes if first < k < last), last]
            for begin, end in pairwise(edges):
                if end > begin:
                    found.append(line[begin : min(end + 1, last)])
                    colors.append(color[begin])
        return found, colors


class _Words:
    """Time, contact and the action of every joint."""

    def __init__(self, figure: Figure, scene: Scene, speed: float) -> None:
        self._figure, self._scene = figure, scene
        figure.text(0.012, 0.972, scene.label, fontsize=13, fontweight="bold", va="center")
        pace = "real time" if speed == 1 else f"{speed:g} x real time"
        foot = "" if scene.true_foot else "; foot from joint angles"
        figure.text(0.988, 0.972, f"{pace}{foot}", fontsize=10, va="center", ha="right", color=FAINT)
        self._time = figure.text(0.40, 0.972, "", fontsize=13, va="center", animated=True, family="DejaVu Sans Mono")
        self._contact = figure.text(0.56, 0.972, "", fontsize=12, va="center", animated=True, color=CONTACT_COLOR)
        step = 0.98 / max(len(scene.lanes), 1)
        self._patches: list[Rectangle] = []
        self._names: list[Any] = []
        for k, lane in enumerate(scene.lanes):
            left = 0.012 + k * step
            figure.text(left, 0.032, lane.name, fontsize=12, fontweight="bold", va="center")
            shift = (0.018 + 0.0085 * len(lane.name)) * INCHES / figure.get_figheight()
            patch = Rectangle((left + shift, 0.016), 0.022, 0.032, transform=figure.transFigure, animated=True)
            figure.add_artist(patch)
            self._patches.append(patch)
            words = figure.text(left + shift + 0.030, 0.032, "", fontsize=12, va="center", animated=True)
            self._names.append(words)

    def draw(self, frame: int) -> None:
        """Write what is so in this frame."""
        scene, renderer = self._scene, cast(Any, self._figure.canvas).get_renderer()
        self._time.set_text(f"{scene.times_s[frame]:7.2f} s")
        self._contact.set_text("foot in contact" if scene.contact is not None and scene.contact[frame] else "")
        for lane, patch, words in zip(scene.lanes, self._patches, self._names, strict=True):
            patch.set_facecolor(tuple(lane.colors[frame].tolist()))
            patch.set_edgecolor(INK)
            words.set_text(lane.actions[frame])
        for artist in (self._time, self._contact, *self._patches, *self._names):
            artist.draw(renderer)


def _view(scene: Scene, name: str) -> View:
    if name != "3d":
        return VIEWS[name]
    return _slanted(-1.0 if float(np.median(scene.foot[:, 1])) < 0 else 1.0)


def _places(count: int, area: _Rectangle, inch: float, *, upright: bool) -> list[_Rectangle]:
    """Return the places of some axes in an area; two stand beside each other, or above each other when `upright`.

    `inch` is an inch as a share of the picture's width.
    """
    columns, rows = (1, 1) if count == 1 else ((1, 2) if upright else (2, 1)) if count == 2 else (2, 2)
    left, bottom, width, height = area
    wide, high = width / columns, height / rows
    found: list[_Rectangle] = []
    for k in range(count):
        column, row = k % columns, k // columns
        x, y = left + column * wide, bottom + (rows - 1 - row) * high
        found.append((x + 0.34 * inch, y + 0.36 * inch * ASPECT, wide - 0.42 * inch, high - 0.62 * inch * ASPECT))
    return found


def _ground_lines(scene: Scene, rows: FloatArray) -> FloatArray:
    """Return the ground in a view, per frame, shape (n, lines, 2, 2): the edges of a piece of it under leg and foot."""
    points = np.concatenate([scene.leg.reshape(-1, 3), scene.path])
    (x0, y0), (x1, y1) = points[:, :2].min(axis=0) - 2.0, points[:, :2].max(axis=0) + 2.0
    corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1], [x0, y0]])
    heights = np.zeros(1) if scene.ground is None else scene.ground
    solid = np.array([[[x, y, z] for x, y in corners] for z in heights]) @ rows.T
    return np.stack([solid[:, :-1], solid[:, 1:]], axis=2)
