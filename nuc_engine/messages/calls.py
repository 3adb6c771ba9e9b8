"""Every request of the command channel as a value: what is sent, and how its answer is read.

A function here makes a `Call`; `Client` and `AsyncClient` send it (`methods` gives each of them a method for each).
Names of HDSOs may be given as ids wherever a name is asked for; `NAME[k]` is one element of an HDSO, counted from 0 in
row-major order. Times and delays are seconds; angles are degrees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from nuc_engine.messages.results import (
    Acknowledgement,
    Configuration,
    Data,
    Greeting,
    Reading,
    Recipe,
    Started,
    Status,
    Value,
    read_list,
    read_map,
    read_nothing,
)

T = TypeVar("T")
Ref = int | str
Change = tuple[Ref, Value | Sequence[int | float]]
"""An HDSO, or one element of it, by id or name, and its new value, values, or rule text."""

_SLOW_S = 20.0
"""Documents are checked whole and a new core is started: that takes seconds on a small machine."""

_EDIT_S = 6.0
"""The daemon itself waits for its core, and says so when that does not answer: that is the better message."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request: `read` turns the answer's result into what the caller gets. `at_least_s`: it may take this long."""

    method: str
    read: Callable[[object], T]
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    at_least_s: float = 0.0


def hello(name: str, role: str | None = None) -> Call[Greeting]:
    """Say who one is; `role` asks for less than one is allowed (`watch`, `operate`, `admin`)."""
    return Call("hello", Greeting.read, _given(name=name, role=role))


def status() -> Call[Status]:
    """Ask how the daemon is."""
    return Call("status", Status.read)


def tasks() -> Call[Data]:
    """Ask for period, lateness, execution time and overruns of every task."""
    return Call("tasks", read_map)


def configurations() -> Call[tuple[Configuration, ...]]:
    """Ask which configurations can be chosen."""
    return Call("configurations", Configuration.read_all)


def configure(name: str, documents: Mapping[str, str] | None = None) -> Call[Data]:
    """Choose a configuration, or send one: `documents` are the texts of joints.xml, parameters.xml and sensors.xml."""
    return Call("configure", read_map, _given(name=name, documents=documents), _SLOW_S)


def documents() -> Call[Data]:
    """Ask for the XML texts of the configuration in force, by file name."""
    return Call("documents", read_map)


def model() -> Call[Data]:
    """Ask for the model in force, explained: joints, muscles, states, rules, HDSOs."""
    return Call("model", read_map)


def run(
    delay_s: float = 0.0,
    stop_s: float | None = None,
    labels: Mapping[str, str] | None = None,
    notes: str | None = None,
    out: str | None = None,
) -> Call[Started]:
    """Begin a bout after `delay_s`; it stops by itself at engine time `stop_s`.

    `out` names its directory in the daemon's data folder; one that exists is refused.
    """
    stop = -1.0 if stop_s is None else stop_s
    given = _given(delay_s=delay_s, stop_s=stop, labels=labels or None, notes=notes, out=out)
    return Call("run", Started.read, given, 5.0)


def stop(policy: Literal["off", "hold", "park"] | None = None) -> Call[Data]:
    """End the bout; without a policy, as the daemon was told to when it was started."""
    return Call("stop", read_map, _given(policy=policy), _EDIT_S)


def arm() -> Call[Data]:
    """Allow driving again after a fault, or after `off`: the joints start from where they are."""
    return Call("arm", read_map, at_least_s=_EDIT_S)


def off(why: str = "asked for") -> Call[Data]:
    """Take the torque off at once, latched until `arm`. Everybody may, whoever has control."""
    return Call("off", read_map, {"why": why}, _EDIT_S)


def log(start_s: float = 0.0, stop_s: float | None = None, out: str | None = None) -> Call[Data]:
    """Log from engine time `start_s` to `stop_s` (None: until `stoplog`), to a directory named `out`."""
    return Call("log", read_map, _given(start_s=start_s, stop_s=-1.0 if stop_s is None else stop_s, out=out))


def stoplog(stop_s: float | None = None) -> Call[Data]:
    """End what `log` began, at once or at engine time `stop_s`."""
    return Call("stoplog", read_map, _given(stop_s=stop_s))


def get(names: Sequence[Ref]) -> Call[Reading]:
    """Ask for values by name or id, all of the same whole cycle; the id -1 stands for every HDSO."""
    return Call("get", Reading.read, {"names": list(names)})


def set_values(changes: Sequence[Change] | Mapping[str, Any], time_s: float | None = None) -> Call[Acknowledgement]:
    """Write values; they take effect together, at once or at engine time `time_s`."""
    pairs = changes.items() if isinstance(changes, Mapping) else changes
    written = [[ref, list(value) if isinstance(value, tuple) else value] for ref, value in pairs]
    return Call("set", Acknowledgement.read, {"changes": written, "time_s": time_s}, at_least_s=_EDIT_S)


def script(text: str, offset: Literal["start", "now"] = "start") -> Call[Acknowledgement]:
    """Send an hdsoscript; its times count from the bout's start, or from now."""
    return Call("script", Acknowledgement.read, {"text": text, "offset": offset}, 10.0)


