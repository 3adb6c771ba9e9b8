"""Reading what lies in systemd/, and systemd's own tools where they are there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "systemd"
PROGRAM = "/opt/nuc/bin/nuc"


def tool(name: str) -> str:
    """Path of one of systemd's tools; skips the test where it is missing."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} on this machine: it comes with systemd")
    return found


def installed(folder: Path, *names: str) -> list[Path]:
    """Copies of units as they would lie on a machine where the engine is installed: the program is this Python."""
    copies = []
    for name in names:
        copy = folder / name
        copy.parent.mkdir(exist_ok=True, parents=True)
        copy.write_text((FOLDER / name.rpartition("/")[2]).read_text().replace(PROGRAM, sys.executable))
        copies.append(copy)
    return copies


def settings(unit: str) -> dict[str, list[str]]:
    """Values of each setting of a unit, in order."""
    found: dict[str, list[str]] = {}
    for line in re.sub(r"\\\n\s*", "", (FOLDER / unit).read_text()).splitlines():
        match = re.fullmatch(r"([A-Za-z]+)=(.*)", line)
        if match is not None:
            found.setdefault(match[1], []).append(match[2])
    return found


@cache
def call_group(name: str) -> frozenset[str]:
    """System calls of one of systemd's groups, those of groups within it too."""
    if not name.startswith("@"):
        return frozenset({name})
    text = subprocess.run(
        [tool("systemd-analyze"), "syscall-filter", name], capture_output=True, text=True, check=True
    ).stdout
    lines = [line.strip() for line in text.splitlines()[1:]]
    members = [line for line in lines if line and not line.startswith("#")]
    return frozenset().union(*(call_group(member) for member in members))


def allowed_calls(filters: list[str]) -> frozenset[str]:
    """System calls that SystemCallFilter= lines leave, the first of which lists what is allowed."""
    allowed = set(call_group("@default")) | {"execve"}
    for line in filters:
        calls = frozenset().union(*(call_group(word) for word in line.lstrip("~").split()))
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return frozenset(allowed)
