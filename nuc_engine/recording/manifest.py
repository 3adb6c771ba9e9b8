"""manifest.json: what makes a bout a witness of itself.

It exists from the start (`state: running`) and is replaced atomically. Wall-clock values stand here and nowhere else
in the data directory.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

FILE = "manifest.json"
FORMAT = 1

LIBRARIES = ("numpy", "mujoco", "msgpack")
"""Libraries whose version can change a bout's bytes."""


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Replace manifest.json in one step: a reader finds the old one or the new one, never half of one."""
    draft = folder / (FILE + ".new")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / FILE)


def versions() -> dict[str, str]:
    """Return what was used: engine, commit where it runs from a checkout, Python, platform, libraries."""
    found = {
        "engine": importlib.metadata.version("nuc-engine"),
        "commit": _commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
    }
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def sha256(path: Path) -> str:
    """Return a file's sha256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_files(folder: Path) -> dict[str, str]:
    """Return name -> sha256 of every file in a data directory, figures and the manifest itself apart."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.suffix != ".png")
    return {path.name: sha256(path) for path in files if not path.name.startswith(FILE)}


def _commit() -> str:
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return "not a checkout"
    try:
        commit = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return commit + (" with changes" if changed else "")


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
