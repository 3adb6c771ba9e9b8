"""Making the data directory: a new one, or an existing one only when its owner said so."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from nuc_engine.recording.files import MANIFEST_DRAFT, MANIFEST_FILE


class DirectoryInUse(Exception):
    """The data directory exists and may not be overwritten; the message says how to allow it."""


def make_directory(folder: Path, *, overwrite: bool) -> None:
    """Make an empty data directory.

    With `overwrite`, an older bout's directory is emptied first; a directory that holds no bout is left alone.
    Raises DirectoryInUse when the directory may not be used.
    """
    if folder.exists():
        if not folder.is_dir():
            raise DirectoryInUse(f"{folder} is a file; choose another directory with --out")
        if names := {path.name for path in folder.iterdir()}:
            if not overwrite:
                raise DirectoryInUse(f"{folder} already holds data; choose another with --out, or add --force")
            # A draft alone is what is left of a bout that had just begun.
            if MANIFEST_FILE not in names and names != {MANIFEST_DRAFT}:
                raise DirectoryInUse(f"{folder} holds files but no {MANIFEST_FILE}: not a bout, so it is not emptied")
            _empty(folder)
    folder.mkdir(parents=True, exist_ok=True)


def _empty(folder: Path) -> None:
    """Remove what is in a folder; whoever is killed half way leaves one that can still be told for a bout's."""
    last = (MANIFEST_FILE, MANIFEST_DRAFT)
    for path in sorted(folder.iterdir(), key=lambda path: (path.name in last, path.name == MANIFEST_DRAFT)):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def free_name(data: Path, stem: str) -> str:
    """Return the first name that nothing in a data folder has: `stem`, then `stem_2`, `stem_3`, ..."""
    name, number = stem, 2
    while os.path.lexists(data / name):
        name, number = f"{stem}_{number}", number + 1
    return name


def made_new(folder: Path) -> bool:
    """Make a directory; False where there is one, or anything else, of that name. Raises OSError."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        return False
    return True
