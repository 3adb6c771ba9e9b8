"""Methods that say something about a bout: marks, notes, labels."""

from __future__ import annotations

from nuc_engine.messages import requests
from nuc_engine.messages.answers import LabelsAnswer, MarkAnswer, NotesAnswer
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.hub import Hub
from nuc_engine.service.method import Handlers


async def mark(hub: Hub, client: ConnectedClient, asked: requests.MarkRequest) -> MarkAnswer:
    """Mark this moment."""
    hub.logger.tell_mark(asked.text, client.author)
    time_s = hub.engine_time_s(hub.now_ns)
    hub.recent.add("mark", asked.text, author=client.author, time_s=time_s)
    return MarkAnswer(time_s)


async def notes(hub: Hub, client: ConnectedClient, asked: requests.NotesRequest) -> NotesAnswer:
    """Add a note."""
    hub.logger.tell_note(asked.text, client.author)
    return NotesAnswer(asked.text)


async def labels(hub: Hub, client: ConnectedClient, asked: requests.LabelsRequest) -> LabelsAnswer:
    """Label this bout and those that follow."""
    for key, value in asked.labels.items():
        hub.logger.tell_label(key, value, client.author)
    return LabelsAnswer(dict(asked.labels))


HANDLERS: Handlers = {
    requests.MarkRequest: mark,
    requests.NotesRequest: notes,
    requests.LabelsRequest: labels,
}
"""What does the requests of this part."""
