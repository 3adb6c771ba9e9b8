"""What a method of the channel is, and who may use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nuc_engine.messages.errors import Refused
from nuc_engine.messages.limits import RoleName
from nuc_engine.messages.requests import Request
from nuc_engine.service.channel_hub import ChannelHub
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.waiting import Job

GAINED = "you have control now"
"""What an answer notes when control came with its request."""

Handler = Callable[[Any, ConnectedClient, Any], Job[Any]]
"""Gets the hub of its server, the client, and the request, checked."""

Handlers = Mapping[type[Request[Any]], Handler]


@dataclass(frozen=True, slots=True)
class Noted:
    """An answer, and something to be said beside it."""

    answer: Any
    note: str


def authorise(
    hub: ChannelHub, client: ConnectedClient, method: str, role: RoleName = "operate", *, control: bool = True
) -> bool:
    """Say whether control came to the client with this request. Raises Refused when it may not do this."""
    if not client.may(role):
        hint = "ask the administrator for that role"
        raise Refused("not_allowed", f"{method} needs the role {role}; yours is {client.role}", hint)
    return control and hub.take_control(client)
