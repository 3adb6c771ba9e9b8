"""A client of the daemon, blocking (`Client`) or for asyncio (`AsyncClient`).

    address         which daemon is meant when nobody says where it listens
    aio             the client for asyncio
    blocking        the blocking client
    conversation    the client's side of the command channel without any socket
    cycles          every cycle of a leg, for a program on the same machine that wants them all
    methods         the methods of both clients, from one description
    off             torque off, and nothing else
    offpath         torque off on this machine, past the service
    offrelay        the same for one who is logged in from elsewhere, line by line
    sccils          the client's part of a SCCILS dialogue
    sockets         what both clients do to their ZeroMQ sockets

with Client(name="rutter") as leg:
    leg.set({"CTr_lev_TC1_load": -0.2})
    print(leg.get(["CTr_angle", "joint.Coxa-Trochanter.action"]).values)
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nuc_engine.client.aio import AsyncClient, AsyncSubscription
    from nuc_engine.client.blocking import Client, Subscription
    from nuc_engine.client.cycles import Cycles
    from nuc_engine.client.sockets import Keys, load_keys
    from nuc_engine.messages.answers import Acknowledgement, Greeting, Reading, Sample, Status
    from nuc_engine.messages.errors import BadAnswer, ClientError, KeysError, NotAnswered, Refused

__all__ = [
    "Acknowledgement",
    "AsyncClient",
    "AsyncSubscription",
    "BadAnswer",
    "Client",
    "ClientError",
    "Cycles",
    "Greeting",
    "Keys",
    "KeysError",
    "NotAnswered",
    "Reading",
    "Refused",
    "Sample",
    "Status",
    "Subscription",
    "load_keys",
]

_HOMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "client.aio": ("AsyncClient", "AsyncSubscription"),
        "client.blocking": ("Client", "Subscription"),
        "client.cycles": ("Cycles",),
        "messages.errors": ("BadAnswer", "ClientError", "KeysError", "NotAnswered", "Refused"),
        "messages.answers": ("Acknowledgement", "Greeting", "Reading", "Sample", "Status"),
        "client.sockets": ("Keys", "load_keys"),
    }
)


def __getattr__(name: str) -> Any:
    # Loaded when asked for: who takes the torque off waits for nothing that is not needed for it.
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"nuc_engine.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
