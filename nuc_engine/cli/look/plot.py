"""`nuc plot`: pictures of a bout."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nuc_engine.cli.terminal.output import say, say_json
from nuc_engine.cli.terminal.params import NucCommand, OutFolder, SpanParam, as_json, whose_time
from nuc_engine.machine.needs import need
from nuc_engine.recording.formats import FIGURES

if TYPE_CHECKING:
    from nuc_engine.cli.terminal.seen import BoutSummary

_ALL = ("summary", "joints", "muscles", "motors", "path")
_PROJECTIONS = ("top", "side", "front")


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc plot data/experiment_a", "the whole bout, and each of its behaviours"),
        (
            "nuc plot data/experiment_a --begin 20 --end 40 --out pictures",
            "only 20 s to 40 s, into a folder of its own",
        ),
        (
            "nuc plot data/experiment_a --what joints --what motors",
            "one figure for each joint, with thresholds and what fired, and for each motor",
        ),
        ("nuc plot data/experiment_a --what path --projection side --format pdf", "foot path from the side, for print"),
        ("nuc plot data/experiment_a --what path --joint FTi --joint foot --offset 0.3", "of the knee and of the foot"),
    ),
    output=(
        "summary_sensors, summary_states, pathstate and one pathstate_NAME for each behaviour, with the joint's name in"
        " them where the path is a joint's; joint_NAME, muscle_NAME and motor_NAME when asked for. They go into DIR"
        " itself or the folder of --out, those of a span of time with it in their names. Paths to stdout.",
        "Pictures are no part of what the manifest vouches for, so they may be added and removed.",
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--what",
    type=click.Choice((*_ALL, "all")),
    multiple=True,
    default=("summary", "path"),
    help="Which figures; repeatable.  [default: summary and path]",
)
@click.option("--begin", metavar="S", type=click.FloatRange(min=0), help="Draw from this time on, in seconds.")
@click.option("--end", metavar="S", type=click.FloatRange(min=0), help="Draw up to this time.")
@click.option("--window", "-w", metavar="A:B", type=SpanParam(), help="The same in one: --window 20:40.")
@click.option(
    "--projection",
    type=click.Choice(_PROJECTIONS),
    multiple=True,
    help="Where the foot's path is seen from; repeatable.  [default: top, with side or front for a behaviour]",
)
@click.option(
    "--joint",
    "joints",
    metavar="NAME",
    multiple=True,
    help="Whose path is drawn, by name or role (ThC, CTr, FTi), or foot; repeatable.  [default: foot]",
)
@click.option(
    "--offset",
    "offset_cm",
    metavar="CM",
    type=click.FloatRange(min=0),
    help="Distance of neighbouring lines beside the path.  [default: 1.7 % of its extent]",
)
@click.option("--out", "-o", metavar="DIR", type=OutFolder(FIGURES), help="Where to put them.")
@click.option("--format", "form", type=click.Choice(FIGURES), default="png", show_default=True)
@whose_time
@as_json
def command(
    folder: Path,
    what: tuple[str, ...],
    begin: float | None,
    end: float | None,
    window: tuple[float, float] | None,
    projection: tuple[str, ...],
    joints: tuple[str, ...],
    offset_cm: float | None,
    out: Path | None,
    form: str,
    whose_time: str,
    as_json: bool,
) -> int:
    """Draw figures of the bout in DIR: summaries, joints, muscles, motors, and path-state plots.

    DIR is a data directory of this engine or of NeuRoMod. The summaries show angles and loads, position and current,
    and the action of every joint with the muscles' activations; path-state plots show the path of the foot, or of a
    joint, with the joints' actions in their colours. Of a span too long for its cycles to be told apart, parts are
    shown. A flight has one figure, flight: its path beside its reference, errors, attitude, controls.
    """
    from nuc_engine.machine.locations import is_episode

    of_path = {"--projection": projection, "--joint": joints, "--offset": offset_cm is not None}
    idle = [option for option, given in of_path.items() if given]
    if idle and not {"path", "all"} & set(what):
        raise click.UsageError(f"{' and '.join(idle)} is about the path; add --what path")
    need(matplotlib="a figure")
    if is_episode(folder):
        if idle or set(what) != {"summary", "path"} or (begin, end, window, whose_time) != (None, None, None, "leg"):
            raise click.UsageError(
                f"{folder} is an episode, which has one figure; --what and all of its kind are for legs"
            )
        return _flight(folder, folder if out is None else out, form, as_json)
    seen = _look(folder, begin, end, window, whose_time)
    target = folder if out is None else out
    target.mkdir(parents=True, exist_ok=True)
    pictures = seen.draw(
        target,
        alone=window is not None or begin is not None or end is not None,
        what=_ALL if "all" in what else tuple(dict.fromkeys(what)),
        projections=projection,
        joints=tuple(dict.fromkeys(joints)),
        offset_cm=offset_cm,
        form=form,
    )
    if as_json:
        say_json({"ok": True, "folder": folder, "pictures": pictures, "notes": seen.bout.notes, "seen": seen.data()})
    else:
        for picture in pictures:
            say(str(picture))
    return 0


def _flight(folder: Path, target: Path, form: str, as_json: bool) -> int:
    from nuc_engine.figures.flight import draw_flight

    target.mkdir(parents=True, exist_ok=True)
    picture = draw_flight(folder, target / f"flight.{form}")
    if as_json:
        say_json({"ok": True, "folder": folder, "pictures": [picture]})
    else:
        say(str(picture))
    return 0


def _look(
    folder: Path, begin: float | None, end: float | None, window: tuple[float, float] | None, whose_time: str
) -> BoutSummary:
    """Read a bout and look at all of it, or at a span of which one end may be left open."""
    from nuc_engine.analysis.load import load_bout
    from nuc_engine.cli.terminal.seen import look_at

    if window is not None and (begin is not None or end is not None):
        raise click.UsageError("--window says both ends already; leave out --begin and --end")
    bout = load_bout(folder)
    if whose_time == "animal":
        bout = bout.in_animal_time()
    if begin is None and end is None:
        return look_at(bout, None if window is None else (window[0] * bout.second_s, window[1] * bout.second_s))
    span = (begin or 0.0) * bout.second_s, bout.end_s if end is None else end * bout.second_s
    if not span[0] < span[1]:
        told = f"from {span[0]:g} to {span[1]:g} s is no span of time; the bout ends at {bout.end_s:.4g} s"
        raise click.UsageError(told)
    return look_at(bout, span)
