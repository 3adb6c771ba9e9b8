"""Files by their names: the ending alone chooses the format, and they appear only when they are whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

FIGURES = ("png", "svg", "pdf")
MOVIES = ("mp4", "mkv", "mov", "avi", "gif")
TABLES = ("parquet", "csv")


class WrongEnding(ValueError):
    """A name that does not say which format is wanted; the message lists those there are."""


def ending(path: Path, known: Sequence[str]) -> str:
    """Return the format a file's name ends in, in small letters. Raises WrongEnding for any that is not known."""
    found = path.suffix.removeprefix(".").lower()
    if found not in known:
        *others, last = (f".{name}" for name in known)
        listed = f"{', '.join(others)} or {last}" if others else last
        raise WrongEnding(f"{path}: expected a name that ends in {listed}")
    return found


@contextmanager
def appearing(path: Path) -> Generator[Path]:
    """Give a name to write to, with another ending or none; what was written takes the file's place when that was done.

    Whatever interrupts it, an older file stays what it was, and what was begun is removed: by the system where files
    need no name (Linux, on most file systems), else at the latest by the next one of the same name. A link is followed;
    a device is written to as it is. Raises OSError as `replace` does.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        yield target
        return
    part = target.with_name(f".{target.stem}.part{path.suffix.lower()}")
    nameless = _nameless(target.parent)
    try:
        if nameless is None:
            yield part
        else:
            # By the number of this process, since another program may be the one that writes.
            yield Path(f"/proc/{os.getpid()}/fd/{nameless}")
            part.unlink(missing_ok=True)
            # A folder is named for the sake of Python, which follows no link without one.
            os.link(f"/proc/self/fd/{nameless}", part, src_dir_fd=nameless)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
        if nameless is not None:
            os.close(nameless)


def _nameless(folder: Path) -> int | None:
    """Return a file without a name, which nothing is left of when it is closed; None where there is no such thing."""
    if sys.platform != "linux" or not Path("/proc/self/fd").exists():
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except OSError:  # a file system that has none, or a folder that is said to be wrong once it is written to
        return None
