"""The calls of the operating system behind the privileges, each of which raises OSError when it is refused."""

from __future__ import annotations

import ctypes
import gc
import os
import struct
from functools import cache
from typing import Protocol

CAP_IPC_LOCK, CAP_SYS_NICE = 14, 23
"""Numbers of two capabilities (linux/capability.h)."""

_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
_PR_SET_TIMERSLACK = 29
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
_DMA_LATENCY = "/dev/cpu_dma_latency"


class System(Protocol):
    """What `acquire` asks of the machine. Limits are soft limits; None is no limit."""

    def set_cpu(self, cpu: int) -> None:
        """Run this process on one CPU alone."""
        ...

    def cpus(self) -> tuple[int, ...]:
        """Return the CPUs this process may use."""
        ...

    def lock_memory(self, *, future: bool, on_fault: bool = False) -> None:
        """Keep what is mapped now in memory, and with `future` what is mapped later; `on_fault`: once it is used."""
        ...

    def keep_heap(self) -> bool:
        """Tell the allocator never to give memory back; False where it cannot be told."""
        ...

    def set_timer_slack(self, slack_ns: int) -> None:
        """Bound how much later than asked for this thread is woken under normal scheduling."""
        ...

    def hold_latency(self, latency_us: int) -> int:
        """Forbid CPU idle states that take longer to leave; return the descriptor that holds the request."""
        ...

    def set_fifo(self, priority: int) -> None:
        """Schedule this process before all of lower priority; its children start under normal scheduling."""
        ...

    def freeze_collector(self) -> None:
        """Collect once, then never again."""
        ...

    def priority_limit(self) -> int | None:
        """Return RLIMIT_RTPRIO."""
        ...

    def memory_limit(self) -> int | None:
        """Return RLIMIT_MEMLOCK in bytes."""
        ...

    def has_capability(self, number: int) -> bool:
        """Say whether a capability is in effect."""
        ...


class LinuxSystem:
    """The machine this process runs on."""

    def set_cpu(self, cpu: int) -> None:
        """Run this process on one CPU alone."""
        os.sched_setaffinity(0, {cpu})

    def cpus(self) -> tuple[int, ...]:
        """Return the CPUs this process may use."""
        return tuple(sorted(os.sched_getaffinity(0)))

    def lock_memory(self, *, future: bool, on_fault: bool = False) -> None:
        """Keep what is mapped now in memory, and with `future` what is mapped later; `on_fault`: once it is used."""
        _check(_libc().mlockall(_MCL_CURRENT | (_MCL_FUTURE if future else 0) | (_MCL_ONFAULT if on_fault else 0)))

    def keep_heap(self) -> bool:
        """Tell the allocator never to give memory back; False where it cannot be told (musl)."""
        mallopt = getattr(_libc(), "mallopt", None)
        if mallopt is None:
            return False
        # Blocks above 128 KiB would each be mapped and unmapped: page faults on every use.
        return bool(mallopt(_M_MMAP_MAX, 0)) and bool(mallopt(_M_TRIM_THRESHOLD, -1))

    def set_timer_slack(self, slack_ns: int) -> None:
        """Bound how much later than asked for this thread is woken under normal scheduling."""
        _check(_libc().prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(slack_ns), 0, 0, 0))

    def hold_latency(self, latency_us: int) -> int:
        """Forbid CPU idle states that take longer to leave; return the descriptor that holds the request."""
        descriptor = os.open(_DMA_LATENCY, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, struct.pack("i", latency_us))
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def set_fifo(self, priority: int) -> None:
        """Schedule this process before all of lower priority; its children start under normal scheduling."""
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))

    def freeze_collector(self) -> None:
        """Collect once, then never again."""
        gc.collect()
        gc.freeze()
        gc.disable()

    def priority_limit(self) -> int | None:
        """Return RLIMIT_RTPRIO."""
        return _soft("RLIMIT_RTPRIO")

    def memory_limit(self) -> int | None:
        """Return RLIMIT_MEMLOCK in bytes."""
        return _soft("RLIMIT_MEMLOCK")

    def has_capability(self, number: int) -> bool:
        """Say whether a capability is in effect."""
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            effective = next((line.split()[1] for line in status if line.startswith("CapEff:")), "0")
        return bool(int(effective, 16) >> number & 1)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _soft(which: str) -> int | None:
    import resource

    soft = resource.getrlimit(getattr(resource, which))[0]
    return None if soft == resource.RLIM_INFINITY else soft
