"""What keeps the table of `watch` and the daemon in step, and how events are told in a line."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nuc_engine.cli.ctl.watchview import View, look, needed
from nuc_engine.client import Client, ClientError

STATUS_EVERY = 5
"""Refreshes of the values to each one of the state: statistics cost the daemon more than values do."""

_TOLD = 8


class Watch:
    """The whole leg being watched. Never raises what a client raises: it shows it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._configuration: str | None = None
        self._refreshes = 0
        self._seen = 0
        self._told: deque[str] = deque(maxlen=_TOLD)
        self.view = View()

    def refresh(self) -> None:
        """Look at the leg again."""
        view = self.view
        try:
            if view.status is None or view.offline or self._refreshes % STATUS_EVERY == 0:
                view = self._state(view)
            self._refreshes += 1
            if view.joints:
                reading = self._client.get(needed(view.joints))
                view = replace(view, values=reading.values)
                if view.status is not None:
                    moment = {"engine_time_s": reading.time_s, "cycle": reading.cycle}
                    view = replace(view, status=replace(view.status, **moment))
            self.view = replace(view, offline="")
        except ClientError as error:
            self.view = replace(view, offline=str(error))

    def _state(self, view: View) -> View:
        status = self._client.status()
        # A daemon that has just been started knows its configuration before it has a core that runs it.
        known = bool(status.configuration) and status.mode != "UNCONFIGURED"
        if status.configuration != self._configuration or view.offline or known is not bool(view.joints):
            view = replace(view, joints=look(self._client.model()) if known else (), values={})
            # Another daemon counts its events from 1 again.
            self._seen = 0 if view.offline else self._seen
            self._configuration = status.configuration
        for event in self._client.events(self._seen):
            self._told.append(event_text(event))
            self._seen = int(event.get("seq", self._seen))
        return replace(view, status=status, told=tuple(self._told))


def event_text(event: Any) -> str:
    """Return an event in one line, however much the daemon tells of it."""
    if not isinstance(event, Mapping):
        return str(event)
    time_s, what = event.get("time_s"), event.get("name", "")
    at = f"{time_s:9.3f} s  " if isinstance(time_s, int | float) else " " * 13
    known = ("seq", "time_s", "wall_s", "name", "text", "applied", "refused", "request", "cycle")
    more = "".join(f"  {key}={value}" for key, value in event.items() if key not in known and value not in (None, ""))
    return f"{at}{what}: {event.get('text', '')}{more}".rstrip(": ")
