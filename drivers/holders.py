"""Which processes hold a device open, as far as /proc tells."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

_PROC: Final = Path("/proc")
_MOST_NAMED: Final = 3


class Holder(NamedTuple):
    """A process with the device open."""

    pid: int
    name: str


def find_holders(path: str, proc: Path = _PROC) -> tuple[Holder, ...]:
    """Return the processes that have the device at `path` open, this one excepted; those of others need root."""
    try:
        device = os.stat(path).st_rdev
    except OSError:
        return ()
    pids = sorted(int(entry) for entry in os.listdir(proc) if entry.isdecimal())
    return tuple(Holder(pid, _name(proc, pid)) for pid in pids if pid != os.getpid() and _holds(proc, pid, device))


def describe_holders(path: str) -> str:
    """Return the holders as text, such as `nuc (process 1234)`; empty when none is known."""
    holders = find_holders(path)
    named = ", ".join(f"{holder.name} (process {holder.pid})" for holder in holders[:_MOST_NAMED])
    more = len(holders) - _MOST_NAMED
    return f"{named} and {more} more" if more > 0 else named


def _holds(proc: Path, pid: int, device: int) -> bool:
    try:
        descriptors = os.listdir(proc / str(pid) / "fd")
    except OSError:
        return False
    for descriptor in descriptors:
        try:
            if device and os.stat(proc / str(pid) / "fd" / descriptor).st_rdev == device:
                return True
        except OSError:
            continue
    return False


def _name(proc: Path, pid: int) -> str:
    try:
        return (proc / str(pid) / "comm").read_text().strip()
    except OSError:
        return "unknown"
