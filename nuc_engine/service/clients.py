"""Who is connected: one entry per identity of the command socket, with name, role and budget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from nuc_engine.service.errors import Refused
from nuc_engine.service.ration import Ration

ROLES = ("watch", "operate", "admin")
"""From least to most; each may do what those before it may."""

MAX_CLIENTS = 256
IDLE_NS = 600_000_000_000
"""A client that has said nothing for this long is forgotten; it may say hello again at any time."""

BURST, PER_SECOND = 4000, 2000
"""Messages a client may send at once, and in each second on end."""

ANONYMOUS = "anonymous"


@dataclass(slots=True)
class Client:
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
    ration: Ration = field(default_factory=Ration)
    session: Any = field(default=None, repr=False)

    @property
    def author(self) -> str:
        """Return how edits of this client are signed."""
        return self.name if self.verified else f"{self.name} (unverified)"

    def may(self, role: str) -> bool:
        """Say whether its role is this one or more."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def spend(self, now_ns: int) -> bool:
        """Count one message; say whether it is within what a client may send."""
        self.budget = min(float(BURST), self.budget + (now_ns - self.seen_ns) * PER_SECOND / 1e9)
        self.seen_ns = now_ns
        if self.budget < 1.0:
            self.refused += 1
            return False
        self.budget -= 1.0
        return True


class Clients:
    """All clients that were heard of lately, at most MAX_CLIENTS."""

    def __init__(self) -> None:
        self._clients: dict[bytes, Client] = {}

    def __iter__(self) -> Iterator[Client]:
        """Iterate over them, in the order in which they came."""
        return iter(tuple(self._clients.values()))

    def get(self, key: bytes) -> Client | None:
        """Return the client of a key."""
        return self._clients.get(key)

    def heard(self, key: bytes, address: list[bytes], who: tuple[str, str] | None, now_ns: int) -> Client:
        """Return the client of a key, a new one if need be. `who` is name and role where keys vouch for them."""
        client = self._clients.get(key)
        if client is None:
            self._make_room(now_ns)
            name, role = who if who is not None else (ANONYMOUS, "admin")
            client = Client(key, address, self._free(name), role, who is not None, seen_ns=now_ns)
            self._clients[key] = client
        elif who is not None and ROLES.index(client.role) > ROLES.index(who[1]):
            client.role = who[1]  # the list has changed
        client.address = address
        return client

    def greet(self, client: Client, name: str, role: str | None) -> None:
        """Let a client say who it is. It may ask for a lesser role; a name that keys vouch for stays.

        Raises Refused for a greater role.
        """
        if role is not None:
            if not client.may(role):
                raise Refused("not_allowed", f"your role is {client.role}, not {role}")
            client.role = role
        if not client.verified and not (client.greeted and client.name == name):
            client.name = self._free(name)
        client.greeted = True

    def named(self, name: str) -> Client:
        """Return a client by name. Raises Refused."""
        for client in self._clients.values():
            if client.name == name:
                return client
        known = ", ".join(client.name for client in self._clients.values())
        raise Refused("not_found", f"no client is called {name!r}", f"there are: {known}")

    def drop(self, client: Client) -> None:
        """Forget a client that has said goodbye."""
        self._clients.pop(client.key, None)

    def forget_idle(self, now_ns: int, keep: bytes | None) -> None:
        """Forget who has said nothing for long; never the one in control."""
        for client in self:
            if now_ns - client.seen_ns > IDLE_NS and client.key != keep:
                del self._clients[client.key]

    def _free(self, name: str) -> str:
        taken = {client.name for client in self._clients.values()}
        if name not in taken:
            return name
        return next(other for k in range(2, len(taken) + 3) if (other := f"{name}#{k}") not in taken)

    def _make_room(self, now_ns: int) -> None:
        if len(self._clients) >= MAX_CLIENTS:
            oldest = min(self._clients.values(), key=lambda client: client.seen_ns)
            del self._clients[oldest.key]
