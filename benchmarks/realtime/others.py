"""What else the machine does while something is measured."""

from __future__ import annotations

import os
import time  # noqa: TID251  benchmarks are about real time
from pathlib import Path


class Others:
    """Counts the CPU time that others than these processes take from now on; what a hypervisor takes away too."""

    def __init__(self, *pids: int) -> None:
        self._pids = pids
        self._begun, self._taken = time.monotonic(), self._ticks()

    def busy(self) -> float:
        """Return how many CPUs others kept busy since the beginning, in the mean. The processes must still be there."""
        ticks, lasted_s = self._ticks() - self._taken, time.monotonic() - self._begun
        return max(0.0, ticks / os.sysconf("SC_CLK_TCK") / lasted_s)

    def _ticks(self) -> int:
        user, nice, system, _idle, _wait, irq, softirq, steal = map(
            int, Path("/proc/stat").read_text().split(None, 9)[1:9]
        )
        return user + nice + system + irq + softirq + steal - sum(_own_ticks(pid) for pid in self._pids)


def _own_ticks(pid: int) -> int:
    """Return what a process has taken: fields 14 and 15, counted behind its name, which may contain blanks."""
    behind = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(behind[11]) + int(behind[12])
