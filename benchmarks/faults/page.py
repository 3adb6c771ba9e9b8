"""The page docs/faults.md from its rows, and from what was measured."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.faults.table import TABLES, Row
from nuc_engine.control.faults import FAULTS, Effect, Process, time_text
from nuc_engine.daemon.modes import TRANSITIONS, Input, Mode
from tests.daemon.bus_rows import FORMS, ROWS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "faults.md"
AROUND = Path(__file__).with_name("page.md")
MEASURED = ROOT / "benchmarks" / "FAULTS.json"
MISSING = "-"


def write() -> None:
    """Write the page."""
    PAGE.write_text(page())


def page() -> str:
    """Return the page as it should be."""
    measured = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    text = AROUND.read_text()
    for heading, rows in TABLES.items():
        text = text.replace(
            f"{{{{{heading}}}}}", "\n".join(_table(heading, rows, measured.get("rows", {}), measured.get("runs", 0)))
        )
    text = text.replace("{{families}}", "\n".join(_families())).replace("{{faults}}", "\n".join(_faults()))
    text = text.replace("{{modes}}", "\n".join(_modes()))
    return text.replace("{{measured}}", "\n".join(_measured(measured)))


def _faults() -> list[str]:
    head = ["fault", *(process.value for process in Process), "once", "what to do"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for name, fault in FAULTS.items():
        does = [fault.effects[process].told if process in fault.effects else MISSING for process in Process]
        lines.append(f"| {' | '.join([f'`{name}`', *does, fault.once, fault.hint])} |")
    return lines


def _modes() -> list[str]:
    modes = [mode for mode in Mode if mode is not Mode.UNCONFIGURED]
    lines = [f"| | {' | '.join(mode.name for mode in modes)} |", f"|{'---|' * (len(modes) + 1)}"]
    for what in Input:
        cells = [_follows(mode, what) for mode in modes]
        lines.append(f"| {what.name.lower().replace('_', ' ')} | {' | '.join(cells)} |")
    return lines


def _follows(mode: Mode, what: Input) -> str:
    follows = TRANSITIONS[mode, what]
    if isinstance(follows, str):
        return f"*refused: {follows}*"
    after, action = follows
    changes = [after.name] if after is not mode else []
    return "; ".join([*changes, *filter(None, [action.value])]) or "stays"


class _Words(str):
    """What the daemon does at a fault; `delay` and `after` say when."""

    delay = after = ""


def _said(text: str, row: Row) -> str:
    """Return the text of a row with what the table of faults says where it names one."""
    within = f" within {row.bound_ms} ms" if row.bound_ms is not None else ""
    said = {Effect.WARN: "goes on", Effect.STOP: "the bout ends", Effect.TORQUE_OFF: f"limp{within}, latched"}
    words = {"off": _Words(said[Effect.TORQUE_OFF])}
    for name, fault in FAULTS.items():
        beside_a_leg = [effect for process, effect in fault.effects.items() if process is not Process.BOUT]
        if beside_a_leg:
            words[name] = _Words(said[max(beside_a_leg)])
            words[name].delay, words[name].after = time_text(fault.delay_ns), str(fault.after)
    return text.format_map(words)


def _families() -> list[str]:
    lines = [f"| what | {' | '.join(form.name for form in FORMS)} |", f"|{'---|' * (len(FORMS) + 1)}"]
    return lines + [f"| {what} | {' | '.join(map(str, ends))} |" for what, ends in ROWS.items()]


def _table(heading: str, rows: Sequence[Row], measured: Mapping[str, Any], runs: int) -> list[str]:
    if heading == "Clients":
        lines = ["| what | what becomes of it | test |", f"|{'---|' * 3}"]
        return lines + [f"| {row.what} | {row.leg} | {_tests(row)} |" for row in rows]
    timed = any(row.what in measured for row in rows)
    head = ["what", "the leg", *(["measured, ms"] if timed else []), "in the log", "afterwards", "test"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        found = [_spread(measured.get(row.what, ()), row.bound_ms, runs)] if timed else []
        cells = [row.what, _said(row.leg, row), *found, row.log, _said(row.then, row), _tests(row)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _tests(row: Row) -> str:
    return " ".join(f"`tests/{test}`" for test in row.tests)


def _spread(outcomes: Sequence[float | None], bound_ms: int | None = None, runs: int = 0) -> str:
    """Return p50 and the most of the runs in which the torque went off, and in how many it did, or was beyond.

    How many runs there were is said where it is not `runs`: an outcome that cannot be is none.
    """
    limp = [ms for ms in outcomes if ms is not None]
    if not outcomes:
        return MISSING
    if not limp:
        return f"goes on ({len(outcomes)} of {len(outcomes)})"
    how = f"{statistics.median(limp):.0f}, {max(limp):.0f}"
    how += f" ({len(limp)} of {len(outcomes)})" if len(limp) < len(outcomes) else ""
    beyond = sum(ms > bound_ms for ms in limp) if bound_ms is not None else 0
    how += f"; **{beyond} beyond {bound_ms}**" if beyond else ""
    return how + (f"; {len(outcomes)} runs" if runs and len(outcomes) != runs else "")


def _measured(measured: Mapping[str, Any]) -> list[str]:
    if not measured:
        return []
    beyond = len(measured["wrong"])
    lines = [
        f"Measured are median and most of {measured['runs']} runs, from the fault to the last servo's torque-off",
        "on the wire (from when it is plugged in again, or goes on, for an adapter or emulator that was away); in",
        "brackets, in how many of them it went off. Other rows are not measured so.",
        f"Runs that were limp too late for any fault, or left something behind: {beyond}.",
        f"{measured['machine']}.",
    ]
    if not measured["pair_runs"]:
        return lines
    lines += [
        "",
        f"Two at once, each {measured['pair_runs']} times:",
        "",
        "| first | second | measured, ms |",
        "|---|---|---|",
    ]
    return lines + [f"| {first} | {second} | {_spread(found)} |" for first, second, found in measured["pairs"]]
