"""Kernel threads that hand on what came over a terminal or a serial adapter, raised above ordinary programs.

What a driver received lies in a buffer until an unbound kernel worker (`kworker/u*`, ordinary priority) has put it
where it can be read. On a machine whose processors are all busy that waits its turn like any program: replies of servos
that answered in time are seen tens of milliseconds later, by a process that was awake in time. So whoever may do that
gives these workers real-time priority below its own while a line is in use. The kernel makes and ends them as it likes:
they are looked for again and again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

EVERY_NS: Final = 1_000_000_000
"""How often they are looked for."""

_PREFIX: Final = "kworker/u"
_KTHREADD: Final = 2


class LineWorkers:
    """Those of this machine; `priority` of SCHED_FIFO is what they get.

    `proc` and the scheduler's calls are those of Linux; a test gives others.
    """

    def __init__(
        self,
        priority: int,
        *,
        proc: Path = Path("/proc"),
        policy_of: Callable[[int], int] = os.sched_getscheduler,
        schedule: Callable[[int, int, int], None] = lambda pid, policy, priority: os.sched_setscheduler(
            pid, policy, os.sched_param(priority)
        ),
    ) -> None:
        self._priority, self._proc = priority, proc
        self._policy_of, self._schedule = policy_of, schedule
        self._raised: set[int] = set()
        self._due_ns = 0
        self._refused = False

    def look(self, now_ns: int) -> str:
        """Raise those that are new, once a second; return what is to be told: why that was refused, the first time."""
        if now_ns < self._due_ns or self._refused:
            return ""
        self._due_ns = now_ns + EVERY_NS
        for pid in self._workers():
            try:
                if self._policy_of(pid) == os.SCHED_OTHER:
                    self._schedule(pid, os.SCHED_FIFO, self._priority)
                    self._raised.add(pid)
            except ProcessLookupError:
                continue
            except OSError as error:
                self._refused = True
                return (
                    f"kernel workers that hand on what came over the line: {error.strerror}; a busy machine makes "
                    f"replies late: `chrt --fifo --pid {self._priority} PID` for each kworker/u* helps, as root"
                )
        return ""

    def close(self) -> None:
        """Put back those that were raised and are there still."""
        for pid in self._raised.intersection(self._workers()):
            with suppress(OSError):
                self._schedule(pid, os.SCHED_OTHER, 0)
        self._raised.clear()

    def _workers(self) -> Iterator[int]:
        for pid in self._kernel_threads():
            with suppress(OSError):
                if (self._proc / str(pid) / "comm").read_text().startswith(_PREFIX):
                    yield pid

    def _kernel_threads(self) -> list[int]:
        kthreadd = self._proc / str(_KTHREADD)
        try:
            return [int(word) for word in (kthreadd / f"task/{_KTHREADD}/children").read_text().split()]
        except OSError:  # a kernel that does not tell
            return [int(place.name) for place in self._proc.iterdir() if place.name.isdecimal() and _of_kernel(place)]


def _of_kernel(place: Path) -> bool:
    try:
        return int((place / "stat").read_text().rpartition(")")[2].split()[1]) == _KTHREADD
    except (OSError, ValueError, IndexError):
        return False
