"""`nuc demo`: a leg in the terminal, at real speed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from nuc_engine.cli.terminal import wallclock
from nuc_engine.cli.terminal.errors import Refused
from nuc_engine.cli.terminal.output import is_terminal, note, note_warnings, say
from nuc_engine.cli.terminal.params import Command, configuration, script
from nuc_engine.machine.needs import need

if TYPE_CHECKING:
    from nuc_engine.cli.terminal.braille import Color, Painter
    from nuc_engine.cli.terminal.live import LiveLeg

FRAME_S = 1 / 15
_LATE_S = 0.5
"""Beyond this the picture gives up catching up, rather than racing after the clock."""


@click.command(
    cls=Command,
    examples=(
        ("nuc demo", "the cockroach leg steps forward until Ctrl-C"),
        ("nuc demo lin_roach --script experiment_a", "forward; an inside turn from 20 s on; another kind from 40 s on"),
        ("nuc demo lin_stickmiddle --seconds 10", "a stick insect's leg, for ten seconds"),
    ),
    output=(
        "The leg, drawn in the terminal from the side and from above: each segment in the colour of its joint's action,"
        " the path of the foot, and strips of what each joint and the foot did last.",
        "Where stdout is no terminal, or a very small one, a line per second instead. No files.",
    ),
)
@configuration(default="lin_roach")
@script("Apply the timed changesets of this script.")
@click.option("--seconds", metavar="N", type=click.FloatRange(0, min_open=True), help="Stop after N simulated seconds.")
@click.option("--seed", metavar="N", type=click.IntRange(0), default=0, show_default=True, help="As in `nuc run`.")
def command(config: str, script: str | None, seconds: float | None, seed: int) -> int:
    """Run the emulated leg CONFIG (lin_roach by default) at real speed and watch it step, until Ctrl-C."""
    need(mujoco="an emulated leg")
    from nuc_engine.cli.terminal.legview import fits
    from nuc_engine.cli.terminal.live import LiveLeg

    leg = LiveLeg(config, script, seed)
    note_warnings(config, leg.warnings)
    size = shutil.get_terminal_size()
    drawn = is_terminal() and os.environ.get("TERM", "dumb") != "dumb"
    end_s = float("inf") if seconds is None else seconds
    try:
        if drawn and fits(size.columns, size.lines, len(leg.plan.joints)):
            _watch(leg, _title(leg, script, seed), end_s)
        else:
            _tell(leg, end_s)
    except KeyboardInterrupt:
        pass
    except Exception as error:
        _explain(error)
    view = leg.view()
    note(f"{view.time_s:.1f} s, {view.steps} steps")
    return 0


def _watch(leg: LiveLeg, title: str, end_s: float) -> None:
    from nuc_engine.cli.terminal.legview import LegView

    picture = LegView(title, _painter())
    with _screen():
        for speed in _paced(leg, FRAME_S, end_s):
            size = shutil.get_terminal_size()
            # The last column stays free: there, erasing the rest of the line would take its last character.
            lines = picture.lines(leg.view(), size.columns - 1, size.lines, speed)
            click.echo("\x1b[H" + "\x1b[K\r\n".join(lines) + "\x1b[K\x1b[J", nl=False, color=True)


def _tell(leg: LiveLeg, end_s: float) -> None:
    from nuc_engine.cli.terminal.legview import plain_line

    for _ in _paced(leg, 1.0, end_s):
        say(plain_line(leg.view()))


def _paced(leg: LiveLeg, interval_s: float, end_s: float) -> Iterator[float]:
    """Advance the leg with the clock on the wall, and yield its speed at each interval of simulated time."""
    start_s = wallclock.seconds()
    shift_s = start_s
    while leg.time_s < end_s:
        target_s = min(leg.time_s + interval_s, end_s)
        leg.advance(target_s)
        wallclock.sleep(shift_s + target_s - wallclock.seconds())
        now_s = wallclock.seconds()
        if now_s - shift_s - target_s > _LATE_S:
            shift_s = now_s - target_s
        yield leg.time_s / max(now_s - start_s, 1e-9)


@contextmanager
def _screen() -> Generator[None, None, None]:
    """Take the whole terminal, without cursor and line wrapping, and give it back as it was."""
    click.echo("\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J", nl=False, color=True)
    try:
        yield
    finally:
        click.echo("\x1b[?7h\x1b[?25h\x1b[?1049l", nl=False, color=True)


def _painter() -> Painter:
    if click.get_current_context().color is False:
        return lambda text, _color: text
    whole = os.environ.get("COLORTERM", "") in ("truecolor", "24bit")

    def paint(text: str, color: Color | None) -> str:
        if color is None or not text:
            return text
        red, green, blue = (round(255 * part) for part in color)
        code = f"2;{red};{green};{blue}" if whole else f"5;{_cube(red, green, blue)}"
        return f"\x1b[38;{code}m{text}\x1b[39m"

    return paint


def _cube(red: int, green: int, blue: int) -> int:
    """Return the nearest of the 216 colours a terminal with 256 has for sure."""
    levels = [0 if part < 48 else 1 if part < 115 else (part - 35) // 40 for part in (red, green, blue)]
    return 16 + 36 * levels[0] + 6 * levels[1] + levels[2]


def _title(leg: LiveLeg, script: str | None, seed: int) -> str:
    return f"{leg.model.name}{f', {script}' if script else ''}, seed {seed}"


def _explain(error: Exception) -> None:
    from drivers.servo import PlantFault
    from nuc_engine.control.faults import FAULTS, EngineFault

    if isinstance(error, PlantFault):
        raise Refused(f"nuc demo: {error} ({FAULTS['plant_diverged'].hint})") from error
    if isinstance(error, EngineFault):
        raise Refused(f"nuc demo: {error} ({FAULTS[error.name].hint})") from error
    raise error
