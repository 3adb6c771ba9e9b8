"""`nuc episode serve`: a server of episodes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.output import note
from nuc_engine.cli.terminal.params import NucCommand
from nuc_engine.machine.needs import need, need_linux

VIEWERS = "127.0.0.1:9870"
"""Where datagrams go, and `nuc episode watch` looks for them."""


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc episode serve", "at a socket for this user; then: nuc episode start flight_helix"),
        ("nuc episode serve --udp 127.0.0.1:9870", "with the newest state for viewers: nuc episode watch"),
        ("nuc episode serve --web 8770", "and JSON over a WebSocket, for programs that have no ZeroMQ"),
        ("nuc episode serve --command tcp://0.0.0.0:44107 --keys keys", "clients elsewhere, who must have keys"),
    ),
    output=(
        "Where it listens, and what happens, on stderr. Each episode leaves a data directory under --data.",
        "Runs until Ctrl-C or SIGTERM, which end an episode first. One episode at a time.",
    ),
)
@click.option("--data", metavar="DIR", type=click.Path(path_type=Path), default=Path("data"), show_default=True)
@click.option(
    "--command",
    "commands",
    metavar="ADDR",
    multiple=True,
    help="Where else requests are taken: tcp://HOST:PORT (with --keys) or ipc://PATH; repeatable.",
)
@click.option(
    "--udp",
    metavar="HOST:PORT",
    default="",
    help=f"Send the newest state there, on this machine, as often as the RunConfig says; viewers expect {VIEWERS}.",
)
@click.option(
    "--web", metavar="PORT", type=click.IntRange(0, 65_535), default=None, help="Take WebSockets there; 0 is any port."
)
@click.option("--keys", metavar="DIR", type=click.Path(path_type=Path), help="Keys of the server and its clients.")
def command(data: Path, commands: Sequence[str], udp: str, web: int | None, keys: Path | None) -> int:
    """Run episodes for other programs, until told to end: START, STOP, STATUS, and the newest state as datagrams.

    Simulated time is the episode's own: no viewer, and no client, changes a byte of what is logged.
    """
    need_linux("nuc episode serve", "its sockets, and a process that ends with it")
    if web is not None:
        need(websockets="--web")
    from nuc_engine.service.episode_serve import Door, serve_episodes
    from nuc_engine.service.episodes import EpisodeServerOptions
    from nuc_engine.service.errors import ServiceError

    def show(text: str) -> None:
        note(f"nuc episode serve: {text}")

    door: Door | None = None
    if web is not None:
        from nuc_engine.ui.episodes import open_socket

        door = partial(open_socket, port=web, show=show)
    options = EpisodeServerOptions(tuple(commands), data, keys, udp)
    try:
        return serve_episodes(options, environment=os.environ, show=show, door=door)
    except (ServiceError, OSError) as error:
        raise CommandFailed(f"nuc episode serve: {error}") from error
