"""One request of a client of a server of episodes, and how its answer is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.leaving import when_ended
from nuc_engine.cli.terminal.output import say, say_json
from nuc_engine.cli.terminal.person import own_name
from nuc_engine.messages.episodes import EpisodeStatus
from nuc_engine.messages.requests import Request

T = TypeVar("T")
_F = TypeVar("_F", bound=Callable[..., Any])


def where(function: _F) -> _F:
    """Declare the options that say which server, and as whom."""
    address = click.option("--address", "-a", metavar="ADDR", default="", help="Which server.  [default: the one here]")
    keys = click.option(
        "--keys", metavar="DIR", type=click.Path(path_type=Path), help="One's own keys, for one elsewhere."
    )
    return address(keys(function))


def ask(address: str, keys: Path | None, request: Request[T]) -> T:
    """Ask one thing. Raises CommandFailed with what the server, or its client, says."""
    from nuc_engine.client import Client, ClientError, load_keys
    from nuc_engine.client.address import find_episode_server

    # One command after another is the same client: what began an episode ends it.
    identity = f"nuc episode {own_name()}".encode()[:200]
    try:
        with when_ended():
            pair = None if keys is None else load_keys(keys, "")
            with Client(address or find_episode_server(), name=own_name(), keys=pair, identity=identity) as client:
                return client.do(request)
    except ClientError as error:
        raise CommandFailed(*(f"nuc episode: {line}" for line in str(error).splitlines())) from error


def tell(status: EpisodeStatus, *, as_json: bool) -> int:
    """Tell a status, and return the exit status: 1 where an episode has failed."""
    import msgspec

    good = status.state != "failed"
    if as_json:
        say_json({"ok": good, **msgspec.to_builtins(status)})
    elif status.state == "idle":
        say("idle: nothing was asked for yet")
    else:
        pace = f", {status.speed:g} x real time" if status.speed else ""
        say(f"{status.state:<10}episode {status.episode}, {status.name}: {status.t_s:g} of {status.of_s:g} s{pace}")
        for name, text in (("reason", status.reason), ("data", status.folder)):
            if text:
                say(f"{name:<10}{text}")
        if status.late:
            say(f"{'late':<10}{status.late} steps")
    return 0 if good else 1
