"""Files by their names: the ending alone chooses the format, and they appear only when they are whole."""

from __future__ import annotations

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
    """Give a name beside a file to write to, with the same ending; it takes the file's place when that was done.

    Whatever interrupts it, an older file stays what it was, and what was begun is removed: at the latest by the next
    one of the same name. A link is followed; a device is written to as it is. Raises OSError as `replace` does.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        yield target
        return
    part = target.with_name(f".{target.stem}.part{path.suffix.lower()}")
    try:
        yield part
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
