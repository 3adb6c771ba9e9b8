"""Half-duplex lines whose adapter hears itself: what the host sends comes back, before any reply.

`EchoPort` is the host's side: a port that takes its own bytes out again. `EchoingLine` is the servos' side of an
emulated line: one wire for both directions, on which whoever talks at the same time as another garbles both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from drivers.inprocess import PacedLine
from drivers.port import Port, PortWrapper, wire_ns

if TYPE_CHECKING:
    from drivers.family import Emulator

_MOST_OWED: Final = 32
"""For so many messages an echo is waited for at once: there are adapters that do not echo after all."""

_PATIENCE_NS: Final = 1_000_000_000
"""For so long an echo is waited for."""


class EchoPort(PortWrapper):
    """Takes exactly the bytes that were sent out of what comes in, comparing them.

    What comes in place of an echo is handed on: to the bus it is stray, or the late reply to what it asked before. The
    echo is looked for until it comes, or that of a later message does, or a second is over: one that reached the bus
    could be taken for a reply (requests and replies of Feetech servos look alike). `echo_errors` counts messages
    whose echo never came as it was sent.
    """

    __slots__ = ("_held", "_owed", "echo_errors")

    def __init__(self, port: Port) -> None:
        """Stand before `port`, on which nothing is under way."""
        super().__init__(port)
        self.echo_errors = 0
        # Messages whose echo has not come, with when they were sent, and what may be the beginning of one of theirs.
        self._owed: deque[tuple[bytes, int]] = deque()
        self._held = b""

    @property
    def counts(self) -> Mapping[str, int]:
        """What the port behind it counts, and messages whose echo never came as it was sent."""
        return {**self._port.counts, "echo_errors": self.echo_errors}

    def write(self, data: bytes, now_ns: int) -> None:
        """Send `data`, and expect it back. Raises `PortError`."""
        self._port.write(data, now_ns)
        self._owed.append((data, now_ns))
        if len(self._owed) > _MOST_OWED:
            self._forget(1)

    def read(self, now_ns: int) -> bytes:
        """Return every unread byte that has completely arrived by `now_ns` and is no echo."""
        data = self._port.read(now_ns)
        if not self._owed:
            return data
        if data:
            data = self._sift(self._held + data)
        while self._owed and self._owed[0][1] < now_ns - _PATIENCE_NS:
            self._forget(1)
        if self._held and not self._owed:
            data, self._held = data + self._held, b""
        return data

    def ready_ns(self, expected: int) -> int:
        """Return when `expected` bytes that are no echo will have arrived; `NEVER` if not known."""
        return self._port.ready_ns(expected + sum(len(echo) for echo, _ in self._owed) - len(self._held))

    def _sift(self, came: bytes) -> bytes:
        """Return what is no echo, and can not become one."""
        strange = bytearray()
        while self._owed:
            at, number = self._find(came)
            if at < 0:
                at = len(came) - self._beginning(came)
                self._held = came[at:]
                return bytes(strange) + came[:at]
            strange += came[:at]
            self._forget(number)
            came = came[at + len(self._owed.popleft()[0]) :]
        self._held = b""
        return bytes(strange) + came

    def _find(self, came: bytes) -> tuple[int, int]:
        """Return where the first echo begins, -1 for nowhere, and the number of its message."""
        if came.startswith(self._owed[0][0]):
            return 0, 0
        places = [(at, number) for number, (echo, _) in enumerate(self._owed) if (at := came.find(echo)) >= 0]
        return min(places, default=(-1, -1))

    def _beginning(self, came: bytes) -> int:
        """Return how many of the last bytes may be the beginning of an echo."""
        echoes = [echo for echo, _ in self._owed]
        ends = range(min(len(came), max(map(len, echoes)) - 1), 0, -1)
        return next((size for size in ends if any(echo.startswith(came[-size:]) for echo in echoes)), 0)

    def _forget(self, count: int) -> None:
        """Expect the echoes of the first `count` messages no longer."""
        for _ in range(count):
            self._owed.popleft()
        self.echo_errors += count


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
