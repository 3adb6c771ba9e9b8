"""What this user, or the engine's unit, may do."""

from __future__ import annotations

from nuc_engine.doctor.check import Check, bad, ok, warn
from nuc_engine.doctor.machine import Machine
from nuc_engine.realtime.privileges import LIMITS_FILE
from nuc_engine.realtime.system import CAP_IPC_LOCK, CAP_SYS_NICE

HIGHEST = 60
"""Real-time priority of the guardian: ten above that of the tasks."""

_UNIT = "the installed unit has its own limits; this is about a terminal of this user only"
_JOIN = "put this user into group nuc (`sudo usermod -aG nuc USER`) and log in again"


def priority(machine: Machine) -> Check:
    """Whether tasks may run before everything else."""
    name, wanted = "priority", HIGHEST
    limit = machine.limit("Max realtime priority")
    if machine.has_capability(CAP_SYS_NICE):
        return ok(name, "any, by capability", "the engine's tasks run before everything else")
    if limit is None or limit >= wanted:
        return ok(name, "any" if limit is None else f"up to {limit}", "the engine's tasks run before everything else")
    found, grant = f"up to {limit}, {wanted} is wanted", f"install nuc.limits as {LIMITS_FILE}; {_JOIN}"
    if machine.has_unit:
        return ok(name, found, _UNIT, grant)
    return bad(name, found, "any other program may delay the engine for as long as it likes", grant)


def memory(machine: Machine) -> Check:
    """Whether the engine's memory stays where it is."""
    name, limit = "locked memory", machine.limit("Max locked memory")
    if machine.has_capability(CAP_IPC_LOCK) or limit is None:
        return ok(name, "any amount", "the engine never waits for its own memory")
    found, grant = f"up to {limit // 1024} KiB", f"install nuc.limits as {LIMITS_FILE}; {_JOIN}"
    if machine.has_unit:
        return ok(name, found, _UNIT, grant)
    return warn(name, found, "when memory is short, the engine waits for the disk", grant)


def idle_latency(machine: Machine) -> Check:
    """Whether the engine can keep the CPU from sleeping so deeply that it wakes up late."""
    name, path = "CPU idle", "/dev/cpu_dma_latency"
    if not machine.exists(path):
        return ok(
            name, f"no {path}", "this kernel cannot be asked to stay awake; on most such machines there is no need"
        )
    if machine.may(path):
        return ok(name, f"{path} may be used", "the engine keeps the CPU awake while a leg runs")
    found = f"{path} is not for this user"
    if machine.has_unit and machine.has_rules:
        return ok(name, found, "the installed unit may use it", _JOIN)
    meaning = "after each sleep the CPU takes up to some 100 us to wake up"
    return warn(name, found, meaning, f"install 99-nuc.rules into /etc/udev/rules.d, restart; {_JOIN}")
