"""What `nuc ctl watch` shows, as text; `look` says which values it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nuc_engine.cli.terminal.ink import alarms, headline, name_of, number
from nuc_engine.messages.answers import Status


@dataclass(frozen=True, slots=True)
class JointNames:
    """One joint's names: of its HDSOs, motor, muscles, and (state, rule)."""

    joint: str
    angle: str
    load: str
    motor: str
    muscles: tuple[str, ...]
    rules: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class WatchState:
    """What is known now. `offline`: why there is nothing newer; `told`: the last events, newest last."""

    joints: tuple[JointNames, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    status: Status | None = None
    offline: str = ""
    told: Sequence[str] = ()


def look(model: Mapping[str, Any]) -> tuple[JointNames, ...]:
    """Return the names of every joint of a model that the daemon described."""
    return tuple(_joint(joint) for joint in model["joints"] if not joint.get("endpoint"))


def needed(joints: Sequence[JointNames]) -> list[str]:
    """Return the names to ask the daemon for."""
    names: list[str] = []
    for j in joints:
        names += [f"joint.{j.joint}.action"] if j.rules else []
        names += [f"joint.{j.joint}.mode", *filter(None, (j.angle, j.load))]
        names += [f"motor.{j.motor}.{what}" for what in ("sent_raw", "position_raw")] if j.motor else []
        names += [f"muscle.{muscle}.activation" for muscle in j.muscles]
        names += [f"rule.{rule}" for _, rule in j.rules]
    return names


def plain_line(view: WatchState) -> str:
    """Return it in one line, for where no table can be drawn."""
    if view.offline or view.status is None:
        return view.offline or "nothing known yet"
    v = view.values
    joints = [
        f"{j.joint} {v.get(f'joint.{j.joint}.action') or 'held'} {number(v.get(j.angle), 1)} deg" for j in view.joints
    ]
    return "; ".join([headline(view.status), *joints, *alarms(view.status)])


def _joint(joint: Mapping[str, Any]) -> JointNames:
    motor = joint.get("motor") or {}
    return JointNames(
        joint=str(joint["name"]),
        angle=name_of(motor.get("angle_sensor")),
        load=name_of(motor.get("load_sensor")),
        motor=str(motor.get("name", "")),
        muscles=tuple(str(muscle["name"]) for muscle in joint["muscles"]),
        rules=tuple((str(state["name"]), str(state["rule"]["name"])) for state in joint["states"]),
    )


def head_lines(view: WatchState) -> tuple[str, list[str], list[str]]:
    """Return what the daemon does, what somebody should see to, and who has control."""
    status = view.status
    if status is None:
        return "", [view.offline or "waiting for the daemon"], []
    wrong = alarms(status)
    if view.offline:
        wrong.append(f"NOT LIVE, what was known last: {view.offline}")
    log = " ".join(str(status.logging[key]) for key in ("state", "folder") if status.logging.get(key))
    return headline(status), wrong, [f"control: {status.control or 'nobody'}" + (f"   log: {log}" if log else "")]


def joint_cells(view: WatchState) -> list[tuple[list[str], list[bool | None]]]:
    """Return per joint its name, action, angle, load, what was sent and activations; and whether each rule is true."""
    v = view.values
    rows: list[tuple[list[str], list[bool | None]]] = []
    for j in view.joints:
        now = v.get(f"joint.{j.joint}.action") if j.rules else None
        action = str(now or v.get(f"joint.{j.joint}.mode") or "-")
        activations = " ".join(number(v.get(f"muscle.{muscle}.activation")) for muscle in j.muscles)
        sent = v.get(f"motor.{j.motor}.sent_raw")
        sent_text = {-1: "read", -2: "limp"}.get(sent, number(sent)) if isinstance(sent, int) else number(sent)
        cells = [j.joint, action, number(v.get(j.angle), 1), number(v.get(j.load)), sent_text, activations]
        rows.append((cells, [v.get(f"rule.{rule}") for _, rule in j.rules]))
    return rows
