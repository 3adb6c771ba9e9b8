"""Methods around what is sent unasked: streams of values, and what happened lately."""

from __future__ import annotations

from drivers.units import NS_PER_S
from nuc_engine.messages import requests
from nuc_engine.messages.answers import StreamAnswer, SubscribeAnswer
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.hub import Hub
from nuc_engine.service.method import Handlers
from nuc_engine.service.telemetry import describe


async def subscribe(hub: Hub, client: ConnectedClient, asked: requests.SubscribeRequest) -> SubscribeAnswer:
    """Begin a stream of values."""
    recipe = hub.streams.subscribe(client, hub.mirror, asked.names, asked.rate_hz, hub.now_ns)
    return SubscribeAnswer(
        topic=recipe.topic,
        rate_hz=NS_PER_S / recipe.period_ns,
        found=describe(recipe, hub.mirror),
        address=hub.options.telemetry,
    )


async def unsubscribe(hub: Hub, client: ConnectedClient, asked: requests.UnsubscribeRequest) -> StreamAnswer:
    """End a stream."""
    hub.streams.unsubscribe(client, asked.topic)
    return StreamAnswer(asked.topic)


HANDLERS: Handlers = {
    requests.SubscribeRequest: subscribe,
    requests.UnsubscribeRequest: unsubscribe,
}
"""What does the requests of this part."""
