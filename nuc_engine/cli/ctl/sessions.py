"""What keeps a screen and the daemon in step: the screens' states are pure, and so are the lines drawn of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nuc_engine.cli.ctl import tuning
from nuc_engine.cli.ctl.link import Target, act
from nuc_engine.cli.ctl.sheet import make_sheet
from nuc_engine.cli.ctl.tuning import Screen
from nuc_engine.cli.ctl.watchview import View, look, needed
from nuc_engine.client import Client, ClientError, NotAnswered

STATUS_EVERY = 5
"""Refreshes of the values to each one of the state: statistics cost the daemon more than values do."""

_TOLD = 8


class Tune:
    """One joint being tuned. Raises ClientError and KeyError (no such joint) when it is made, never afterwards."""

    def __init__(self, client: Client, target: Target, joint: str) -> None:
        self._client, self._target, self._joint = client, target, joint
        status = client.status()
        self._configuration = status.configuration
        self.screen = tuning.told(Screen(make_sheet(client.model(), joint)), status)
        self._refreshes = 0
        self._read()

    def refresh(self) -> None:
        """Look at the leg again."""
        self._refreshes += 1
        try:
            if self.screen.offline or self._refreshes % STATUS_EVERY == 0:
                self._state()
            self._read()
        except (ClientError, KeyError) as error:
            self.screen = tuning.lost(self.screen, _said(error))

    def key(self, key: str) -> None:
        """Take one key, and do what it asks for."""
        self.screen, calls = tuning.press(self.screen, key)
        for call in calls:
            try:
                result = act(self._client, self._target, call)
            except NotAnswered as error:
                self.screen = tuning.lost(tuning.not_done(self.screen, call, str(error)), str(error))
            except ClientError as error:
                self.screen = tuning.not_done(self.screen, call, str(error))
            else:
                self.screen = tuning.acknowledged(self.screen, call, result)

    def _state(self) -> None:
        """Ask how the daemon is; one that was away, or has another configuration now, has another model to show."""
        status = self._client.status()
        if self.screen.offline or status.configuration != self._configuration:
            sheet = make_sheet(self._client.model(), self._joint)
            self._configuration = status.configuration
            self.screen = replace(self.screen, sheet=sheet, values={}, awaiting={})
        self.screen = tuning.told(self.screen, status)

    def _read(self) -> None:
        names = self.screen.sheet.names(self.screen.values)
        self.screen = tuning.read(self.screen, self._client.get(names))
        # Which operands there are is known only once the rules have been read.
        after = self.screen.sheet.names(self.screen.values)
        if set(after) - set(names):
            self.screen = tuning.read(self.screen, self._client.get(after))


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
            self.view = replace(view, offline=_said(error))

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


def _said(error: Exception) -> str:
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
