"""Every cycle of a leg, for a program on the same machine that wants them all: from a file in memory, read-only.

    cycles = Cycles("/run/nuc/lin_roach/cycles")
    angle = cycles.names.index("CTr_angle")
    for record in cycles.read():
        print(record[angle])

The daemon knows nothing of its readers and never waits for one: who reads too seldom (20 s of a leg at 200 Hz) misses
records, and finds them counted in `overruns`. What stands where is said in `nuc_engine.daemon.cyclering`.
"""

from __future__ import annotations

import json
import mmap
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from nuc_engine.messages.errors import ClientError

MAGIC, VERSION = b"NUCCYCLE", 1
_HEAD = struct.Struct("<8sIIIIQQI")
_MARK = struct.Struct("<Q")
_SLOT = struct.Struct("<QI")
_SLOT_HEAD, _TEXT_AT, _WRITTEN, _LAYOUT, _FIRST = 16, 64, 3, 4, 6
_AGAIN = 100


class CyclesError(ClientError):
    """Not a file of a daemon's cycles, or it cannot be read; the message names it."""


@dataclass(frozen=True, slots=True)
class CycleColumn:
    """One number of every record: its name, its unit, and whether it is a whole number ("i8") or not ("f8")."""

    name: str
    unit: str
    type: str


class Cycles:
    """A reader; it begins with the record that is written next. `configuration` and `columns` say what records hold.

    With `earlier` it begins with the first that was written since the daemon began, or had these columns. Raises
    CyclesError.
    """

    def __init__(self, path: str | Path, *, earlier: bool = False) -> None:
        self.path = Path(path)
        self._earlier = earlier
        try:
            with self.path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise CyclesError(f"{self.path}: {error}") from error
        self._words = memoryview(self._map).cast("Q")
        self.configuration, self.columns = "", tuple[CycleColumn, ...]()
        self.overruns = 0
        """Records that were written and not read in time."""
        self._next = self._layout = 0
        self._at = self._slot_bytes = self._slots = 0
        self._record = struct.Struct("<")
        self._open()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def written(self) -> int:
        """How many records have been written since the daemon began."""
        return self._words[_WRITTEN]

    def read(self, most: int = 1 << 30) -> list[tuple[int | float, ...]]:
        """Return the records that have come since the last call, oldest first; there may be none, and nothing waits.

        When a daemon has been given another configuration, what came of the earlier one is gone, and `columns` say what
        the records are from then on. Raises CyclesError.
        """
        found: list[tuple[int | float, ...]] = []
        while len(found) < most:
            if self._words[_LAYOUT] != self._layout:
                found.clear()
                self._open()
            written = self.written
            if self._next >= written:
                break
            if written - self._next > self._slots:
                self._skip(written)
                continue
            record = self._take(self._next)
            if record is None:
                # It is being written over, or the machine shows its bytes later than its mark.
                if self.written - self._next >= self._slots:
                    self._skip(self.written)
                    continue
                break
            found.append(record)
            self._next += 1
        return found

    def close(self) -> None:
        """Let go of the file."""
        self._words.release()
        self._map.close()

    def _skip(self, written: int) -> None:
        """Go on with a record that is not about to be overwritten."""
        to = written - self._slots // 2
        self.overruns += to - self._next
        self._next = to

    def _take(self, number: int) -> tuple[int | float, ...] | None:
        at = self._at + number % self._slots * self._slot_bytes
        slot = self._map[at : at + self._slot_bytes]
        mark, crc = _SLOT.unpack_from(slot)
        content = slot[_SLOT_HEAD:]
        whole = mark == number + 1 == self._words[at >> 3] and crc == zlib.crc32(content, zlib.crc32(_MARK.pack(mark)))
        return self._record.unpack(content) if whole else None

    def _open(self) -> None:
        for _ in range(_AGAIN):
            magic, version, at, slot_bytes, slots, written, layout, size = _HEAD.unpack_from(self._map)
            text = self._map[_TEXT_AT : _TEXT_AT + size]
            if magic == bytes(8) or layout % 2 or self._words[_LAYOUT] != layout:
                continue  # no core has begun, or another one is at it
            if magic != MAGIC or version != VERSION:
                raise CyclesError(f"{self.path}: {magic!r} version {version}; expected {MAGIC!r} version {VERSION}")
            described = json.loads(text)
            self.configuration = described["configuration"]
            self.columns = tuple(CycleColumn(**column) for column in described["columns"])
            self._record = struct.Struct("<" + "".join("q" if c.type == "i8" else "d" for c in self.columns))
            self._at, self._slot_bytes, self._slots = at, slot_bytes, slots
            # Those of another layout than before are new from their first on.
            self._next = self._words[_FIRST] if self._layout or self._earlier else written
            self._layout = layout
            return
        raise CyclesError(f"{self.path}: nothing is written there yet: try again once the daemon is ready")
