"""What the kernel and the CPUs do to punctuality."""

from __future__ import annotations

import gzip
import re
import zlib

from nuc_engine.doctor.check import Check, bad, ok, warn
from nuc_engine.doctor.machine import Machine

_CONFIGURED = {"PREEMPT": "full", "PREEMPT_LAZY": "lazy", "PREEMPT_VOLUNTARY": "voluntary", "PREEMPT_NONE": "none"}
_FAST_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter", "riscv_clocksource", "hyperv_clocksource_tsc_page", "timebase")


def preemption(machine: Machine) -> Check:
    """How long a task that must run waits for the kernel to finish something else."""
    name, version = "preemption", machine.text("/proc/version") or ""
    if machine.text("/sys/kernel/realtime") == "1" or "PREEMPT_RT" in version:
        return ok(name, "PREEMPT_RT", "the kernel lets go at once, and bounds its own delays")
    model, source = _model(machine, version)
    dynamic = "PREEMPT_DYNAMIC" in version
    remedy = "boot with `preempt=full`" if dynamic else "install a kernel with CONFIG_PREEMPT or, better, PREEMPT_RT"
    found = f"{model} ({source})"
    if model == "full":
        return ok(name, found, "the kernel lets go almost everywhere; a PREEMPT_RT kernel would bound what is left")
    if model == "none":
        return bad(
            name, found, "a task may wait for milliseconds until the kernel has finished for another one", remedy
        )
    if model == "unknown":
        return warn(name, found, "whether the kernel lets go cannot be seen", "run this as root, which may look")
    return warn(name, found, "a task may wait for about a millisecond while the kernel works for another one", remedy)


def _model(machine: Machine, version: str) -> tuple[str, str]:
    current = re.search(r"\((\w+)\)", machine.text("/sys/kernel/debug/sched/preempt") or "")
    if current is not None:
        return current[1], "as it runs now"
    asked = re.search(r"(?:^|\s)preempt=(\w+)", machine.text("/proc/cmdline") or "")
    if asked is not None and "PREEMPT_DYNAMIC" in version:
        return asked[1], "boot option"
    built = re.search(r"(?m)^CONFIG_(PREEMPT(?:_LAZY|_VOLUNTARY|_NONE)?)=y", _configuration(machine))
    if built is not None:
        return _CONFIGURED[built[1]], "as the kernel was built"
    if re.search(r"\bPREEMPT\b", version):
        return "full", "as the kernel says"
    return "unknown", "neither /sys/kernel/debug nor the kernel's configuration can be read"


def _configuration(machine: Machine) -> str:
    packed = machine.data("/proc/config.gz")
    if packed is not None:
        try:
            return gzip.decompress(packed).decode(errors="replace")
        except (OSError, EOFError, zlib.error):
            return ""
    release = machine.text("/proc/sys/kernel/osrelease")
    return machine.text(f"/boot/config-{release}") or ""


def throttling(machine: Machine) -> Check:
    """What part of each second real-time tasks may have."""
    name = "throttling"
    runtime = machine.number("/proc/sys/kernel/sched_rt_runtime_us")
    period = machine.number("/proc/sys/kernel/sched_rt_period_us")
    if runtime is None or not period:
        return ok(name, "not told", "this kernel has no limit that could be read; the usual one is 95 %")
    usual = "run `sysctl kernel.sched_rt_runtime_us=950000`"
    if runtime < 0:
        meaning = "a real-time task that never sleeps would freeze the machine; the engine sleeps"
        return warn(name, "off", meaning, usual)
    share = runtime / period
    found = f"{share:.0%} of each second may be real-time"
    if share < 0.5:
        return bad(name, found, "the kernel would stop the engine for the rest of each second it is busy", usual)
    if share < 0.9:
        return warn(name, found, "the kernel could stop the engine when it is busy", usual)
    return ok(name, found, "the engine stays below it, also when it polls")


def clock_source(machine: Machine) -> Check:
    """What the time is read from."""
    folder = "/sys/devices/system/clocksource/clocksource0"
    current, name = machine.text(f"{folder}/current_clocksource"), "clock source"
    if current is None:
        return warn(name, "not told", "what the time is read from cannot be seen", f"look into {folder}")
    if current in _FAST_CLOCKS:
        return ok(name, current, "the time is read in well under a microsecond")
    there = (machine.text(f"{folder}/available_clocksource") or "").split()
    better = next((one for one in _FAST_CLOCKS if one in there), None)
    remedy = (
        f"run `echo {better} > {folder}/current_clocksource`"
        if better
        else "boot with `tsc=reliable`, or replace the board"
    )
    kind = bad if "jiffies" in current else warn
    return kind(name, current, "each reading of the time costs microseconds, and may be coarse", remedy)


def governor(machine: Machine) -> Check:
    """Whether the CPU slows down between two cycles."""
    name = "CPU governor"
    found = {machine.text(path) for path in machine.find("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")}
    governors = sorted(one for one in found if one)
    if not governors:
        return ok(name, "none needed", "the clock rate of this CPU is not the kernel's affair")
    listed = ", ".join(governors)
    if governors == ["performance"]:
        return ok(name, listed, "the CPU stays at full speed")
    meaning = "the CPU slows down while a leg's tasks sleep, and is slow when they wake up"
    return warn(name, listed, meaning, "run `cpupower frequency-set -g performance`, and at each start of the machine")


def cpus(machine: Machine) -> Check:
    """Whether a CPU can be kept for the engine."""
    name = "CPUs"
    online = _count(machine.text("/sys/devices/system/cpu/online") or "0")
    isolated = machine.text("/sys/devices/system/cpu/isolated") or ""
    if online == 1:
        meaning = "engine, data and everything else share one CPU"
        return warn(name, "1", meaning, "use a computer with two or more; do nothing else on this one while a leg runs")
    if isolated:
        found = f"{online}, of which {isolated} set aside"
        return ok(name, found, f"`nuc serve --cpu {isolated.split(',')[0].split('-')[0]}` has a CPU for itself")
    hint = f"for a leg that must never wait, boot with `isolcpus={online - 1}` and give it to `nuc serve --cpu`"
    return ok(name, f"{online}, none set aside", "enough; other programs may delay a wake-up now and then", hint)


def _count(ranges: str) -> int:
    parts = [part.partition("-") for part in ranges.split(",") if part]
    return sum(int(last or first) - int(first) + 1 for first, _, last in parts)


def virtual(machine: Machine) -> Check:
    """Whether somebody else decides when this machine runs."""
    flags = re.search(r"(?m)^flags\s*:(.*)$", machine.text("/proc/cpuinfo") or "")
    if flags is None or "hypervisor" not in flags[1].split():
        return ok("hardware", "a machine of its own", "nobody stops it but its own kernel")
    meaning = "the host may stop it for milliseconds at any time, and no setting in here can prevent that"
    return warn(
        "hardware", "a virtual machine", meaning, "drive servos from a computer of its own; emulated legs are fine"
    )
