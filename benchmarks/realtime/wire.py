"""Wire efficiency of every family's bus: cycles per second on a pseudo-terminal, beside a bare loop on the same one.

The bare loop writes the very bytes the bus writes and waits for as many as the bus gets, knowing nothing of them. Both
run in one process, in alternating windows, against the same emulated servos (an emulator without physics, at a
turnaround of 100 us). The sheet of what a cycle costs in bytes is `drivers.budget`.
"""

from __future__ import annotations

import os
import select
import tempfile
import termios
import time  # noqa: TID251  benchmarks are about real time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.realtime.children import Child, python, until
from benchmarks.realtime.report import median, table, verdict
from drivers.bus import READ_ONLY, Bus
from drivers.errors import BusError
from drivers.factory import bus_on_port, parse_line
from drivers.serialport import open_port
from drivers.servo import ReplyStatus, ServoAddress
from nuc_engine.realtime import RealtimePolicy, acquire

COUNTS = (4, 18)
TURNAROUND_US = 100
SPIN_NS = 60_000
"""The bus is not waited for in the kernel when its next deed is as near as this."""

PIPELINED_SHARE = 0.85
_SETTLED = 50


@dataclass(frozen=True, slots=True)
class Form:
    """One way to exchange with all servos: its URL options, the rates it is measured at, its bytes per cycle.

    `fixed` and `each` are the sheet's bytes on the wire per cycle: fixed + each * N. `turns` says how often per servo
    the turnaround is waited for.
    """

    name: str
    family: str
    options: str
    bauds: tuple[int, ...]
    fixed: int
    each: int
    turns: int = 1
    pipelined: bool = False

    def limit_hz(self, baud: int, count: int) -> float:
        """Return cycles per second of a wire that is idle for nothing but the servos' turnaround."""
        if self.pipelined:
            return baud / (40 * count + 20)
        wire_s = 10 * (self.fixed + self.each * count) / baud
        return 1 / (wire_s + self.turns * count * TURNAROUND_US * 1e-6)


AI = (57_600, 115_200, 460_800)
DXL = (57_600, 115_200, 1_000_000, 3_000_000)
STS = (57_600, 115_200, 1_000_000)
FORMS = (
    Form("AI/wCK position send", "aimotor", "", AI, 0, 6),
    Form("AI/wCK position send, pipelined", "aimotor", "pipeline=1", AI[:2], 2, 4, pipelined=True),
    Form("AI/wCK sync send + reads", "aimotor", "sync=1", AI, 4, 7),
    Form("wCK 10-bit move + read", "aimotor", "ten_bit=1", AI, 0, 18, turns=2),
    Form("Dynamixel read + write", "dynamixel", "single=1", DXL, 0, 62, turns=2),
    Form("Dynamixel sync write + sync read", "dynamixel", "", DXL, 28, 27),
    Form("Dynamixel sync write + fast sync read", "dynamixel", "fast=1", DXL, 36, 20),
    Form("Feetech STS read + write", "feetech", "single=1", STS, 0, 35, turns=2),
    Form("Feetech STS sync write + sync read", "feetech", "", STS, 16, 16),
)


def share_wanted(baud: int) -> float:
    """Return the share of the bare loop's rate that is promised."""
    return 0.95 if baud <= 115_200 else 0.85


class _Recording:
    """A port that notes what passes through it: what was written, and how many bytes came back since the last write."""

    def __init__(self, port) -> None:
        self._port = port
        self.trace: list[tuple[bytes, int]] = []

    def __getattr__(self, name: str):
        return getattr(self._port, name)

    def write(self, data: bytes, now_ns: int) -> None:
        self.trace.append((data, 0))
        self._port.write(data, now_ns)

    def read(self, now_ns: int) -> bytes:
        data = self._port.read(now_ns)
        if data and self.trace:
            written, came = self.trace[-1]
            self.trace[-1] = written, came + len(data)
        return data


@dataclass(slots=True)
class Rates:
    """Cycles per second in each window, and how many exchanges of the bus were not good."""

    bus: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    bad: int = 0


def wire(windows: int, seconds: float, only: Sequence[str] = ()) -> list[str]:
    """Measure and return the section of the report."""
    rows: list[list[object]] = []
    for form in FORMS:
        if only and form.family not in only:
            continue
        for count in COUNTS:
            rows += [_row(form, baud, count, _measure(form, baud, count, windows, seconds)) for baud in form.bauds]
    head = ["exchange", "N", "baud", "wire limit Hz", "bare loop Hz", "bus Hz", "of bare", "of wire", "bad", "promise"]
    return [
        f"## Wire efficiency: {windows} alternating windows of {seconds:g} s",
        "",
        "Cycles with all N servos per second, medians of the windows. Wire limit: the bytes of a cycle, and a "
        f"turnaround of {TURNAROUND_US} us per reply (pipelined: baud / (40 N + 20), in which turnarounds are hidden). "
        "The bare loop writes the same bytes and waits for as many; same process, same emulator, same priority.",
        "",
        *table(head, rows),
    ]


