"""`nuc plot`: pictures of a bout."""

from __future__ import annotations

from pathlib import Path

import click

from nuc_engine.cli.output import say, say_json
from nuc_engine.cli.params import Command, as_json


class _Span(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    name = "a:b"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float]:
        """Return begin and end in seconds, or fail."""
        begin, colon, end = str(value).partition(":")
        try:
            span = float(begin), float(end)
        except ValueError:
            colon, span = "", (0.0, 0.0)
        if not colon or not 0 <= span[0] < span[1] < float("inf"):
            self.fail(f"{value!r} is no span of time; expected BEGIN:END in seconds, such as 20:40", param, ctx)
        return span


@click.command(
    cls=Command,
    examples=(
        ("nuc plot data/experiment_a", "the whole bout, and each of its behaviours"),
        ("nuc plot data/experiment_a --window 20:40 --out pictures", "only 20 s to 40 s, into a folder of its own"),
    ),
    output=(
        "summary_sensors.png, summary_states.png, pathstate.png and one pathstate_NAME.png for each behaviour, into DIR"
        " itself or the folder of --out; with --window, three pictures with the span in their names. Paths to stdout.",
        "Pictures are no part of what the manifest vouches for, so they may be added and removed.",
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", "-o", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help="Where to put them.")
@click.option("--window", "-w", metavar="A:B", type=_Span(), help="Only this span of time, in seconds.")
@as_json
def command(folder: Path, out: Path | None, window: tuple[float, float] | None, as_json: bool) -> int:
    """Draw the two summary figures and the path-state plots of the bout in DIR.

    DIR is a data directory of this engine or of NeuRoMod. The first figure shows angles and loads, position and
    current; the second the action of every joint and the muscles' activations; path-state plots show the foot's path
    with the joints' actions in their colours.
    """
    from nuc_engine.cli.seen import look

    seen = look(folder, window)
    target = folder if out is None else out
    target.mkdir(parents=True, exist_ok=True)
    pictures = seen.draw(target, alone=window is not None)
    if as_json:
        say_json({"ok": True, "folder": folder, "pictures": pictures, "notes": seen.bout.notes, "seen": seen.data()})
    else:
        for picture in pictures:
            say(str(picture))
    return 0
