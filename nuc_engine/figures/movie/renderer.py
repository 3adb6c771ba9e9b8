"""The stage of a movie: axes, ground and legends are drawn once, the leg anew in every frame."""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpecFromSubplotSpec, SubplotSpec
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from PIL import Image

from nuc_engine.figures.movie.camera import PAPER_GREY, Film
from nuc_engine.figures.movie.file import Picture
from nuc_engine.figures.movie.panel import CONTACT_COLOR, LegPanel, PanelView, extent_of, view_of
from nuc_engine.figures.movie.scene import Lane, Scene
from nuc_engine.figures.palette import FAINT, INK, STANCE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ASPECT = 16 / 9
INCHES, SMALL_INCHES, SMALL = 7.2, 5.4, 600
"""Height of the figure: a picture of fewer than `SMALL` pixels is a smaller figure, so that its words can be read."""
EVENT_S = 2.0
"""How long an event stays written, in seconds of the movie."""
_LINE_IN = 0.24
"""Height of a line of words."""
_LETTER_POINTS = 8.0
_NAME, _BOX = 0.16, 0.055
"""Width of a joint's name, and of the box before an action, as shares of a joint's part of the line."""
_TICKS_IN = (0.55, 0.60)
"""Room for the names of a view's axes: beside it, and above and below it."""


class FrameRenderer:
    """Draws the frames of one scene. `size` is (width, height) in pixels, both even."""

    def __init__(self, scene: Scene, views: Sequence[str], speed: float, height: int, *, with_camera: bool) -> None:
        self._scene = scene
        inches = SMALL_INCHES if height < SMALL else INCHES
        self._figure = Figure(figsize=(inches * ASPECT, inches), dpi=height / inches, layout="constrained")
        self._canvas = FigureCanvasAgg(self._figure)
        width, tall = (round(edge) for edge in self._canvas.get_width_height(physical=True))
        self.size = width // 2 * 2, tall // 2 * 2
        lines = max([2, *(len(lane.actions) for lane in scene.lanes)])
        rows = [2 * _LINE_IN, 0.0, 0.8 * _LINE_IN, 0.95 * lines * _LINE_IN]
        rows[1] = inches - sum(rows)
        head, middle, line, foot = self._figure.add_gridspec(4, 1, height_ratios=rows)
        self._camera = self._reserve(middle) if with_camera else None
        place = middle.subgridspec(1, 2)[1] if with_camera else middle
        shown = [view_of(scene, name) for name in views]
        room = inches * ASPECT * (0.5 if with_camera else 1.0), rows[1]
        self._panels = [
            LegPanel(self._figure.add_subplot(box), scene, view)
            for box, view in zip(_places(place, shown, scene, room), shown, strict=True)
        ]
        self._words = _Words(self._figure.add_subplot(head), scene, speed)
        self._course = _Course(self._figure.add_subplot(line), scene)
        self._lanes = _Lanes(self._figure.add_subplot(foot), scene.lanes)
        self._canvas.draw()
        self._figure.set_layout_engine("none")
        for panel in self._panels:
            panel.fit()
        self._ground = float("inf")
        self._background: Any = None

    def picture(self, frame: int, film: Film | None) -> Picture:
        """Return one frame, with the camera's picture where there is a camera."""
        canvas = cast(Any, self._canvas)
        self._lay(float("nan") if self._scene.ground is None else float(self._scene.ground[frame]))
        canvas.restore_region(self._background)
        for part in (*self._panels, self._words, self._course, self._lanes):
            part.draw(frame)
        pixels = np.asarray(canvas.buffer_rgba())[: self.size[1], : self.size[0]].copy()
        if self._camera is not None:
            self._paste(pixels, film)
        return pixels

    def _lay(self, ground_cm: float) -> None:
        """Draw what stands still, with the ground at a height."""
        if self._background is None or not np.array_equal(ground_cm, self._ground, equal_nan=True):
            for panel in self._panels:
                panel.place_ground(ground_cm)
            self._canvas.draw()
            self._background = self._canvas.copy_from_bbox(self._figure.bbox)
            self._ground = ground_cm

    def _reserve(self, middle: SubplotSpec) -> Axes:
        """Keep the left half for a camera's film."""
        axes = self._figure.add_subplot(middle.subgridspec(1, 2)[0])
        axes.set_axis_off()
        return axes

    def _paste(self, pixels: Picture, film: Film | None) -> None:
        """Put the camera's picture into its place, as large as fits; grey where there is none."""
        if self._camera is None:
            return
        box = self._camera.get_window_extent()
        x, y, w, h = (round(edge) for edge in (box.x0, pixels.shape[0] - box.y1, box.width, box.height))
        pixels[y : y + h, x : x + w, :3] = PAPER_GREY
        if film is None:
            return
        share = min(w / film.shape[1], h / film.shape[0])
        size = max(1, round(film.shape[1] * share)), max(1, round(film.shape[0] * share))
        scaled = np.asarray(Image.fromarray(film).resize(size, Image.Resampling.BILINEAR))
        x, y = x + (w - size[0]) // 2, y + (h - size[1]) // 2
        pixels[y : y + size[1], x : x + size[0], :3] = scaled


