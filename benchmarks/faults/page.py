"""The page docs/faults.md from its rows, and from what was measured."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.faults.table import TABLES, Row
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
        text = text.replace(f"{{{{{heading}}}}}", "\n".join(_table(heading, rows, measured.get("rows", {}))))
    text = text.replace("{{families}}", "\n".join(_families()))
    return text.replace("{{measured}}", "\n".join(_measured(measured)))


def _families() -> list[str]:
    lines = [f"| what | {' | '.join(form.name for form in FORMS)} |", f"|{'---|' * (len(FORMS) + 1)}"]
    return lines + [f"| {what} | {' | '.join(map(str, ends))} |" for what, ends in ROWS.items()]


def _table(heading: str, rows: Sequence[Row], measured: Mapping[str, Any]) -> list[str]:
    if heading == "Clients":
        lines = ["| what | what becomes of it | test |", f"|{'---|' * 3}"]
        return lines + [f"| {row.what} | {row.leg} | {_tests(row)} |" for row in rows]
    timed = any(row.what in measured for row in rows)
    head = ["what", "the leg", *(["measured, ms"] if timed else []), "in the log", "afterwards", "test"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        found = [_spread(measured.get(row.what, ()), row.bound_ms)] if timed else []
        lines.append(f"| {' | '.join([row.what, row.leg, *found, row.log, row.then, _tests(row)])} |")
    return lines


def _tests(row: Row) -> str:
    return " ".join(f"`tests/{test}`" for test in row.tests)


def _spread(outcomes: Sequence[float | None], bound_ms: int | None = None) -> str:
    """Return p50 and the most of the runs in which the torque went off, and in how many it did, or was beyond."""
    limp = [ms for ms in outcomes if ms is not None]
    if not outcomes:
        return MISSING
    if not limp:
        return f"goes on ({len(outcomes)} of {len(outcomes)})"
    how = f"{statistics.median(limp):.0f}, {max(limp):.0f}"
    how += f" ({len(limp)} of {len(outcomes)})" if len(limp) < len(outcomes) else ""
    beyond = sum(ms > bound_ms for ms in limp) if bound_ms is not None else 0
    return how + (f"; **{beyond} beyond {bound_ms}**" if beyond else "")


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
