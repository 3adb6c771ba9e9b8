from __future__ import annotations

from pathlib import Path

from pyarrow import parquet

from nuc_engine.batch.table import read_description, write_table

COLUMNS = {"run": "whole number", "x": "number", "seen": "text", "cyclic": "yes or no"}


def rows(count: int) -> list[dict[str, object]]:
    return [{"run": k, "x": k / 2, "seen": "FWD" if k % 2 else None, "cyclic": bool(k % 2)} for k in range(count)]


def test_rows_come_back_with_their_types(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(path, COLUMNS, rows(3), {"seeds": [1]})  # type: ignore[arg-type]
    table = parquet.read_table(path)
    assert table.to_pylist() == rows(3)
    assert [str(field.type) for field in table.schema] == ["int64", "double", "string", "bool"]
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_many_rows_are_written_in_parts_and_stay_in_order(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(path, COLUMNS, iter(rows(12_001)), {})  # type: ignore[arg-type]
    assert parquet.read_table(path)["run"].to_pylist() == list(range(12_001))


def test_a_file_says_which_sweep_it_is_of(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(path, COLUMNS, rows(1), {"seeds": [1, 2]})  # type: ignore[arg-type]
    assert read_description(path) == {"seeds": [1, 2]}
    path.write_text("no table")
    assert read_description(path) is None
