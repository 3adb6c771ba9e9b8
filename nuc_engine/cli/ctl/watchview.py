"""The live table of `nuc ctl watch` as lines of text; `look` says which values it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nuc_engine.cli.terminal.ink import PLAIN, TASK_HEAD, Ink, alarms, cut, headline, name_of, number, table, task_rows
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
class View:
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


def watch_lines(view: View, columns: int, rows: int, ink: Ink = PLAIN) -> list[str]:
    """Return `rows` lines of at most `columns` characters (without what `ink` adds)."""
    head = _head(view, columns, ink)
    joints = _joint_lines(view, columns, ink)
    tasks = _task_lines(view, columns, ink)
    foot = ["", ink.faint(cut("q quits", columns))]
    lines = [*head, "", *joints]
    # Where it is low, what happened last goes first, then the tasks; joints and alarms stay.
    room = rows - len(lines) - len(foot)
    if room > len(tasks) and tasks:
        lines += ["", *tasks]
        room -= len(tasks) + 1
    told = [cut(line, columns) for line in view.told]
    if told and room > 1:
        lines += ["", *told[-(room - 1) :]]
    lines = lines[: max(1, rows - len(foot))]
    return [*lines, *[""] * (rows - len(lines) - len(foot)), *foot][:rows]


def plain_line(view: View) -> str:
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


def _head(view: View, columns: int, ink: Ink) -> list[str]:
    status = view.status
    if status is None:
        return [ink.alarm(cut(view.offline or "waiting for the daemon", columns))]
    lines = [ink.title(cut(headline(status), columns)), *(ink.alarm(cut(line, columns)) for line in alarms(status))]
    log = " ".join(str(status.logging[key]) for key in ("state", "folder") if status.logging.get(key))
    lines.append(cut(f"control: {status.control or 'nobody'}" + (f"   log: {log}" if log else ""), columns))
    if view.offline:
        lines.append(ink.alarm(cut(f"NOT LIVE, what was known last: {view.offline}", columns)))
    return lines


def _joint_lines(view: View, columns: int, ink: Ink) -> list[str]:
    if not view.joints:
        return []
    v = view.values
    cells: list[tuple[str, ...]] = [("joint", "action", "angle", "load", "sent", "activations")]
    for j in view.joints:
        now = v.get(f"joint.{j.joint}.action") if j.rules else None
        action = str(now or v.get(f"joint.{j.joint}.mode") or "-")
        activations = " ".join(number(v.get(f"muscle.{muscle}.activation")) for muscle in j.muscles)
        sent = v.get(f"motor.{j.motor}.sent_raw")
        sent_text = {-1: "read", -2: "limp"}.get(sent, number(sent)) if isinstance(sent, int) else number(sent)
        cells.append((j.joint, action, number(v.get(j.angle), 1), number(v.get(j.load)), sent_text, activations))
    widths = [max(len(row[k]) for row in cells) for k in range(6)]
    rules = [[v.get(f"rule.{rule}") for _, rule in j.rules] for j in view.joints]
    widest = max((len(some) for some in rules), default=0)
    spare = columns - 2 * 6 - sum(widths[2:5]) - max(widths[5], 4) - max(5, 2 * widest)
    # Names give way first: the numbers are what is watched.
    widths[0] = min(widths[0], max(8, spare * 45 // 100))
    widths[1] = min(widths[1], max(8, spare - widths[0]))
    lines = [cut(_row(cells[0], widths) + "  rules", columns)]
    for row, truths in zip(cells[1:], rules, strict=True):
        text = _row(row, widths)
        if len(text) + 2 + 2 * len(truths) > columns:
            # Where there is no room beside the numbers, below them.
            lines.append(cut(text, columns))
            text = " " * max(0, columns - 2 - 2 * len(truths))
            if len(text) + 1 + 2 * len(truths) > columns:
                continue
        marks = [ink.true("T") if t else ink.false("f") if t is False else "?" for t in truths]
        lines.append(f"{text}  {' '.join(marks)}")
    return lines


def _row(row: Sequence[str], widths: Sequence[int]) -> str:
    joint, action, *numbers, activations = row
    w = widths
    figures = "  ".join(f"{cell:>{width}}" for cell, width in zip(numbers, w[2:5], strict=True))
    return f"{cut(joint, w[0]):<{w[0]}}  {cut(action, w[1]):<{w[1]}}  {figures}  {activations:<{w[5]}}"


def _task_lines(view: View, columns: int, ink: Ink) -> list[str]:
    rows = task_rows({} if view.status is None else view.status.tasks)
    if not rows:
        return []
    head, *lines = table([TASK_HEAD, *rows])
    return [ink.faint(cut(head, columns)), *(cut(line, columns) for line in lines)]
