"""Reading the white-space separated logs of a data directory (readings E1 to E5)."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from nuc_engine.analysis.errors import BoutError
from nuc_engine.analysis.tracks import FloatArray


def read_table(path: Path) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the numbers of one log, shape (records, columns), and notes about what was left out.

    The first column is time in ns. A last line that was cut off while being written is left out and noted; an empty
    file gives shape (0, 0). Raises BoutError for a missing file, for text that is no number, for lines of different
    length elsewhere, and for time that runs backwards.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BoutError(f"{path}: cannot be read ({error.strerror}), expected a log of the bout") from error
    whole, notes = _whole_lines(path.name, data)
    if not whole.strip():
        return np.zeros((0, 0)), notes
    try:
        table = np.loadtxt(io.BytesIO(whole), dtype=np.float64, ndmin=2, comments=None)
    except ValueError as error:
        raise BoutError(f"{path}: {error}, expected the same number of numbers in every line") from error
    backwards = np.flatnonzero(np.diff(table[:, 0]) < 0)
    if backwards.size:
        raise BoutError(f"{path}:{backwards[0] + 2}: time runs backwards, expected one record after the other")
    return table, notes


def _whole_lines(name: str, data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Leave out a last line without its end, or with fewer columns than the first."""
    end = data.rfind(b"\n") + 1
    whole, torn = data[:end], data[end:]
    if not torn:
        before_last = whole.rfind(b"\n", 0, max(0, end - 1)) + 1
        last, first = whole[before_last:], whole[: whole.find(b"\n") + 1]
        if len(last.split()) < len(first.split()):
            whole, torn = whole[:before_last], last
    notes = (f"{name}: torn last line left out",) if torn else ()
    return whole, notes
