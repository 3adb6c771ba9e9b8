"""One joint being tuned: what is known of it, and what is asked of the daemon. Screens show it, keys call it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from nuc_engine.cli.ctl.link import Target, act
from nuc_engine.cli.ctl.sheet import Knob, SheetRow, changed, make_sheet
from nuc_engine.cli.ctl.watching import STATUS_EVERY
from nuc_engine.cli.terminal.ink import edit_text, shown
from nuc_engine.client import Client, ClientError, NotAnswered
from nuc_engine.messages import requests
from nuc_engine.messages.answers import Acknowledgement, Status
from nuc_engine.messages.requests import Request


class Tune:
    """A joint's sheet and its values, as far as known; `message` is what came of the last request, `offline` why none.

    Raises ClientError and KeyError (no such joint) when it is made, never afterwards.
    """

    def __init__(self, client: Client, target: Target, joint: str) -> None:
        self._client, self._target, self._joint = client, target, joint
        self.status: Status = client.status()
        self.sheet = make_sheet(client.model(), joint)
        self.values: Mapping[str, Any] = {}
        self.recording = self.message = self.offline = ""
        self._configuration = self.status.configuration
        self._refreshes = 0
        self._told(self.status)
        self._read()

    @property
    def rows(self) -> tuple[SheetRow, ...]:
        """The lines of the sheet, for the rules in force."""
        return self.sheet.rows(self.values)

    def refresh(self) -> None:
        """Look at the leg again."""
        self._refreshes += 1
        try:
            if self.offline or self._refreshes % STATUS_EVERY == 0:
                self._look()
            self._read()
        except ClientError as error:
            self.offline = str(error)
        except KeyError as error:
            self.offline = str(error.args[0])
        else:
            self.offline = ""

    def step(self, row: SheetRow | None, steps: int) -> None:
        """Turn a value by so many of its quanta."""
        if row is None or row.knob is None:
            self.message = nothing_to_turn(row)
            return
        knob = row.knob
        value = knob.value(self.values)
        after = None if value is None else knob.stepped(value, steps)
        if after is None:
            self.message = f"{knob.label} has no value yet: type one with e"
        elif after == value:
            self.message = f"{knob.label} is at the end of its valid range"
        else:
            self._send({knob.label: after})

    def enter(self, row: SheetRow, text: str) -> None:
        """Set a value, or rewrite a rule, to what was typed."""
        if row.knob is None:
            self._send({row.rule: text})
        elif isinstance(value := self._typed(row.knob, text), str):
            self.message = value
        else:
            self._send({row.knob.label: value})

    def undo(self) -> None:
        """Take the last edit back, of anybody."""
        self._ask(requests.UndoRequest(), "undone")

    def redo(self) -> None:
        """Do again what was undone."""
        self._ask(requests.RedoRequest(), "done again")

    def record(self, name: str) -> None:
        """Begin to record edits as a script; without a name, end it."""
        if self._ask(requests.RecordStartRequest(name) if name else requests.RecordStopRequest(), "recorded"):
            self.recording = name
            self.message = f"recording edits as {name}" if name else self.message

    def save(self, name: str) -> None:
        """Save the values in force as a configuration."""
        self._ask(requests.SaveRequest(name, "configuration"), "saved")

    def save_script(self, name: str) -> None:
        """Save the values in force as a script."""
        self._ask(requests.SaveRequest(name, "script"), "saved")

    def mark(self, text: str) -> None:
        """Mark this moment in the logs."""
        self._ask(requests.MarkRequest(text), "marked")

    def take_control(self) -> None:
        """Take control, if nobody has it."""
        self._ask(requests.TakeControlRequest(force=False), "control is yours")

    def off(self) -> None:
        """Take the torque off, latched."""
        self._ask(requests.OffRequest("from nuc ctl tune"), "torque is off and latched; nuc ctl arm takes it back")

    def _typed(self, knob: Knob, text: str) -> int | float | str:
        """Return the value that was typed, or what is wrong with it."""
        whole = knob.datatype not in ("float", "double")
        try:
            value = int(text) if whole else float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            return f"{text!r} is no {'whole number' if whole else 'number'}"
        kept = knob.kept(value)
        if kept != value:
            return f"{text} is outside the valid range, which ends at {kept}"
        if knob.count > 1 and knob.value(self.values) is None:
            return f"{knob.hdso} has no value yet: give all of it with nuc ctl set"
        return value

    def _send(self, changes: Mapping[str, Any]) -> None:
        if self.offline:
            self.message = "not sent: the daemon does not answer"
            return
        what = ", ".join(f"{name} = {shown(value)}" for name, value in changes.items())
        result = self._ask(requests.set_values(changes), what)
        if isinstance(result, Acknowledgement) and not (result.refused or result.pending):
            self.values = changed(self.values, changes)

    def _ask(self, call: Request[Any], done: str) -> object:
        """Send a request, and keep what came of it; None where it was refused or not answered."""
        try:
            result = act(self._client, self._target, self._client.do, call)
        except ClientError as error:
            self.message = str(error)
            if isinstance(error, NotAnswered):
                self.offline = self.message
            return None
        if isinstance(result, Acknowledgement):
            applied = "" if call.method == "set" else "".join(f" {_applied(item)}" for item in result.applied)
            self.message = edit_text(done + applied, result)
        else:
            path = _path(result)
            self.message = f"{done}: {path}" if path else done
        return result or True

    def _look(self) -> None:
        """Ask how the daemon is; one that was away, or has another configuration now, has another model to show."""
        status = self._client.status()
        if self.offline or status.configuration != self._configuration:
            self.sheet = make_sheet(self._client.model(), self._joint)
            self._configuration = status.configuration
            self.values = {}
        self._told(status)

    def _told(self, status: Status) -> None:
        self.status = status
        self.recording = status.recording

    def _read(self) -> None:
        # Which operands there are is known only once the rules have been read.
        asked: set[str] = set()
        while missing := [name for name in self.sheet.names(self.values) if name not in asked]:
            names = missing if asked else self.sheet.names(self.values)
            reading = self._client.get(names)
            asked |= set(names)
            self.values = {**self.values, **reading.values}
            self.status = msgspec.structs.replace(self.status, engine_time_s=reading.time_s, cycle=reading.cycle)


def nothing_to_turn(row: SheetRow | None) -> str:
    """Return why a line has nothing to turn."""
    if row is None:
        return "this joint has no rules"
    return "e rewrites the rule; its thresholds are below" if row.kind == "rule" else "a constant or sensor: not tuned"


def _applied(item: Any) -> str:
    return f"{item['name']} = {shown(item.get('value'))}" if isinstance(item, Mapping) and "name" in item else str(item)


def _path(result: object) -> str:
    return getattr(result, "path", "")
