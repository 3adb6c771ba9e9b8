"""Adapters of servo buses: there, allowed, quick, and alone."""

from __future__ import annotations

from collections.abc import Sequence

from nuc_engine.doctor.check import Check, bad, ok, warn
from nuc_engine.doctor.machine import Machine

_ADAPTERS = ("/dev/ttyUSB[0-9]*", "/dev/ttyACM[0-9]*")
_MEDDLERS = ("ModemManager", "brltty")
"""Programs known to open every new serial adapter and to write to it."""


def devices(machine: Machine, named: Sequence[str]) -> list[str]:
    """Return the adapters in question: those named, else all that are plugged in."""
    return list(named) or [path for pattern in _ADAPTERS for path in machine.find(pattern)]


def ports(machine: Machine, named: Sequence[str]) -> list[Check]:
    """Whether each adapter is there and may be used."""
    asked = devices(machine, named)
    if not asked:
        return [ok("port", "none", "no adapter is plugged in; emulated legs need none")]
    return [_port(machine, path) for path in asked]


def _port(machine: Machine, path: str) -> Check:
    name = "port"
    if not machine.exists(path):
        return bad(
            name, f"{path}: absent", "the engine waits until it is there", "plug it in; `ls /dev/nuc` shows names"
        )
    group = machine.group_of(path)
    if machine.may(path):
        return ok(name, f"{path}: may be used", "the engine can drive this bus")
    remedy = f"run `sudo usermod -aG {group} USER` and log in again"
    if machine.has_unit and group == "dialout":
        found = f"{path}: not for this user"
        return ok(name, found, "the installed unit may use it; this is about a terminal of this user only", remedy)
    return bad(name, f"{path}: not for this user", f"only group {group} may use it", remedy)


def latency_timers(machine: Machine, named: Sequence[str]) -> list[Check]:
    """Whether FTDI adapters pass replies on at once."""
    checks: list[Check] = []
    for path in devices(machine, named):
        device = machine.at(path).name
        timer_ms = machine.number(f"/sys/bus/usb-serial/devices/{device}/latency_timer")
        if timer_ms is None:
            continue
        found = f"{path}: {timer_ms} ms"
        if timer_ms <= 1:
            checks.append(ok("latency timer", found, "replies are passed on at once"))
        else:
            rate = 1000 / (timer_ms + 1)
            meaning = f"the adapter holds each reply back: hardly more than {rate:.0f} exchanges/s, all servos together"
            remedy = "install 99-nuc.rules into /etc/udev/rules.d and plug the adapter in again"
            checks.append(bad("latency timer", found, meaning, remedy))
    return checks


def other_programs(machine: Machine) -> Check:
    """Whether a program runs that writes to new adapters."""
    running = {machine.text(path) for path in machine.find("/proc/[0-9]*/comm")}
    found = [one for one in _MEDDLERS if one in running]
    if not found:
        return ok("other programs", "none that meddles", "nobody else writes to new adapters")
    listed = ", ".join(found)
    if machine.has_rules and found == ["ModemManager"]:
        return ok("other programs", listed, "99-nuc.rules keeps it off the usual adapters")
    services = " ".join(found)
    remedy = f"install 99-nuc.rules, or run `sudo systemctl disable --now {services}`"
    return warn(
        "other programs", listed, "writes to each adapter that is plugged in, which servos may take for goals", remedy
    )
