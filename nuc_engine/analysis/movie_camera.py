"""A camera's film, frame by frame in time: mp4, avi and the like, gif, or a folder of frames."""

from __future__ import annotations

import bisect
from collections.abc import Generator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageSequence

from nuc_engine.analysis.errors import AnalysisError

Film = NDArray[np.uint8]
"""One picture, shape (height, width, 3)."""

FRAME_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff")


class Camera(Protocol):
    """A film that can be looked at, forwards."""

    def at(self, time_s: float) -> Film | None:
        """Return the picture that is shown at a time since the film's beginning; None before it begins and after it."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


def open_camera(path: Path, begin_s: float, folder_fps: float) -> Camera:
    """Open a film that will be looked at from `begin_s` on; a folder of frames has `folder_fps` frames a second.

    Raises AnalysisError when it can not be read, or holds no picture.
    """
    if path.is_dir():
        return _Folder(path, folder_fps)
    if not path.is_file():
        raise AnalysisError(f"{path}: no such camera file, expected a film (mp4, avi, gif, ...) or a folder of frames")
    if path.suffix.lower() == ".gif":
        return _Gif(path)
    return _Video(path, max(begin_s, 0.0))


class _Folder:
    """Pictures in the order of their names."""

    def __init__(self, path: Path, fps: float) -> None:
        self._files = sorted(file for file in path.iterdir() if file.suffix.lower() in FRAME_ENDINGS)
        if not self._files:
            raise AnalysisError(f"{path}: no pictures in this folder, expected files in {' '.join(FRAME_ENDINGS)}")
        self._fps = fps
        self._shown: tuple[int, Film] | None = None

    def at(self, time_s: float) -> Film | None:
        index = int(np.floor(time_s * self._fps + 1e-6))
        if not 0 <= index < len(self._files):
            return None
        if self._shown is None or self._shown[0] != index:
            self._shown = index, _open_picture(self._files[index])
        return self._shown[1]

    def close(self) -> None:
        self._shown = None


class _Gif:
    """A gif, whose frames may each take their own time."""

    def __init__(self, path: Path) -> None:
        self._frames: list[Film] = []
        self._ends_s: list[float] = []
        try:
            with Image.open(path) as image:
                for frame in ImageSequence.Iterator(image):
                    self._frames.append(np.asarray(frame.convert("RGB")))
                    last = self._ends_s[-1] if self._ends_s else 0.0
                    self._ends_s.append(last + float(frame.info.get("duration", 100)) / 1000.0)
        except OSError as error:
            raise AnalysisError(f"{path}: can not be read as a gif ({error})") from error

    def at(self, time_s: float) -> Film | None:
        index = bisect.bisect_right(self._ends_s, time_s + 1e-6)
        return self._frames[index] if time_s >= 0 and index < len(self._frames) else None

    def close(self) -> None:
        self._frames.clear()
        self._ends_s.clear()


class _Video:
    """Anything ffmpeg reads, from a moment on."""

    def __init__(self, path: Path, begin_s: float) -> None:
        try:
            import imageio_ffmpeg
        except ImportError as error:
            raise AnalysisError("camera files need imageio-ffmpeg: pip install nuc-engine[movie]") from error
        reading: Any = imageio_ffmpeg.read_frames
        self._frames: Generator[Any, None, None] = reading(str(path), input_params=["-ss", f"{begin_s:.6f}"])
        try:
            about: dict[str, Any] = next(self._frames)
        except (OSError, RuntimeError, StopIteration) as error:
            last = (str(error).strip().splitlines() or ["nothing in it"])[-1]
            raise AnalysisError(f"{path}: can not be read as a film ({last})") from error
        self._size = int(about["size"][0]), int(about["size"][1])
        self._fps = float(about["fps"])
        self._begin_s = begin_s
        self._index, self._shown = -1, None

    def at(self, time_s: float) -> Film | None:
        wanted = int(np.floor((time_s - self._begin_s) * self._fps + 1e-6))
        if wanted < 0:
            return None
        while self._index < wanted:
            data = next(self._frames, None)
            self._index += 1
            self._shown = None if data is None else self._picture(data)
            if data is None:
                self._index = max(self._index, wanted)
        return self._shown

    def close(self) -> None:
        self._frames.close()

    def _picture(self, data: bytes) -> Film:
        width, height = self._size
        return np.frombuffer(data, dtype=np.uint8).reshape(height, width, 3)

    _shown: Film | None


def _open_picture(path: Path) -> Film:
    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("RGB"))
    except OSError as error:
        raise AnalysisError(f"{path}: can not be read as a picture ({error})") from error
