"""The documents of a configuration as the logger keeps them: by content, in the data folder, beyond its own life."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import msgpack

FOLDER = ".nuc"
"""Folder within the data folder; no bout."""

_KEPT = 8


class DocumentsMissing(Exception):
    """Documents that were never given to the logger, or are missing now; the message says which file."""


@dataclass(frozen=True, slots=True)
class KeptDocuments:
    """A configuration's name and files by name, or a script's (one file)."""

    name: str
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    def pack(self) -> bytes:
        """Return it as bytes, the same for the same content."""
        return msgpack.packb([self.name, dict(sorted(self.files.items()))]) or b""


class DocumentStore:
    """Keeps documents under the sum of their content."""

    def __init__(self, data: Path) -> None:
        self._folder = data / FOLDER
        self._unsaved: dict[str, bytes] = {}

    def keep(self, documents: KeptDocuments) -> str:
        """Keep documents and return the name they are found by. Where the disk refuses, memory holds them for now."""
        content = documents.pack()
        name = hashlib.sha256(content).hexdigest()[:32]
        self._unsaved[name] = content
        with suppress(OSError):
            self.save()
        return name

    def save(self) -> None:
        """Put what only memory holds on disk. Raises OSError."""
        for name, content in list(self._unsaved.items()):
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"{name}.msgpack"
            if not path.exists():
                draft = path.with_suffix(".new")
                with draft.open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                draft.replace(path)
            self._unsaved.pop(name, None)

    def load(self, name: str) -> KeptDocuments:
        """Return documents. Raises DocumentsMissing when they are nowhere to be found or damaged, and OSError."""
        content = self._unsaved.get(name)
        path = self._folder / f"{name}.msgpack"
        if content is None:
            try:
                content = path.read_bytes()
            except FileNotFoundError as error:
                raise DocumentsMissing(f"{path}: {error.strerror}; configure the daemon again") from error
        if hashlib.sha256(content).hexdigest()[:32] != name:
            raise DocumentsMissing(f"{path}: is damaged; configure the daemon again")
        title, files = cast("tuple[str, dict[str, Any]]", msgpack.unpackb(content))
        return KeptDocuments(title, files)

    def forget(self, needed: set[str]) -> None:
        """Delete the oldest documents but some, and but those still needed."""
        with suppress(OSError):
            paths = sorted(self._folder.glob("*.msgpack"), key=lambda path: path.stat().st_mtime)
            for path in paths[:-_KEPT]:
                if path.stem not in needed:
                    path.unlink(missing_ok=True)
