"""`nuc episode status`: what runs, how far it is, what became of it."""

from __future__ import annotations

from pathlib import Path

import click

from nuc_engine.cli.episode.asked import ask, tell, where
from nuc_engine.cli.terminal.params import NucCommand, as_json
from nuc_engine.messages.episodes import EpisodeStatusRequest


@click.command(
    cls=NucCommand,
    examples=(("nuc episode status --json", "all of it: clients, columns, datagrams too"),),
    output=("idle, running, done or failed, how far, and why. Exit status 1 where the newest episode has failed.",),
)
@where
@as_json
def command(address: str, keys: Path | None, as_json: bool) -> int:
    """Say what the server runs, how far it is, and what became of it."""
    return tell(ask(address, keys, EpisodeStatusRequest()), as_json=as_json)
