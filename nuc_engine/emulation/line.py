"""Replies on their way to the host: when each of them is due, for a loop that makes the instants real."""

from __future__ import annotations

from collections import deque

from drivers.inprocess import PacedLine
from drivers.port import NEVER, wire_ns

UNASKED = 0xFFFF_FFFF
"""Stands for the request of a message that nobody asked for."""

Message = tuple[int, bytes, int]
"""Due instant (ns, when the last byte is complete), bytes, number of the request they answer."""


class ReplyLine(PacedLine):
    """The servos' direction of the line, for `AiMotorEmulator.connect`.

    Messages are due when their last byte would have crossed the wire, or byte by byte with `bytewise`. Instants come
    in on the plant's clock, whose 0 is at `start_ns` of the real one. `request` is what the emulator is answering;
    while there is `noise`, nothing on the line is an answer.
    """

    __slots__ = ("_bytewise", "_queue", "_rate", "_until_ns", "noise", "request", "start_ns")

    def __init__(self, baud: int, start_ns: int = 0, *, bytewise: bool = False) -> None:
        super().__init__(baud)
        self.request = UNASKED
        self.noise = False
        self._rate = baud
        self.start_ns = start_ns
        self._bytewise = bytewise
        self._until_ns = 0
        self._queue: deque[Message] = deque()

    @property
    def due_ns(self) -> int:
        """When the next message is due; `NEVER` when nothing is on its way."""
        return self._queue[0][0] if self._queue else NEVER

    def deliver(self, data: bytes, start_ns: int) -> None:
        """Send `data` with its first bit at `start_ns` of the plant's clock, or as soon as the line is free."""
        if not data:
            return
        first_ns = max(start_ns + self.start_ns, self._until_ns)
        self._until_ns = first_ns + wire_ns(len(data), self._rate)
        request = UNASKED if self.noise else self.request
        if self._bytewise:
            for count in range(1, len(data) + 1):
                due_ns = first_ns + wire_ns(count, self._rate)
                self._queue.append((due_ns, data[count - 1 : count], request))
        else:
            self._queue.append((self._until_ns, data, request))

    def take(self) -> Message:
        """Return the next message; there must be one."""
        return self._queue.popleft()
