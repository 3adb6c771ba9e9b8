"""Where a file of one data directory first differs from its namesake in another."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from nuc_engine.recording import columns, inputs
from nuc_engine.recording.logs import line_ns
from sccils_schemas.numbers import nanoseconds

_SCRIPT_TIME = re.compile(r'<[a-zA-Z]+ (?:[^>]* )?time="([0-9]{1,9}(?:\.[0-9]{1,9})?)"')


@dataclass(frozen=True, slots=True)
class FileDifference:
    """Where a file first differs: `record` counts lines from 1, and 0 is the whole file.

    `field` is the name of a column in columns.json, `column N` behind the last one it names, "line" where it names none
    or the lines have different numbers of columns; "white space" where the words of a line agree; the kind of an input
    record; "length" (one has more records), "bytes" (no record differs, but the files do), "file" (one is missing).
    """

    file: str
    record: int
    time_ns: int | None
    field: str
    then: str
    now: str


def compare_file(
    folder: Path, out: Path, name: str, *, whole: bool = True, until_ns: int | None = None
) -> FileDifference | None:
    """Return where a file of one data directory first differs from its namesake in another, None where it does not.

    Without `whole`, the first one may end in a torn line, and what follows its last whole line in the second one does
    not count. With `until_ns`, neither do lines of the first one from that time on.
    """
    then, now = folder / name, out / name
    if not then.is_file() or not now.is_file():
        if then.is_file() == now.is_file():
            return None
        return FileDifference(
            name, 0, None, "file", *("there" if path.is_file() else "missing" for path in (then, now))
        )
    a, b = then.read_bytes(), now.read_bytes()
    if a == b:
        return None
    if name == inputs.FILE:
        return _first_record(then, now) or _bytes(name, a, b)
    old, new = _lines(a), _lines(b)
    if not whole:
        # The end of a script log that was cut off is that of who mended it.
        old, new = ([line for line in lines if line != "</hdsoscript>"] for lines in (old, new))
        old = _kept(old if a.endswith(b"\n") else old[:-1], until_ns)
        new = new[: len(old)]
    found = _first_line(name, old, new, _column_names(folder, name))
    return found or (_bytes(name, a, b) if whole else None)


def _lines(data: bytes) -> list[str]:
    # Only the line ends the logs are written with count as such, and no two different bytes become one text.
    lines = data.decode(errors="backslashreplace").split("\n")
    return lines if lines[-1] else lines[:-1]


def _kept(lines: list[str], until_ns: int | None) -> list[str]:
    if until_ns is None:
        return lines
    kept: list[str] = []
    for line in lines:
        time = line_ns(line)
        if time is None and (found := _SCRIPT_TIME.search(line)):
            time = nanoseconds(Decimal(found[1]))
        if time is None or time < until_ns:
            kept.append(line)
        elif kept and kept[-1].startswith("  <!-- cycle"):
            kept.pop()
    return kept


def _bytes(name: str, a: bytes, b: bytes) -> FileDifference:
    return FileDifference(name, 0, None, "bytes", f"{len(a)} bytes", f"{len(b)} bytes")


def _first_record(then: Path, now: Path) -> FileDifference | None:
    try:
        old, new = list(inputs.read_inputs(then)), list(inputs.read_inputs(now))
    except inputs.InputRecordError:
        return None
    for number, (a, b) in enumerate(zip(old, new, strict=False), 1):
        if a != b:
            time = a[2] if a[0] != "head" else None
            return FileDifference(then.name, number, time, str(a[0]), str(a), str(b))
    return _length(then.name, old, new)


def _first_line(name: str, old: list[str], new: list[str], names: Sequence[str]) -> FileDifference | None:
    for number, (a, b) in enumerate(zip(old, new, strict=False), 1):
        if a != b:
            return _first_field(name, number, a, b, names)
    return _length(name, old, new)


def _length(name: str, old: Sequence[Any], new: Sequence[Any]) -> FileDifference | None:
    if len(old) == len(new):
        return None
    return FileDifference(
        name, min(len(old), len(new)) + 1, None, "length", f"{len(old)} records", f"{len(new)} records"
    )


def _first_field(name: str, number: int, a: str, b: str, names: Sequence[str]) -> FileDifference:
    old, new = a.split(), b.split()
    time = line_ns(a)
    if old == new:
        return FileDifference(name, number, time, "white space", repr(a), repr(b))
    if not names or len(old) != len(new):
        return FileDifference(name, number, time, "line", a.strip(), b.strip())
    at = next(k for k, (x, y) in enumerate(zip(old, new, strict=True)) if x != y)
    return FileDifference(name, number, time, names[at] if at < len(names) else f"column {at + 1}", old[at], new[at])


def _column_names(folder: Path, name: str) -> list[str]:
    """Return what columns.json calls the columns of a log; nothing where it is missing or damaged."""
    try:
        described = json.loads((folder / columns.FILE).read_text(encoding="utf-8"))
        return [str(column["name"]) for column in described["files"][name]["columns"]]
    except (OSError, ValueError, LookupError, TypeError):
        return []
