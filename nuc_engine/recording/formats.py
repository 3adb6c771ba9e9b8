"""Formats that a file's name chooses: by its ending, and by nothing else."""

from __future__ import annotations

from collections.abc import Sequence
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
