"""Markdown: a table, a ratio, a promise that is kept or not; and what machine this is."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return a Markdown table and an empty line."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return [*lines, ""]


def median(items: Iterable[T], of: Callable[[T], float]) -> float:
    """Return the median of a number over windows; NaN without any."""
    numbers = [of(item) for item in items]
    return statistics.median(numbers) if numbers else float("nan")


def verdict(kept: bool) -> str:
    """Return whether a promise is kept, in words."""
    return "reached" if kept else "**not reached**"


def ended(interrupted: Sequence[str]) -> list[str]:
    """Return a remark on bouts that ended by themselves and were begun again; nothing without any."""
    if not interrupted:
        return []
    names = ", ".join(f"{interrupted.count(name)} x {name}" for name in dict.fromkeys(interrupted))
    return [f"Bouts that ended by themselves, their windows repeated: {names}.", ""]


def machine() -> str:
    """Return what machine this is, in a line."""
    processor, virtual = platform.machine(), ""
    for line in _read("/proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            processor = value.strip()
        if name.strip() == "flags" and " hypervisor" in value:
            virtual = ", virtual machine"
    preemption = next(
        (word for word in platform.version().split() if word.startswith("PREEMPT")), "no preemption named"
    )
    libraries = ", ".join(f"{name} {version(name)}" for name in ("pyzmq", "mujoco"))
    return (
        f"{processor}, {os.cpu_count()} CPUs{virtual}; Linux {platform.release()} {preemption}, clock source "
        f"{_read('/sys/devices/system/clocksource/clocksource0/current_clocksource').strip() or 'unknown'}; Python "
        f"{platform.python_version()}, {libraries}"
    )


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
