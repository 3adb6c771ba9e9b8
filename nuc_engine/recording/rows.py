"""EpisodeData.f64: rows of little-endian doubles, exact; columns.json beside it names what each of them holds."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from nuc_engine.recording.files import COLUMNS_FILE, EPISODE_LOG

FORMAT = 1
_KEPT = 1 << 16
"""Numbers that are kept until they are written."""
_UNITS = ("m_s", "rad_s", "rad", "m", "s", "n")


class RowLog:
    """The log of an episode, being written. Use as a context; call it with each row."""

    def __init__(self, folder: Path) -> None:
        """Begin the file. Raises OSError."""
        self._file = (folder / EPISODE_LOG).open("wb")
        self._numbers = array("d")
        self.rows = 0

    def __call__(self, row: Sequence[float]) -> None:
        """Take a row."""
        self._numbers.extend(row)
        self.rows += 1
        if len(self._numbers) > _KEPT:
            self._write()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write what is left, and close the file."""
        with self._file:
            self._write()

    def _write(self) -> None:
        numbers, self._numbers = self._numbers, array("d")
        if sys.byteorder == "big":
            numbers.byteswap()
        self._file.write(numbers.tobytes())


def describe_rows(names: Sequence[str]) -> dict[str, Any]:
    """Return the content of columns.json for an episode; names end in their units."""
    columns = [{"name": name, "unit": _unit(name)} for name in names]
    return {"format": FORMAT, "files": {EPISODE_LOG: {"task": "episode", "form": "<f8", "columns": columns}}}


def _unit(name: str) -> str:
    unit = next((unit for unit in _UNITS if name.endswith(f"_{unit}")), "")
    return {"m_s": "m/s", "rad_s": "rad/s", "n": "N"}.get(unit, unit or "1")


def read_columns(folder: Path) -> list[str]:
    """Return the names of an episode's columns. Raises ValueError where columns.json names none."""
    try:
        content = json.loads((folder / COLUMNS_FILE).read_text(encoding="utf-8"))
        return [str(column["name"]) for column in content["files"][EPISODE_LOG]["columns"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{folder / COLUMNS_FILE}: names no columns of {EPISODE_LOG}") from error


def read_rows(folder: Path) -> tuple[list[str], npt.NDArray[np.float64]]:
    """Return names and rows (rows, columns) of an episode's log; a torn last row is left out. Raises ValueError."""
    names = read_columns(folder)
    try:
        numbers = np.fromfile(folder / EPISODE_LOG, dtype="<f8")
    except OSError as error:
        raise ValueError(f"{folder / EPISODE_LOG}: cannot be read ({error.strerror})") from error
    whole = len(numbers) // len(names) * len(names)
    return names, cast(npt.NDArray[np.float64], numbers[:whole].reshape(-1, len(names)))
