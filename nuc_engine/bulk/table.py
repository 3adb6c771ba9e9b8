"""Rows as one Parquet file: written whole beside its place, then put there in one step."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from nuc_engine.bulk.errors import BulkRefused
from nuc_engine.bulk.task import Cell

NOTE = "nuc.sweep"
"""Key of the file's metadata under which the sweep is described, as JSON."""

_ROWS_AT_A_TIME = 5000
_TYPES: Mapping[str, str] = {"number": "float64", "whole number": "int64", "text": "string", "yes or no": "bool_"}


def write_table(
    path: Path, columns: Mapping[str, str], rows: Iterable[Mapping[str, Cell]], description: Mapping[str, Any]
) -> None:
    """Write rows to a Parquet file. `columns` maps a name to number, whole number, text or `yes or no`.

    Raises BulkRefused without PyArrow, OSError when the file can not be written.
    """
    pa, parquet = _arrow()
    fields = [pa.field(name, getattr(pa, _TYPES[kind])()) for name, kind in columns.items()]
    schema = pa.schema(fields, metadata={NOTE: json.dumps(description)})
    draft = path.with_name(path.name + ".new")
    with draft.open("wb") as file:
        with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            for some in _in_parts(rows):
                writer.write_table(pa.Table.from_pylist(some, schema=schema))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def read_description(path: Path) -> dict[str, Any] | None:
    """Return what a Parquet file says of the sweep it came from; None for one that came from none."""
    pa, parquet = _arrow()
    try:
        metadata = parquet.read_schema(path).metadata or {}
        return json.loads(metadata[NOTE.encode()])
    except (OSError, pa.ArrowException, KeyError, ValueError):
        return None


def check_arrow() -> None:
    """Raise BulkRefused where PyArrow is missing, before anything is run."""
    _arrow()


def _in_parts(rows: Iterable[Mapping[str, Cell]]) -> Iterator[list[dict[str, Cell]]]:
    waiting = iter(rows)
    while some := [dict(row) for row in islice(waiting, _ROWS_AT_A_TIME)]:
        yield some


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise BulkRefused("a Parquet file needs PyArrow: pip install nuc-engine[lab]") from error
    return pyarrow, parquet
