"""Wire efficiency of every family's bus: cycles per second on a pseudo-terminal, beside a bare loop on the same one.

The bus is waited for as the daemon waits by default: its clock, its options. The bare loop writes the very bytes the
bus writes and waits for as many as the bus gets, knowing nothing of them. Both run in one process, in alternating
windows, against the same emulated servos (an emulator without physics, at a turnaround of 100 us). What a cycle costs
in bytes is in `drivers.bench.budget`. What the engine does between cycles is not in it: see
`benchmarks.realtime.exchange`.

Servos with registers are watched: now and then a cycle has an exchange more. A window of the bus holds whole turns of
that watch; where the wire is slow there are fewer windows. Rates are those of all windows together. Each window begins
once two cycles were as usual: a bus that has not spoken for a while looks after its servos first, and one whose servo
was silent asks again, so that a bare loop would meet what is still being said.
"""

from __future__ import annotations

import math
import os
import select
import sys
import tempfile
import termios
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.realtime.children import Broken, Child, python, until
from benchmarks.realtime.others import Others
from benchmarks.realtime.report import table, verdict
from drivers.bench.budget import FORMS, Form, predict
from drivers.bus import READ_ONLY, Bus
from drivers.clock import WaitingClock
from drivers.errors import BusError
from drivers.factory import bus_on_port, find_family, parse_line
from drivers.framed.cycle import WATCH_CYCLES
from drivers.serial.port import open_port
from drivers.servo import ReplyStatus, ServoAddress
from nuc_engine.daemon.launch import ServeOptions
from nuc_engine.realtime import RealClock, RealtimePolicy, acquire
from nuc_engine.realtime.clock import allowed_share

COUNTS = (4, 18)
TURNAROUND_US = 100
LEAST_HZ = 5.0
"""Where the wire allows less a leg cannot be driven, and a turn of the watch takes minutes: not measured."""

_SETTLED = 200
_TIMEOUT_S = 0.5
"""How long the bare loop waits for more; what comes together takes less."""

_STUFFING = 8
_LEAST_CYCLES = 16
_WATCH_TURN = 2 * WATCH_CYCLES
"""After so many cycles the watch over servos with registers has cost the same again."""

Trace = Sequence[tuple[bytes, int]]
"""What a cycle is on the wire: each request, and how many bytes come back before the next one."""


def limit_hz(form: Form, baud: int, count: int) -> float:
    """Return cycles per second of a wire that is idle for nothing but the servos' turnaround."""
    return predict(form, count, baud, turnaround_ns=TURNAROUND_US * 1000).rate_hz


def share_wanted(baud: int) -> float:
    """Return the share of the bare loop's rate that is promised."""
    return 0.95 if baud <= 115_200 else 0.85


class _Recording:
    """A port that notes what passes through it: what was written, and how many bytes came back since the last write.

    While it does not record there is nothing between the bus and the port but the name of the method.
    """

    def __init__(self, port) -> None:
        self._port = port
        self.trace: list[tuple[bytes, int]] = []
        self.flush_input, self.ready_ns, self.filenos = port.flush_input, port.ready_ns, port.filenos
        self.record(on=False)

    def __getattr__(self, name: str):
        return getattr(self._port, name)

    def record(self, *, on: bool) -> None:
        """Note what passes from now on, or nothing any more."""
        self.write, self.read = (self._write, self._read) if on else (self._port.write, self._port.read)

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
    """Cycles in which every servo answered, those in which not, and the time of all of them."""

    whole: int = 0
    broken: int = 0
    lasted_ns: int = 0

    def take(self, cycle: Callable[[], bool], count: int, clock: WaitingClock) -> None:
        """Do so many cycles, each of which says whether it was whole."""
        begun = clock.now_ns
        whole = sum(cycle() for _ in range(count))
        self.lasted_ns += clock.now_ns - begun
        self.whole += whole
        self.broken += count - whole

    @property
    def rate_hz(self) -> float:
        """Whole cycles per second."""
        return self.whole * 1e9 / self.lasted_ns


