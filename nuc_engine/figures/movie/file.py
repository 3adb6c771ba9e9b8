"""Movie files: mp4 and the like through ffmpeg, gif through Pillow.

A file appears under its name only when it is whole.
"""

from __future__ import annotations

import ctypes
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.machine.needs import missing
from nuc_engine.recording.formats import MOVIES, appearing, ending

Picture = NDArray[np.uint8]
"""One frame, shape (height, width, 3), or 4 with an opacity that is not looked at."""

_PR_SET_PDEATHSIG = 1
_QUALITY = ("-c:v", "libx264", "-crf", "19", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-movflags", "+faststart")
"""Thin coloured lines have to stay readable; every player knows this pixel format."""
_FORMATS = {"mkv": "matroska"}
"""What ffmpeg calls otherwise than files end."""


def ffmpeg_program() -> str:
    """Return the path of ffmpeg: the one of imageio-ffmpeg, else the system's. Raises Missing."""
    try:
        import imageio_ffmpeg

        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError) as error:
        found = shutil.which("ffmpeg")
        if found is None:
            raise missing(imageio_ffmpeg="a movie other than gif") from error
        return found


def end_with_parent() -> None:
    """Let this process be killed when its parent ends, where the kernel can: ffmpeg may wait for ever on its pipes."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def last_words(errors: IO[bytes]) -> str:
    """Return the last line a program wrote to a file of its errors."""
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else "no reason given"


def write_movie(out: Path, pictures: Iterator[Picture], size: tuple[int, int], fps: float) -> None:
    """Write pictures of `size` (width, height, both even) as a movie, in the format its file's name ends in.

    Whatever interrupts it, an older file of this name stays what it was, and none is left half written. Raises
    WrongEnding, Missing without ffmpeg, AnalysisError when it gives up, OSError as open does.
    """
    kind = ending(out, MOVIES)
    with appearing(out) as part:
        if kind == "gif":
            _write_gif(part, pictures, fps)
            return
        said = _write_video(part, kind, pictures, size, fps)
        if said:
            raise AnalysisError(f"{out.name}: the encoder gave up: {said}")


def _write_video(path: Path, kind: str, pictures: Iterator[Picture], size: tuple[int, int], fps: float) -> str:
    """Encode; return what the encoder said if it gave up."""
    program = ffmpeg_program()
    path.touch()  # Says at once, and in plain words, when the folder is not there or may not be written to.
    first = next(pictures)
    form = "rgb0" if first.shape[2] == 4 else "rgb24"
    raw = ("-f", "rawvideo", "-pix_fmt", form, "-s", f"{size[0]}x{size[1]}", "-r", f"{fps:.6f}", "-i", "-")
    # An avi has no times of its own: frames that depend on later ones would be shown late.
    ordered = ("-bf", "0") if kind == "avi" else ()
    words = [program, "-v", "error", "-y", *raw, *_QUALITY, *ordered, "-f", _FORMATS.get(kind, kind), str(path)]
    with tempfile.TemporaryFile() as errors:
        # In a session of its own: Ctrl-C reaches this program alone, which then ends the other.
        with subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            preexec_fn=end_with_parent,  # noqa: PLW1509  it calls the kernel, and nothing else
        ) as encoder:
            try:
                _feed(encoder, chain([first], pictures))
            except BaseException:
                encoder.kill()
                raise
        return last_words(errors) if encoder.returncode != 0 else ""


def _feed(encoder: subprocess.Popen[bytes], pictures: Iterable[Picture]) -> None:
    """Give an encoder all pictures, and the end; one that has given up takes no more."""
    if encoder.stdin is None:
        return
    try:
        for picture in pictures:
            encoder.stdin.write(np.ascontiguousarray(picture).data)
        encoder.stdin.close()
    except BrokenPipeError:
        encoder.wait()


def _write_gif(path: Path, pictures: Iterator[Picture], fps: float) -> None:
    """Write a gif; its times are whole hundredths of a second, so frames take turns in being a hundredth longer."""
    images = (Image.fromarray(picture[:, :, :3]) for picture in pictures)
    first = next(images).quantize(255, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    rest = (image.quantize(palette=first, dither=Image.Dither.NONE) for image in images)
    frames = [first, *rest]
    edges = [round(100.0 * k / fps) for k in range(len(frames) + 1)]
    durations = [max(2, b - a) * 10 for a, b in zip(edges, islice(edges, 1, None), strict=False)]
    first.save(
        path,
        format="GIF",
        save_all=True,
        append_images=frames[1:],
        duration=durations,
        loop=0,
        optimize=False,
        disposal=1,
    )
