"""Words and numbers that several screens and commands print alike."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nuc_engine.model.decimals import number_text

if TYPE_CHECKING:
    from nuc_engine.messages.answers import Acknowledgement, Status


def cut(text: str, columns: int) -> str:
    """Return at most this many characters, with a mark where some are missing."""
    return text if len(text) <= columns else text[: max(0, columns - 1)] + "\u2026"[: max(0, columns)]


def wrap(text: str, columns: int, indent: str) -> list[str]:
    """Return a text in lines of at most this many characters, `indent` before all but the first; nothing is left out.

    Lines end between words, where there are any.
    """
    narrow = columns <= 2 * len(indent)
    lines = textwrap.wrap(
        text,
        max(1, columns),
        subsequent_indent="" if narrow else indent,
        break_on_hyphens=False,
    )
    return lines or [""]


def edit_text(what: str, result: Acknowledgement) -> str:
    """Return what became of an edit: refused, waiting, or in effect since when."""
    if result.refused:
        return f"refused: {'; '.join(result.refused)}"
    if result.replaced:
        names = ", ".join(str(item["name"]) for item in result.replaced)
        what = f"{what} (replaced by a later entry of the same time: {names})"
    at = "" if result.time_s is None else f", {result.time_s:.3f} s"
    since = f"in effect since cycle {result.cycle}{at}"
    if not result.pending:
        return f"{what}: {since}"
    waits = result.requests or (result.pending,)
    text = (
        f"waits for its time (request {waits[0]})" if len(waits) == 1 else f"{len(waits)} changes wait for their time"
    )
    return f"{what}: {text}" + (f", what was due is {since}" if result.applied else "")


def name_of(named: Mapping[str, Any] | None) -> str:
    """Return the name of what a model's description names; empty where there is nothing."""
    return "" if named is None else str(named["name"])


def number(value: Any, digits: int = 2) -> str:
    """Return a number for a column: integers as they are, others with a few decimals; `-` where there is none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    return "-" if value is None else str(value)


def shown(value: Any) -> str:
    """Return a value in full, as it would have to be typed."""
    if value is None:
        return "no value"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return " ".join(map(shown, value))
    return number_text(value, "double") if isinstance(value, int | float) else str(value)


def truth(value: bool | None) -> str:
    """Return true, false, or ? where it cannot be told."""
    return "?" if value is None else "true" if value else "false"


def headline(status: Status) -> str:
    """Return what the daemon does now, in one line."""
    parts = [status.configuration or "no configuration", status.mode]
    if status.bout:
        parts.append(f"bout {status.bout}")
    if status.engine_time_s is not None:
        parts.append(f"{status.engine_time_s:.2f} s")
    parts += [f"cycle {status.cycle}", "torque on" if status.torque else "torque off"]
    return "  ".join(parts)


def alarms(status: Status) -> list[str]:
    """Return what somebody should see to, one line each; nothing when all is well."""
    lines: list[str] = []
    if status.mode == "FAULT":
        lines.append(f"FAULT {status.latch_reason or 'latched'}: see to its cause, then nuc ctl arm")
    elif status.latched:
        lines.append("OFF, as somebody asked: see that the leg may move, then nuc ctl arm")
    if status.unconfirmed:
        lines.append(f"torque not confirmed off: {', '.join(status.unconfirmed)}")
    lines += [f"not driven: {text}" for text in status.refusals]
    lines += [
        f"CLAMPED: {name} is sensed as {value:g}; nuc ctl sense {name} off ends it"
        for name, value in status.clamps.items()
    ]
    lost = {kind: count for kind, count in counted(status.losses).items() if count}
    if lost:
        lines.append(f"records lost: {', '.join(f'{kind} {count}' for kind, count in lost.items())}")
    dead = {name: count for name, count in counted(status.deaths).items() if count}
    if dead:
        lines.append(f"processes that died: {', '.join(f'{name} {count}' for name, count in dead.items())}")
    return lines


def counted(data: Mapping[str, Any]) -> dict[str, int]:
    """Return the counts in a map, whatever else stands in it."""
    return {str(name): n for name, n in data.items() if isinstance(n, int) and not isinstance(n, bool)}


def task_rows(tasks: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return one row per task: name, period, lateness and execution (us), overruns, skipped; see TASK_HEAD."""
    return [(name, *_task(data)) for name, data in tasks.items() if isinstance(data, dict)]


TASK_HEAD = ("task (us)", "period", "late p50", "p99", "max", "run p99", "max", "over", "skip")


def _task(data: dict[str, Any]) -> tuple[str, ...]:
    spans = data.get("period_ns") or {}
    part = data.get("last_second") or data.get("since_start") or {}
    whole = data.get("since_start") or {}
    late, took = part.get("lateness_ns", {}), part.get("execution_ns", {})
    longest = whole.get("lateness_ns", {}).get("max"), whole.get("execution_ns", {}).get("max")
    times = (spans.get("mean"), late.get("p50"), late.get("p99"), longest[0], took.get("p99"), longest[1])
    return (*(_us(ns) for ns in times), number(data.get("overruns")), number(data.get("skipped")))


def _us(ns: Any) -> str:
    return f"{ns / 1000:.0f}" if isinstance(ns, int | float) else "-"


def table(rows: list[tuple[str, ...]]) -> list[str]:
    """Return rows as lines: the first column to the left, the others to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(
            f"{cell:<{width}}" if k == 0 else f"{cell:>{width}}"
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