@dataclass(slots=True)
class Row:
    """What was done in all windows together, and how many CPUs were busy with something else meanwhile."""

    form: Form
    baud: int
    count: int
    bus: Tally = field(default_factory=Tally)
    bare: Tally = field(default_factory=Tally)
    others: float = 0.0
    why_not: str = ""
    """Why it could not be measured."""

    @property
    def of_bare(self) -> float:
        """The bus's share of the bare loop's rate."""
        return self.bus.rate_hz / self.bare.rate_hz

    @property
    def of_wire(self) -> float:
        """The bus's share of what the wire allows."""
        return self.bus.rate_hz / limit_hz(self.form, self.baud, self.count)

    @property
    def kept(self) -> bool:
        """Whether the promise is; beside a bare loop that broke off it cannot be seen."""
        return not self.why_not and not self.bare.broken and self.of_bare >= share_wanted(self.baud)

    def cells(self) -> list[object]:
        """Return its cells in the table."""
        begin = [_title(self.form), self.count, f"{self.baud:,}", f"{limit_hz(self.form, self.baud, self.count):.0f}"]
        if self.why_not:
            return [*begin, "", "", "", "", "", f"{self.others:.1f}", f"**not exchanged so here**: {self.why_not}"]
        rates = [f"{self.bare.rate_hz:.0f}", f"{self.bus.rate_hz:.0f}", f"{self.of_bare:.1%}", f"{self.of_wire:.1%}"]
        broken = f"{self.bus.broken} / {self.bare.broken}"
        found = "**not judged**, the bare loop broke off" if self.bare.broken else verdict(self.kept)
        promise = f"{share_wanted(self.baud):.0%} of bare: {found}"
        return [*begin, *rates, broken, f"{self.others:.1f}", promise]


def wire(windows: int, seconds: float) -> list[str]:
    """Measure and return the section of the report."""
    rows: list[Row] = []
    for form in FORMS:
        for count in COUNTS:
            for baud in sorted(find_family(form.family).bauds):
                if limit_hz(form, baud, count) >= LEAST_HZ:
                    rows.append(_measured(Row(form, baud, count), windows, seconds))
                    sys.stderr.write(" ".join(str(cell) for cell in rows[-1].cells()) + "\n")
    head = [
        *("exchange", "N", "baud", "wire limit Hz", "bare loop Hz", "bus Hz", "of bare", "of wire"),
        *("broken: bus / bare", "others", "promise"),
    ]
    spin_us = ServeOptions().spin_us
    waits = f"polls for the last {spin_us} us" if spin_us else "sleeps until bytes come"
    return [
        f"## Wire efficiency: up to {windows} alternating windows of {seconds:g} s or more",
        "",
        "Cycles per second in which all N servos answered, over all windows; the others are *broken*, and their time "
        f"counts. The bus is waited for by the daemon's clock with its default options: it {waits}; what the engine "
        "does between cycles is in the section on exchanges. A window of the bus holds whole turns of its watch over "
        f"servos with registers ({_WATCH_TURN} cycles): there are fewer where the wire is slow. The bare loop writes "
        "the same bytes and waits for as many; same process, same emulator, same priority. Wire limit: the bytes of a "
        f"cycle at the rate, and a turnaround of {TURNAROUND_US} us per reply; where it is below {LEAST_HZ:g} Hz "
        "nothing was measured.",
        "",
        f"*Others* is how many of the {os.cpu_count()} CPUs were busy with something else meanwhile; {_machine(rows)}.",
        "",
        *table(["exchange", "rows", "of bare", "of wire", "promises not reached, or not judged"], _by_form(rows)),
        *table(head, [row.cells() for row in rows]),
    ]


def _machine(rows: Sequence[Row]) -> str:
    others = sorted(row.others for row in rows)
    return f"{others[0]:.1f} to {others[-1]:.1f}, in the middle {others[len(others) // 2]:.1f}"


def _by_form(rows: Sequence[Row]) -> list[list[object]]:
    """Return least and most of the shares of each form, and how many of its promises were not kept."""
    lines: list[list[object]] = []
    for form in FORMS:
        its = [row for row in rows if row.form == form]
        done = [row for row in its if not row.why_not]
        shares = [[row.of_bare for row in done], [row.of_wire for row in done]]
        spans = [f"{min(share):.1%} to {max(share):.1%}" if share else "" for share in shares]
        lines.append([_title(form), len(its), *spans, sum(not row.kept for row in its)])
    return lines


def _title(form: Form) -> str:
    return f"{form.family}: {form.title}"


def _option(form: Form) -> str:
    return f"{form.option}=1" if form.option else ""


def _measured(row: Row, windows: int, seconds: float) -> Row:
    try:
        _measure(row, windows, seconds)
    except (Broken, BusError) as error:
        row.why_not = str(error).partition(":")[0]
    return row


