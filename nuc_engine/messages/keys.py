"""CURVE keys of daemon and clients, and the list of those who may talk to the daemon.

A key pair is two text files, `NAME.key` (public) and `NAME.key_secret` (public and secret), laid out as pyzmq's own
certificates. Who may do what stands in `clients.toml`:

    [[client]]
    name = "bench"
    role = "operate"
    public_key = "40 characters of Z85 (ZeroMQ RFC 32)"
"""

from __future__ import annotations

import os
import re
import stat
import struct
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

ALLOWED = "clients.toml"
"""Name of the list of clients within a folder of keys."""

SERVER = "server"
"""Name of the daemon's own key pair."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_LINE = re.compile(r'\s*(public-key|secret-key)\s*=\s*"([^"]*)"\s*')
_FIELDS = ("name", "role", "public_key")
_HEADER = """\
# Clients that may talk to the daemon. Written by `nuc keys allow` and `nuc keys revoke`; other remarks are not kept.
"""


class KeyFileError(Exception):
    """Keys or a list of clients that can not be used; the message says which file, what is wrong, and what to do."""


class Role(StrEnum):
    """What a client may do; each role may do what those before it may."""

    WATCH = "watch"
    OPERATE = "operate"
    ADMIN = "admin"

    def may(self, needed: Role) -> bool:
        """Say whether this role suffices where `needed` is asked for."""
        order = tuple(Role)
        return order.index(self) >= order.index(needed)


@dataclass(frozen=True, slots=True)
class AllowedClient:
    """A client that is allowed."""

    name: str
    role: Role


@dataclass(frozen=True, slots=True, repr=False)
class KeyPair:
    """A public and a secret key, each 40 bytes of Z85, as ZeroMQ's socket options take them."""

    public: bytes
    secret: bytes

    def __repr__(self) -> str:
        return f"KeyPair(public={self.public!r}, secret=...)"


def make_pair(folder: Path, name: str) -> tuple[Path, Path]:
    """Make a key pair in a folder, which is made if need be; return the public file and the secret one (mode 0600).

    Raises KeysError when the name is none, when either file exists, or when ZeroMQ was built without CURVE.
    """
    check_name(name)
    import zmq  # slow to load, and not needed to read keys

    if not zmq.has("curve"):
        raise KeyFileError("this ZeroMQ was built without CURVE: install pyzmq from its wheels, which have it")
    public, secret = zmq.curve_keypair()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    paths = folder / f"{name}.key", folder / f"{name}.key_secret"
    for path in paths:
        if path.exists():
            raise KeyFileError(f"{path} exists: choose another name, or remove the old pair of files first")
    body = f'metadata\n    name = "{name}"\ncurve\n    public-key = "{public.decode()}"\n'
    # The secret first: where that fails, no public key without one is left behind.
    _write_new(
        paths[1], f'# The secret key of {name}: for nobody else.\n{body}    secret-key = "{secret.decode()}"\n', 0o600
    )
    _write_new(paths[0], f"# The public key of {name}: to be given to the daemon's administrator.\n{body}", 0o644)
    return paths


def load_public(path: Path) -> bytes:
    """Return the public key in either file of a pair. Raises KeysError."""
    return _checked(path, _read(path, _text(path)), "public-key")


def load_secret(path: Path) -> KeyPair:
    """Return the pair in a secret file. Raises KeysError, also when others can read the file or write to it."""
    try:
        with path.open(encoding="utf-8") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error
    # Windows has no modes; folders of a user are closed to others there.
    if sys.platform != "win32" and mode & 0o037:
        # Its group may read: a daemon's keys can belong to root.
        raise KeyFileError(f"{path} has mode {mode:04o}, so that others can get at the secret: run `chmod 600 {path}`")
    found = _read(path, text)
    pair = KeyPair(_checked(path, found, "public-key"), _checked(path, found, "secret-key"))
    import zmq

    if zmq.curve_public(pair.secret) != pair.public:
        raise KeyFileError(
            f"{path}: the public key does not belong to the secret one: make a new pair with `nuc keys new`"
        )
    return pair


def load_allowed(path: Path) -> Mapping[bytes, AllowedClient]:
    """Return who may talk to the daemon, by public key (Z85). Raises KeysError unless all of it is right."""
    try:
        document = tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise KeyFileError(f"{path}: no TOML: {error}") from error
    unknown = set(document) - {"client"}
    entries = document.get("client", [])
    if unknown or not isinstance(entries, list):
        found = ", ".join(sorted(unknown)) or "client"
        raise KeyFileError(f"{path}: unexpected {found!r}: expected nothing but tables [[client]]")
    allowed: dict[bytes, AllowedClient] = {}
    for number, entry in enumerate(cast(list[object], entries), 1):
        public, client = _entry(f"{path}: client {number}", entry)
        if public in allowed:
            raise KeyFileError(f"{path}: {client.name} and {allowed[public].name} have the same public key: remove one")
        if any(client.name == other.name for other in allowed.values()):
            raise KeyFileError(f"{path}: two clients are named {client.name}: give each a name of its own")
        allowed[public] = client
    return MappingProxyType(allowed)


