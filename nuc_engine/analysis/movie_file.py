"""Movie files: mp4 and the like through ffmpeg, gif through Pillow.

A file appears under its name only when it is whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from nuc_engine.analysis.errors import AnalysisError

Picture = NDArray[np.uint8]
"""One frame, shape (height, width, 3)."""

ENDINGS = ("mp4", "mkv", "mov", "avi", "gif")
QUALITY = 7
"""0 to 10, of the video encoder: thin coloured lines have to stay readable."""


def write_movie(out: Path, pictures: Iterator[Picture], size: tuple[int, int], fps: float, count: int) -> None:
    """Write pictures of `size` (width, height) as a movie, in the format its file's name ends in.

    Whatever interrupts it, an older file of this name stays what it was, and none is left half written. Raises
    AnalysisError when the encoder is missing or gives up, OSError as open does.
    """
    part = out.with_name(f".{out.stem}.part{out.suffix.lower()}")
    try:
        if out.suffix.lower() == ".gif":
            _write_gif(part, pictures, fps)
        else:
            _write_video(part, pictures, size, fps, count)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


def _write_video(path: Path, pictures: Iterator[Picture], size: tuple[int, int], fps: float, count: int) -> None:
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise AnalysisError("movies other than gif need imageio-ffmpeg: pip install nuc-engine[movie]") from error
    path.touch()  # Says at once, and in plain words, when the folder is not there or may not be written to.
    writing: Any = imageio_ffmpeg.write_frames
    writer = writing(str(path), size, fps=fps, quality=QUALITY, macro_block_size=2, ffmpeg_log_level="error")
    written = 0
    try:
        writer.send(None)
        for picture in pictures:
            writer.send(np.ascontiguousarray(picture))
            written += 1
    except OSError as error:
        raise AnalysisError(f"{path.name}: the encoder gave up after {written} of {count} frames ({error})") from error
    finally:
        writer.close()


def _write_gif(path: Path, pictures: Iterator[Picture], fps: float) -> None:
    """Write a gif; its times are whole hundredths of a second, so frames take turns in being a hundredth longer."""
    first = Image.fromarray(next(pictures)).quantize(255, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    rest = (Image.fromarray(picture).quantize(palette=first, dither=Image.Dither.NONE) for picture in pictures)
    frames = [first, *rest]
    edges = [round(100.0 * k / fps) for k in range(len(frames) + 1)]
    durations = [max(2, b - a) * 10 for a, b in zip(edges, islice(edges, 1, None), strict=False)]
    first.save(path, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=False, disposal=1)
