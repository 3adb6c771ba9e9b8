"""`nuc movie`: the leg of a bout as a movie."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from nuc_engine.cli.terminal.leaving import interrupt, when_ended
from nuc_engine.cli.terminal.output import note, say, say_json
from nuc_engine.cli.terminal.params import NucCommand, OutFile, as_json
from nuc_engine.machine.needs import need
from nuc_engine.recording.formats import MOVIES

VIEW_NAMES = ("side", "front", "top", "3d")


class _Views(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    name = "a,b"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Return the names of views, or fail."""
        names = tuple(value) if isinstance(value, tuple) else tuple(part.strip() for part in str(value).split(","))  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        if not 1 <= len(names) <= 4 or any(name not in VIEW_NAMES for name in names):
            self.fail(f"{value!r}; expected one to four of {', '.join(VIEW_NAMES)}, joined by commas", param, ctx)
        return names


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc movie data/mine", "the whole bout: in real time, or in 20 s if it is longer than 10 s"),
        ("nuc movie data/mine --begin 15 --end 25 --speed 0.25", "ten seconds at a quarter of their speed"),
        ("nuc movie data/mine --end 5 --views side,3d --out leg.gif", "two views, as a gif"),
        (
            "nuc movie data/mine --camera film.mp4 --offset 3.2",
            "beside the film of a camera started 3.2 s earlier",
        ),
    ),
    output=(
        "A movie (mp4, mkv, mov, avi or gif, by the name's ending), by default movie.mp4 in DIR; its path to stdout. A"
        " file of that name is replaced once the new one is whole.",
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--begin", metavar="T", type=click.FloatRange(0), default=0.0, show_default=True, help="First second shown."
)
@click.option("--end", metavar="T", type=click.FloatRange(0), help="Last second shown.  [default: the bout's end]")
@click.option(
    "--speed",
    metavar="X",
    type=click.FloatRange(0, min_open=True),
    help="1 is real time.  [default: real time up to 10 s of the bout, of a longer one what makes 20 s of movie]",
)
@click.option(
    "--fps", metavar="N", type=click.FloatRange(1, 240), default=25.0, show_default=True, help="Frames a second."
)
@click.option(
    "--views",
    metavar="A,B,..",
    type=_Views(),
    default="side,front,top,3d",
    show_default=True,
    help=f"Up to four of {', '.join(VIEW_NAMES)}.",
)
@click.option(
    "--camera", metavar="FILE", type=click.Path(exists=True, path_type=Path), help="A film, or a folder of frames."
)
@click.option(
    "--offset",
    metavar="S",
    type=float,
    default=0.0,
    show_default=True,
    help="How many seconds before the bout's start the camera was started.",
)
@click.option(
    "--camera-fps",
    metavar="N",
    type=click.FloatRange(0, min_open=True),
    default=25.0,
    show_default=True,
    help="Frames a second of a folder of frames.",
)
@click.option("--out", "-o", metavar="FILE", type=OutFile(MOVIES), help="Where to put it.")
@as_json
def command(
    folder: Path,
    begin: float,
    end: float | None,
    speed: float | None,
    fps: float,
    views: tuple[str, ...],
    camera: Path | None,
    offset: float,
    camera_fps: float,
    out: Path | None,
    as_json: bool,
) -> int:
    """Make a movie of the leg of the bout in DIR.

    Each segment has the colour of its joint's action, as has the foot's path; the foot stands on the ground where that
    was recorded. What the leg was seen to do, and what the script changed, is written in it. A camera's film runs
    beside it in sync.
    """
    if end is not None and not begin < end:
        raise click.UsageError(f"from {begin:g} to {end:g} s is no span of time")
    need(matplotlib="a movie", PIL="a movie")
    from nuc_engine.analysis.load import load_bout
    from nuc_engine.figures.movie.make import MovieSpec, make_movie

    target = folder / "movie.mp4" if out is None else out
    spec = MovieSpec(begin, end, speed, fps, views, camera, offset, camera_fps)
    bout = load_bout(folder)
    remarks: list[str] = []
    with when_ended(interrupt), _Bar() as bar:
        frames = make_movie(bout, spec, target, bar, remarks.append)
    for remark in remarks:
        note(f"note: {remark}")
    seconds = frames / fps
    if as_json:
        say_json({"ok": True, "file": target, "frames": frames, "seconds": seconds, "bytes": target.stat().st_size})
    else:
        say(f"{target}: {seconds:.1f} s, {frames} frames, {target.stat().st_size / 1e6:.1f} MB")
    return 0


class _Bar:
    """How many frames are drawn, on stderr."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __enter__(self) -> _Bar:
        return self

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None:
            self._bar = click.progressbar(length=total, label="frames", file=sys.stderr)
            self._bar.render_progress()
        self._bar.update(done - self._bar.pos)

    def __exit__(self, *what: object) -> None:
        if self._bar is not None:
            self._bar.render_finish()