def allow(path: Path, public: bytes, client: AllowedClient) -> None:
    """Add a client to the list, which is made if need be.

    Raises KeysError when key or name are there already, or are none.
    """
    check_name(client.name)
    check_key(public.decode("ascii", errors="replace"), "the public key")
    check_free(path, client.name)
    allowed = dict(load_allowed(path)) if path.exists() else {}
    if public in allowed:
        raise KeyFileError(
            f"{path}: {allowed[public].name} has that public key: revoke it first to change name or role"
        )
    _write_list(path, {**allowed, public: client})


def check_free(path: Path, name: str) -> None:
    """Raise KeysError when the list has a client of this name."""
    if path.exists() and any(client.name == name for client in load_allowed(path).values()):
        raise KeyFileError(f"{path}: there is a client {name} already: revoke it first, or choose another name")


def revoke(path: Path, name: str) -> None:
    """Take a client off the list. Raises KeysError when it is not on it."""
    allowed = load_allowed(path)
    rest = {public: client for public, client in allowed.items() if client.name != name}
    if len(rest) == len(allowed):
        known = ", ".join(client.name for client in allowed.values()) or "nobody"
        raise KeyFileError(f"{path}: no client {name!r}; it lists {known}")
    _write_list(path, rest)


def check_name(name: str) -> str:
    """Return a name that can be one of a client, and so part of a file's name. Raises KeysError."""
    if not _NAME.fullmatch(name):
        raise KeyFileError(
            f"name {name!r}: expected up to 64 letters, digits, '_', '-' and '.', the first no '-' or '.'"
        )
    return name


def check_key(key: str, what: str) -> bytes:
    """Return a key as bytes, `what` naming it in the error. Raises KeysError unless it is 32 bytes in Z85."""
    from zmq.utils import z85

    try:
        if len(key) == 40 and len(z85.decode(key)) == 32:
            return key.encode("ascii")
    except (KeyError, ValueError, struct.error):
        pass
    raise KeyFileError(f"{what} is none: expected 40 characters of Z85, got {len(key)} characters")


def _entry(where: str, entry: object) -> tuple[bytes, AllowedClient]:
    if not isinstance(entry, dict):
        raise KeyFileError(f"{where}: expected a table with {', '.join(_FIELDS)}")
    fields = cast(dict[str, Any], entry)
    for field in _FIELDS:
        if field not in fields:
            raise KeyFileError(f"{where}: no {field!r}; expected {', '.join(_FIELDS)}")
        if not isinstance(fields[field], str):
            raise KeyFileError(f"{where}: {field} = {fields[field]!r}; expected text in quotes")
    unknown = set(fields) - set(_FIELDS)
    if unknown:
        raise KeyFileError(f"{where}: unknown {', '.join(sorted(unknown))}; expected {', '.join(_FIELDS)}")
    if fields["role"] not in tuple(Role):
        raise KeyFileError(f"{where}: role {fields['role']!r}; expected {', '.join(Role)}")
    try:
        name = check_name(fields["name"])
        public = check_key(fields["public_key"], "public_key")
    except KeyFileError as error:
        raise KeyFileError(f"{where}: {error}") from error
    return public, AllowedClient(name, Role(fields["role"]))


def _read(path: Path, text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        if match[1] in found:
            raise KeyFileError(f"{path}: more than one {match[1]}: make a new pair with `nuc keys new`")
        found[match[1]] = match[2]
    return found


def _checked(path: Path, found: Mapping[str, str], which: str) -> bytes:
    if which not in found:
        raise KeyFileError(f'{path}: no line {which} = "..."; expected a file that `nuc keys` has made')
    return check_key(found[which], f"{path}: {which}")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError | UnicodeDecodeError) -> KeyFileError:
    reason = error.strerror if isinstance(error, OSError) else "no text"
    return KeyFileError(f"{path}: {reason}; `nuc keys --help` says how keys and the list of clients are made")


def _write_new(path: Path, text: str, mode: int) -> None:
    def closed(name: str, flags: int) -> int:
        return os.open(name, flags, mode)

    try:
        with open(path, "x", encoding="utf-8", newline="\n", opener=closed) as file:
            file.write(text)
    except OSError as error:
        raise KeyFileError(f"{path} can not be made: {error.strerror}") from error


def _write_list(path: Path, allowed: Mapping[bytes, AllowedClient]) -> None:
    text = _HEADER + "".join(
        f'\n[[client]]\nname = "{client.name}"\nrole = "{client.role}"\npublic_key = "{public.decode()}"\n'
        for public, client in allowed.items()
    )
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write_new(draft, text, 0o644)
    try:
        # At once, so that a daemon that reads it sees the old list or the new one.
        draft.replace(path)
    except OSError as error:
        draft.unlink()
        raise KeyFileError(f"{path} can not be written: {error.strerror}") from error
