"""Wire efficiency of every family's bus: cycles per second on a pseudo-terminal, beside a bare loop on the same one.

The bare loop writes the very bytes the bus writes and waits for as many as the bus gets, knowing nothing of them. Both
run in one process, in alternating windows, against the same emulated servos (an emulator without physics, at a
turnaround of 100 us). What a cycle costs in bytes is in `drivers.budget`.

Servos with registers are watched: now and then a cycle has an exchange more. All windows of the bus together hold whole
turns of that watch, and rates are those of all windows together.
"""

from __future__ import annotations

import math
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
from benchmarks.realtime.report import table, verdict
from drivers.budget import FORMS, Form, predict
from drivers.bus import READ_ONLY, Bus
from drivers.errors import BusError
from drivers.factory import bus_on_port, find_family, parse_line
from drivers.framed.cycle import WATCH_CYCLES
from drivers.serialport import open_port
from drivers.servo import ReplyStatus, ServoAddress
from nuc_engine.realtime import RealtimePolicy, acquire

COUNTS = (4, 18)
TURNAROUND_US = 100
SPIN_NS = 60_000
"""The bus is not waited for in the kernel when its next deed is as near as this."""

PIPELINED_SHARE, PIPELINED_BAUD = 0.85, 57_600
_SETTLED = 200
_PATIENCE_S = 5.0
_STUFFING = 8
_LEAST_CYCLES = 16
_WATCH_TURN = 2 * WATCH_CYCLES
"""After so many cycles the watch over servos with registers has cost the same again."""


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
    """A port that notes what passes through it: what was written, and how many bytes came back since the last write.

    Once it has stopped there is nothing between the bus and the port but the name of the method.
    """

    def __init__(self, port) -> None:
        self._port = port
        self.trace: list[tuple[bytes, int]] = []
        self.flush_input, self.ready_ns, self.filenos = port.flush_input, port.ready_ns, port.filenos
        self.write, self.read = self._write, self._read

    def __getattr__(self, name: str):
        return getattr(self._port, name)

    def stop(self) -> None:
        """Note nothing any more."""
        self.write, self.read = self._port.write, self._port.read

    def _write(self, data: bytes, now_ns: int) -> None:
        self.trace.append((data, 0))
        self._port.write(data, now_ns)

    def _read(self, now_ns: int) -> bytes:
        data = self._port.read(now_ns)
        if data and self.trace:
            written, came = self.trace[-1]
            self.trace[-1] = written, came + len(data)
        return data


@dataclass(slots=True)
class Tally:
    """Cycles that were done, and the time they took."""

    cycles: int = 0
    lasted_ns: int = 0

    @property
    def rate_hz(self) -> float:
        """Cycles per second."""
        return self.cycles * 1e9 / self.lasted_ns


@dataclass(slots=True)
class Rates:
    """What was done in all windows together, and how many exchanges of the bus were not good."""

    bus: Tally = field(default_factory=Tally)
    bare: Tally = field(default_factory=Tally)
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
        f"## Wire efficiency: {windows} alternating windows of {seconds:g} s or more",
        "",
        "Cycles with all N servos per second, over all windows. Those of the bus hold whole turns of its watch over "
        f"servos with registers ({_WATCH_TURN} cycles or a multiple). Wire limit: the bytes of a cycle, and a "
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
                cycles = max(round(seconds * limit_hz(form, baud, count)), _LEAST_CYCLES)
                if form.family != "aimotor":
                    cycles = math.ceil(cycles * windows / _WATCH_TURN) * _WATCH_TURN // windows
                usual_bytes = _passing(form).drive.bytes.of(count)
                return _windows(bus, port, windows, cycles, usual_bytes, pipelined=_pipelined(form))
            finally:
                rights.close()
                bus.close()


def _windows(bus: Bus, port: _Recording, windows: int, cycles: int, usual_bytes: int, *, pipelined: bool) -> Rates:
    rates = Rates()
    goals = _goals(bus)
    trace = _usual(bus, port, goals, usual_bytes, pipelined=pipelined)
    port.stop()
    for _ in range(windows):
        begun = time.monotonic_ns()
        for _ in range(cycles):
            rates.bad += _cycle(bus, goals)
        lasted_ns = time.monotonic_ns() - begun
        rates.bus.cycles += cycles
        rates.bus.lasted_ns += lasted_ns
        # Where a window is long because the wire is slow, the bare loop is as well known after less.
        _bare(port.fd, trace, min(cycles, max(_LEAST_CYCLES, round(cycles * 0.5e9 / lasted_ns))), rates.bare, pipelined)
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


def _bare(descriptor: int, trace: Sequence[tuple[bytes, int]], rounds: int, tally: Tally, pipelined: bool) -> None:
    """Write what the bus wrote and wait for as many bytes, again and again, and count that."""
    termios.tcflush(descriptor, termios.TCIFLUSH)
    epoll = select.epoll()
    epoll.register(descriptor, select.EPOLLIN)
    if pipelined:
        # All requests of a round at once: the wire itself keeps them apart.
        trace = [(b"".join(data for data, _ in trace), sum(came for _, came in trace))]
    begun = time.monotonic_ns()
    for _ in range(rounds):
        for data, expected in trace:
            os.write(descriptor, data)
            missing = expected
            while missing > 0 and epoll.poll(_PATIENCE_S):
                missing -= len(os.read(descriptor, 4096))
    tally.lasted_ns += time.monotonic_ns() - begun
    tally.cycles += rounds
    epoll.close()


def _row(form: Form, baud: int, count: int, rates: Rates) -> list[object]:
    limit = limit_hz(form, baud, count)
    bare, ours = rates.bare.rate_hz, rates.bus.rate_hz
    ratio = ours / bare
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
