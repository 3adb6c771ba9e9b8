"""`nuc episode start`: begin an episode."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from nuc_engine.cli.bout.episode import number
from nuc_engine.cli.episode.asked import ask, where
from nuc_engine.cli.terminal.output import say, say_json
from nuc_engine.cli.terminal.params import NucCommand, Pair, as_json
from nuc_engine.messages.episodes import MOST_SPEED, StartEpisodeRequest


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc episode start flight_helix", "as fast as possible, into a directory named by the time"),
        ("nuc episode start flight_random --speed 1 --set seed=7", "in real time, another one"),
        ("nuc episode start my_flight --speed 0.1 --no-log", "a folder of one's own, ten times slower, kept nowhere"),
    ),
    output=("Where its data are, once the first step has been made.",),
)
@click.argument("config", metavar="CONFIG")
@click.option(
    "--speed",
    metavar="X",
    type=click.FloatRange(0, MOST_SPEED),
    default=0.0,
    help="Times real time; 0 is as fast as possible.  [default: 0]",
)
@click.option("--set", "changes", metavar="KEY=NUMBER", type=Pair(), multiple=True, help="As in `nuc run`; repeatable.")
@click.option("--out", "-o", metavar="NAME", help="Name of its directory in the server's data folder.")
@click.option("--no-log", is_flag=True, help="Leave no data.")
@where
@as_json
def command(
    config: str,
    speed: float,
    changes: Sequence[tuple[str, str]],
    out: str | None,
    no_log: bool,
    address: str,
    keys: Path | None,
    as_json: bool,
) -> int:
    """Begin an episode of CONFIG: a name that the server knows, or a folder with a run.toml, which is sent to it."""
    from nuc_engine.machine.locations import RUN_FILE

    folder = Path(config)
    text = (folder / RUN_FILE).read_text(encoding="utf-8") if (folder / RUN_FILE).is_file() else None
    name = folder.resolve().name if text is not None else config
    values = {key: number(key, value) for key, value in changes}
    request = StartEpisodeRequest(name, text, values or None, speed, out, not no_log)
    begun = ask(address, keys, request)
    if as_json:
        say_json({"ok": True, "episode": begun.episode, "folder": begun.folder, "of_s": begun.of_s})
    else:
        say(f"{'episode':<10}{begun.episode}: {name}, {begun.of_s:g} s")
        if begun.folder:
            say(f"{'data':<10}{begun.folder}")
    return 0
