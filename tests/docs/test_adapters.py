"""The bounds on lateness that docs/hardware.md states for each adapter are those the drivers go by."""

from __future__ import annotations

import re
from pathlib import Path

from drivers.framed.family import LATE_NS
from drivers.serial.latency import LATE_ADAPTER_NS, LATE_PTY_NS, Latency

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "hardware.md").read_text()
MS = 1_000_000


def stated(adapter: str) -> str:
    (cell,) = re.findall(rf"^\| {adapter}[^|]*\| ([^|]*) \|", TEXT, re.MULTILINE)
    return cell


def hold_ns(timer_ms: int) -> int:
    return Latency(asked=True, verified=True, timer_ms=timer_ms, remark="").hold_ns


def test_each_adapter_has_the_bound_that_the_drivers_give_it():
    plain, slow = (f"{(LATE_ADAPTER_NS + hold_ns(timer_ms)) // MS} ms" for timer_ms in (1, 16))
    assert stated("FTDI") == f"{plain}; {slow} with its timer at 16 ms"
    assert stated("CDC-ACM") == stated("a UART") == plain
    assert stated("a pseudo-terminal") == f"{LATE_PTY_NS // MS} ms"
    framed, held = (round((LATE_NS + hold_ns(timer_ms)) / MS) for timer_ms in (1, 16))
    assert f"with Dynamixel and STS {framed} ms, and {held} with a timer at 16" in TEXT
