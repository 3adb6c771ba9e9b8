"""Methods about people: who is there, and who has control; those of every server."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from typing import Any

from drivers.units import NS_PER_S
from nuc_engine.messages import requests
from nuc_engine.messages.answers import Connected, ControlAnswer, Greeting, NoAnswer
from nuc_engine.messages.errors import Refused
from nuc_engine.service.channel_hub import ChannelHub
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.method import Handlers
from sccils_schemas.names import MAX_NAME_BYTES


async def hello(hub: ChannelHub, client: ConnectedClient, asked: requests.HelloRequest) -> Greeting:
    """Say who one is."""
    if len(asked.name.encode()) > MAX_NAME_BYTES:
        raise Refused("bad_request", f"name of hello is too long; expected a name of at most {MAX_NAME_BYTES} bytes")
    hub.clients.greet(client, asked.name.strip() or client.name, asked.role)
    if not client.may("operate"):
        hub.give_back(client)
    configuration, mode = hub.standing()
    return Greeting(
        engine=f"nuc-engine {_version()}",
        configuration=configuration,
        mode=mode,
        name=client.name,
        author=client.author,
        verified=client.verified,
        role=client.role,
        control=hub.in_control,
    )


async def take_control(hub: ChannelHub, client: ConnectedClient, asked: requests.TakeControlRequest) -> ControlAnswer:
    """Take control."""
    if asked.force:
        before = hub.control.take(client.key, hub.now_ns, force=True)
        if before != client.key:
            hub.recent.add("control", f"{client.author} took control by force", client=client.name)
    else:
        hub.take_control(client)
    return ControlAnswer(hub.in_control)


async def hand_over(hub: ChannelHub, client: ConnectedClient, asked: requests.HandOverRequest) -> ControlAnswer:
    """Hand control over."""
    to = hub.clients.named(asked.to)
    if not to.may("operate"):
        raise Refused("not_allowed", f"{to.name} may only watch")
    hub.control.hand_over(client.key, to.key, hub.now_ns)
    hub.recent.add("control", f"{client.author} handed control over to {to.author}", client=to.name)
    return ControlAnswer(hub.in_control)


async def release_control(
    hub: ChannelHub, client: ConnectedClient, _asked: requests.ReleaseControlRequest
) -> ControlAnswer:
    """Give control back."""
    hub.give_back(client)
    return ControlAnswer(hub.in_control)


async def leave(hub: ChannelHub, client: ConnectedClient, _asked: requests.LeaveRequest) -> NoAnswer:
    """Say goodbye: control is given back, and the client is no longer listed."""
    hub.give_back(client)
    hub.clients.drop(client)
    return NoAnswer()


async def events(
    hub: ChannelHub, _client: ConnectedClient, asked: requests.EventsRequest
) -> Sequence[Mapping[str, Any]]:
    """Say what happened lately."""
    return hub.recent.since(asked.since)


def _version() -> str:
    try:
        return importlib.metadata.version("nuc-engine")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


def about_client(hub: ChannelHub, client: ConnectedClient) -> Connected:
    """Return what is told of a client."""
    return {
        "name": client.name,
        "role": client.role,
        "verified": client.verified,
        "in_control": hub.in_control == client.name,
        "silent_s": (hub.now_ns - client.seen_ns) / NS_PER_S,
        "rubbish": client.rubbish,
        "too_fast": client.refused,
    }


HANDLERS: Handlers = {
    requests.HelloRequest: hello,
    requests.TakeControlRequest: take_control,
    requests.HandOverRequest: hand_over,
    requests.ReleaseControlRequest: release_control,
    requests.LeaveRequest: leave,
    requests.EventsRequest: events,
}
"""What does the requests of this part."""