class _Words:
    """What is shown, its time and behaviour, and what has just been done."""

    def __init__(self, axes: Axes, scene: Scene, speed: float) -> None:
        self._axes, self._scene, self._event_s = _bare(axes), scene, EVENT_S * speed
        _write(axes, 0.0, 0.75, scene.label, fontsize=13, fontweight="bold")
        pace = "real time" if speed == 1 else f"{speed:.3g} x real time"
        _write(axes, 1.0, 0.75, pace, ha="right")
        if scene.contact is not None:
            _write(axes, 1.0, 0.25, "foot red: in contact", ha="right", color=CONTACT_COLOR)
        else:
            _write(axes, 1.0, 0.25, "foot from joint angles", ha="right")
        self._time = _write(axes, 0.33, 0.75, "", fontsize=13, family="DejaVu Sans Mono", animated=True)
        self._behaviour = _write(axes, 0.47, 0.75, "", fontsize=12, fontweight="bold", animated=True)
        self._event = _write(axes, 0.0, 0.25, "", fontsize=9.5, animated=True)

    def draw(self, frame: int) -> None:
        """Write what is so in this frame."""
        scene, time_s = self._scene, float(self._scene.times_s[frame])
        known = bool(np.isfinite(scene.leg[frame]).all())
        self._time.set_text(f"{time_s:7.2f} s")
        self._behaviour.set_text(scene.captions.behaviour_at(time_s))
        self._event.set_text(scene.captions.event_at(time_s, self._event_s) if known else "nothing was recorded here")
        for words in (self._time, self._behaviour, self._event):
            if words.get_text():
                self._axes.draw_artist(words)


class _Course:
    """A line of the time that is shown, with behaviours and events, and where the movie is."""

    def __init__(self, axes: Axes, scene: Scene) -> None:
        self._axes, self._times = _bare(axes), scene.times_s
        begin, end = float(scene.times_s[0]), max(float(scene.times_s[-1]), float(scene.times_s[0]) + 1e-3)
        axes.set_xlim(begin, end)
        room = axes.get_figure(root=True).get_figwidth() * 72 / (end - begin)  # pyright: ignore[reportOptionalMemberAccess]
        for k, shown in enumerate(scene.captions.behaviours):
            left, right = max(shown.begin_s, begin), min(shown.end_s, end)
            if left < right:
                axes.axvspan(left, right, facecolor=STANCE if k % 2 else "white", edgecolor=FAINT, linewidth=0.8)
                if (right - left) * room > _LETTER_POINTS * len(shown.name):
                    _write(axes, (left + right) / 2, 0.5, shown.name, ha="center", fontsize=9)
        events = [time for time, _ in scene.captions.events if begin <= time <= end]
        axes.vlines(events, 0.0, 1.0, colors=[INK], linewidth=1.2)
        (self._now,) = axes.plot([begin, begin], [0.0, 1.0], color=CONTACT_COLOR, linewidth=2.0, animated=True)

    def draw(self, frame: int) -> None:
        """Mark the present time."""
        self._now.set_xdata([self._times[frame]] * 2)
        self._axes.draw_artist(self._now)


class _Lanes:
    """Every joint's actions; those in force have a filled box."""

    def __init__(self, axes: Axes, lanes: Sequence[Lane]) -> None:
        self._axes, self._lanes = _bare(axes), lanes
        axes.set_xlim(0.0, max(len(lanes), 1))
        axes.set_ylim(max([2, *(len(lane.actions) for lane in lanes)]), 0.0)
        self._boxes: list[Rectangle] = []
        for k, lane in enumerate(lanes):
            _write(axes, k, 0.5, lane.name, fontsize=12, fontweight="bold")
            for row, (name, color) in enumerate(zip(lane.actions, lane.colors, strict=True)):
                axes.add_patch(
                    Rectangle((k + _NAME, row + 0.16), _BOX, 0.68, facecolor="white", edgecolor=tuple(color))
                )
                axes.text(k + _NAME + 1.5 * _BOX, row + 0.5, name, fontsize=11, va="center")
            self._boxes.append(Rectangle((0, 0), _BOX, 0.68, edgecolor=INK, animated=True))
            axes.add_patch(self._boxes[-1])

    def draw(self, frame: int) -> None:
        """Fill the boxes of the actions in force."""
        for k, (lane, box) in enumerate(zip(self._lanes, self._boxes, strict=True)):
            place = int(lane.place[frame])
            if place < len(lane.actions):
                box.set_xy((k + _NAME, place + 0.16))
                box.set_facecolor(tuple(lane.colors[place].tolist()))
                self._axes.draw_artist(box)


def _bare(axes: Axes) -> Axes:
    """Return axes that only give a place to what is written in them."""
    axes.set_axis_off()
    axes.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    return axes


def _write(axes: Axes, x: float, y: float, words: str, **style: Any) -> Text:
    """Write words around a height; they have their own place, and ask the layout for none."""
    text = axes.text(x, y, words, va="center", **style)
    text.set_in_layout(False)
    return text


def _places(
    place: SubplotSpec, views: Sequence[PanelView], scene: Scene, room_in: tuple[float, float]
) -> list[SubplotSpec]:
    """Return where each view is drawn: in as many rows as let a centimetre be longest, each as wide as it needs."""
    sizes = np.array([np.subtract(*reversed(extent_of(scene, view))) for view in views])
    best: tuple[float, GridSpecFromSubplotSpec] | None = None
    for rows in range(1, len(views) + 1):
        columns = -(-len(views) // rows)
        cells = np.zeros((rows * columns, 2))
        cells[: len(views)] = sizes
        cells = cells.reshape(rows, columns, 2)
        wide, high = cells[:, :, 0].max(axis=0), cells[:, :, 1].max(axis=1)
        free = room_in[0] - columns * _TICKS_IN[0], room_in[1] - rows * _TICKS_IN[1]
        scale = min(free[0] / wide.sum(), free[1] / high.sum())
        if best is None or scale > best[0]:
            grid = place.subgridspec(rows, columns, width_ratios=wide.tolist(), height_ratios=high.tolist())
            best = float(scale), grid
    grid = place.subgridspec(1, 1) if best is None else best[1]
    return [grid[divmod(k, grid.ncols)] for k in range(len(views))]
