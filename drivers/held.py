"""Adapters that hold bytes back: an FTDI gives them to the host when a packet of USB is full, or when its timer ends.

The timer runs freely: it starts anew with whatever it has given over, be it nothing. It takes 16 ms as delivered (FTDI
AN232B-04).
"""

from __future__ import annotations

from typing import Final, Protocol

from drivers.port import NEVER, Port, PortAround

PACKET: Final = 62
"""Bytes of data in a full packet of a full-speed FTDI: 64 less two of status."""

ALLOWED_NS: Final = 1_000_000
"""What every bus's timeout allows for: the shortest timer there is."""


class Source(Protocol):
    """Where bytes arrive at instants that are known beforehand: a line on a clock of its own."""

    def read(self, now_ns: int) -> bytes:
        """Return every unread byte that has arrived by `now_ns`."""
        ...

    def ready_ns(self, expected: int) -> int:
        """Return when `expected` unread bytes will have arrived; `NEVER` if they are not on the way."""
        ...


class LatencyTimer:
    """An adapter between a line and its host; instants must be asked for in their order."""

    __slots__ = ("_buffer", "_period_ns", "_source", "_tick_ns")

    def __init__(self, source: Source, period_ns: int) -> None:
        """Let the timer of `source`'s adapter take `period_ns`, from instant 0 on."""
        self._source = source
        self._period_ns = period_ns
        self._tick_ns = period_ns
        self._buffer = b""

    def take(self, now_ns: int) -> bytes:
        """Return what the host was given up to `now_ns` and has not taken yet."""
        given = bytearray()
        while True:
            tick_ns = self._next_tick(self._tick_ns, self._arrival_ns(1))
            full_ns = self._arrival_ns(PACKET)
            at_ns = min(full_ns, tick_ns)
            if at_ns > now_ns or at_ns == NEVER:
                return bytes(given)
            self._buffer += self._source.read(at_ns)
            count = PACKET if full_ns <= tick_ns else len(self._buffer)
            given += self._buffer[:count]
            self._buffer = self._buffer[count:]
            self._tick_ns = at_ns + self._period_ns

    def ready_ns(self, count: int) -> int:
        """Return when the host will have been given `count` more bytes; `NEVER` if they are not on the way."""
        if self._arrival_ns(count) == NEVER:
            return NEVER
        given, tick_ns = 0, self._tick_ns
        while True:
            tick_ns = self._next_tick(tick_ns, self._arrival_ns(given + 1))
            at_ns = min(self._arrival_ns(given + PACKET), tick_ns)
            if at_ns < tick_ns:
                given += PACKET
            else:
                most = given + PACKET
                while given < most and self._arrival_ns(given + 1) <= at_ns:
                    given += 1
            if given >= count:
                return at_ns
            tick_ns = at_ns + self._period_ns

    def _arrival_ns(self, count: int) -> int:
        """Return when `count` bytes that the host has not been given will have reached the adapter."""
        waiting = len(self._buffer)
        return 0 if count <= waiting else self._source.ready_ns(count - waiting)

    def _next_tick(self, tick_ns: int, first_ns: int) -> int:
        """Return when the timer ends for the first time with something to give, the first byte being there then."""
        if first_ns == NEVER:
            return NEVER
        missing_ns = max(0, first_ns - tick_ns)
        return tick_ns + -(-missing_ns // self._period_ns) * self._period_ns


class HeldPort(PortAround):
    """A port on a virtual clock whose adapter holds bytes back (a `drivers.port.Port`)."""

    __slots__ = ("_period_ns", "_timer")

    def __init__(self, port: Port, period_ns: int) -> None:
        """Put an adapter with that timer before `port`, which must know what is coming."""
        super().__init__(port)
        self._period_ns = period_ns
        self._timer = LatencyTimer(port, period_ns)

    @property
    def hold_ns(self) -> int:
        """How much longer than usual a reply may take."""
        return self._port.hold_ns + beyond_ns(self._period_ns)

    def read(self, now_ns: int) -> bytes:
        """Return what the host was given by `now_ns`."""
        return self._timer.take(now_ns)

    def ready_ns(self, expected: int) -> int:
        """Return when the host will have been given `expected` more bytes."""
        return self._timer.ready_ns(expected)


class ToldPort(PortAround):
    """A port whose adapter can not be asked what it holds back: somebody has said it."""

    __slots__ = ("_period_ns",)

    def __init__(self, port: Port, period_ns: int) -> None:
        """Believe that the adapter of `port` has that timer."""
        super().__init__(port)
        self._period_ns = period_ns

    @property
    def hold_ns(self) -> int:
        """What was said, or what was found out where that is more."""
        return max(self._port.hold_ns, beyond_ns(self._period_ns))


def beyond_ns(period_ns: int) -> int:
    """Return how much a timer may hold a reply back beyond what every bus's timeout allows for."""
    return max(0, period_ns - ALLOWED_NS)
