"""Methods around what is sent unasked: streams of values, and what happened lately."""

from __future__ import annotations

from typing import Any

from nuc_engine.service.clients import Client
from nuc_engine.service.hub import Hub
from nuc_engine.service.method import Method
from nuc_engine.service.params import Param, number, refs, text
from nuc_engine.service.telemetry import MAX_RATE_HZ, describe

_NS = 1_000_000_000


async def subscribe(hub: Hub, client: Client, params: dict[str, Any]) -> Any:
    """Begin a stream of values."""
    recipe = hub.streams.subscribe(client, hub.mirror, params["names"], params["rate_hz"], hub.now_ns)
    return {
        "topic": recipe.topic,
        "rate_hz": _NS / recipe.period_ns,
        "fields": describe(recipe, hub.mirror),
        "address": hub.options.telemetry,
    }


async def unsubscribe(hub: Hub, client: Client, params: dict[str, Any]) -> Any:
    """End a stream."""
    hub.streams.unsubscribe(client, params["topic"])
    return {"topic": params["topic"]}


async def events(hub: Hub, _client: Client, params: dict[str, Any]) -> Any:
    """Say what happened lately."""
    return hub.recent.since(int(params["since"]))


METHODS = (
    Method("subscribe", subscribe, params={"names": Param(refs), "rate_hz": Param(number(0.01, MAX_RATE_HZ), 30.0)}),
    Method("unsubscribe", unsubscribe, params={"topic": Param(text)}),
    Method("events", events, params={"since": Param(number(0), 0)}),
)
"""The methods of this part."""
