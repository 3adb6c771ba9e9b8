"""Wire efficiency of every family's bus: cycles per second on a pseudo-terminal, beside a bare loop on the same one.

The bare loop writes the very bytes the bus writes and waits for as many as the bus gets, knowing nothing of them. Both
run in one process, in alternating windows, against the same emulated servos (an emulator without physics, at a
turnaround of 100 us). What a cycle costs in bytes is in `drivers.budget`.
"""

from __future__ import annotations

import os
import select
import sys
import tempfile
import termios
import time  # noqa: TID251  benchmarks are about real time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.realtime.children import Broken, Child, python, until
from benchmarks.realtime.report import median, table, verdict
from drivers.budget import FORMS, Form, predict
from drivers.bus import READ_ONLY, Bus
from drivers.errors import BusError
from drivers.factory import bus_on_port, find_family, parse_line
from drivers.serialport import open_port
from drivers.servo import ReplyStatus, ServoAddress
from nuc_engine.realtime import RealtimePolicy, acquire

COUNTS = (4, 18)
TURNAROUND_US = 100
SPIN_NS = 60_000
"""The bus is not waited for in the kernel when its next deed is as near as this."""

PIPELINED_SHARE, PIPELINED_BAUD = 0.85, 57_600
_SETTLED = 200
_STUFFING = 8
_LEAST_CYCLES = 4


def limit_hz(form: Form, baud: int, count: int) -> float:
    """Return cycles per second of a wire that is idle for nothing but the servos' turnaround."""
    if _pipelined(form):
        return baud / (40 * count + 20)
    return predict(form, count, baud, turnaround_ns=TURNAROUND_US * 1000).rate_hz


def _pipelined(form: Form) -> bool:
    return form.option == "pipeline"


def _passing(form: Form) -> Form:
    """Return the form whose bytes are those that pass: of a pipelined cycle all do, though some at the same time."""
    return next(other for other in FORMS if (other.family, other.name) == (form.family, form.held_as or form.name))


def _option(form: Form) -> str:
    return f"{form.option}=1" if form.option else ""


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
            for baud in sorted(find_family(form.family).bauds):
                rows.append(_measured(form, baud, count, windows, seconds))
                sys.stderr.write(" ".join(str(cell) for cell in rows[-1]) + "\n")
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


def _measured(form: Form, baud: int, count: int, windows: int, seconds: float) -> list[object]:
    try:
        return _row(form, baud, count, _measure(form, baud, count, windows, seconds))
    except (Broken, BusError) as error:
        cells = [f"{form.family}: {form.title}", count, f"{baud:,}", f"{limit_hz(form, baud, count):.0f}"]
        return [*cells, "", "", "", "", "", f"**not exchanged so here**: {str(error).partition(':')[0]}"]


def _measure(form: Form, baud: int, count: int, windows: int, seconds: float) -> Rates:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pty = folder / "servos"
        options = "&".join(part for part in (f"baud={baud}", f"turnaround_us={TURNAROUND_US}", _option(form)) if part)
        words = python("benchmarks.realtime.servos", pty, f"emulated:{form.family}?{options}", str(count))
        with Child(words, folder / "servos.out") as child:
            until(pty.exists, "servos", 20, child)
            options = "&".join(part for part in (f"baud={baud}", _option(form)) if part)
            spec = parse_line(f"{form.family}://{pty}?{options}")
            servos = tuple(ServoAddress(k, f"servo {k}") for k in range(count))
            port = _Recording(open_port(str(pty), baud))
            bus = bus_on_port(spec, port, servos)
            rights = acquire(RealtimePolicy())
            try:
                long_enough = max(seconds, _LEAST_CYCLES / limit_hz(form, baud, count))
                usual_bytes = _passing(form).drive.bytes.of(count)
                return _windows(bus, port, windows, long_enough, usual_bytes, pipelined=_pipelined(form))
            finally:
                rights.close()
                bus.close()


def _windows(bus: Bus, port: _Recording, windows: int, seconds: float, usual_bytes: int, *, pipelined: bool) -> Rates:
    rates = Rates()
    goals = _goals(bus)
    trace = _usual(bus, port, goals, usual_bytes, pipelined=pipelined)
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
    return bus.position_raw[:]


def _usual(
    bus: Bus, port: _Recording, goals: Sequence[int], usual_bytes: int, *, pipelined: bool
) -> list[tuple[bytes, int]]:
    """Drive until a cycle is like the next: set up, under torque, nothing odd; return what passed in it.

    Stuffing may add a few bytes to a cycle; in a pipelined one, requests follow each other before a reply has come.
    Raises BusError when it never is.
    """
    seen = ""
    for _ in range(_SETTLED):
        port.trace.clear()
        bad = _cycle(bus, goals)
        passed = sum(len(data) + came for data, came in port.trace)
        overlap = port.trace[0][1] == 0
        if not bad and 0 <= passed - usual_bytes <= _STUFFING and (overlap or not pipelined):
            return list(port.trace)
        seen = f"{passed} bytes, {'overlapping' if overlap else 'one exchange after the other'}"
    raise BusError(f"a cycle takes {seen}, expected {usual_bytes}: {bus.status} {bus.refusals}")


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
            while missing > 0 and epoll.poll(seconds):
                missing -= len(os.read(descriptor, 4096))
        rounds += 1
    epoll.close()
    return rounds * 1e9 / (time.monotonic_ns() - begun)


def _row(form: Form, baud: int, count: int, rates: Rates) -> list[object]:
    limit = limit_hz(form, baud, count)
    bare, ours = median(rates.bare, float), median(rates.bus, float)
    ratio = median(zip(rates.bus, rates.bare, strict=True), lambda pair: pair[0] / pair[1])
    wanted = share_wanted(baud)
    promise = f"{wanted:.0%} of bare: {verdict(ratio >= wanted)}"
    if _pipelined(form) and baud == PIPELINED_BAUD:
        promise += f"; {PIPELINED_SHARE:.0%} of the limit: {verdict(ours / limit >= PIPELINED_SHARE)}"
    cells = [
        f"{form.family}: {form.title}",
        count,
        f"{baud:,}",
        f"{limit:.0f}",
        f"{bare:.0f}",
        f"{ours:.0f}",
        f"{ratio:.1%}",
    ]
    return [*cells, f"{ours / limit:.1%}", rates.bad, promise]
