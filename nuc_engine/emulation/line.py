"""Replies on their way to the host: when each of them is due, for a loop that makes the instants real."""

from __future__ import annotations

from collections import deque

from drivers.inprocess import PacedLine, Underway
from drivers.port import NEVER, wire_ns
from drivers.serial.held import LatencyTimer

UNASKED = 0xFFFF_FFFF
"""Stands for the request of a message that nobody asked for."""

ECHOED = 0xFFFF_FFFE
"""Stands for the request of the host's own bytes, come back."""

LineMessage = tuple[int, bytes, int]
"""Due instant (ns, when the last byte is complete), bytes, number of the request they answer."""


class ReplyLine(PacedLine):
    """The servos' direction of the line, for an emulator's `connect`.

    Messages are due when their last byte would have crossed the wire, or byte by byte with `bytewise`. Instants come
    in on the plant's clock, whose 0 is at `start_ns` of the real one. `request` is what the emulator is answering;
    while there is `noise`, nothing on the line is an answer.
    """

    __slots__ = ("_bytewise", "_echoing", "_queue", "noise", "request", "start_ns")

    def __init__(self, baud: int, start_ns: int = 0, *, bytewise: bool = False) -> None:
        super().__init__(baud)
        self.request = UNASKED
        self.noise = self._echoing = False
        self.start_ns = start_ns
        self._bytewise = bytewise
        self._queue: deque[LineMessage] = deque()

    @property
    def due_ns(self) -> int:
        """When the next message is due; `NEVER` when nothing is on its way."""
        return self._queue[0][0] if self._queue else NEVER

    def deliver(self, data: bytes, start_ns: int) -> None:
        """Send `data` with its first bit at `start_ns` of the plant's clock, or as soon as the line is free."""
        if not data:
            return
        begin_ns = max(start_ns, self._free_ns)
        self._free_ns = begin_ns + wire_ns(len(data), self._baud)
        request = ECHOED if self._echoing else UNASKED if self.noise else self.request
        if self._bytewise:
            for count in range(1, len(data) + 1):
                due_ns = begin_ns + wire_ns(count, self._baud) + self.start_ns
                self._queue.append((due_ns, data[count - 1 : count], request))
        else:
            self._queue.append((self._free_ns + self.start_ns, data, request))

    def echo(self, data: bytes, start_ns: int) -> bytes:
        """Put the host's own bytes on the line; return what the wire makes of them."""
        self._echoing = True
        heard = self.collide(data, start_ns)
        self._echoing = False
        return heard

    def take(self) -> LineMessage:
        """Return the next message; there must be one."""
        return self._queue.popleft()

    def _recall(self, now_ns: int) -> Underway:
        now_ns += self.start_ns
        kept: deque[LineMessage] = deque()
        back: Underway = []
        for due_ns, data, request in self._queue:
            begin_ns = due_ns - wire_ns(len(data), self._baud)
            ends = [begin_ns + wire_ns(count + 1, self._baud) for count in range(len(data))]
            arrived = sum(end_ns <= now_ns for end_ns in ends)
            if arrived:
                kept.append((ends[arrived - 1], data[:arrived], request))
            starts = [begin_ns, *ends]
            back += [(starts[k] - self.start_ns, data[k]) for k in range(arrived, len(data))]
        self._queue = kept
        self._free_ns = 0
        return back

    def _put_back(self, later: Underway) -> None:
        # What is left of a message that was spoilt answers nothing.
        was, self._echoing, self.noise = (self._echoing, self.noise), False, True
        super()._put_back(later)
        self._echoing, self.noise = was


class HeldReplyLine(ReplyLine):
    """A line whose adapter holds bytes back until its timer ends, or a packet is full (`drivers.serial.held`)."""

    __slots__ = ("_due_ns", "_given", "_timer", "_whose")

    def __init__(self, baud: int, period_ns: int, start_ns: int = 0) -> None:
        """Start with a silent line; the timer takes `period_ns`."""
        super().__init__(baud, start_ns, bytewise=True)
        self._timer = LatencyTimer(self, period_ns)
        # Messages the host is given now, and of each byte in the adapter whose answer it is.
        self._given: deque[LineMessage] = deque()
        self._whose: deque[int] = deque()
        self._due_ns: int | None = None

    @property
    def due_ns(self) -> int:
        """When the adapter next gives something over; `NEVER` when nothing is on its way."""
        if self._given:
            return self._given[0][0]
        if self._due_ns is None:
            self._due_ns = self._timer.ready_ns(1)
        return self._due_ns

    def deliver(self, data: bytes, start_ns: int) -> None:
        """Send `data` to the adapter."""
        super().deliver(data, start_ns)
        self._due_ns = None

    def read(self, now_ns: int) -> bytes:
        """Return what has reached the adapter by `now_ns` of the real clock."""
        data = bytearray()
        while self._queue and self._queue[0][0] <= now_ns:
            _, byte, request = self._queue.popleft()
            data += byte
            self._whose.append(request)
        return bytes(data)

    def ready_ns(self, expected: int) -> int:
        """Return when `expected` more bytes will have reached the adapter."""
        return self._queue[expected - 1][0] if expected <= len(self._queue) else NEVER

    def take(self) -> LineMessage:
        """Return the next message; there must be one."""
        if not self._given:
            due_ns = self.due_ns
            for byte in self._timer.take(due_ns):
                request = self._whose.popleft()
                if self._given and self._given[-1][2] == request:
                    self._given[-1] = (due_ns, self._given[-1][1] + bytes((byte,)), request)
                else:
                    self._given.append((due_ns, bytes((byte,)), request))
            self._due_ns = None
        return self._given.popleft()
