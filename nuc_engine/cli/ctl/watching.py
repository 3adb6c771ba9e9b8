"""What keeps the table of `watch` and the daemon in step, and how events are told in a line."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import msgspec

from nuc_engine.cli.ctl.watchview import WatchState, look, needed
from nuc_engine.client import Client, ClientError

STATUS_EVERY = 5
"""Refreshes of the values to each one of the state: statistics cost the daemon more than values do."""

_TOLD, _KEPT = 8, 200
_KNOWN = ("seq", "time_s", "unix_time_s", "name", "text", "applied", "refused", "request", "cycle")
"""What an event's line does not list behind its text."""


class Watch:
    """The whole leg being watched. Never raises what a client raises: it shows it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._configuration: str | None = None
        self._refreshes = 0
        self._seen = 0
        self._told: deque[Any] = deque(maxlen=_KEPT)
        self.view = WatchState()

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
                    view = replace(view, status=msgspec.structs.replace(view.status, **moment))
            self.view = replace(view, offline="")
        except ClientError as error:
            self.view = replace(view, offline=str(error))

    def _state(self, view: WatchState) -> WatchState:
        status = self._client.status()
        # A daemon that has just been started knows its configuration before it has a core that runs it.
        known = bool(status.configuration) and status.mode != "UNCONFIGURED"
        if status.configuration != self._configuration or view.offline or known is not bool(view.joints):
            view = replace(view, joints=look(self._client.model()) if known else (), values={})
            # Another daemon counts its events from 1 again.
            self._seen = 0 if view.offline else self._seen
            self._configuration = status.configuration
        for event in self._client.events(self._seen):
            self._told.append(event)
            self._seen = int(event.get("seq", self._seen))
        return replace(view, status=status, told=event_lines(self._told)[-_TOLD:])


def event_lines(events: Iterable[Any]) -> list[str]:
    """Return events as lines, however much the daemon tells of each.

    In a row of events of one name, what is equal but for its time is one line, that says how often it was.
    """
    lines: list[str] = []
    for _, row in groupby(events, lambda event: event.get("name") if isinstance(event, Mapping) else event):
        alike: dict[str, list[Any]] = {}
        for event in row:
            alike.setdefault(_told(event), []).append(event)
        lines += [_line(told, found) for told, found in alike.items()]
    return lines


def _told(event: Any) -> str:
    """Return what an event says, without when."""
    if not isinstance(event, Mapping):
        return str(event)
    more = "".join(f"  {key}={value}" for key, value in event.items() if key not in _KNOWN and value not in (None, ""))
    return f"{event.get('name', '')}: {event.get('text', '')}{more}".rstrip(": ")


def _line(told: str, found: Sequence[Any]) -> str:
    first, last = (event.get("time_s") if isinstance(event, Mapping) else None for event in (found[0], found[-1]))
    at = f"{first:9.3f} s  " if isinstance(first, int | float) else " " * 13
    if len(found) == 1:
        return f"{at}{told}"
    until = f", until {last:.3f} s" if isinstance(last, int | float) else ""
    return f"{at}{told}  ({len(found)} times{until})"