def pending() -> Call[tuple[Any, ...]]:
    """Ask which edits wait for their time."""
    return Call("pending", read_list)


def forget(request: int | Literal["all"]) -> Call[Data]:
    """Withdraw an edit that waits for its time, or all of them."""
    return Call("forget", read_map, {"request": request}, _EDIT_S)


def undo() -> Call[Acknowledgement]:
    """Take back the last edit that took effect, whoever made it."""
    return Call("undo", Acknowledgement.read, at_least_s=_EDIT_S)


def redo() -> Call[Acknowledgement]:
    """Make the edit again that was undone last."""
    return Call("redo", Acknowledgement.read, at_least_s=_EDIT_S)


def joint_mode(joint: Ref, mode: Literal["muscle", "force", "position", "hold", "limp"]) -> Call[Acknowledgement]:
    """Choose what commands a joint: its muscles, a force, a position; it can hold where it is, or be limp."""
    return Call("joint_mode", Acknowledgement.read, {"joint": joint, "mode": mode}, at_least_s=_EDIT_S)


def tweak(joint: Ref, ticks: float) -> Call[Acknowledgement]:
    """Add a torque to what a joint's muscles ask for, in raw ticks of its servo; 0 ends it. Logged."""
    return Call("tweak", Acknowledgement.read, {"joint": joint, "ticks": ticks}, at_least_s=_EDIT_S)


def pose(angles: Mapping[str, float], rate_deg_s: float | None = None) -> Call[Acknowledgement]:
    """Move joints to these angles, slowly."""
    return Call("pose", Acknowledgement.read, _given(angles=dict(angles), rate_deg_s=rate_deg_s), _EDIT_S)


def pose_named(name: str, rate_deg_s: float | None = None) -> Call[Acknowledgement]:
    """Move joints to a pose that was saved, slowly."""
    return Call("pose", Acknowledgement.read, _given(name=name, rate_deg_s=rate_deg_s), _EDIT_S)


def park(
    angles: Mapping[str, float] | None = None, name: str | None = None, rate_deg_s: float | None = None
) -> Call[Data]:
    """Choose the pose that a stop with the policy `park` moves to: angles, or a pose that was saved."""
    return Call("park", read_map, _given(angles=angles, name=name, rate_deg_s=rate_deg_s), _EDIT_S)


def pose_save(name: str) -> Call[Data]:
    """Save the pose the leg is in."""
    return Call("pose_save", read_map, {"name": name}, 5.0)


def poses() -> Call[Data]:
    """Ask for the poses that were saved: name to joint to degrees."""
    return Call("poses", read_map)


def save(
    name: str,
    kind: Literal["configuration", "script"] = "configuration",
    description: str | None = None,
    overwrite: bool = False,
) -> Call[Data]:
    """Write the values in force as a configuration or as an hdsoscript; answers with where."""
    params = _given(name=name, kind=kind, description=description, overwrite=overwrite or None)
    return Call("save", read_map, params, 10.0)


def record_start(name: str) -> Call[Data]:
    """Begin to write down every edit that takes effect, with its time."""
    return Call("record_start", read_map, {"name": name})


def record_stop(overwrite: bool = False) -> Call[Data]:
    """End it; answers with the hdsoscript's path."""
    return Call("record_stop", read_map, _given(overwrite=overwrite or None), 10.0)


def mark(text: str) -> Call[Data]:
    """Log this text with the time and one's name."""
    return Call("mark", read_map, {"text": text})


def notes(text: str) -> Call[Data]:
    """Add a note to the bout's data directory."""
    return Call("notes", read_map, {"text": text})


def labels(values: Mapping[str, str]) -> Call[Data]:
    """Label this bout and those that follow: operator, leg, surface, body_height, supply_voltage, repetition, ..."""
    return Call("labels", read_map, {"labels": dict(values)})


def recipe(names: Sequence[Ref], rate_hz: float) -> Call[Recipe]:
    """Ask for a stream of values; `Client.subscribe` also opens it."""
    return Call("subscribe", Recipe.read, {"names": list(names), "rate_hz": rate_hz})


def unsubscribe(topic: str) -> Call[None]:
    """End a stream."""
    return Call("unsubscribe", read_nothing, {"topic": topic})


def events(since: int | None = None) -> Call[tuple[Any, ...]]:
    """Ask for the last events, or for those after the one with this number (`seq`)."""
    return Call("events", read_list, _given(since=since))


def take_control(force: bool = False) -> Call[Data]:
    """Ask for control; with `force` also from somebody who has it."""
    return Call("take_control", read_map, {"force": True} if force else {})


def hand_over(to: str) -> Call[Data]:
    """Give control to another client."""
    return Call("hand_over", read_map, {"to": to})


def release_control() -> Call[Data]:
    """Give control back, to nobody."""
    return Call("release_control", read_map)


def shutdown() -> Call[Data]:
    """End the daemon: a commanded stop, torque off, data flushed."""
    return Call("shutdown", read_map, at_least_s=5.0)


def _given(**params: Any) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}
