"""Reading the white-space separated logs of a data directory (readings E1 to E5)."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nuc_engine.analysis.errors import BoutError
from nuc_engine.analysis.tracks import FloatArray, IntArray

WHOLE_TO = 2.0**53
"""Up to here a double holds every whole number."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """One log: `time_ns` (n,) exact, `values` (n, k) what comes after the time; `notes` say what was left out."""

    time_ns: IntArray
    values: FloatArray
    notes: tuple[str, ...] = ()


def read_table(path: Path) -> Table:
    """Return the numbers of one log.

    A last line that was cut off while being written is left out and noted; an empty file gives shapes (0,) and (0, 0).
    Raises BoutError for a missing file, for text that is no number, for lines of different length elsewhere, and for
    time that runs backwards.
    """
    whole, notes = whole_lines(path)
    if not whole.strip():
        return Table(np.zeros(0, dtype=np.int64), np.zeros((0, 0)), notes)
    try:
        table = np.loadtxt(io.BytesIO(whole), dtype=np.float64, ndmin=2, comments=None)
        time_ns = _times(whole, table)
    except ValueError as error:
        raise BoutError(f"{path}: {error}, expected the same number of numbers in every line") from error
    backwards = np.flatnonzero(np.diff(time_ns) < 0)
    if backwards.size:
        raise BoutError(f"{path}:{backwards[0] + 2}: time runs backwards, expected one record after the other")
    return Table(time_ns, table[:, 1:], notes)


def read_integers(path: Path, column: int) -> IntArray | None:
    """Return one column (0 is time) of a log to the last digit, None where it holds other numbers than whole ones.

    A double has 53 bits, a time of the day in ns 61. Raises BoutError as `read_table` does for a missing file.
    """
    whole, _ = whole_lines(path)
    try:
        return np.array([int(line.split()[column]) for line in whole.splitlines() if line.strip()], dtype=np.int64)
    except (ValueError, IndexError, OverflowError):
        return None


def whole_lines(path: Path) -> tuple[bytes, tuple[str, ...]]:
    """Return a log without a last line that lacks its end, or has fewer columns than the first; noted if so.

    Raises BoutError when the file can not be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BoutError(f"{path}: cannot be read ({error.strerror}), expected a log of the bout") from error
    end = data.rfind(b"\n") + 1
    whole, torn = data[:end], data[end:]
    if not torn:
        before_last = whole.rfind(b"\n", 0, max(0, end - 1)) + 1
        last, first = whole[before_last:], whole[: whole.find(b"\n") + 1]
        if len(last.split()) < len(first.split()):
            whole, torn = whole[:before_last], last
    notes = (f"{path.name}: torn last line left out",) if torn else ()
    return whole, notes


def _times(whole: bytes, table: FloatArray) -> IntArray:
    """Return the first column exactly; where it is not written in whole numbers, as exactly as a double holds it."""
    read = np.rint(table[:, 0])
    if (np.abs(read) < WHOLE_TO).all():
        # A double holds these to the last digit; reading the text once more, line by line, takes a quarter of the time.
        return read.astype(np.int64)
    try:
        return np.array([int(line.split(None, 1)[0]) for line in whole.splitlines() if line.strip()], dtype=np.int64)
    except (ValueError, OverflowError):
        if not np.isfinite(table[:, 0]).all() or np.abs(table[:, 0]).max() >= 2.0**63:
            raise ValueError("a time that is none") from None
        return np.rint(table[:, 0]).astype(np.int64)
