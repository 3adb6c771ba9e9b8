"""Machines of paper: a good one, and what can be wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nuc_engine.doctor import Check, Machine, examine

LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max locked memory         {memlock:<20} unlimited            bytes
Max realtime priority     {rtprio:<20} 99
"""

GOOD: Mapping[str, str] = {
    "proc/version": "Linux version 6.12.1 (gcc) #1 SMP PREEMPT_RT Debian 6.12.1",
    "proc/cmdline": "quiet",
    "proc/sys/kernel/osrelease": "6.12.1-rt",
    "proc/sys/kernel/sched_rt_runtime_us": "950000",
    "proc/sys/kernel/sched_rt_period_us": "1000000",
    "proc/self/limits": LIMITS.format(memlock="unlimited", rtprio="60"),
    "proc/self/status": "Name:\tx\nCapEff:\t0000000000000000\n",
    "proc/cpuinfo": "processor : 0\nflags : fpu sse\n",
    "proc/swaps": "Filename Type Size Used Priority\n",
    "proc/17/comm": "systemd",
    "sys/devices/system/cpu/online": "0-3",
    "sys/devices/system/cpu/isolated": "3",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm",
    "sys/bus/usb-serial/devices/ttyUSB0/latency_timer": "1",
    "dev/cpu_dma_latency": "",
    "dev/ttyUSB0": "",
    "etc/group": "root:x:0:\ndialout:x:20:\n",
    "var/lib/nuc/data/here": "",
}


class PaperMachine:
    """Files under a folder; everything may be used but what is `locked`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.locked: set[str] = set()
        self.free = 1 << 40
        self.synchronised: bool | None = True
        self.write(GOOD)

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            else:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())

    @property
    def machine(self) -> Machine:
        return Machine(
            self.folder,
            may_use=lambda path: str(path.relative_to(self.folder)) not in self.locked,
            free_bytes=lambda path: self.free,
            synchronised=lambda: self.synchronised,
        )

    def check(self, name: str, **asked: Any) -> Check:
        return next(one for one in self.examine(**asked) if one.name == name)

    def examine(self, **asked: Any) -> tuple[Check, ...]:
        return examine(self.machine, **{"data": "/var/lib/nuc/data", **asked})