def _measure(form: Form, baud: int, count: int, windows: int, seconds: float) -> Rates:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pty = folder / "servos"
        options = "&".join(part for part in (f"baud={baud}", f"turnaround_us={TURNAROUND_US}", form.options) if part)
        words = python("benchmarks.realtime.servos", pty, f"emulated:{form.family}?{options}", str(count))
        with Child(words, folder / "servos.out") as child:
            until(pty.exists, "servos", 20, child)
            options = "&".join(part for part in (f"baud={baud}", form.options) if part)
            spec = parse_line(f"{form.family}://{pty}?{options}")
            servos = tuple(ServoAddress(k, f"servo {k}") for k in range(count))
            port = _Recording(open_port(str(pty), baud))
            bus = bus_on_port(spec, port, servos)
            rights = acquire(RealtimePolicy())
            try:
                return _windows(bus, port, windows, seconds, pipelined=form.pipelined)
            finally:
                rights.close()
                bus.close()


def _windows(bus: Bus, port: _Recording, windows: int, seconds: float, *, pipelined: bool) -> Rates:
    rates = Rates()
    goals = _goals(bus)
    trace: list[tuple[bytes, int]] = []
    for _ in range(20):
        port.trace.clear()
        _cycle(bus, goals)
        trace = list(port.trace)
    for _ in range(windows):
        begun = time.monotonic_ns()
        done, end = 0, begun + round(seconds * 1e9)
        while time.monotonic_ns() < end:
            port.trace.clear()
            rates.bad += _cycle(bus, goals)
            done += 1
        rates.bus.append(done * 1e9 / (time.monotonic_ns() - begun))
        rates.bare.append(_bare(port.fd, trace, seconds, pipelined=pipelined))
    return rates


def _goals(bus: Bus) -> list[int]:
    """Bring everybody under torque where they are; return the goals. Raises BusError when somebody does not answer."""
    everybody = [int(ReplyStatus.OK)] * len(bus.servos)
    for _ in range(_SETTLED):
        _cycle(bus, [READ_ONLY] * len(bus.servos))
        if bus.status == everybody:
            break
    else:
        raise BusError(f"not all servos answer: {bus.status} {bus.refusals}")
    goals = bus.position_raw[:]
    for _ in range(_SETTLED):
        _cycle(bus, goals)
    return goals


def _cycle(bus: Bus, goals: Sequence[int]) -> int:
    """Run one cycle as the core does; return how many exchanges were not good."""
    bus.start(time.monotonic_ns(), list(goals))
    filenos = bus.filenos()
    while not bus.proceed(now_ns := time.monotonic_ns()):
        left_ns = bus.wake_ns - now_ns
        select.select(filenos, (), (), left_ns * 1e-9 if left_ns > SPIN_NS else 0.0)
    return sum(status != ReplyStatus.OK for status in bus.status)


def _bare(descriptor: int, trace: Sequence[tuple[bytes, int]], seconds: float, *, pipelined: bool) -> float:
    """Write what the bus wrote and wait for as many bytes, again and again; return rounds per second."""
    termios.tcflush(descriptor, termios.TCIFLUSH)
    epoll = select.epoll()
    epoll.register(descriptor, select.EPOLLIN)
    if pipelined:
        # All requests of a round at once: the wire itself keeps them apart.
        trace = [(b"".join(data for data, _ in trace), sum(came for _, came in trace))]
    rounds, begun = 0, time.monotonic_ns()
    end = begun + round(seconds * 1e9)
    while time.monotonic_ns() < end:
        for data, expected in trace:
            os.write(descriptor, data)
            missing = expected
            while missing > 0 and epoll.poll(0.05):
                missing -= len(os.read(descriptor, 4096))
        rounds += 1
    epoll.close()
    return rounds * 1e9 / (time.monotonic_ns() - begun)


def _row(form: Form, baud: int, count: int, rates: Rates) -> list[object]:
    limit = form.limit_hz(baud, count)
    bare, ours = median(rates.bare, float), median(rates.bus, float)
    ratio = median(zip(rates.bus, rates.bare, strict=True), lambda pair: pair[0] / pair[1])
    wanted = share_wanted(baud)
    promise = f"{wanted:.0%} of bare: {verdict(ratio >= wanted)}"
    if form.pipelined and baud == AI[0]:
        promise += f"; {PIPELINED_SHARE:.0%} of the limit: {verdict(ours / limit >= PIPELINED_SHARE)}"
    cells = [form.name, count, f"{baud:,}", f"{limit:.0f}", f"{bare:.0f}", f"{ours:.0f}", f"{ratio:.1%}"]
    return [*cells, f"{ours / limit:.1%}", rates.bad, promise]
