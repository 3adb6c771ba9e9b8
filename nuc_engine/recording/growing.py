"""Files that grow by whole pieces: what a write that failed half way left behind never becomes part of them."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_BINARY: int = getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a file is whole: bytes, records, and for a script the moment (time_ns, cycle, author) it stands at."""

    size: int = 0
    records: int = 0
    moment: tuple[int, int, str] | None = None


class GrowingFile:
    """One file that only grows. Its first `size` bytes are kept as they are, whatever follows them is cut off.

    `missing` is how many bytes of those had been taken away by somebody else; it then goes on from where the file ends.
    """

    def __init__(self, path: Path, size: int = 0) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | _BINARY, 0o644)
        try:
            found = os.fstat(self._fd).st_size
            self.size = min(size, found)
            self.missing = size - self.size
            if found > self.size:
                os.ftruncate(self._fd, self.size)
        except OSError:
            self.close()
            raise

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._fd < 0

    def write(self, data: bytes) -> None:
        """Add data, all of it or nothing. Raises OSError; it may be tried again."""
        left, at = memoryview(data), self.size
        try:
            while left:
                written = _write_at(self._fd, left, at)
                left, at = left[written:], at + written
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._fd, self.size)
            raise
        self.size = at

    def sync(self) -> None:
        """Wait until everything written is on the disk itself."""
        if sys.platform == "linux":
            os.fdatasync(self._fd)
        else:
            os.fsync(self._fd)

    def close(self) -> None:
        """Close; may be called again."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)


def _write_at(descriptor: int, data: memoryview, place: int) -> int:
    if sys.platform == "win32":
        os.lseek(descriptor, place, os.SEEK_SET)
        return os.write(descriptor, data)
    return os.pwrite(descriptor, data, place)
