"""Who is connected: one entry per identity of the command socket, with name, role and budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from nuc_engine.messages.errors import Refused
from nuc_engine.messages.limits import ROLES
from nuc_engine.service.log_quota import LogQuota

MAX_CLIENTS = 256
IDLE_NS = 600_000_000_000
"""A client that has said nothing for this long is forgotten; it may say hello again at any time."""

QUIET_NS = 10_000_000_000
"""A client that has said nothing for this long, and has nothing to lose, makes room for a newcomer."""

MOST_LOWERED = 4096
"""Connections that may have given up a part of what they may do."""

BURST, PER_SECOND = 4000, 2000
"""Messages a client may send at once, and in each second on end; every `UNIT` bytes of one, and of its answer, are one
more."""
UNIT = 1024

ANONYMOUS = "anonymous"


@dataclass(slots=True)
class ConnectedClient:
    """One client. `key` tells it from all others; `address` are the frames that go before a payload sent to it."""

    key: bytes
    address: list[bytes]
    name: str
    role: str
    verified: bool
    greeted: bool = False
    seen_ns: int = 0
    budget: float = BURST
    rubbish: int = 0
    refused: int = 0
    log_quota: LogQuota = field(default_factory=LogQuota)
    session: Any = field(default=None, repr=False)
    peer: str = ""
    """User and process on this machine, as the kernel says; empty where it is elsewhere."""

    @property
    def author(self) -> str:
        """Return how edits of this client are signed."""
        return self.name if self.verified else f"{self.name} ({self.peer or 'unverified'})"

    def may(self, role: str) -> bool:
        """Say whether its role is this one or more."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def spend(self, now_ns: int, size: int = 0) -> bool:
        """Count a message of so many bytes; say whether it is within what a client may send."""
        self.budget = min(float(BURST), self.budget + (now_ns - self.seen_ns) * PER_SECOND / 1e9)
        self.seen_ns = now_ns
        if self.budget < 1.0:
            self.refused += 1
            return False
        self.budget -= 1.0
        self.charge(size)
        return True

    def charge(self, size: int) -> None:
        """Count bytes, sent or answered. Whatever they were, two seconds later there is something to spend again."""
        self.budget = max(-float(BURST), self.budget - size // UNIT)


class Clients:
    """All clients that were heard of lately, at most MAX_CLIENTS.

    `spares` says who keeps its place whoever comes; `forgotten` is called with every client that is dropped.
    """

    def __init__(self) -> None:
        self._clients: dict[bytes, ConnectedClient] = {}
        self._lowered: dict[bytes, str] = {}
        self.spares: Callable[[ConnectedClient], bool] = lambda _: False
        self.forgotten: Callable[[ConnectedClient], None] = lambda _: None

    def __iter__(self) -> Iterator[ConnectedClient]:
        """Iterate over them, in the order in which they came."""
        return iter(tuple(self._clients.values()))

    def get(self, key: bytes) -> ConnectedClient | None:
        """Return the client of a key."""
        return self._clients.get(key)

    def heard(
        self, key: bytes, address: list[bytes], who: tuple[str, str] | None, now_ns: int, peer: str = ""
    ) -> ConnectedClient:
        """Return the client of a key, a new one if need be. `who` is name and role where keys vouch for them.

        Raises Refused for a new one that there is no room for.
        """
        client = self._clients.get(key)
        name, role = who if who is not None else (ANONYMOUS, ROLES[-1])
        if client is None:
            self._make_room(now_ns)
            client = ConnectedClient(key, address, self._free(name), role, who is not None, seen_ns=now_ns)
            self._clients[key] = client
        self.limit(client, role)
        client.address, client.peer = address, peer
        return client

    def limit(self, client: ConnectedClient, role: str) -> None:
        """Let a client have a role, or the lesser one that it has asked for."""
        client.role = min(role, self._lowered.get(client.key, role), key=ROLES.index)

    def greet(self, client: ConnectedClient, name: str, role: str | None) -> None:
        """Let a client say who it is. It may ask for a lesser role, for good; a name that keys vouch for stays.

        Raises Refused for a greater role.
        """
        if role is not None and not client.may(role):
            raise Refused("not_allowed", f"your role is {client.role}, not {role}")
        if role is not None and role != client.role:
            # It is kept beyond the client's place on the list: what was given up does not come back.
            if client.key not in self._lowered and len(self._lowered) >= MOST_LOWERED:
                raise Refused(
                    "refused", f"{MOST_LOWERED} clients have asked for a lesser role", "start the daemon anew"
                )
            self._lowered[client.key] = client.role = role
        if not client.verified and not (client.greeted and client.name == name):
            client.name = self._free(name)
        client.greeted = True

    def named(self, name: str) -> ConnectedClient:
        """Return a client by name. Raises Refused."""
        for client in self._clients.values():
            if client.name == name:
                return client
        known = ", ".join(client.name for client in self._clients.values())
        raise Refused("not_found", f"no client is called {name!r}", f"there are: {known}")

    def drop(self, client: ConnectedClient) -> None:
        """Forget a client, and let what belongs to it end."""
        if self._clients.pop(client.key, None) is not None:
            self.forgotten(client)

    def forget_idle(self, now_ns: int) -> None:
        """Forget who has said nothing for long and has nothing to lose."""
        for client in self:
            if now_ns - client.seen_ns > IDLE_NS and not self.spares(client):
                self.drop(client)

    def _free(self, name: str) -> str:
        taken = {client.name for client in self._clients.values()}
        if name not in taken:
            return name
        return next(other for k in range(2, len(taken) + 3) if (other := f"{name}#{k}") not in taken)

    def _make_room(self, now_ns: int) -> None:
        """Drop an idle client without control or subscriptions, watchers first. Raises Refused where there is none."""
        if len(self._clients) < MAX_CLIENTS:
            return
        quiet = [client for client in self if now_ns - client.seen_ns >= QUIET_NS and not self.spares(client)]
        if not quiet:
            hint = "only off is done for others; try again later"
            raise Refused("refused", f"there are {MAX_CLIENTS} clients already", hint)
        self.drop(min(quiet, key=lambda client: (ROLES.index(client.role), client.seen_ns)))
