"""The machine as files under a root, so that it can be another one; functions ask what no file tells."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_TIME_ERROR = 5
_TIMEX_BYTES = 512
"""More than struct timex has on any machine; all zero means: look only (adjtimex(2))."""

UNITS = ("etc/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system", "lib/systemd/system")
RULES = ("etc/udev/rules.d", "usr/local/lib/udev/rules.d", "usr/lib/udev/rules.d", "lib/udev/rules.d")


def may_use(path: Path) -> bool:
    """Say whether this user may read and write a file."""
    return os.access(path, os.R_OK | os.W_OK)


def free_bytes(path: Path) -> int:
    """Return the free bytes of the file system a path is on."""
    return shutil.disk_usage(path).free


def synchronised() -> bool | None:
    """Say whether the kernel believes its time of day to be right; None where it cannot be asked."""
    adjtimex = getattr(ctypes.CDLL(None), "adjtimex", None)
    state = -1 if adjtimex is None else adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))
    return None if state < 0 else state != _TIME_ERROR


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine. `root` is the top of its files, and paths are relative to it. What is absent is no error."""

    root: Path = Path("/")
    may_use: Callable[[Path], bool] = may_use
    free_bytes: Callable[[Path], int] = free_bytes
    synchronised: Callable[[], bool | None] = synchronised

    def at(self, path: str) -> Path:
        """Return where a path is; links are followed within the root."""
        place = self.root / path.lstrip("/")
        for _ in range(20):
            if not place.is_symlink():
                break
            target = place.readlink()
            place = self.root / str(target).lstrip("/") if target.is_absolute() else place.parent / target
        return place

    def text(self, path: str) -> str | None:
        """Return what stands in a file without white space around it, None where it cannot be read."""
        data = self.data(path)
        return None if data is None else data.decode(errors="replace").strip()

    def data(self, path: str) -> bytes | None:
        """Return the bytes of a file, None where it cannot be read."""
        try:
            return self.at(path).read_bytes()
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """Return the number that stands in a file, None where there is none."""
        try:
            return int(self.text(path) or "")
        except ValueError:
            return None

    def find(self, pattern: str) -> list[str]:
        """Return paths that match, sorted, relative to the root with a slash before them."""
        return sorted(f"/{path.relative_to(self.root)}" for path in self.root.glob(pattern.lstrip("/")))

    def exists(self, path: str) -> bool:
        """Say whether there is such a file."""
        return self.at(path).exists()

    def may(self, path: str) -> bool:
        """Say whether this user may read and write a file."""
        return self.may_use(self.at(path))

    def group_of(self, path: str) -> str:
        """Return the name of the group a file belongs to, its number where that has none, empty without a file."""
        try:
            number = self.at(path).stat().st_gid
        except OSError:
            return ""
        for line in (self.text("/etc/group") or "").splitlines():
            fields = line.split(":")
            if len(fields) >= 3 and fields[2] == str(number):
                return fields[0]
        return str(number)

    def limit(self, name: str) -> int | None:
        """Return this process's soft limit of this name in /proc/self/limits; None is no limit."""
        for line in (self.text("/proc/self/limits") or "").splitlines():
            if line.startswith(name):
                soft = line[len(name) :].split()[0]
                return int(soft) if soft.isdigit() else None
        return 0

    def has_capability(self, number: int) -> bool:
        """Say whether a capability is in effect in this process."""
        for line in (self.text("/proc/self/status") or "").splitlines():
            if line.startswith("CapEff:"):
                return bool(int(line.split()[1], 16) >> number & 1)
        return False

    @property
    def has_unit(self) -> bool:
        """Whether the engine's unit is installed."""
        return any(self.exists(f"{folder}/nuc-engine@.service") for folder in UNITS)

    @property
    def has_rules(self) -> bool:
        """Whether the udev rules are installed."""
        return any(self.exists(f"{folder}/99-nuc.rules") for folder in RULES)