def _measure(row: Row, windows: int, seconds: float) -> None:
    form, baud, daemon = row.form, row.baud, ServeOptions()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pty = folder / "servos"
        options = "&".join(part for part in (f"baud={baud}", f"turnaround_us={TURNAROUND_US}", _option(form)) if part)
        words = python("benchmarks.realtime.servos", pty, f"emulated:{form.family}?{options}", str(row.count))
        with Child(words, folder / "servos.out") as child:
            until(pty.exists, "servos", 20, child)
            options = "&".join(part for part in (f"baud={baud}", _option(form)) if part)
            spec = parse_line(f"{form.family}://{pty}?{options}")
            servos = tuple(ServoAddress(k, f"servo {k}") for k in range(row.count))
            port = _Recording(open_port(str(pty), baud))
            bus = bus_on_port(spec, port, servos)
            clock = RealClock(spin_us=daemon.spin_us, share=allowed_share())
            rights = acquire(RealtimePolicy(priority=daemon.priority, cpu=daemon.cpu))
            others = Others(os.getpid(), child.pid)
            try:
                _windows(row, bus, port, clock, windows, seconds)
                if not (row.bus.whole and row.bare.whole):
                    raise Broken("not one whole cycle")
            finally:
                row.others = others.busy()
                rights.close()
                bus.close()


def _windows(row: Row, bus: Bus, port: _Recording, clock: WaitingClock, windows: int, seconds: float) -> None:
    turn = 1 if row.form.family == "aimotor" else _WATCH_TURN
    total_s = windows * seconds
    total = max(total_s * limit_hz(row.form, row.baud, row.count), windows * _LEAST_CYCLES)
    windows = min(windows, math.ceil(total / turn))
    cycles = math.ceil(total / windows / turn) * turn
    goals = _goals(bus, clock)
    for _ in range(windows):
        _usual(row, bus, port, goals, clock)
        before_ns = row.bus.lasted_ns
        row.bus.take(lambda: run_cycle(bus, goals, clock), cycles, clock)
        # Where a window is long because the wire is slow, the bare loop is as well known after less.
        rounds = max(_LEAST_CYCLES, round(cycles * total_s / windows * 1e9 / (row.bus.lasted_ns - before_ns)))
        run_bare(port.fd, _usual(row, bus, port, goals, clock), min(cycles, rounds), row.bare, clock)


def _goals(bus: Bus, clock: WaitingClock) -> list[int]:
    """Bring everybody under torque where they are; return the goals. Raises BusError when somebody does not answer."""
    for _ in range(_SETTLED):
        if run_cycle(bus, [READ_ONLY] * len(bus.servos), clock):
            return bus.position_raw[:]
    raise BusError(f"not all servos answer: {bus.status} {bus.refusals}")


def _usual(row: Row, bus: Bus, port: _Recording, goals: Sequence[int], clock: WaitingClock) -> Trace:
    """Drive until a cycle is like the last: set up, under torque, nothing odd; return what passed in it.

    Stuffing may add a few bytes to a cycle. Raises BusError when it never is.
    """
    usual, passed, last = row.form.drive.bytes.of(row.count), 0, []
    port.record(on=True)
    for _ in range(_SETTLED):
        port.trace.clear()
        whole = run_cycle(bus, goals, clock)
        passed = sum(len(data) + came for data, came in port.trace)
        if whole and 0 <= passed - usual <= _STUFFING and port.trace == last:
            port.record(on=False)
            return last
        last = port.trace[:]
    raise BusError(f"a cycle takes {passed} bytes, expected {usual}: {bus.status} {bus.refusals}")


def run_cycle(bus: Bus, goals: Sequence[int], clock: WaitingClock) -> bool:
    """Run one cycle, waiting as the core does; return whether it was whole: whether every servo answered."""
    bus.start(clock.now_ns, list(goals))
    filenos = bus.filenos()
    while not bus.proceed(clock.now_ns):
        clock.wait(bus.wake_ns, filenos)
    return all(status == ReplyStatus.OK for status in bus.status)


def run_bare(
    descriptor: int, trace: Trace, rounds: int, tally: Tally, clock: WaitingClock, timeout_s: float = _TIMEOUT_S
) -> None:
    """Write what the bus wrote and wait for as many bytes, again and again, and count that."""
    termios.tcflush(descriptor, termios.TCIFLUSH)
    epoll = select.epoll()
    epoll.register(descriptor, select.EPOLLIN)

    def whole() -> bool:
        for data, expected in trace:
            os.write(descriptor, data)
            missing = expected
            while missing > 0:
                if not epoll.poll(timeout_s):
                    # What comes too late is no answer to the next request.
                    termios.tcflush(descriptor, termios.TCIFLUSH)
                    return False
                missing -= len(os.read(descriptor, 4096))
        return True

    tally.take(whole, rounds, clock)
    epoll.close()
