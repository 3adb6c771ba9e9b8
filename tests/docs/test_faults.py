"""The table of faults: every row has tests, every test it names is there, and no fault of the daemon is forgotten."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from benchmarks.faults.page import AROUND, page
from benchmarks.faults.page import _spread as spread
from benchmarks.faults.table import TABLES
from nuc_engine.control.faults import FAULTS, OFF, Effect
from tests.daemon.bus_rows import FORMS, ROWS
from tests.realtime.troubles import TROUBLES

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "faults.md").read_text()
NAMED = re.compile(r"`(tests/[a-z_/]+\.py)::(test_[a-z0-9_]+)`")
RULE = re.compile(r"^\|[-|]+\|$")

EXPECTED = {
    "Processes": [
        f"{process} {what}"
        for process in ("supervisor", "core", "service", "guardian", "emulator")
        for what in ("killed, or crashed", "stopped")
    ],
    "The bus": ["silent", "adapter unplugged, and back", "a servo babbles", "1 % of all bytes lost", "one bit flipped"],
    "Servos": ["absent", "stuck", "limp by itself (overload)", "at another id", "supply lost, and back"],
    "The disk": ["full", "slow", "read-only"],
    "The computer": ["power cut", "suspended, and resumed"],
    "Clients": ["flood", "rubbish", "half a message", "a message of 50 MB", "asks, and never reads", "vanishes"],
}
"""How the rows begin that must be there."""


def rows(text: str = TEXT) -> dict[str, list[list[str]]]:
    """Return the cells of each row below a heading whose table has a column `test`."""
    found: dict[str, list[list[str]]] = {}
    heading, columns = "", []
    for line in text.splitlines():
        if line.startswith("## "):
            heading, columns = line.removeprefix("## "), []
        elif line.startswith("|") and not RULE.match(line):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if not columns:
                columns = cells
            elif columns[-1] == "test":
                assert len(cells) == len(columns), line
                found.setdefault(heading, []).append(cells)
        elif not line.startswith("|"):
            columns = []
    return found


def defined_in(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def test_the_page_is_what_its_rows_make_of_it():
    assert page() == TEXT, "python -m benchmarks.faults page"


def test_every_trouble_on_the_line_belongs_to_a_row():
    named = [row.trouble for table in TABLES.values() for row in table if row.trouble]
    assert sorted(named) == sorted(TROUBLES)


def test_what_was_measured_is_told_with_what_was_beyond_the_promise():
    assert spread([10.0, 12.0, 31.0], 50) == "12, 31"
    assert spread([10.0, None, 61.0], 50) == "36, 61 (2 of 3); **1 beyond 50**"
    assert spread([None, None]) == "goes on (2 of 2)"
    assert spread([10.0, 12.0], 50, 3) == "11, 12; 2 runs"
    assert spread([10.0, 12.0], 50, 2) == "11, 12"


def test_what_a_row_promises_it_says():
    every = [row for table in TABLES.values() for row in table]
    assert len(every) > 50
    for row in every:
        named = re.findall(r"{(\w+)", row.leg)
        assert row.bound_ms is None or named or f"within {row.bound_ms} ms" in row.leg, row.what
        assert "latched" not in row.leg, f"{row.what}: that stands in the table of faults"
        assert set(named) <= {*FAULTS, OFF}
        assert not row.deeds or "Processes" in {name for name, table in TABLES.items() if row in table}, row.what


@pytest.mark.parametrize("heading", EXPECTED)
def test_every_fault_that_was_thought_of_has_a_row(heading):
    begins = [cells[0] for cells in rows()[heading]]
    missing = [wanted for wanted in EXPECTED[heading] if not any(begin.startswith(wanted) for begin in begins)]
    assert missing == []


def test_every_row_names_tests_and_all_of_them_exist():
    for cells in (cells for table in rows().values() for cells in table):
        named = NAMED.findall(cells[-1])
        assert named, cells[0]
        for path, name in named:
            assert name in defined_in(ROOT / path), f"{cells[0]}: {path} has no {name}"


def test_every_test_of_faults_beside_a_leg_stands_in_the_table():
    told = set(NAMED.findall(TEXT))
    for path in sorted((ROOT / "tests" / "realtime").glob("test_*faults.py")):
        for name in defined_in(path):
            if name.startswith("test_"):
                assert (str(path.relative_to(ROOT)), name) in told


def test_every_fault_that_takes_the_torque_off_is_told_by_its_name():
    told = AROUND.read_text() + "".join(row.log + row.leg for table in TABLES.values() for row in table)
    for name, fault in FAULTS.items():
        if fault.worst is Effect.TORQUE_OFF:
            assert f"`{name}`" in told, name


def test_a_row_without_a_test_and_a_test_that_is_gone_would_be_seen():
    text = (
        "## Servos\n\n| what | test |\n|---|---|\n| absent | `tests/docs/test_faults.py::test_gone` |\n| stuck | none |"
    )
    absent, stuck = rows(text)["Servos"]
    assert NAMED.findall(stuck[-1]) == []
    ((path, name),) = NAMED.findall(absent[-1])
    assert name not in defined_in(ROOT / path)


def test_every_row_about_the_bus_is_tried_on_every_family():
    for cells in rows()["The bus"]:
        assert ("tests/daemon/test_bus_rows.py", "test_a_row") in NAMED.findall(cells[-1]), cells[0]
    assert all(len(ends) == len(FORMS) for ends in ROWS.values())
