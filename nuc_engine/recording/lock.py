"""One process at a time in a folder: a lock that the system takes back when its holder ends, however it ends."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


class FolderLocked(OSError):
    """Another process has the folder."""


class FolderLock:
    """The lock of a folder, from now until `release`; a context, too.

    POSIX locks the folder itself. Windows opens no folders: there the lock is a file beside it, gone when released.
    Raises FolderLocked when somebody else has it, OSError for what is no folder.
    """

    def __init__(self, folder: Path) -> None:
        self._beside = Path(f"{folder.resolve()}.lock")
        try:
            self._descriptor = _lock(folder, self._beside)
        except BlockingIOError as error:
            raise FolderLocked(error.errno, f"{folder} is being written to by another process") from error

    def release(self) -> None:
        """Let go; may be called again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            if sys.platform == "win32":
                with suppress(OSError):  # Another waits for it, and will take it away.
                    self._beside.unlink()

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _lock(folder: Path, beside: Path) -> int:
    """Return a descriptor that has the lock. Raises BlockingIOError where another one has."""
    if sys.platform == "win32":
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_BINARY)
    else:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if sys.platform == "win32":
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            except OSError as error:
                raise BlockingIOError(*error.args) from error
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
