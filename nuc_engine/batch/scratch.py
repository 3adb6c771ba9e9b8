"""Folders for bouts that are not kept: in memory where the system has a place for that, and gone afterwards.

A folder belongs to the process that made it for as long as that process lives. What a killed one has left is taken away
by the next that clears up.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from nuc_engine.recording.lock import FolderLock, FolderLocked

PREFIX = "nuc-bulk-"
IN_MEMORY = Path("/dev/shm")  # noqa: S108  the system's place for files in memory; folders in it are made by mkdtemp
ROOM = 512 * 1024 * 1024
"""Bytes that have to be free for bouts to be written to memory: some bouts of minutes at the same time."""


def scratch_root() -> Path:
    """Return where scratch folders are made: in memory where there is room, else where temporary files go."""
    if IN_MEMORY.is_dir() and os.access(IN_MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(IN_MEMORY).free >= ROOM:
        return IN_MEMORY
    return Path(tempfile.gettempdir())


@contextmanager
def scratch_folder(root: Path | None = None) -> Generator[Path]:
    """Make an empty folder, and take it away with everything in it at the end."""
    folder, lock = _make(scratch_root() if root is None else root)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def clear_left_over(root: Path | None = None) -> int:
    """Take away the folders whose processes were killed; return how many there were."""
    cleared = 0
    for folder in sorted((scratch_root() if root is None else root).glob(f"{PREFIX}*")):
        try:
            if _is_own_folder(folder):
                with FolderLock(folder):
                    shutil.rmtree(folder, ignore_errors=True)
                    cleared += 1
        except OSError:
            continue  # In use, or gone already.
    return cleared


def _is_own_folder(path: Path) -> bool:
    """Say whether this is a folder, no link to one, of the user who asks: temporary files of Windows all are."""
    found = path.lstat()
    return stat.S_ISDIR(found.st_mode) and (sys.platform == "win32" or found.st_uid == os.getuid())


def _make(root: Path) -> tuple[Path, FolderLock]:
    """Return a new folder and its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
        try:
            lock = FolderLock(folder)
        except (FileNotFoundError, NotADirectoryError, FolderLocked):
            continue  # Cleared, or being cleared, before it was locked.
        if folder.exists():
            return folder, lock
        lock.release()
