from __future__ import annotations

from pathlib import Path

import pytest

from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.journal import PLAN_FILE, ROWS_FILE, Journal

PLAN = {"configuration": "lin_roach", "seeds": [1, 2]}


def fill(folder: Path, *runs: int) -> None:
    with Journal(folder, PLAN) as journal:
        for run in runs:
            journal.add({"run": run, "reason": f"no {run}\nat all", "number": run / 3, "nothing": None})


def test_rows_are_there_again_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    fill(tmp_path / "parts", 2, 0)
    fill(tmp_path / "parts", 1)
    with Journal(tmp_path / "parts", PLAN) as journal:
        assert sorted(journal.rows) == [0, 1, 2]
        assert [row["run"] for row in journal.read()] == [0, 1, 2]
        assert [row["number"] for row in journal.read()] == [0, 1 / 3, 2 / 3]


def test_of_two_rows_of_one_run_the_last_one_counts_now_and_later(tmp_path: Path) -> None:
    with Journal(tmp_path, PLAN) as journal:
        for reason in ("first", "second"):
            journal.add({"run": 0, "reason": reason})
        now = [row["reason"] for row in journal.read()]
    with Journal(tmp_path, PLAN) as journal:
        assert [row["reason"] for row in journal.read()] == now == ["second"]


@pytest.mark.parametrize("kept", [0, 1, 10, -1])
def test_a_torn_row_is_dropped_and_the_next_one_is_whole(kept: int, tmp_path: Path) -> None:
    fill(tmp_path, 0, 1)
    rows = (tmp_path / ROWS_FILE).read_bytes()
    first, second = rows.splitlines(keepends=True)
    (tmp_path / ROWS_FILE).write_bytes(first + second[:kept])
    fill(tmp_path, 7)
    with Journal(tmp_path, PLAN) as journal:
        assert [row["run"] for row in journal.read()] == [0, 7]


def test_rows_of_something_else_are_not_mixed_with_these(tmp_path: Path) -> None:
    fill(tmp_path, 0)
    with pytest.raises(BulkRefused, match=r"something else \(seeds differs\)"):
        Journal(tmp_path, {**PLAN, "seeds": [1, 3]})
    with Journal(tmp_path, {**PLAN, "seeds": [1, 3]}, afresh=True) as journal:
        assert not journal.rows


def test_two_can_not_write_at_once(tmp_path: Path) -> None:
    with Journal(tmp_path, PLAN), pytest.raises(BulkRefused, match="in use"):
        Journal(tmp_path, PLAN)
    fill(tmp_path, 0)


@pytest.mark.parametrize(("file", "content"), [(PLAN_FILE, "{"), (ROWS_FILE, "no row\n"), (ROWS_FILE, "[]\n")])
def test_what_can_not_be_read_is_refused_with_the_remedy(file: str, content: str, tmp_path: Path) -> None:
    fill(tmp_path, 0)
    (tmp_path / file).write_text(content)
    with pytest.raises(BulkRefused, match="--force"):
        Journal(tmp_path, PLAN)
    with Journal(tmp_path, PLAN, afresh=True) as journal:
        assert not journal.rows
