"""Half-duplex lines whose adapter hears itself: what the host sends comes back, before any reply.

`EchoPort` is the host's side: a port that takes its own bytes out again. `EchoingLine` is the servos' side of an
emulated line: one wire for both directions, on which whoever talks at the same time as another garbles both.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from drivers.inprocess import PacedLine
from drivers.port import Port, PortAround, wire_ns

if TYPE_CHECKING:
    from drivers.family import Emulator

_SLACK: int = 1
"""By how many bytes a spoilt echo may be longer than what was sent."""


class EchoPort(PortAround):
    """Takes exactly the bytes that were sent out of what comes in, comparing them.

    An echo that differs is counted in `echo_errors` and handed on, as far as it came: to the bus it is stray. The
    echoes of other messages are still taken out. Where an echo is missing altogether, nothing of a reply is lost.
    """

    __slots__ = ("_held", "_owed", "_slack", "echo_errors")

    def __init__(self, port: Port) -> None:
        """Stand before `port`, on which nothing is under way."""
        super().__init__(port)
        self.echo_errors = 0
        # Messages whose echo has not come, and what came and may be the beginning of the first one's.
        self._owed: deque[bytes] = deque()
        self._held = b""
        # How many bytes of an echo that was spoilt may still come before the next one begins.
        self._slack = 0

    def write(self, data: bytes, now_ns: int) -> None:
        """Send `data`, and expect it back. Raises `PortError`."""
        self._port.write(data, now_ns)
        if data:
            self._owed.append(data)

    def read(self, now_ns: int) -> bytes:
        """Return every unread byte that has completely arrived by `now_ns` and is no echo."""
        data = self._port.read(now_ns)
        return self._sift(data) if self._owed and data else data

    def ready_ns(self, expected: int) -> int:
        """Return when `expected` bytes that are no echo will have arrived; `NEVER` if not known."""
        return self._port.ready_ns(expected + sum(map(len, self._owed)) - len(self._held))

    def _sift(self, data: bytes) -> bytes:
        """Return what of the bytes held back and of `data` is no echo, and can not become one."""
        held, strange = self._held + data, bytearray()
        while held and self._owed:
            echo = self._owed[0]
            if held.startswith(echo):
                held = held[len(echo) :]
                self._owed.popleft()
                self._slack = 0
            elif echo.startswith(held):
                self._held = held
                return bytes(strange)
            elif self._slack:
                strange.append(held[0])
                held = held[1:]
                self._slack -= 1
            else:
                self.echo_errors += 1
                self._slack = len(self._owed.popleft()) + _SLACK
        if not self._owed:
            self._slack = 0
        self._held = b""
        return bytes(strange) + held


class EchoingLine:
    """Servos behind a line that is one wire (a `drivers.inprocess.WireEnd`): the host hears itself in real wire time.

    Servos hear what the wire makes of a request that meets a reply; a reply that begins while the host is still sending
    spoils the echo, and itself. `collisions` counts both.
    """

    __slots__ = ("_baud", "_emulator", "_free_ns", "_line", "collisions")

    def __init__(self, emulator: Emulator) -> None:
        """Stand before `emulator`, at its rate."""
        self.collisions = 0
        self._emulator = emulator
        self._baud = emulator.baud
        self._line = PacedLine(emulator.baud)
        self._free_ns = 0

    def connect(self, line: PacedLine) -> None:
        """Send echoes and replies into `line` from now on."""
        self._line = line
        self._emulator.connect(_Gate(self, self._baud))

    def receive(self, data: bytes, now_ns: int) -> None:
        """Take request bytes whose first bit starts at `now_ns`, or when the host has sent what came before."""
        start_ns = max(now_ns, self._free_ns)
        self._free_ns = start_ns + wire_ns(len(data), self._baud)
        heard = self._line.echo(data, start_ns)
        self.collisions += heard != data
        self._emulator.receive(heard, start_ns)

    def chatter(self, now_ns: int, until_ns: int) -> None:
        """Put on the line what is said without being asked."""
        self._emulator.chatter(now_ns, until_ns)

    def answer(self, data: bytes, start_ns: int) -> None:
        """Put what servos say on the line."""
        if start_ns < self._free_ns:
            self.collisions += self._line.collide(data, start_ns) != data
        else:
            self._line.deliver(data, start_ns)


class _Gate(PacedLine):
    """Where an emulator behind an echoing line sends its replies."""

    __slots__ = ("_wire_end",)

    def __init__(self, wire_end: EchoingLine, baud: int) -> None:
        super().__init__(baud)
        self._wire_end = wire_end

    def deliver(self, data: bytes, start_ns: int) -> None:
        if data:
            self._wire_end.answer(data, start_ns)
