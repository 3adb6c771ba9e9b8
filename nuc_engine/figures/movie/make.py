"""The leg as a movie: segments in the colours of their joints' actions, and a camera's film beside it in sync.

Source: appendix 10.3, section 5.3.3 (figure 5-4). The leg is computed from the joint angles, with the plant's own
geometry where the data directory has one; the foot's path and its contact are the plant's where they were recorded.
Needs matplotlib and, for anything but gif, imageio-ffmpeg (the extra `lab`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.figures.canvas import house_style
from nuc_engine.figures.movie.camera import Camera, Film, open_camera
from nuc_engine.figures.movie.file import Picture, write_movie
from nuc_engine.figures.movie.panel import VIEWS
from nuc_engine.figures.movie.renderer import FrameRenderer
from nuc_engine.figures.movie.scene import scene_of
from nuc_engine.recording.formats import MOVIES, ending

SHORTEST_S = 0.01
REAL_TIME_S, FITTED_S = 10.0, 20.0
"""Up to so many seconds of a bout are shown in real time; more of it as a movie of so many seconds."""
_BLURRED_S = 0.15
"""Time between two frames above which a leg's steps are no more than a few pictures each."""
MAX_FRAMES = 200_000
HEIGHTS = {"gif": 480, "mp4": 720, "mkv": 720, "avi": 720, "mov": 720}
"""Height of the picture in pixels, by the file's ending: a gif of full size would be very large."""


@dataclass(frozen=True, slots=True)
class MovieSpec:
    """What is shown: the bout from `begin_s` to `end_s` (None: to its end), `speed` times as fast as it was.

    Without a speed, `REAL_TIME_S` and `FITTED_S` say how fast. `views` are up to four of `VIEWS`. At the bout's time t
    the camera's film is shown at t + `offset_s` from its own beginning; a folder of frames has `camera_fps`. The foot's
    path of the last `trail_s` is drawn.
    """

    begin_s: float = 0.0
    end_s: float | None = None
    speed: float | None = None
    fps: float = 25.0
    views: tuple[str, ...] = ("side", "front", "top", "3d")
    camera: Path | None = None
    offset_s: float = 0.0
    camera_fps: float = 25.0
    trail_s: float = 1.5


FrameProgress = Callable[[int, int], object]
"""Told how many frames are drawn, and of how many."""


Tell = Callable[[str], object]
"""Told what is no error, but hardly what was meant."""


def make_movie(
    bout: Bout, spec: MovieSpec, out: Path, progress: FrameProgress | None = None, tell: Tell | None = None
) -> int:
    """Write a movie and return its number of frames.

    `tell` is told when the camera's film shows nothing of all that. The file appears only when it is whole.

    Raises AnalysisError for what can not be shown (no angles in the span, unknown views, a camera file that can not be
    read), WrongEnding, Missing, and OSError as open does.
    """
    end_s = _check(bout, spec, out)
    speed, count = speed_of(spec, end_s), frame_count(spec, end_s)
    times = [spec.begin_s + k * speed / spec.fps for k in range(count)]
    kind = ending(out, MOVIES)
    first, rate = spec.begin_s + spec.offset_s, spec.fps / speed
    camera = None if spec.camera is None else open_camera(spec.camera, first, rate, spec.camera_fps)
    try:
        # Where frames are farther apart than the trail is long, it shows all that was between them.
        scene = scene_of(bout, times, max(spec.trail_s, 1.0 / rate))
        with house_style():
            stage = FrameRenderer(scene, spec.views, speed, HEIGHTS[kind], with_camera=camera is not None)
            watched = None if camera is None else _Watched(camera)
            write_movie(out, _pictures(stage, watched, times, spec.offset_s, progress), stage.size, spec.fps)
    finally:
        if camera is not None:
            camera.close()
    if spec.speed is None and 1.0 / rate > _BLURRED_S and tell is not None:
        tell(
            f"{speed:.3g} x real time, so steps can not be followed; --begin and --end choose a part of the bout,"
            " --speed another speed"
        )
    if watched is not None and not watched.seen and tell is not None:
        tell(
            f"{spec.camera}: has no pictures from {first:g} to {times[-1] + spec.offset_s:g} s after its beginning,"
            f" where the bout's {spec.begin_s:g} to {times[-1]:g} s are with this offset"
        )
    return count


def speed_of(spec: MovieSpec, end_s: float) -> float:
    """Return how many times as fast as it was a bout up to `end_s` is shown."""
    length_s = end_s - spec.begin_s
    return spec.speed or (1.0 if length_s <= REAL_TIME_S else length_s / FITTED_S)


def frame_count(spec: MovieSpec, end_s: float) -> int:
    """Return how many frames a movie up to `end_s` has."""
    return max(1, math.floor((end_s - spec.begin_s) / speed_of(spec, end_s) * spec.fps + 1e-6))


class _Watched:
    """A camera, and whether it had anything to show."""

    def __init__(self, camera: Camera) -> None:
        self._camera, self.seen = camera, False

    def at(self, time_s: float) -> Film | None:
        film = self._camera.at(time_s)
        self.seen = self.seen or film is not None
        return film


def _pictures(
    stage: FrameRenderer, camera: _Watched | None, times: list[float], offset_s: float, progress: FrameProgress | None
) -> Iterator[Picture]:
    for k, time_s in enumerate(times):
        film = None if camera is None else camera.at(time_s + offset_s)
        yield stage.picture(k, film)
        if progress is not None:
            progress(k + 1, len(times))


def _check(bout: Bout, spec: MovieSpec, out: Path) -> float:
    """Return where the movie ends, or say what can not be."""
    ending(out, MOVIES)
    unknown = [name for name in spec.views if name not in VIEWS]
    if unknown or not 1 <= len(spec.views) <= 4:
        raise AnalysisError(f"views {', '.join(spec.views) or 'none'}: expected one to four of {', '.join(VIEWS)}")
    if not (spec.speed is None or 0 < spec.speed < math.inf) or not 0 < spec.fps <= 240:
        raise AnalysisError(
            f"speed {spec.speed} at {spec.fps:g} frames/s: expected a speed above 0, up to 240 frames/s"
        )
    end_s = min(bout.end_s, math.inf if spec.end_s is None else spec.end_s)
    part = bout.sensors.between(spec.begin_s, end_s)
    if end_s - spec.begin_s < SHORTEST_S or not len(part):
        raise AnalysisError(
            f"{bout.folder}: no angles were recorded from {spec.begin_s:g} to {end_s:g} s;"
            f" the bout ends at {bout.end_s:.4g} s"
        )
    if frame_count(spec, end_s) > MAX_FRAMES:
        raise AnalysisError(f"the movie would have more than {MAX_FRAMES} frames; show less of it, or faster")
    return end_s
