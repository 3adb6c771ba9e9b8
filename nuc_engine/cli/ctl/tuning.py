"""The screen of `nuc ctl tune` without a terminal: what is known and chosen, and what a key does to it.

`press` takes a key and returns the screen after it and the requests to send; what comes of them goes back in through
`acknowledged` or `not_done`. Nothing here asks the daemon or reads a clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import msgspec

from nuc_engine.cli.ctl.sheet import Knob, Row, Sheet, changed
from nuc_engine.cli.terminal.ink import edit_text, shown
from nuc_engine.messages import requests
from nuc_engine.messages.answers import Acknowledgement, Reading, Status
from nuc_engine.messages.requests import Request

BIG = 10
"""Quanta of a big step."""

Calls = tuple[Request[Any], ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A line that is being typed: what it is for (as in `_ENTERED`), what stands before it, the text so far."""

    purpose: str
    asks: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Screen:
    """All of it. `awaiting` are values that were sent and are not yet acknowledged, by HDSO or element."""

    sheet: Sheet
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    status: Status | None = None
    selected: int = 0
    prompt: Prompt | None = None
    message: str = ""
    awaiting: Mapping[str, Any] = field(default_factory=dict[str, Any])
    recording: str = ""
    offline: str = ""
    help: bool = False
    over: bool = False

    @property
    def rows(self) -> tuple[Row, ...]:
        """The lines, for the rules in force."""
        return self.sheet.rows(self.shown)

    @property
    def row(self) -> Row | None:
        """The line that is chosen."""
        rows = self.rows
        return rows[min(self.selected, len(rows) - 1)] if rows else None

    @property
    def shown(self) -> Mapping[str, Any]:
        """Values as they are, or as they were sent where the answer is still out."""
        return changed(self.values, self.awaiting)


def read(screen: Screen, reading: Reading) -> Screen:
    """Take values of a cycle."""
    status = screen.status
    if status is not None:
        status = msgspec.structs.replace(status, engine_time_s=reading.time_s, cycle=reading.cycle)
    return replace(screen, values={**screen.values, **reading.values}, status=status, offline="")


def told(screen: Screen, status: Status) -> Screen:
    """Take the daemon's state."""
    return replace(screen, status=status, offline="", recording=status.recording)


def lost(screen: Screen, why: str) -> Screen:
    """Take notice that the daemon does not answer."""
    return replace(screen, offline=why, awaiting={})


def acknowledged(screen: Screen, call: Request[Any], result: object) -> Screen:
    """Take the answer to a request."""
    if isinstance(call, requests.RecordStartRequest):
        return replace(screen, recording=call.name, message=f"recording edits as {call.name}")
    if isinstance(call, requests.RecordStopRequest):
        return replace(screen, recording="", message=f"recorded: {_path(result)}")
    if not isinstance(result, Acknowledgement):
        return replace(screen, message=f"{_DONE.get(call.method, call.method)}{_path(result, ': ')}")
    sent = _sent(call)
    awaiting = {name: value for name, value in screen.awaiting.items() if sent.get(name, _OTHER) != value}
    message = edit_text(_what(call, sent, result), result)
    if result.refused or result.pending:
        return replace(screen, awaiting=awaiting, message=message)
    values = changed(screen.values, sent)
    return replace(screen, awaiting=awaiting, values=values, message=message)


def not_done(screen: Screen, call: Request[Any], why: str) -> Screen:
    """Take notice that a request was refused or not answered."""
    sent = _sent(call)
    awaiting = {name: value for name, value in screen.awaiting.items() if name not in sent}
    return replace(screen, awaiting=awaiting, message=why)


def press(screen: Screen, key: str) -> tuple[Screen, Calls]:
    """Return the screen after a key, and what to ask the daemon. Unknown keys do nothing."""
    if screen.prompt is not None:
        return _type(screen, screen.prompt, key)
    if screen.help:
        return replace(screen, help=False), ()
    action = _KEYS.get(key)
    return (screen, ()) if action is None else action(screen)


def _move(by: int) -> Callable[[Screen], tuple[Screen, Calls]]:
    def move(screen: Screen) -> tuple[Screen, Calls]:
        last = max(0, len(screen.rows) - 1)
        return replace(screen, selected=max(0, min(last, screen.selected + by)), message=""), ()

    return move


def _next_state(screen: Screen) -> tuple[Screen, Calls]:
    rows = screen.rows
    heads = [k for k, row in enumerate(rows) if row.kind == "rule"] or [0]
    after = next((k for k in heads if k > screen.selected), heads[0])
    return replace(screen, selected=after, message=""), ()


def _step(steps: int) -> Callable[[Screen], tuple[Screen, Calls]]:
    def step(screen: Screen) -> tuple[Screen, Calls]:
        row = screen.row
        if row is None or row.knob is None:
            return replace(screen, message=_nothing_to_turn(row)), ()
        value = row.knob.value(screen.shown)
        if value is None:
            return replace(screen, message=f"{row.knob.label} has no value yet: type one with e"), ()
        after = row.knob.stepped(value, steps)
        if after == value:
            return replace(screen, message=f"{row.knob.label} is at the end of its valid range"), ()
        return _write(screen, row.knob, after)

    return step


def _write(screen: Screen, knob: Knob, value: int | float) -> tuple[Screen, Calls]:
    return _send(screen, {knob.label: value})


def _send(screen: Screen, changes: Mapping[str, Any]) -> tuple[Screen, Calls]:
    if screen.offline:
        return replace(screen, message="not sent: the daemon does not answer"), ()
    return replace(screen, awaiting={**screen.awaiting, **changes}, message=""), (requests.set_values(changes),)


