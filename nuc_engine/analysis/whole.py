"""Files that appear under their names only when they are whole."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def appearing(path: Path) -> Generator[Path]:
    """Give a name beside a file to write to, with the same ending; it takes the file's place when that was done.

    Whatever interrupts it, an older file stays what it was, and what was begun is removed: at the latest by the next
    one of the same name. Raises OSError as `replace` does.
    """
    part = path.with_name(f".{path.stem}.part{path.suffix.lower()}")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
