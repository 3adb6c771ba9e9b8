"""A client of the daemon, blocking (`Client`) or for asyncio (`AsyncClient`).

calls         every request as a value: what is sent, how its answer is read
methods       the methods of both clients, from one description
results       what comes back, typed        errors   what can go wrong
conversation  hello, requests, answers and time limits, without any socket
sockets       ZeroMQ: options, keys, the state of the connection     address  the daemons that run here
cycles        every cycle of a leg on this machine, from memory (nuc_cycles.h: the same for C)
blocking, aio the two clients               sccils   the client's part of a SCCILS dialogue
off           torque off, by itself and with as little as it takes; offpath: on this machine, past the service

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
    from nuc_engine.client.errors import BadAnswer, ClientError, KeysError, NotAnswered, Refused
    from nuc_engine.client.results import Acknowledgement, Greeting, Reading, Sample, Status
    from nuc_engine.client.sockets import Keys, load_keys

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
        "aio": ("AsyncClient", "AsyncSubscription"),
        "blocking": ("Client", "Subscription"),
        "cycles": ("Cycles",),
        "errors": ("BadAnswer", "ClientError", "KeysError", "NotAnswered", "Refused"),
        "results": ("Acknowledgement", "Greeting", "Reading", "Sample", "Status"),
        "sockets": ("Keys", "load_keys"),
    }
)


def __getattr__(name: str) -> Any:
    # Loaded when asked for: who takes the torque off waits for nothing that is not needed for it.
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"nuc_engine.client.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
