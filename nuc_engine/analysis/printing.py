"""What a bout holds, as text (appendix 10.3, section 5.1.3)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from nuc_engine.analysis.bout import Bout, JointInfo, Series

WIDTH = 80


def bout_lines(bout: Bout, *, full: bool = False) -> Iterator[str]:
    """Yield a bout as text: its logs, then each joint with its actions, muscles and motor, and how far it moved."""
    yield f"{bout.label}: {bout.folder}"
    yield f"from {bout.begin_s:.3f} to {bout.end_s:.3f} s"
    if bout.changesets_s:
        yield "changesets at " + ", ".join(f"{time:g}" for time in bout.changesets_s) + " s"
    for note in bout.notes:
        yield f"note: {note}"
    yield ""
    logs = _logs(bout)
    yield from aligned([("log", "records", "columns", "every"), *(_log_row(name, log) for name, log in logs)])
    for joint in bout.joints:
        yield ""
        yield from joint_lines(bout, joint, full=full)
    if full:
        for name, log in logs:
            yield ""
            yield f"Columns of {name}"
            yield from (f"  {line}" for line in series_lines(log))


def joint_lines(bout: Bout, joint: JointInfo, *, full: bool = False) -> Iterator[str]:
    """Yield one joint as text."""
    role = f" ({joint.role})" if joint.role else ""
    yield f"Joint {joint.name}{role}, id {joint.id_num}, {joint.control_mode or 'control mode not told'}"
    if joint.angle is not None and len(bout.sensors):
        angle = bout.sensors.column(joint.angle)
        yield f"  angle     {np.nanmin(angle):.1f} to {np.nanmax(angle):.1f} deg ({joint.angle})"
    for code in joint.states:
        state = bout.states_of[code]
        share = _share(bout, joint, code)
        yield f"  action    {state.name}, id {state.id_num}, code {code}{share}"
        if full:
            color = "none given" if state.color is None else " ".join(f"{part:g}" for part in state.color)
            yield f"            colour {color}, line {state.linespec or 'none given'}"
    for muscle in joint.muscles:
        yield f"  muscle    {muscle}"
    if joint.motor:
        yield f"  motor     {joint.motor}"
    if full:
        yield from _geometry(joint)
        if joint.description:
            yield from textwrap.wrap(joint.description, WIDTH, initial_indent="  ", subsequent_indent="  ")


def series_lines(series: Series) -> list[str]:
    """Return a table of a log's columns: unit, number of values, least, mean and largest one."""
    rows: list[Sequence[str]] = [("column", "unit", "values", "min", "mean", "max")]
    for k, name in enumerate(series.columns):
        values = series.values[:, k]
        values = values[np.isfinite(values)]
        numbers = ("", "", "") if not values.size else (values.min(), values.mean(), values.max())
        told = [f"{number:.5g}" if number != "" else "" for number in numbers]
        rows.append((name, series.units[k], str(values.size), *told))
    return aligned(rows)


def aligned(rows: Sequence[Sequence[str]], gap: int = 2) -> list[str]:
    """Return rows of cells as lines: the first column to the left, and all others that hold numbers to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    right = [k > 0 and all(_numeric(row[k]) for row in rows[1:]) for k in range(len(rows[0]))]
    lines: list[str] = []
    for row in rows:
        cells = [f"{cell:>{w}}" if r else f"{cell:<{w}}" for cell, w, r in zip(row, widths, right, strict=True)]
        lines.append((" " * gap).join(cells).rstrip())
    return lines


def _numeric(cell: str) -> bool:
    return not cell or cell[0].isdigit() or (cell[0] in "-+." and len(cell) > 1)


def _logs(bout: Bout) -> list[tuple[str, Series]]:
    logs = [("motors", bout.motor), ("sensors", bout.sensors), ("states", bout.states), ("muscles", bout.muscles)]
    return logs if bout.plant is None else [*logs, ("plant", bout.plant)]


def _log_row(name: str, log: Series) -> tuple[str, str, str, str]:
    every = f"{1e3 * float(np.median(np.diff(log.t_s))):.2f} ms" if len(log) > 1 else ""
    return name, str(len(log)), str(len(log.columns)), every


def _share(bout: Bout, joint: JointInfo, code: int) -> str:
    """Return how much of the time an action was in force; of the recorded time, where the record has gaps."""
    if joint.action is None or len(bout.states) < 2:
        return ""
    spans = bout.action_spans(joint, code, bout.begin_s, bout.end_s)
    lost = bout.unrecorded_s()
    whole = bout.end_s - bout.begin_s - lost
    what = "recorded time" if lost else "time"
    return f", {100 * sum(b - a for a, b in spans) / whole:.0f} % of the {what}" if whole > 0 else ""


def _geometry(joint: JointInfo) -> Iterator[str]:
    if joint.amatrix is not None:
        yield "  A-matrix, lengths in cm"
        for row in joint.amatrix:
            yield "    " + " ".join(f"{number:9.4f}" for number in row)
    if joint.dh_line is not None:
        a, d, alpha, _ = joint.dh_line
        yield f"  DH line   a {a:g} cm, d {d:g} cm, alpha {np.degrees(alpha):.4g} deg"
