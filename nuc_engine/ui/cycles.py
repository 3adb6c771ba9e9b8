"""Every record of a daemon on this machine, over its deaths: what is read is whole, and what is missed is counted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nuc_engine.client.cycles import CycleColumn, Cycles, CyclesError

LOOK_AGAIN_S = 0.25
"""How often it is looked whether the file is still the daemon's."""

MOST = 2048
"""Records that are read at once."""

Records = Sequence[tuple[int | float, ...]]


class CycleBatch(NamedTuple):
    """Records, what their columns are, and how many were missed before them."""

    records: Records = ()
    columns: tuple[CycleColumn, ...] = ()
    missed: int = 0


class CycleFollower:
    """The file of cycles at a path; there may be none yet, and another one once another daemon has begun."""

    def __init__(self, path: Path, *, earlier: bool = False) -> None:
        """Begin with what is written next; with `earlier`, with the first record there is."""
        self._path = path
        self._reader: Cycles | None = None
        self._opened: tuple[int, int] | None = None
        self._overruns = 0
        self._looked_s = -LOOK_AGAIN_S
        self._before = earlier

    def read(self, now_s: float) -> CycleBatch:
        """Return what has come since."""
        if now_s - self._looked_s >= LOOK_AGAIN_S:
            self._looked_s = now_s
            if self._reader is None:
                self._open()
            elif _identity(self._path) != self._opened:
                # What its daemon wrote to the end is still in memory.
                last = self._take(self._reader)
                if not last.records:
                    self.close()
                    self._looked_s = -LOOK_AGAIN_S
                return last
        return CycleBatch() if self._reader is None else self._take(self._reader)

    def close(self) -> None:
        """Let go of the file."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _open(self) -> None:
        self._opened = _identity(self._path)
        try:
            # Of a daemon that began while this was watching, nothing is left out.
            self._reader = Cycles(self._path, earlier=self._before)
        except CyclesError:
            pass
        else:
            self._overruns = 0
        self._before = True

    def _take(self, reader: Cycles) -> CycleBatch:
        try:
            records = reader.read(MOST)
        except CyclesError:  # a core is writing what its columns are
            return CycleBatch()
        missed = reader.overruns - self._overruns
        self._overruns = reader.overruns
        return CycleBatch(records, reader.columns, missed)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
