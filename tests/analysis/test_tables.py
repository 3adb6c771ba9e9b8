"""The white-space separated logs: whatever was written whole is read, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nuc_engine.analysis.errors import BoutError
from nuc_engine.analysis.tables import read_table

modest = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)
tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(numbers, min_size=width, max_size=width), min_size=1, max_size=6)
)


def written(rows: list[list[float]], separator: str = " ") -> bytes:
    lines = [[str(5_000_000 * k), *(f"{x:.9g}" for x in row)] for k, row in enumerate(rows)]
    return "".join(separator.join(line) + "\n" for line in lines).encode()


@modest
@given(rows=tables, separator=st.sampled_from([" ", "\t", "   "]))
def test_what_was_written_is_read(tmp_path: Path, rows: list[list[float]], separator: str) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(written(rows, separator))
    table, notes = read_table(path)
    assert notes == ()
    np.testing.assert_array_equal(table[:, 0], 5_000_000 * np.arange(len(rows)))
    np.testing.assert_array_equal(table[:, 1:].astype(np.float32), np.array(rows, dtype=np.float32))


@modest
@given(rows=tables, data=st.data())
def test_a_log_cut_anywhere_gives_its_whole_lines(tmp_path: Path, rows: list[list[float]], data: st.DataObject) -> None:
    whole = written(rows)
    cut = data.draw(st.integers(0, len(whole)))
    path = tmp_path / "log.txt"
    path.write_bytes(whole[:cut])
    table, notes = read_table(path)
    assert len(table) == whole[:cut].count(b"\n")
    assert bool(notes) == (not whole[:cut].endswith(b"\n") and cut > 0)
    if len(table):
        np.testing.assert_array_equal(table[:, 1:].astype(np.float32), np.array(rows[: len(table)], dtype=np.float32))


def test_a_last_line_with_too_few_columns_is_left_out_even_if_it_was_ended(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("0 1 2\n1 1 2\n2 1\n")
    table, notes = read_table(path)
    assert table.tolist() == [[0, 1, 2], [1, 1, 2]]
    assert notes == ("log.txt: torn last line left out",)


def test_nothing_written_is_nothing_read(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    for content in (b"", b"\n", b"123 4", b"\0\0\0\0"):
        path.write_bytes(content)
        assert read_table(path)[0].shape == (0, 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0 1 2\n1 1\n2 1 2\n", "same number of numbers"),
        ("0 1 2\n1 1 2 3\n2 1 2\n", "same number of numbers"),
        ("0 1 2\n1 one 2\n2 1 2\n", "same number of numbers"),
        ("0 1 2\n1 \0 2\n2 1 2\n", "same number of numbers"),
        ("0 1 2\n5 1 2\n4 1 2\n", r"log\.txt:3: time runs backwards"),
    ],
)
def test_damage_in_the_middle_is_an_error(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "log.txt"
    path.write_text(content)
    with pytest.raises(BoutError, match=message):
        read_table(path)


def test_records_of_one_moment_are_allowed(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("0 1\n7 1\n7 2\n")
    assert len(read_table(path)[0]) == 3


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BoutError, match=r"log\.txt: cannot be read \(No such file"):
        read_table(tmp_path / "log.txt")
