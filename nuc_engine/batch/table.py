"""Rows as one file, Parquet or CSV by its name: written whole beside its place, then put there in one step.

A Parquet file says in its metadata which sweep it came from. Beside a CSV file, FILE.json does.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Any

from nuc_engine.batch.task import Cell
from nuc_engine.machine.needs import need
from nuc_engine.recording.formats import TABLES, ending

NOTE = "nuc.sweep"
"""Key of the file's metadata under which the sweep is described, as JSON."""

_ROWS_AT_A_TIME = 5000
_TYPES: Mapping[str, str] = {"number": "float64", "whole number": "int64", "text": "string", "yes or no": "bool_"}


def check_table(path: Path) -> None:
    """See, before anything is run, that a table can be written. Raises WrongEnding, Missing without PyArrow."""
    if ending(path, TABLES) == "parquet":
        need(pyarrow="a Parquet file")


def write_table(
    path: Path, columns: Mapping[str, str], rows: Iterable[Mapping[str, Cell]], description: Mapping[str, Any]
) -> None:
    """Write rows to a file. `columns` maps a name to number, whole number, text or `yes or no`.

    Raises what `check_table` does, OSError when the file cannot be written.
    """
    check_table(path)
    write = _write_csv if ending(path, TABLES) == "csv" else _write_parquet
    _put(path, lambda file: write(file, columns, rows, description))
    if ending(path, TABLES) == "csv":
        # Afterwards: a table beside the description of another is refused, not taken for it.
        _put(_beside(path), lambda file: file.write(json.dumps(description, indent=1).encode() + b"\n"))


def read_description(path: Path) -> dict[str, Any] | None:
    """Return what is told of the sweep a file came from; None for one that came from none."""
    try:
        if ending(path, TABLES) == "csv":
            return json.loads(_beside(path).read_bytes())
        return json.loads(_parquet_note(path))
    except (OSError, ValueError):
        return None


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _put(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    draft = path.with_name(f"{path.name}.new")
    with draft.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _write_csv(
    file: IO[bytes], columns: Mapping[str, str], rows: Iterable[Mapping[str, Cell]], description: Mapping[str, Any]
) -> None:
    """Write a head of names, then the rows: numbers in their shortest exact form, empty where there is no value."""
    del description
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([row.get(name) for name in columns] for row in rows)
    text.detach()


def _write_parquet(
    file: IO[bytes], columns: Mapping[str, str], rows: Iterable[Mapping[str, Cell]], description: Mapping[str, Any]
) -> None:
    pa, parquet = _arrow()
    fields = [pa.field(name, getattr(pa, _TYPES[kind])()) for name, kind in columns.items()]
    schema = pa.schema(fields, metadata={NOTE: json.dumps(description)})
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for some in _in_parts(rows):
            writer.write_table(pa.Table.from_pylist(some, schema=schema))


def _parquet_note(path: Path) -> bytes:
    """Return the description in a Parquet file. Raises OSError or ValueError for one without."""
    pa, parquet = _arrow()
    try:
        return (parquet.read_schema(path).metadata or {})[NOTE.encode()]
    except (pa.ArrowException, KeyError) as error:
        raise ValueError(f"{path}: no table of a sweep") from error


def _in_parts(rows: Iterable[Mapping[str, Cell]]) -> Iterator[list[dict[str, Cell]]]:
    waiting = iter(rows)
    while some := [dict(row) for row in islice(waiting, _ROWS_AT_A_TIME)]:
        yield some


def _arrow() -> tuple[Any, Any]:
    need(pyarrow="a Parquet file")
    import pyarrow
    from pyarrow import parquet

    return pyarrow, parquet
