"""`nuc episode stop`: end what runs."""

from __future__ import annotations

from pathlib import Path

import click

from nuc_engine.cli.episode.asked import ask, tell, where
from nuc_engine.cli.terminal.params import NucCommand, as_json
from nuc_engine.messages.episodes import StopEpisodeRequest


@click.command(
    cls=NucCommand,
    examples=(("nuc episode stop", "what was logged until then is kept"),),
    output=("The status, once it has ended.",),
)
@where
@as_json
def command(address: str, keys: Path | None, as_json: bool) -> int:
    """End the episode that runs."""
    return tell(ask(address, keys, StopEpisodeRequest()), as_json=as_json)
