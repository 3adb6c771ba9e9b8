"""The rows of a sweep so far, in a folder beside the file they will become: whatever happens, what is there is whole.

    plan.json    which sweep it is; rows of another one are never put beside these
    rows.jsonl   one row per line, on disk before the next one is begun with

A line that was cut off by the end of the process is dropped when the sweep goes on.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.task import Cell
from nuc_engine.recording.lock import FolderLock, FolderLocked

PLAN_FILE, ROWS_FILE = "plan.json", "rows.jsonl"
RUN = "run"
"""Every row's own number: its place in the sweep."""


class Journal:
    """The rows of one sweep. Use as a context. `rows` says which runs are there, and where they stand in the file."""

    def __init__(self, folder: Path, description: Mapping[str, Any], *, afresh: bool = False) -> None:
        """Open or begin the journal of the sweep that is described so; `afresh` throws away what is there.

        Raises BulkRefused when the folder holds another sweep, is in use, or cannot be read; OSError when it cannot
        be written.
        """
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = FolderLock(folder)
        except FolderLocked:
            raise BulkRefused(f"{folder}: in use; the same is being run already") from None
        try:
            if afresh:
                for name in (PLAN_FILE, ROWS_FILE):
                    (folder / name).unlink(missing_ok=True)
            self._settle_plan(description)
            self.rows = _read_places(folder / ROWS_FILE)
            self._file = (folder / ROWS_FILE).open("ab")
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Journal:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the files; what is there stays."""
        self._file.close()
        self._lock.release()

    def add(self, row: Mapping[str, Cell]) -> None:
        """Put a row on disk."""
        self.add_all([row])

    def add_all(self, rows: Iterable[Mapping[str, Cell]]) -> None:
        """Put rows on disk, together; one of a run that is there already takes its place."""
        for row in rows:
            self.rows[int(cast(int, row[RUN]))] = self._file.tell()
            self._file.write(json.dumps(row, allow_nan=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def read(self) -> Iterator[dict[str, Cell]]:
        """Yield the rows in the order of their runs."""
        with (self.folder / ROWS_FILE).open("rb") as file:
            for _, place in sorted(self.rows.items()):
                file.seek(place)
                yield json.loads(file.readline())

    def remove(self) -> None:
        """Take the folder away; no row can be added any more."""
        self._file.close()
        shutil.rmtree(self.folder)

    def _settle_plan(self, description: Mapping[str, Any]) -> None:
        path = self.folder / PLAN_FILE
        wanted = json.loads(json.dumps(description))
        try:
            found: Any = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            draft = path.with_suffix(".new")
            draft.write_text(json.dumps(wanted, indent=1) + "\n", encoding="utf-8", newline="\n")
            draft.replace(path)
            return
        except (OSError, ValueError) as error:
            raise BulkRefused(f"{path}: cannot be read ({error}); --force begins anew") from error
        if found != wanted:
            raise BulkRefused(
                f"{self.folder}: holds the rows of something else ({', '.join(_differences(found, wanted))});"
                " finish that first, choose another file, or throw them away with --force"
            )


def _differences(found: Any, wanted: Mapping[str, Any]) -> list[str]:
    """Return the names of what two descriptions say differently."""
    if not isinstance(found, dict):
        return ["no description"]
    there = cast(dict[str, Any], found)
    return [f"{key} differs" for key in sorted({*there, *wanted}) if there.get(key) != wanted.get(key)]


def _read_places(path: Path) -> dict[int, int]:
    """Return where the row of each run begins; a torn last line is cut off."""
    if not path.exists():
        return {}
    places: dict[int, int] = {}
    with path.open("r+b") as file:
        place = 0
        for line in file:
            if not line.endswith(b"\n"):
                file.truncate(place)
                break
            try:
                places[int(json.loads(line)[RUN])] = place
            except (ValueError, TypeError, KeyError) as error:
                raise BulkRefused(f"{path}: no row at byte {place}; --force begins anew") from error
            place += len(line)
    return places
