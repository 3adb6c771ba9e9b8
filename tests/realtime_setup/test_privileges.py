from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from nuc_engine.realtime import RealtimeError, RealtimePolicy, RealtimeReport, acquire
from nuc_engine.realtime.system import CAP_IPC_LOCK, CAP_SYS_NICE


class FakeSystem:
    """A machine that refuses what it is told to, and writes down what it was asked."""

    def __init__(
        self,
        *,
        refuse: dict[str, int] | None = None,
        rtprio: int | None = 0,
        memlock: int | None = 65536,
        capabilities: tuple[int, ...] = (),
        glibc: bool = True,
    ) -> None:
        self.refuse, self.rtprio, self.memlock = refuse or {}, rtprio, memlock
        self.capabilities, self.glibc = capabilities, glibc
        self.asked: list[tuple[object, ...]] = []
        self.descriptors: list[int] = []

    def _do(self, name: str, *args: object) -> None:
        if name in self.refuse:
            number = self.refuse[name]
            raise OSError(number, os.strerror(number))
        self.asked.append((name, *args))

    def set_cpu(self, cpu: int) -> None:
        self._do("cpu", cpu)

    def cpus(self) -> tuple[int, ...]:
        return (0, 1)

    def lock_memory(self, *, future: bool, on_fault: bool = False) -> None:
        self._do("memory", future, on_fault)

    def keep_heap(self) -> bool:
        return self.glibc

    def set_timer_slack(self, slack_ns: int) -> None:
        self._do("slack", slack_ns)

    def hold_latency(self, latency_us: int) -> int:
        self._do("latency", latency_us)
        descriptor = os.open(os.devnull, os.O_WRONLY)
        self.descriptors.append(descriptor)
        return descriptor

    def set_fifo(self, priority: int) -> None:
        self._do("fifo", priority)

    def freeze_collector(self) -> None:
        self._do("collector")

    def priority_limit(self) -> int | None:
        return self.rtprio

    def memory_limit(self) -> int | None:
        return self.memlock

    def has_capability(self, number: int) -> bool:
        return number in self.capabilities


def missing(report: RealtimeReport, name: str) -> str:
    return next(str(step) for step in report.steps if step.name == name and not step.granted)


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def test_everything_granted_and_priority_raised_last() -> None:
    system = FakeSystem(rtprio=60, memlock=None)
    report = acquire(RealtimePolicy(priority=40, cpu=1), system)
    assert report.complete
    assert report.missing == ()
    assert [entry[0] for entry in system.asked] == ["collector", "memory", "cpu", "slack", "latency", "fifo"]
    assert ("fifo", 40) in system.asked
    assert ("cpu", 1) in system.asked
    assert ("memory", True, False) in system.asked
    report.close()


def test_the_report_holds_the_latency_request_until_it_is_closed() -> None:
    system = FakeSystem(rtprio=60, memlock=None)
    report = acquire(RealtimePolicy(), system)
    (descriptor,) = system.descriptors
    assert is_open(descriptor)
    report.close()
    assert not is_open(descriptor)
    report.close()


def test_a_machine_that_refuses_everything_is_told_about_line_by_line() -> None:
    names = ("cpu", "memory", "slack", "latency", "fifo")
    system = FakeSystem(refuse=dict.fromkeys(names, errno.EPERM), glibc=False)
    report = acquire(RealtimePolicy(cpu=3), system)
    assert not report.complete
    assert len(report.missing) == 6
    assert all(": " in line for line in report.missing)
    assert system.asked == [("collector",)]


def test_a_missing_priority_names_the_limit_and_both_places_that_grant_it() -> None:
    report = acquire(RealtimePolicy(), FakeSystem(refuse={"fifo": errno.EPERM}))
    text = missing(report, "fifo")
    assert text.startswith("SCHED_FIFO priority 50: not permitted")
    assert "RLIMIT_RTPRIO is 0" in text
    assert "LimitRTPRIO=60" in text
    assert "@nuc - rtprio 60" in text


def test_the_limit_asked_for_is_never_below_the_priority_wanted() -> None:
    text = missing(acquire(RealtimePolicy(priority=80), FakeSystem(refuse={"fifo": errno.EPERM}, rtprio=60)), "fifo")
    assert "LimitRTPRIO=80" in text


@pytest.mark.parametrize(
    "system",
    [
        FakeSystem(refuse={"fifo": errno.EPERM}, rtprio=60),
        FakeSystem(refuse={"fifo": errno.EPERM}, rtprio=None),
        FakeSystem(refuse={"fifo": errno.EPERM}, rtprio=0, capabilities=(CAP_SYS_NICE,)),
    ],
)
def test_a_priority_refused_although_the_limit_allows_it_blames_the_sandbox(system: FakeSystem) -> None:
    text = missing(acquire(RealtimePolicy(), system), "fifo")
    assert "LimitRTPRIO" not in text
    assert "RestrictRealtime=" in text


def test_under_a_memory_limit_later_mappings_are_not_locked_and_that_is_said() -> None:
    system = FakeSystem(rtprio=60, memlock=8388608)
    report = acquire(RealtimePolicy(), system)
    assert ("memory", False, False) in system.asked
    assert "RLIMIT_MEMLOCK is 8388608 bytes" in missing(report, "memory")
    assert "LimitMEMLOCK=infinity" in missing(report, "memory")


@pytest.mark.parametrize("system", [FakeSystem(memlock=None), FakeSystem(memlock=0, capabilities=(CAP_IPC_LOCK,))])
def test_without_a_memory_limit_everything_is_locked(system: FakeSystem) -> None:
    report = acquire(RealtimePolicy(), system)
    assert ("memory", True, False) in system.asked
    assert any(step.name == "memory" and step.granted for step in report.steps)


@pytest.mark.parametrize(
    ("number", "remedy"),
    [(errno.ENOENT, "PM QoS"), (errno.EPERM, "DeviceAllow=/dev/cpu_dma_latency"), (errno.EACCES, "99-nuc.rules")],
)
def test_the_remedy_for_idle_latency_depends_on_what_stood_in_the_way(number: int, remedy: str) -> None:
    text = missing(acquire(RealtimePolicy(), FakeSystem(refuse={"latency": number})), "latency")
    assert remedy in text


def test_a_cpu_that_can_not_be_had_lists_those_that_can() -> None:
    text = missing(acquire(RealtimePolicy(cpu=7), FakeSystem(refuse={"cpu": errno.EINVAL})), "cpu")
    assert text.startswith("CPU 7:")
    assert "choose one of 0, 1" in text


def test_what_is_not_wanted_is_not_asked_for() -> None:
    system = FakeSystem()
    policy = RealtimePolicy(priority=None, lock_memory=False, latency_us=None, freeze_collector=False)
    acquire(policy, system)
    assert [entry[0] for entry in system.asked] == ["slack"]


@pytest.mark.parametrize(
    "policy", [RealtimePolicy(priority=0), RealtimePolicy(priority=100), RealtimePolicy(latency_us=-1)]
)
def test_an_impossible_policy_is_an_error_before_anything_is_asked(policy: RealtimePolicy) -> None:
    system = FakeSystem()
    with pytest.raises(RealtimeError, match="expected"):
        acquire(policy, system)
    assert system.asked == []


def test_the_package_brings_nothing_slow_along() -> None:
    code = "import sys, nuc_engine.realtime; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "nuc_engine.realtime.stats" in loaded
    assert not {"numpy", "zmq", "lxml", "structlog", "asyncio"} & set(loaded)
