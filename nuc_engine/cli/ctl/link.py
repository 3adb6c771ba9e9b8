"""From the options of `nuc ctl` to a client that is connected, and from a client's errors to lines on the screen."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar

from nuc_engine.cli.terminal.person import own_name

if TYPE_CHECKING:
    from pathlib import Path

    from nuc_engine.client import Client

P = ParamSpec("P")
T = TypeVar("T")

_HELLO_S = 0.25
_ADDED = re.compile(r" \((unverified|user \d+, process \d+)\)$")


class Target(NamedTuple):
    """Which daemon, and as whom. An empty address: the one there is; an empty name: who is logged in, and where."""

    address: str = ""
    given_name: str = ""
    keys: Path | None = None
    timeout_s: float = 2.0

    @property
    def name(self) -> str:
        """Who the daemon is told one is."""
        return self.given_name or own_name()


@contextmanager
def daemon(target: Target, *, alone: bool = False) -> Generator[Client]:
    """Connect for one command; whatever the client raises becomes one line.

    One command after another is the same client to the daemon, so that control taken by one serves the next. Where two
    run at once, the second is a client of its own; one that is `alone` is so always, and hears no late answers to
    another.
    """
    from nuc_engine.cli.terminal.errors import CommandFailed
    from nuc_engine.cli.terminal.output import note
    from nuc_engine.client import ClientError

    try:
        with connect(target) if alone else _greeted(target) as client:
            yield client
            for remark in client.remarks:
                note(remark)
    except ClientError as error:
        raise CommandFailed(f"nuc ctl: {error}") from error


def _greeted(target: Target) -> Client:
    """Return a client that has said hello, the same as of the command before if it can be. Raises ClientError."""
    from nuc_engine.client import NotAnswered

    same = f"nuc ctl {target.name}".encode()[:200]
    # The daemon hears nothing of a second client that claims to be one it has. The first may just be on its way out.
    for _ in range(2):
        client = connect(target, identity=same)
        try:
            client.greet(min(_HELLO_S, target.timeout_s))
        except NotAnswered as error:
            client.close()
            if not error.sent:
                raise
        else:
            return client
    return connect(target)


def connect(target: Target, *, identity: bytes = b"", timeout_s: float | None = None) -> Client:
    """Return a client that is being connected. Raises ClientError."""
    from nuc_engine.client import Client, load_keys

    keys = None if target.keys is None else load_keys(target.keys, target.given_name)
    timeout_s = target.timeout_s if timeout_s is None else timeout_s
    return Client(target.address, name=target.name, keys=keys, timeout_s=timeout_s, identity=identity)


def act(client: Client, target: Target, ask: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Ask for something that needs control; take it first from another terminal of one's own. Raises ClientError.

    `ask` is a method of the client.
    """
    from nuc_engine.client import Refused as RefusedByDaemon

    try:
        return ask(*args, **kwargs)
    except RefusedByDaemon as error:
        if error.kind != "no_control" or same_person(client.status().control, target.name) is False:
            raise
    client.take_control(force=True)
    # Not the same request again: the first was answered, with a refusal.
    return ask(*args, **kwargs)


def recover_control(client: Client, target: Target) -> None:
    """Take control from another terminal of one's own, if that has it. Raises ClientError."""
    if same_person(client.status().control, target.name):
        client.take_control(force=True)


def same_person(who: str, name: str) -> bool:
    """Say whether a client's name is this one, apart from what the daemon adds (`#2`, `(user 1000, process 7)`)."""
    return bool(who) and _ADDED.sub("", who).partition("#")[0] == name
