"""Which processes hold a device open, as far as /proc tells."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

_PROC: Final = Path("/proc")
_MOST_NAMED: Final = 3
_PTY_SLAVES: Final = range(136, 144)
_SLAVES_EACH: Final = 256


class Holder(NamedTuple):
    """A process with the device open."""

    pid: int
    name: str


def find_holders(path: str, proc: Path = _PROC) -> tuple[Holder, ...]:
    """Return the processes that have the device at `path` open, this one excepted; those of others need root.

    Who has the other end of a pseudo-terminal open is the line, not somebody who uses it: emulated servos.
    """
    try:
        device = os.stat(path).st_rdev
    except OSError:
        return ()
    pids = sorted(int(entry) for entry in os.listdir(proc) if entry.isdecimal() and int(entry) != os.getpid())
    holding = [pid for pid in pids if _holds(proc, pid, device)]
    return tuple(Holder(pid, _name(proc, pid)) for pid in holding if not _is_line(proc, pid, device))


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


def _is_line(proc: Path, pid: int, device: int) -> bool:
    """Say whether a process has the master of this pseudo-terminal open."""
    if os.major(device) not in _PTY_SLAVES:
        return False
    index = (os.major(device) - _PTY_SLAVES.start) * _SLAVES_EACH + os.minor(device)
    try:
        infos = [info.read_text() for info in (proc / str(pid) / "fdinfo").iterdir()]
    except OSError:
        return False
    return any(line.split() == ["tty-index:", str(index)] for info in infos for line in info.splitlines())


def _name(proc: Path, pid: int) -> str:
    try:
        return (proc / str(pid) / "comm").read_text().strip()
    except OSError:
        return "unknown"
