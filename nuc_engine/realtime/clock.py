"""CLOCK_MONOTONIC as the executive's clock, and notice of the machine having slept.

The clock is the place where a real-time process gives the CPU away. It waits in `select`, which takes microseconds
and wakes for a bus descriptor too. With `spin_us` it polls for the last microseconds instead of sleeping through
them, which saves the wake-up, but never so much that the kernel would take the CPU away from it.
"""

from __future__ import annotations

import select
import time  # noqa: TID251  the clock that all others are handed
from collections.abc import Callable, Sequence
from typing import Any

SPIN_PART = 0.8
"""Part of the kernel's real-time share that this process may be busy for, while it spins."""

_BURST_NS = 50e6
"""Spinning that may be saved up in quiet times: a fraction of the second over which the kernel counts, in ns."""

_DEBT_NS = 1e9
"""Being busy for longer than this is forgotten."""

Select = Callable[[Sequence[int], Sequence[int], Sequence[int], float], tuple[list[Any], list[Any], list[Any]]]


def allowed_share(sysctl: str = "/proc/sys/kernel") -> float:
    """Return the share of each second, 0 to 1, that real-time tasks may take (sched_rt_runtime_us / _period_us).

    1 where throttling is off, 0.95, the kernel's default, where the numbers cannot be read.
    """
    try:
        runtime, period = (_number(f"{sysctl}/sched_rt_{name}_us") for name in ("runtime", "period"))
    except (OSError, ValueError):
        return 0.95
    return 1.0 if runtime < 0 or period <= 0 else min(1.0, runtime / period)


def _number(path: str) -> int:
    with open(path, encoding="ascii") as file:
        return int(file.read())


class RealClock:
    """Real time in nanoseconds since an arbitrary instant; the same in all processes, still while suspended.

    `spin_us`: how long before a deadline sleeping ends and polling begins; 0 never polls. `share`: the part of the
    CPU this process may be busy for (see `allowed_share`). A process that is busier than that with its own work does
    not spin at all.
    """

    def __init__(
        self,
        *,
        spin_us: int = 0,
        share: float = 0.95,
        now: Callable[[], int] = time.monotonic_ns,
        selector: Select = select.select,
    ) -> None:
        self._now, self._select = now, selector
        self._spin_ns = spin_us * 1000
        self._part = share * SPIN_PART
        self._credit = _BURST_NS
        self._counted = now()
        self._slept = 0
        self.spun_ns = 0
        """Time spent polling so far."""

    @property
    def now_ns(self) -> int:
        """The time now."""
        return self._now()

    def wait(self, deadline_ns: int, filenos: Sequence[int]) -> Sequence[int]:
        """Wait for the deadline or for a descriptor to be readable; return those that are.

        With a deadline that has passed it only looks. Descriptors must be below 1024. Raises OSError or ValueError for
        a descriptor that is closed.
        """
        if not self._spin_ns:
            left = deadline_ns - self._now()
            return self._select(filenos, (), (), left * 1e-9 if left > 0 else 0.0)[0]
        now = self._now()
        left = deadline_ns - now - self._allowance(now)
        if left > 0:
            readable = self._select(filenos, (), (), left * 1e-9)[0]
            self._slept += self._now() - now
            if readable:
                return readable
        return self._poll(deadline_ns, filenos)

    def _allowance(self, now: int) -> int:
        # Busy is whatever was not slept: work, polling, and being preempted, which errs on the safe side.
        elapsed = now - self._counted
        credit = self._credit + elapsed * self._part - (elapsed - self._slept)
        self._credit = max(-_DEBT_NS, min(_BURST_NS, credit))
        self._counted, self._slept = now, 0
        return max(0, min(self._spin_ns, int(self._credit)))

    def _poll(self, deadline_ns: int, filenos: Sequence[int]) -> Sequence[int]:
        start = now = self._now()
        readable: Sequence[int] = ()
        while True:
            if filenos:
                readable = self._select(filenos, (), (), 0.0)[0]
            if readable or now >= deadline_ns:
                break
            now = self._now()
        self.spun_ns += now - start
        return readable


class SuspendWatch:
    """Notices that the machine was suspended: CLOCK_BOOTTIME goes on then, CLOCK_MONOTONIC does not.

    The two cannot be read at once, so only what exceeds any delay between the readings is taken for a suspend.
    """

    def __init__(
        self,
        boottime: Callable[[], int] = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME),
        monotonic: Callable[[], int] = time.monotonic_ns,
        threshold_ns: int = 1_000_000,
    ) -> None:
        self._boottime, self._monotonic, self._threshold = boottime, monotonic, threshold_ns
        self._most = self._bounds()[1]

    def check(self) -> int:
        """Return for how many nanoseconds at least the machine was suspended since the last check, mostly 0."""
        least, most = self._bounds()
        gap = least - self._most
        if gap > self._threshold:
            self._most = most
            return gap
        self._most = min(self._most, most)
        return 0

    def _bounds(self) -> tuple[int, int]:
        before = self._monotonic()
        boottime = self._boottime()
        return boottime - self._monotonic(), boottime - before
