"""Folders for bouts nobody keeps: in memory where the system has a place for that, and gone afterwards.

A folder belongs to the process that made it for as long as that process lives. What a killed one has left is taken away
by the next that clears up.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

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
    folder, handle = _make(scratch_root() if root is None else root)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def clear_left_over(root: Path | None = None) -> int:
    """Take away the folders whose processes were killed; return how many there were."""
    cleared = 0
    for folder in sorted((scratch_root() if root is None else root).glob(f"{PREFIX}*")):
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue  # Somebody else's, or gone already.
        try:
            if os.fstat(handle).st_uid == os.getuid() and _lock(handle):
                shutil.rmtree(folder, ignore_errors=True)
                cleared += 1
        finally:
            os.close(handle)
    return cleared


def _make(root: Path) -> tuple[Path, int]:
    """Return a new folder and a descriptor of it that holds its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue  # Cleared before it was locked.
        if _lock(handle) and folder.exists():
            return folder, handle
        os.close(handle)


def _lock(handle: int) -> bool:
    """Lock a folder for as long as this process keeps it open; say whether nobody else has."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
