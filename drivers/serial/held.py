"""Adapters that hold bytes back: an FTDI gives them to the host when a packet of USB is full, or when its timer ends.

The timer runs freely: it starts anew with whatever it has given over, be it nothing. It takes 16 ms as delivered (FTDI
AN232B-04).
"""

from __future__ import annotations

from typing import Final, Protocol

from drivers.port import NEVER, Port, PortWrapper

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

    __slots__ = ("_period_ns", "_source", "_tick_ns")

    def __init__(self, source: Source, period_ns: int) -> None:
        """Let the timer of `source`'s adapter take `period_ns`, from instant 0 on."""
        self._source = source
        self._period_ns = period_ns
        self._tick_ns = period_ns

    def take(self, now_ns: int) -> bytes:
        """Return what the host was given up to `now_ns` and has not taken yet."""
        given = bytearray()
        while (at_ns := self._next_ns(0, self._tick_ns)) <= now_ns and at_ns != NEVER:
            given += self._source.read(at_ns)
            self._tick_ns = at_ns + self._period_ns
        return bytes(given)

    def ready_ns(self, count: int) -> int:
        """Return when the host will have been given `count` more bytes; `NEVER` if they are not on the way."""
        if self._source.ready_ns(count) == NEVER:
            return NEVER
        given, tick_ns = 0, self._tick_ns
        while True:
            at_ns = self._next_ns(given, tick_ns)
            while given < count and self._source.ready_ns(given + 1) <= at_ns:
                given += 1
            if given >= count:
                return at_ns
            tick_ns = at_ns + self._period_ns

    def _next_ns(self, given: int, tick_ns: int) -> int:
        """Return when something is given over next, `given` bytes having been so before, and the timer ending then."""
        first_ns = self._source.ready_ns(given + 1)
        if first_ns == NEVER:
            return NEVER
        missing_ns = max(0, first_ns - tick_ns)
        tick_ns += -(-missing_ns // self._period_ns) * self._period_ns
        return min(self._source.ready_ns(given + PACKET), tick_ns)


class HeldPort(PortWrapper):
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


class DeclaredHoldPort(PortWrapper):
    """A port whose adapter cannot be asked for its latency timer: the URL declares it."""

    __slots__ = ("_period_ns",)

    def __init__(self, port: Port, period_ns: int) -> None:
        """Believe that the adapter of `port` has that timer."""
        super().__init__(port)
        self._period_ns = period_ns

    @property
    def hold_ns(self) -> int:
        """What was said, or what was found out where that is more."""
        return max(self._port.hold_ns, beyond_ns(self._period_ns))

    @property
    def late_ns(self) -> int:
        """As much more than the other port says as this one holds back longer."""
        return self._port.late_ns + self.hold_ns - self._port.hold_ns


def beyond_ns(period_ns: int) -> int:
    """Return how much a timer may hold a reply back beyond what every bus's timeout allows for."""
    return max(0, period_ns - ALLOWED_NS)
