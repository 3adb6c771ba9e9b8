"""Methods that say something about a bout: marks, notes, labels."""

from __future__ import annotations

from typing import Any

from nuc_engine.service.clients import Client
from nuc_engine.service.hub import Hub
from nuc_engine.service.method import Method
from nuc_engine.service.params import Param, text, texts


async def mark(hub: Hub, client: Client, params: dict[str, Any]) -> Any:
    """Mark this moment."""
    hub.logger.tell_mark(params["text"], client.author)
    time_s = hub.engine_time_s(hub.now_ns)
    hub.recent.add("mark", params["text"], author=client.author, time_s=time_s)
    return {"time_s": time_s}


async def notes(hub: Hub, client: Client, params: dict[str, Any]) -> Any:
    """Add a note."""
    hub.logger.tell_note(params["text"], client.author)
    return {"text": params["text"]}


async def labels(hub: Hub, client: Client, params: dict[str, Any]) -> Any:
    """Label this bout and those that follow."""
    for key, value in params["labels"].items():
        hub.logger.tell_label(key, value, client.author)
    return {"labels": params["labels"]}


METHODS = (
    Method("mark", mark, "operate", params={"text": Param(text)}),
    Method("notes", notes, "operate", params={"text": Param(text)}),
    Method("labels", labels, "operate", True, {"labels": Param(texts)}),
)
"""The methods of this part."""
