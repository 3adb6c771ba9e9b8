"""Files that appear under their names only when they are whole."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


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