def _ask(call: Callable[[], Request[Any]]) -> Callable[[Screen], tuple[Screen, Calls]]:
    def ask(screen: Screen) -> tuple[Screen, Calls]:
        return replace(screen, message=""), (call(),)

    return ask


def _edit(screen: Screen) -> tuple[Screen, Calls]:
    row = screen.row
    if row is not None and row.kind == "rule":
        return replace(screen, prompt=Prompt("rule", f"{row.rule} = ", str(screen.shown.get(row.rule) or ""))), ()
    if row is None or row.knob is None:
        return replace(screen, message=_nothing_to_turn(row)), ()
    return replace(screen, prompt=Prompt("value", f"{row.knob.label} = "), message=""), ()


def _record(screen: Screen) -> tuple[Screen, Calls]:
    if screen.recording:
        return screen, (requests.RecordStopRequest(),)
    return replace(screen, prompt=Prompt("record", "record edits as script: ")), ()


def _prompt(purpose: str, asks: str) -> Callable[[Screen], tuple[Screen, Calls]]:
    return lambda screen: (replace(screen, prompt=Prompt(purpose, asks), message=""), ())


def _type(screen: Screen, prompt: Prompt, key: str) -> tuple[Screen, Calls]:
    if key == "escape":
        return replace(screen, prompt=None, message="left as it was"), ()
    if key == "enter":
        done = replace(screen, prompt=None)
        text = prompt.text.strip()
        return _ENTERED[prompt.purpose](done, text) if text else (done, ())
    if key == "backspace":
        return replace(screen, prompt=replace(prompt, text=prompt.text[:-1])), ()
    if key == "clear":
        return replace(screen, prompt=replace(prompt, text="")), ()
    if len(key) == 1 and key.isprintable():
        return replace(screen, prompt=replace(prompt, text=prompt.text + key)), ()
    return screen, ()


def _enter_value(screen: Screen, text: str) -> tuple[Screen, Calls]:
    row = screen.row
    if row is None or row.knob is None:
        return screen, ()
    whole = row.knob.datatype not in ("float", "double")
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        return replace(screen, message=f"{text!r} is no {'whole number' if whole else 'number'}"), ()
    kept = row.knob.kept(value)
    if kept != value:
        return replace(screen, message=f"{text} is outside the valid range, which ends at {kept}"), ()
    if row.knob.count > 1 and row.knob.value(screen.shown) is None:
        return replace(screen, message=f"{row.knob.hdso} has no value yet: give all of it with nuc ctl set"), ()
    return _write(screen, row.knob, value)


def _enter_rule(screen: Screen, text: str) -> tuple[Screen, Calls]:
    row = screen.row
    return (screen, ()) if row is None else _send(screen, {row.rule: text})


def _nothing_to_turn(row: Row | None) -> str:
    if row is None:
        return "this joint has no rules"
    return "e rewrites the rule; its thresholds are below" if row.kind == "rule" else "a constant or sensor: not tuned"


def _what(call: Request[Any], sent: Mapping[str, Any], result: Acknowledgement) -> str:
    if sent:
        return ", ".join(f"{name} = {shown(value)}" for name, value in sent.items())
    done = ", ".join(map(_applied, result.applied))
    return _DONE.get(call.method, call.method) + (f" {done}" if done else "")


def _applied(item: Any) -> str:
    return f"{item['name']} = {shown(item.get('value'))}" if isinstance(item, Mapping) and "name" in item else str(item)


def _sent(call: Request[Any]) -> dict[str, Any]:
    return {str(name): value for name, value in call.changes} if isinstance(call, requests.SetRequest) else {}


def _path(result: object, before: str = "") -> str:
    path = getattr(result, "path", "")
    return before + path if path else ""


_OTHER = object()
_DONE: Mapping[str, str] = MappingProxyType(
    {
        "undo": "undone",
        "redo": "done again",
        "save": "saved",
        "mark": "marked",
        "off": "torque is off and latched; nuc ctl arm takes it back",
        "take_control": "control is yours",
        "joint_mode": "joint mode",
    }
)
_ENTERED: Mapping[str, Callable[[Screen, str], tuple[Screen, Calls]]] = MappingProxyType(
    {
        "value": _enter_value,
        "rule": _enter_rule,
        "record": lambda screen, text: (screen, (requests.RecordStartRequest(text),)),
        "save": lambda screen, text: (screen, (requests.SaveRequest(text, "configuration"),)),
        "script": lambda screen, text: (screen, (requests.SaveRequest(text, "script"),)),
        "mark": lambda screen, text: (screen, (requests.MarkRequest(text),)),
    }
)
_KEYS: Mapping[str, Callable[[Screen], tuple[Screen, Calls]]] = MappingProxyType(
    {
        "up": _move(-1),
        "down": _move(+1),
        "page-up": _move(-8),
        "page-down": _move(+8),
        "tab": _next_state,
        "left": _step(-1),
        "right": _step(+1),
        "-": _step(-1),
        "+": _step(+1),
        "shift-left": _step(-BIG),
        "shift-right": _step(+BIG),
        "<": _step(-BIG),
        ">": _step(+BIG),
        "e": _edit,
        "enter": _edit,
        "u": _ask(requests.UndoRequest),
        "U": _ask(requests.RedoRequest),
        "r": _record,
        "s": _prompt("save", "save as configuration: "),
        "S": _prompt("script", "save as script: "),
        "m": _prompt("mark", "mark this moment: "),
        "t": _ask(lambda: requests.TakeControlRequest(force=False)),
        "!": _ask(lambda: requests.OffRequest("from nuc ctl tune")),
        "?": lambda screen: (replace(screen, help=True), ()),
        "q": lambda screen: (replace(screen, over=True), ()),
    }
)
