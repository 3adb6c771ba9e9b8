"""The white-space separated logs: whatever was written whole is read, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nuc_engine.analysis.errors import BoutError
from nuc_engine.analysis.load import read_integers, read_table

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
    table = read_table(path)
    assert table.notes == ()
    np.testing.assert_array_equal(table.time_ns, 5_000_000 * np.arange(len(rows)))
    np.testing.assert_array_equal(table.values.astype(np.float32), np.array(rows, dtype=np.float32))


@modest
@given(rows=tables, data=st.data())
def test_a_log_cut_anywhere_gives_its_whole_lines(tmp_path: Path, rows: list[list[float]], data: st.DataObject) -> None:
    whole = written(rows)
    cut = data.draw(st.integers(0, len(whole)))
    path = tmp_path / "log.txt"
    path.write_bytes(whole[:cut])
    table = read_table(path)
    count = len(table.time_ns)
    assert count == whole[:cut].count(b"\n")
    assert bool(table.notes) == (not whole[:cut].endswith(b"\n") and cut > 0)
    if count:
        np.testing.assert_array_equal(table.values.astype(np.float32), np.array(rows[:count], dtype=np.float32))


def test_a_last_line_with_too_few_columns_is_left_out_even_if_it_was_ended(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("0 1 2\n1 1 2\n2 1\n")
    table = read_table(path)
    assert (table.time_ns.tolist(), table.values.tolist()) == ([0, 1], [[1, 2], [1, 2]])
    assert table.notes == ("log.txt: torn last line left out",)


def test_nothing_written_is_nothing_read(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    for content in (b"", b"\n", b"123 4", b"\0\0\0\0"):
        path.write_bytes(content)
        table = read_table(path)
        assert (table.time_ns.shape, table.values.shape) == ((0,), (0, 0))


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
    assert read_table(path).time_ns.tolist() == [0, 7, 7]


@modest
@given(times=st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=5))
def test_times_are_exact_to_the_nanosecond(tmp_path: Path, times: list[int]) -> None:
    """A time of the day in ns has 61 bits, of which a double keeps 53."""
    path = tmp_path / "log.txt"
    path.write_text("".join(f"{time} {time} 1.5\n" for time in sorted(times)))
    assert read_table(path).time_ns.tolist() == sorted(times)
    exact = read_integers(path, 1)
    assert exact is not None
    assert exact.tolist() == sorted(times)
    assert read_integers(path, 2) is None


def test_times_that_are_no_whole_numbers_are_read_as_well_as_a_double_can(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("0 1\n2.5e9 2\n")
    assert read_table(path).time_ns.tolist() == [0, 2_500_000_000]
    for never in ("nan", "inf", "1e300"):
        path.write_text(f"0 1\n{never} 2\n")
        with pytest.raises(BoutError, match="not a time"):
            read_table(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BoutError, match=r"log\.txt: cannot be read \(No such file"):
        read_table(tmp_path / "log.txt")
