"""`nuc episode`: episodes of RunConfigs that a server runs. Every command has a module of its own.

asked        one request of a client of the server, and how its answer is told
serve        the server: START, STOP, STATUS, and the newest state as datagrams
start        begin an episode
status       what runs, how far it is, what became of it
stop         end what runs
watch        an episode in the terminal, from its datagrams alone
watchscreen  the screen of `watch`
watchview    what `watch` shows, as text
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import click

from nuc_engine.cli.terminal.listed import Listed
from nuc_engine.cli.terminal.params import NucCommand

COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "serve": ("episode.serve", "the server: until it is told to end"),
        "start": ("episode.start", "begin an episode of a RunConfig"),
        "status": ("episode.status", "what runs, how far it is, what became of it"),
        "stop": ("episode.stop", "end what runs"),
        "watch": ("episode.watch", "look on, from the newest state alone"),
    }
)
"""Every command, the module it is in, and what it is for."""


class _Group(NucCommand, Listed):
    """A group of commands with examples of its own, each loaded when it is asked for."""


@click.group(
    cls=_Group,
    table=COMMANDS,
    examples=(
        ("nuc episode serve --udp 127.0.0.1:9870", "a server, with datagrams for who looks on"),
        ("nuc episode watch", "in another terminal: whatever it flies"),
        ("nuc episode start flight_helix --speed 1", "in a third: at the speed of real time"),
        ("nuc episode stop", "that was enough"),
    ),
    output=(
        "Results to stdout, with --json as one JSON object; complaints to stderr.",
        "Exit status 1 when the server refuses or does not answer. docs/nuc.md: its requests, over ZeroMQ and over a"
        " WebSocket, and the datagrams.",
    ),
)
def command() -> None:
    """Episodes that a server runs: begun, ended and watched from other programs, at any speed.

    One file gives one episode, with the same bytes as `nuc run`. Who only needs those needs no server.
    """
