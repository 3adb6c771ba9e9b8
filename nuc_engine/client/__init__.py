"""A client of the daemon, blocking (`Client`) or for asyncio (`AsyncClient`).

calls         every request as a value: what is sent, how its answer is read
methods       the methods of both clients, from one description
results       what comes back, typed        errors   what can go wrong
conversation  hello, requests, answers and time limits, without any socket
sockets       ZeroMQ: options, keys, the state of the connection
blocking, aio the two clients               sccils   the client's part of a SCCILS dialogue

    with Client(name="rutter") as leg:
        leg.set({"CTr_lev_TC1_load": -0.2})
        print(leg.get(["CTr_angle", "joint.Coxa-Trochanter.action"]).values)
"""

from nuc_engine.client.aio import AsyncClient, AsyncSubscription
from nuc_engine.client.blocking import Client, Subscription
from nuc_engine.client.errors import BadAnswer, ClientError, KeysError, NotAnswered, Refused
from nuc_engine.client.results import Acknowledgement, Greeting, Reading, Sample, Status
from nuc_engine.client.sockets import DEFAULT_ADDRESS, Keys, load_keys

__all__ = [
    "DEFAULT_ADDRESS",
    "Acknowledgement",
    "AsyncClient",
    "AsyncSubscription",
    "BadAnswer",
    "Client",
    "ClientError",
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
