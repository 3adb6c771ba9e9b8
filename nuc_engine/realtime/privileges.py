"""Asks the operating system for what real time needs, takes what it gets, and says exactly what is missing.

Nothing here stops an engine: a leg can be worked with on any laptop, only less punctually. Every step that is refused
is reported with its cause and with the line that grants it, in a systemd unit and in a login session.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass

from nuc_engine.realtime.errors import RealtimeError
from nuc_engine.realtime.system import CAP_IPC_LOCK, CAP_SYS_NICE, LinuxSystem, System

LIMITS_FILE = "/etc/security/limits.d/nuc.conf"
"""Where the remedies put the limits of login sessions."""

_LOCK_ALL = f"add `LimitMEMLOCK=infinity` to the unit, or `@nuc - memlock unlimited` to {LIMITS_FILE} and log in again"


@dataclass(frozen=True, slots=True)
class RealtimePolicy:
    """What to ask for.

    `priority` of SCHED_FIFO, 1 to 99, or None for normal scheduling; `cpu` to run on alone, or None; `on_fault`: to
    lock memory page by page as it is used, which takes no time (for a child of a process that is locked); `latency_us`
    that the CPU may take to leave an idle state, or None to leave idle states alone; `timer_slack_ns` matters under
    normal scheduling only.
    """

    priority: int | None = 50
    cpu: int | None = None
    lock_memory: bool = True
    on_fault: bool = False
    latency_us: int | None = 0
    timer_slack_ns: int = 1
    freeze_collector: bool = True


@dataclass(frozen=True, slots=True)
class Grant:
    """One thing that was asked for: whether it is `granted`, what was reached or is missing, and the remedy."""

    name: str
    granted: bool
    text: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.text}: {self.remedy}" if self.remedy else self.text


@dataclass(slots=True)
class RealtimeReport:
    """What came of it. Keep it: as long as it is open, the CPU stays out of deep idle states."""

    steps: tuple[Grant, ...]
    _latency: int | None = None

    @property
    def complete(self) -> bool:
        """Whether everything was granted."""
        return all(step.granted for step in self.steps)

    @property
    def missing(self) -> tuple[str, ...]:
        """One line for each thing that was refused: what, why, and how to grant it."""
        return tuple(str(step) for step in self.steps if not step.granted)

    @property
    def reached(self) -> tuple[str, ...]:
        """One line for each thing that was granted."""
        return tuple(str(step) for step in self.steps if step.granted)

    def close(self) -> None:
        """Let the CPU idle deeply again. The other privileges last as long as the process."""
        if self._latency is not None:
            os.close(self._latency)
            self._latency = None


def acquire(policy: RealtimePolicy, system: System | None = None) -> RealtimeReport:
    """Ask for everything in the policy, for the calling process. To be called last before work begins.

    Locks and collects what exists by then. Raises RealtimeError for a policy that no machine can fulfil.
    """
    if policy.priority is not None and not 1 <= policy.priority <= 99:
        raise RealtimeError(f"priority {policy.priority}: expected 1 to 99 (above 49 only where a CPU can be spared)")
    if policy.latency_us is not None and policy.latency_us < 0:
        raise RealtimeError(f"latency_us {policy.latency_us}: expected 0 (never idle deeply) or more microseconds")
    asked = system if system is not None else LinuxSystem()
    steps: list[Grant] = []
    latency = None
    if policy.freeze_collector:
        steps.append(_collector(asked))
    if policy.lock_memory:
        steps += _memory(asked, on_fault=policy.on_fault)
    if policy.cpu is not None:
        steps.append(_cpu(asked, policy.cpu))
    steps.append(_slack(asked, policy.timer_slack_ns))
    if policy.latency_us is not None:
        step, latency = _latency(asked, policy.latency_us)
        steps.append(step)
    # Last, so that nothing of the above is done while everything else must wait.
    if policy.priority is not None:
        steps.append(_fifo(asked, policy.priority))
    return RealtimeReport(tuple(steps), latency)


def _attempt(call: Callable[[], object]) -> OSError | None:
    try:
        call()
    except OSError as error:
        return error
    return None


def _collector(system: System) -> Grant:
    system.freeze_collector()
    return Grant("collector", True, "garbage collector frozen: no pauses, reference counting alone frees memory")


def _memory(system: System, *, on_fault: bool) -> list[Grant]:
    limit = None if system.has_capability(CAP_IPC_LOCK) else system.memory_limit()
    # Under a limit, locking later mappings too would make them fail one day, and with them the engine.
    error = _attempt(lambda: system.lock_memory(future=limit is None, on_fault=on_fault))
    steps: list[Grant] = []
    if error is not None:
        found = "no limit" if limit is None else f"RLIMIT_MEMLOCK is {limit} bytes"
        steps.append(Grant("memory", False, f"locked memory: {error.strerror}; {found}", _LOCK_ALL))
    elif limit is not None:
        text = f"locked memory: only what is mapped now is locked, since RLIMIT_MEMLOCK is {limit} bytes"
        steps.append(Grant("memory", False, text, _LOCK_ALL))
    else:
        steps.append(Grant("memory", True, "memory locked, now and later"))
    if system.keep_heap():
        steps.append(Grant("heap", True, "heap never shrinks"))
    else:
        remedy = "use a Python built for glibc"
        steps.append(Grant("heap", False, "heap: the C library can not be told to keep its memory", remedy))
    return steps


def _cpu(system: System, cpu: int) -> Grant:
    error = _attempt(lambda: system.set_cpu(cpu))
    if error is None:
        return Grant("cpu", True, f"on CPU {cpu} alone")
    usable = ", ".join(map(str, system.cpus()))
    remedy = f"choose one of {usable}, or widen `CPUAffinity=`/`AllowedCPUs=` of the unit"
    return Grant("cpu", False, f"CPU {cpu}: {error.strerror}; CPUs this process may use are {usable}", remedy)


def _slack(system: System, slack_ns: int) -> Grant:
    error = _attempt(lambda: system.set_timer_slack(slack_ns))
    if error is None:
        return Grant("timer_slack", True, f"timer slack {slack_ns} ns")
    remedy = "allow prctl in the unit's `SystemCallFilter=`; matters only without SCHED_FIFO"
    return Grant("timer_slack", False, f"timer slack {slack_ns} ns: {error.strerror}", remedy)


def _latency(system: System, latency_us: int) -> tuple[Grant, int | None]:
    what = f"CPU idle latency at most {latency_us} us"
    try:
        descriptor = system.hold_latency(latency_us)
    except OSError as error:
        text = f"{what}: /dev/cpu_dma_latency: {error.strerror}"
        return Grant("latency", False, text, _latency_remedy(error)), None
    return Grant("latency", True, what), descriptor


def _latency_remedy(error: OSError) -> str:
    if error.errno == errno.ENOENT:
        return "this kernel has no PM QoS (CONFIG_PM); where the machine is a virtual one, nothing is lost"
    if error.errno == errno.EPERM:
        return "add `DeviceAllow=/dev/cpu_dma_latency rw` to the unit"
    return "install 99-nuc.rules, which gives the device to group nuc, and be in that group"


def _fifo(system: System, priority: int) -> Grant:
    error = _attempt(lambda: system.set_fifo(priority))
    if error is None:
        return Grant("fifo", True, f"SCHED_FIFO priority {priority}")
    limit = system.priority_limit()
    if limit is not None and limit < priority and not system.has_capability(CAP_SYS_NICE):
        room = max(priority, 60)
        found = f"RLIMIT_RTPRIO is {limit}"
        remedy = f"add `LimitRTPRIO={room}` to the unit, or `@nuc - rtprio {room}` to {LIMITS_FILE} and log in again"
    else:
        found = "the limits would allow it"
        remedy = "switch `RestrictRealtime=` of the unit off, or give its control group runtime in cpu.rt_runtime_us"
    return Grant("fifo", False, f"SCHED_FIFO priority {priority}: not permitted ({error.strerror}); {found}", remedy)
