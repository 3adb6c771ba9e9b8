"""What a method of the channel is, and who may use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nuc_engine.service.clients import Client
from nuc_engine.service.errands import Errand
from nuc_engine.service.errors import Refused
from nuc_engine.service.hub import Hub
from nuc_engine.service.params import Param

GAINED = "you have control now"
"""What an answer notes when control came with its request."""

Run = Callable[[Hub, Client, dict[str, Any]], Errand[Any]]


@dataclass(frozen=True, slots=True)
class Method:
    """One method: its coroutine, the least role, whether its client must be in control, and its parameters."""

    name: str
    run: Run
    role: str = "watch"
    control: bool = False
    params: Mapping[str, Param] = field(default_factory=dict[str, Param])


def authorise(hub: Hub, client: Client, method: Method) -> bool:
    """Say whether control came to the client with this request. Raises Refused when it may not do this."""
    if not client.may(method.role):
        hint = "ask the administrator for that role"
        raise Refused("not_allowed", f"{method.name} needs the role {method.role}; yours is {client.role}", hint)
    return method.control and hub.take_control(client)
