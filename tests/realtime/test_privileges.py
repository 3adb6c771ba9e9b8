"""What the operating system really grants, in processes of their own; and the real clock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from nuc_engine.realtime import RealClock, SuspendWatch
from nuc_engine.realtime.system import CAP_IPC_LOCK, CAP_SYS_NICE, LinuxSystem

REPORT = """
import gc, json, os
from nuc_engine.realtime import RealtimePolicy, acquire
report = acquire(RealtimePolicy(priority=41, cpu=max(os.sched_getaffinity(0)), latency_us=None))
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, bytes([os.sched_getscheduler(0)]))
    os._exit(0)
os.wait()
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "missing": report.missing,
    "steps": [step.name for step in report.steps if step.granted],
    "policy": os.sched_getscheduler(0),
    "priority": os.sched_getparam(0).sched_priority,
    "cpus": len(os.sched_getaffinity(0)),
    "locked_kib": int(status["VmLck"].split()[0]),
    "size_kib": int(status["VmSize"].split()[0]),
    "slack_ns": int(open("/proc/self/timerslack_ns").read()),
    "collects": gc.isenabled(),
    "frozen": gc.get_freeze_count(),
    "child": os.read(read, 1)[0],
}))
"""

DROP = """
import ctypes, os, resource, sys
for number in range(64):
    ctypes.CDLL(None).prctl(24, number, 0, 0, 0)
for name in (resource.RLIMIT_RTPRIO, resource.RLIMIT_MEMLOCK):
    resource.setrlimit(name, (0, 0))
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
"""

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(LinuxSystem().has_capability, (CAP_SYS_NICE, CAP_IPC_LOCK))),
    reason="only root with CAP_SYS_NICE and CAP_IPC_LOCK gets everything",
)


def report(*words: str) -> Any:
    done = subprocess.run([sys.executable, "-c", *words], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def test_what_is_said_to_be_granted_is_granted() -> None:
    found = report(REPORT)
    assert found["missing"] == []
    assert found["policy"] == os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
    assert (found["priority"], found["cpus"]) == (41, 1)
    assert found["slack_ns"] <= 1
    assert found["locked_kib"] > found["size_kib"] // 2
    assert not found["collects"]
    assert found["frozen"] > 1000


def test_children_start_under_normal_scheduling() -> None:
    assert report(REPORT)["child"] == os.SCHED_OTHER


def test_without_rights_it_goes_on_and_says_what_is_missing() -> None:
    found = report(DROP, REPORT)
    assert found["policy"] == os.SCHED_OTHER
    assert found["locked_kib"] == 0
    said = "\n".join(found["missing"])
    assert "SCHED_FIFO priority 41: not permitted" in said
    assert "RLIMIT_RTPRIO is 0" in said
    assert "RLIMIT_MEMLOCK is 0 bytes" in said
    assert set(found["steps"]) == {"collector", "heap", "cpu", "timer_slack"}


def test_the_idle_latency_is_held() -> None:
    system = LinuxSystem()
    try:
        descriptor = system.hold_latency(0)
    except OSError as error:
        pytest.skip(f"/dev/cpu_dma_latency: {error.strerror}")
    with open("/dev/cpu_dma_latency", "rb") as now:
        assert now.read(4) == bytes(4)
    os.close(descriptor)


@pytest.mark.parametrize("spin_us", [0, 200])
def test_the_real_clock_is_never_early_and_hears_descriptors(spin_us: int) -> None:
    clock = RealClock(spin_us=spin_us)
    read, write = os.pipe()
    for _ in range(20):
        deadline = clock.now_ns + 1_000_000
        assert not clock.wait(deadline, (read,))
        assert clock.now_ns >= deadline
    os.write(write, b"x")
    far = clock.now_ns + 60_000_000_000
    assert clock.wait(far, (read,))
    assert clock.now_ns < far
    os.close(read)
    os.close(write)


def test_a_machine_that_is_awake_has_not_slept() -> None:
    watch = SuspendWatch()
    assert sum(watch.check() for _ in range(2000)) == 0
