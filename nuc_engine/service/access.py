"""Who may reach the daemon from where: addresses, CURVE keys, and ZeroMQ's question who a key belongs to (ZAP).

Whoever may open the socket's file (ipc) needs no keys and is trusted as admin. Ports take commands with CURVE only,
from the keys on the list: a port of loopback is within reach of every user, container and web page of a machine.
Telemetry, which takes no commands, may be published on loopback without.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nuc_engine.machine.rundir import LONGEST
from nuc_engine.messages.keys import ALLOWED, SERVER, AllowedClient, KeyFileError, KeyPair, load_allowed, load_secret
from nuc_engine.service.errors import ServiceError

DOMAIN = "nuc"
"""ZAP domain of the sockets that ask for keys."""

LOCAL_DOMAIN = "nuc-local"
"""ZAP domain of the sockets that do not. A socket with a domain speaks to nobody who does not greet as ZMTP 3 does, and
so not to whoever posts a form to it: without a domain ZeroMQ takes a web page's request for frames of ZMTP 1.0."""

_TCP = re.compile(r"tcp://(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_.*-]+):([0-9]{1,5}|\*)")
_UDP = re.compile(r"(?:udp://)?(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_.-]+):([0-9]{1,5})")
_KEY_BYTES = 32
_MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class Address:
    """An address to listen at. `local`: only this machine can reach it."""

    url: str
    local: bool

    @property
    def is_tcp(self) -> bool:
        """Whether it is a port, and no socket file."""
        return self.url.startswith("tcp://")


def read_address(url: str) -> Address:
    """Parse an address. Raises ServiceError where it is malformed."""
    if url.startswith(("ipc://", "inproc://")) and len(url) > len("ipc://"):
        if len(os.fsencode(url.partition("://")[2])) > LONGEST:
            raise ServiceError(f"{url}: too long for a socket ({LONGEST} bytes); choose a shorter path")
        return Address(url, True)
    found = _TCP.fullmatch(url)
    if found is None or (found[2] != "*" and int(found[2]) > _MAX_PORT):
        raise ServiceError(f"{url!r} is no address; expected ipc:///path/of/socket or tcp://HOST:PORT")
    return Address(url, _is_loopback(found[1]))


def read_datagram_address(address: str) -> tuple[str, int]:
    """Return host and port that datagrams go to. Raises ServiceError unless they stay on this machine.

    Datagrams are not encrypted: any host on the way could read them.
    """
    found = _UDP.fullmatch(address)
    if found is None or not 1 <= int(found[2]) <= _MAX_PORT:
        raise ServiceError(f"{address!r} is no address for datagrams; expected HOST:PORT")
    if not _is_loopback(found[1]):
        raise ServiceError(
            f"datagrams to {address} would leave this machine unencrypted; send them to 127.0.0.1, or let viewers "
            "subscribe to the telemetry with keys"
        )
    return found[1].strip("[]"), int(found[2])


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False  # a name, an interface, or * for all


class Access:
    """Keys of the daemon and of its clients. Without a folder only local addresses can be opened."""

    def __init__(self, folder: Path | None) -> None:
        """Read the keys. Raises ServiceError when they can not be used."""
        self._list = None if folder is None else folder / ALLOWED
        self.pair: KeyPair | None = None
        self._allowed: Mapping[bytes, AllowedClient] = {}
        self._stamp: tuple[int, int] | None = None
        self.denied = 0
        if folder is None:
            return
        try:
            self.pair = load_secret(folder / f"{SERVER}.key_secret")
            self._reload()
        except KeyFileError as error:
            raise ServiceError(str(error)) from error

    def check(self, address: Address, *, commands: bool = False) -> None:
        """Raise ServiceError for an address that may not be opened, for `commands` or else for telemetry."""
        if self.pair is not None or not address.is_tcp or (address.local and not commands):
            return
        hint = "the socket file in the daemon's folder needs none" if commands else "or publish at 127.0.0.1"
        raise ServiceError(
            f"{address.url} can be reached by others than its user and group, which needs keys: make them with "
            f"`nuc keys server` and `nuc keys allow`, and name their folder with --keys; {hint}"
        )

    def who(self, name: str) -> tuple[str, str] | None:
        """Return name and role of a client let in under this name; None once it is no longer on the list."""
        try:
            self._reload()
        except KeyFileError:
            return None
        for client in self._allowed.values():
            if client.name == name:
                return client.name, client.role.value
        return None

    def answer(self, request: list[bytes]) -> list[bytes]:
        """Answer ZeroMQ's question whether a key may come in (ZAP 1.0, RFC 27)."""
        version, number = b"1.0", request[1] if len(request) > 1 else b""
        if len(request) == 6 and (request[0], request[2], request[5]) == (b"1.0", LOCAL_DOMAIN.encode(), b"NULL"):
            return [version, number, b"200", b"OK", b"", b""]
        client = self._client_of(request)
        if client is None:
            self.denied += 1
            return [version, number, b"400", b"not allowed", b"", b""]
        return [version, number, b"200", b"OK", client.name.encode(), b""]

    def _client_of(self, request: list[bytes]) -> AllowedClient | None:
        if len(request) != 7 or (request[0], request[2], request[5]) != (b"1.0", DOMAIN.encode(), b"CURVE"):
            return None
        if len(request[6]) != _KEY_BYTES:
            return None
        from zmq.utils import z85

        try:
            self._reload()
        except KeyFileError:
            return None
        encoded: Any = z85.encode(request[6])
        return self._allowed.get(bytes(encoded))

    def _reload(self) -> None:
        if self._list is None:
            return
        try:
            stat = self._list.stat()
        except OSError as error:
            raise KeyFileError(f"{self._list} can not be read: {error.strerror or error}") from error
        stamp = (stat.st_mtime_ns, stat.st_ino)
        if stamp != self._stamp:
            self._allowed = load_allowed(self._list)
            self._stamp = stamp
