"""Where data go, and what day it is."""

from __future__ import annotations

from pathlib import Path

from nuc_engine.doctor.check import Check, bad, ok, warn
from nuc_engine.doctor.machine import Machine
from nuc_engine.realtime.system import CAP_IPC_LOCK

LOG_BYTES_S = 100_000
"""Bytes a leg writes per second, all logs on: four motors at 200 Hz and states at 200 Hz, as measured, rounded up."""

_GIB = 1 << 30


def disk(machine: Machine, folder: str) -> Check:
    """How many hours of data there is room for."""
    name, place = "disk", _nearest(machine, folder)
    where = "/" if place == machine.root else f"/{place.relative_to(machine.root)}"
    if not machine.may_use(place):
        remedy = f"choose another folder, or run `sudo chown $USER {where}`"
        return bad(name, f"{where}: may not be written to", "bouts cannot be kept there", remedy)
    free = machine.free_bytes(place)
    hours = free / LOG_BYTES_S / 3600
    found = f"{where}: {free / _GIB:.1f} GiB free, about {hours:.0f} h of one leg's data"
    if hours < 1:
        found = f"{where}: {free / _GIB:.2f} GiB free, {hours * 60:.0f} min of one leg's data"
        return bad(name, found, "a bout would end for want of room", "free space, or choose another disk with --data")
    if hours < 24:
        return warn(name, found, "less than a day's data", "free space, or choose another disk with --data")
    return ok(name, found, "a full disk ends logging, not the leg")


def _nearest(machine: Machine, folder: str) -> Path:
    place = machine.at(folder)
    while not place.exists() and place != machine.root:
        place = place.parent
    return place


def swap(machine: Machine) -> Check:
    """Whether memory may be moved to a disk."""
    lines = (machine.text("/proc/swaps") or "").splitlines()[1:]
    if not lines:
        return ok("swap", "none", "memory stays where it is")
    listed = ", ".join(line.split()[0] for line in lines)
    locked = machine.limit("Max locked memory") is None or machine.has_capability(CAP_IPC_LOCK) or machine.has_unit
    if locked:
        return ok("swap", listed, "the engine locks its memory, so it is not touched")
    return warn(
        "swap", listed, "the engine may be moved out, and waits to be moved in", "grant locked memory, or `swapoff -a`"
    )


def time_of_day(machine: Machine) -> Check:
    """Whether dates in the data will be right."""
    state = machine.synchronised()
    if state is None:
        return ok("time of day", "not told", "matters for dates in manifests only, never for control")
    if state:
        return ok("time of day", "synchronised", "dates in manifests are right")
    meaning = "dates in manifests may be wrong; control does not use them"
    return warn("time of day", "not synchronised", meaning, "run `timedatectl set-ntp true`")
