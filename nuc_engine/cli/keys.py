"""`nuc keys`: keys of the daemon and of its clients, and who may do what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.output import say, say_json
from nuc_engine.cli.terminal.params import NucCommand, as_json

ROLES = ("watch", "operate", "admin")

_folder = click.option(
    "--folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the keys and of clients.toml.  [default: your own, ~/.config/nuc/keys]",
)


class _Group(NucCommand, click.Group):
    """Commands below a command, with examples."""


@click.group(
    cls=_Group,
    examples=(
        ("sudo nuc keys server --folder /etc/nuc/keys", "on the leg's computer: the daemon's own pair"),
        ("nuc keys new bench", "on yours: ~/.config/nuc/keys/bench.key to be sent there, bench.key_secret to be kept"),
        (
            "sudo nuc keys allow bench.key --role operate --folder /etc/nuc/keys",
            "on the leg's computer again, in the folder bench.key was sent to",
        ),
        (
            "nuc ctl --address tcp://leg:44106 --keys ~/.config/nuc/keys status",
            "on yours, with the daemon's server.key copied beside your pair",
        ),
        ("nuc keys list --folder /etc/nuc/keys --json", "who may do what, for a program to read"),
        ("sudo nuc keys revoke bench --folder /etc/nuc/keys", "bench is locked out"),
    ),
    output=(
        "Keys are files: NAME.key is public, NAME.key_secret is readable by its owner alone.",
        "clients.toml in the same folder lists who may talk to the daemon, and as what: watch sees everything,"
        " operate also takes control of the leg, admin also ends others' control and the daemon.",
    ),
)
def command() -> None:
    """Keys for a daemon that can be reached from other machines: who may watch, operate or administer a leg.

    A daemon that listens on its own machine only needs none. One that listens elsewhere needs its own pair and a list
    of clients; each client needs its own pair and the daemon's public key.
    """


@command.command(
    name="new",
    cls=NucCommand,
    examples=(
        ("nuc keys new bench", "a pair for yourself, in ~/.config/nuc/keys"),
        ("nuc keys new bench --folder .", "in this folder"),
        (
            "nuc keys new bench --role operate",
            "allowed at once by `nuc serve --keys ~/.config/nuc/keys` of this machine",
        ),
    ),
    output=("To stdout: the two files. Existing ones are never overwritten.",),
)
@click.argument("name", metavar="NAME")
@click.option("--role", type=click.Choice(ROLES), help="Also put the client on the list in this folder, as this.")
@_folder
@as_json
def new(name: str, role: str | None, folder: Path | None, as_json: bool) -> int:
    """Make a client's key pair."""
    from nuc_engine.messages.keys import ALLOWED, SERVER, AllowedClient, Role, allow, check_free, load_public

    if name == SERVER:
        raise click.UsageError(f"{name!r} is the daemon's own pair: `nuc keys server` makes it")
    place = _place(folder)
    if role is not None:
        _asked(lambda: check_free(place / ALLOWED, name))
    public, secret = _make(place, name)
    if role is not None:
        _asked(lambda: allow(place / ALLOWED, load_public(public), AllowedClient(name, Role(role))))
    _report(public, secret, as_json, role=role)
    return 0


@command.command(
    name="server",
    cls=NucCommand,
    examples=(("sudo nuc keys server --folder /etc/nuc/keys", "where `nuc serve --keys /etc/nuc/keys` finds it"),),
    output=("To stdout: the two files. Clients need the public one.",),
)
@_folder
@as_json
def server(folder: Path | None, as_json: bool) -> int:
    """Make the daemon's own key pair."""
    from nuc_engine.messages.keys import SERVER

    public, secret = _make(_place(folder), SERVER)
    _report(public, secret, as_json)
    return 0


