"""All checks on one machine."""

from __future__ import annotations

from collections.abc import Sequence

from nuc_engine.doctor import buses, kernel, rights, storage
from nuc_engine.doctor.check import Check
from nuc_engine.doctor.machine import Machine


def examine(machine: Machine, ports: Sequence[str] = (), data: str = "/") -> tuple[Check, ...]:
    """Return what all checks come to.

    `ports` are the devices of the buses that matter, none for all that are plugged in; `data` is the absolute path
    of the folder data go to, which need not exist.
    """
    return (
        kernel.preemption(machine),
        kernel.throttling(machine),
        rights.priority(machine),
        rights.memory(machine),
        rights.idle_latency(machine),
        kernel.governor(machine),
        kernel.cpus(machine),
        kernel.clock_source(machine),
        kernel.virtual(machine),
        *buses.ports(machine, ports),
        *buses.latency_timers(machine, ports),
        buses.other_programs(machine),
        storage.disk(machine, data),
        storage.swap(machine),
        storage.time_of_day(machine),
    )
