"""What else the machine does while something is measured."""

from __future__ import annotations

import os
from pathlib import Path


class Others:
    """Counts the CPU time that others than these processes take from now on; what a hypervisor takes away too."""

    def __init__(self, *pids: int) -> None:
        self._pids = pids
        self._taken, self._all = self._ticks()

    def busy(self) -> float:
        """Return how many CPUs others kept busy since the beginning, in the mean. The processes must still be there.

        The time that has passed is the kernel's own count of it, idle time and all: a clock beside it would divide a
        hundredth of a second that was just counted by however little has passed.
        """
        taken, every = self._ticks()
        passed = every - self._all
        return max(0.0, (taken - self._taken) / passed * (os.cpu_count() or 1)) if passed else 0.0

    def _ticks(self) -> tuple[int, int]:
        """Return what others have taken, and all there was, in ticks of all CPUs."""
        counts = [int(word) for word in Path("/proc/stat").read_text().split(None, 9)[1:9]]
        _user, _nice, _system, idle, waiting, *_ = counts
        return sum(counts) - idle - waiting - sum(_own_ticks(pid) for pid in self._pids), sum(counts)


def _own_ticks(pid: int) -> int:
    """Return what a process has taken: fields 14 and 15, counted behind its name, which may contain blanks."""
    behind = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(behind[11]) + int(behind[12])