@command.command(
    name="allow",
    cls=NucCommand,
    examples=(
        ("sudo nuc keys allow bench.key --role watch --folder /etc/nuc/keys", "the client's name is the file's"),
        ("nuc keys allow -- 'wYx...' --role admin --name chief", "the key itself, in single quotes, after --"),
    ),
    output=("To stdout: one line, or with --json one object.",),
)
@click.argument("public", metavar="PUBLIC")
@click.option("--role", type=click.Choice(ROLES), required=True, help="What the client may do.")
@click.option("--name", help="Name of the client; needed where PUBLIC is no file.")
@_folder
@as_json
def allow_command(public: str, role: str, name: str | None, folder: Path | None, as_json: bool) -> int:
    """Put a client on the list. PUBLIC is its .key file, or the 40 characters of its public key."""
    from nuc_engine.messages.keys import ALLOWED, AllowedClient, Role, allow, check_key, load_public

    place = _place(folder)
    given = Path(public)
    if given.is_file():
        key, called = _asked(lambda: load_public(given)), name or given.stem
    elif name is None:
        raise click.UsageError(f"{public!r} is no file; where it is a key, --name has to say whose")
    else:
        key, called = _asked(lambda: check_key(public, "PUBLIC")), name
    _asked(lambda: allow(place / ALLOWED, key, AllowedClient(called, Role(role))))
    if as_json:
        say_json({"ok": True, "name": called, "role": role, "public_key": key.decode(), "list": place / ALLOWED})
    else:
        say(f"{called} may {role}; {place / ALLOWED}")
    return 0


@command.command(
    name="list",
    cls=NucCommand,
    examples=(
        ("nuc keys list", "name, role and public key of each client"),
        ("nuc keys list --folder /etc/nuc/keys --json", "the same of a daemon, for a program to read"),
    ),
    output=("To stdout: one line per client, or with --json one object.",),
)
@_folder
@as_json
def list_command(folder: Path | None, as_json: bool) -> int:
    """List who may talk to the daemon."""
    from nuc_engine.messages.keys import ALLOWED, load_allowed

    path = _place(folder) / ALLOWED
    allowed = _asked(lambda: load_allowed(path))
    if as_json:
        clients = [
            {"name": client.name, "role": client.role.value, "public_key": public.decode()}
            for public, client in allowed.items()
        ]
        say_json({"ok": True, "list": path, "clients": clients})
        return 0
    width = max((len(client.name) for client in allowed.values()), default=0)
    for public, client in allowed.items():
        say(f"{client.name:<{width}}  {client.role.value:<7}  {public.decode()}")
    if not allowed:
        say(f"nobody; {path}")
    return 0


@command.command(
    name="revoke",
    cls=NucCommand,
    examples=(("sudo nuc keys revoke bench --folder /etc/nuc/keys", "bench is not on the daemon's list any more"),),
    output=(
        "To stdout: one line, or with --json one object. The client's own files are left alone, and a connection it has"
        " open lasts; it gets no other.",
    ),
)
@click.argument("name", metavar="NAME")
@_folder
@as_json
def revoke_command(name: str, folder: Path | None, as_json: bool) -> int:
    """Take a client off the list."""
    from nuc_engine.messages.keys import ALLOWED, revoke

    path = _place(folder) / ALLOWED
    _asked(lambda: revoke(path, name))
    if as_json:
        say_json({"ok": True, "name": name, "list": path})
    else:
        say(f"{name} is locked out; {path}")
    return 0


def _place(folder: Path | None) -> Path:
    return folder if folder is not None else Path(click.get_app_dir("nuc")) / "keys"


def _make(folder: Path, name: str) -> tuple[Path, Path]:
    from nuc_engine.messages.keys import make_pair

    return _asked(lambda: make_pair(folder, name))


def _asked(call: Callable[[], Any]) -> Any:
    from nuc_engine.messages.keys import KeyFileError

    try:
        return call()
    except KeyFileError as error:
        raise CommandFailed(str(error)) from error


def _report(public: Path, secret: Path, as_json: bool, **more: object) -> None:
    if as_json:
        say_json({"ok": True, "public": public, "secret": secret, **more})
        return
    say(f"public  {public}")
    say(f"secret  {secret}")
