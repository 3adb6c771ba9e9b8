"""A camera's film, frame by frame in time: mp4, avi and the like, gif, or a folder of frames."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageSequence

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.figures.movie.file import end_with_parent, ffmpeg_program, last_words

Film = NDArray[np.uint8]
"""One picture, shape (height, width, 3)."""

FILM_BOX, PAPER_GREY = (960, 720), 225
"""Width and height films are fitted into, and the grey of what they leave free."""
TIMES_S, LEAD_S = 0.001, 2.0
"""How coarse the times in a film may be (mkv counts ms), and how long before a moment decoding starts."""
FRAME_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff")


class Camera(Protocol):
    """A film that can be looked at, forwards."""

    def at(self, time_s: float) -> Film | None:
        """Return the picture that is shown at a time since the film's beginning; None before it begins and after it."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


def open_camera(path: Path, begin_s: float, rate: float, folder_fps: float) -> Camera:
    """Open a film that will be looked at from `begin_s` on, `rate` times a second of it.

    A folder of frames has `folder_fps` frames a second.

    Raises AnalysisError when it cannot be read, or holds no picture.
    """
    if path.is_dir():
        return _open_folder(path, folder_fps)
    if not path.is_file():
        raise AnalysisError(f"{path}: no such camera file, expected a film (mp4, avi, gif, ...) or a folder of frames")
    if path.suffix.lower() == ".gif":
        return _open_gif(path)
    return _Video(path, begin_s, rate)


class _Stills:
    """Pictures one after the other, each shown until its end."""

    def __init__(self, ends_s: Sequence[float], picture: Callable[[int], Film]) -> None:
        self._ends_s, self._picture = ends_s, functools.lru_cache(1)(picture)

    def at(self, time_s: float) -> Film | None:
        index = bisect.bisect_right(self._ends_s, time_s + 1e-6)
        return self._picture(index) if time_s >= 0 and index < len(self._ends_s) else None

    def close(self) -> None:
        self._ends_s = ()


def _open_folder(path: Path, fps: float) -> _Stills:
    """Return the pictures of a folder in the order of their names."""
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in FRAME_ENDINGS)
    if not files:
        raise AnalysisError(f"{path}: no pictures in this folder, expected files in {' '.join(FRAME_ENDINGS)}")
    return _Stills([k / fps for k in range(1, len(files) + 1)], lambda index: _open_picture(files[index]))


def _open_gif(path: Path) -> _Stills:
    """Return the pictures of a gif, which may each take their own time."""
    frames: list[Film] = []
    lasting_s: list[float] = []
    try:
        with Image.open(path) as image:
            for frame in ImageSequence.Iterator(image):
                frames.append(np.asarray(frame.convert("RGB")))
                lasting_s.append(float(frame.info.get("duration", 100)) / 1000.0)
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read as a gif ({error})") from error
    return _Stills(list(itertools.accumulate(lasting_s)), frames.__getitem__)


class _Video:
    """Anything ffmpeg reads, from a moment on, `rate` times a second, fitted into a box and paper around it."""

    def __init__(self, path: Path, begin_s: float, rate: float) -> None:
        width, height = FILM_BOX
        begin_s += max(0, math.ceil(-begin_s * rate - 1e-3)) / rate
        # Rounded up, and with the frames before it, so that each moment gets the last frame that had begun by then.
        counted = f"settb=AVTB,setpts=PTS-{max(begin_s, 0.0) + TIMES_S:.6f}/TB"
        timed = f"{counted},fps={rate:.6f}:start_time=0:round=up"
        fit = f"{timed},scale={width}:{height}:force_original_aspect_ratio=decrease"
        paper = f"pad={width}:{height}:(ow-iw)/2:(oh-ih)/2:0x{PAPER_GREY:02x}{PAPER_GREY:02x}{PAPER_GREY:02x}"
        sought = ("-noaccurate_seek", "-ss", f"{begin_s - LEAD_S:.6f}") if begin_s > LEAD_S else ()
        source = (*sought, "-copyts", "-start_at_zero", "-i", str(path))
        raw = ("-vf", f"{fit},{paper}", "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
        words = [ffmpeg_program(), "-v", "error", "-nostdin", *source, *raw]
        self._begin_s, self._rate, self._path = begin_s, rate, path
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close)
        self._decoder = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
            preexec_fn=end_with_parent,  # noqa: PLW1509  it calls the kernel, and nothing else
        )
        self._index, self._shown = 0, self._next()
        if self._shown is None and self._decoder.wait() != 0:
            said = last_words(self._errors)
            self.close()
            raise AnalysisError(f"{path}: cannot be read as a film ({said})")

    def at(self, time_s: float) -> Film | None:
        wanted = int(np.floor((time_s - self._begin_s) * self._rate + 1e-3))
        if wanted < 0:
            return None
        while self._index < wanted and self._shown is not None:
            self._index += 1
            self._shown = self._next()
        return self._shown

    def close(self) -> None:
        self._decoder.kill()
        if self._decoder.stdout is not None:
            self._decoder.stdout.close()
        self._decoder.wait()
        self._errors.close()

    def _next(self) -> Film | None:
        width, height = FILM_BOX
        pipe = self._decoder.stdout
        data = b"" if pipe is None else pipe.read(3 * width * height)
        return (
            np.frombuffer(data, dtype=np.uint8).reshape(height, width, 3) if len(data) == 3 * width * height else None
        )


def _open_picture(path: Path) -> Film:
    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("RGB"))
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read as a picture ({error})") from error
