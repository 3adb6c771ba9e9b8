"""What carries bytes between a bus and its servos, on a virtual clock or a real one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

NEVER: Final = 2**62 - 1
"""An instant that does not come (ns): in 146 years. The largest whole number that is fast once it is compiled."""

BITS_PER_BYTE: Final = 10
"""8N1: one start bit, eight data bits, one stop bit."""


def wire_ns(count: int, baud: int) -> int:
    """Return the time `count` bytes take on the wire at `baud` bit/s, to the nearest nanosecond."""
    return (count * BITS_PER_BYTE * 1_000_000_000 + baud // 2) // baud


class Port(Protocol):
    """One end of a serial line.

    `now_ns` is the instant of the call on the bus's clock. On a virtual clock a port knows when bytes will arrive and
    may be asked for instants one after the other; a real port only knows what is there when it is asked, so it says
    `NEVER` and is polled by its descriptor.
    """

    @property
    def hold_ns(self) -> int:
        """How long the device may hold bytes back, beyond what every bus's timeout allows for."""
        ...

    @property
    def late_ns(self) -> int:
        """How late a reply may come on a device of this class, from when it could have been complete on the wire."""
        ...

    @property
    def counts(self) -> Mapping[str, int]:
        """What went wrong on the port itself, in all, by names as in `drivers.bus.COUNTS`."""
        ...

    def write(self, data: bytes, now_ns: int) -> None:
        """Put `data` on the wire, after what is still being sent. Raises `PortError` when the line is gone."""
        ...

    def read(self, now_ns: int) -> bytes:
        """Return every unread byte that has completely arrived by `now_ns`, perhaps none."""
        ...

    def flush_input(self, now_ns: int) -> int:
        """Throw away the unread bytes that arrived by `now_ns` (a real port: all it has) and return how many."""
        ...

    def ready_ns(self, expected: int) -> int:
        """Return when `expected` unread bytes will have arrived; `NEVER` if they are not on the way, or not known."""
        ...

    def filenos(self) -> tuple[int, ...]:
        """Return the descriptor to wait for, or nothing for a port without one."""
        ...

    def close(self) -> None:
        """Give the line back. Closing twice is allowed."""
        ...


class PortWrapper:
    """A port that passes everything on to another one; those that change something are made from it."""

    __slots__ = ("_port",)

    def __init__(self, port: Port) -> None:
        """Stand before `port`."""
        self._port = port

    @property
    def hold_ns(self) -> int:
        """What the other port says."""
        return self._port.hold_ns

    @property
    def late_ns(self) -> int:
        """What the other port says."""
        return self._port.late_ns

    @property
    def counts(self) -> Mapping[str, int]:
        """What the other port counts."""
        return self._port.counts

    def write(self, data: bytes, now_ns: int) -> None:
        """Put `data` on the wire."""
        self._port.write(data, now_ns)

    def read(self, now_ns: int) -> bytes:
        """Return every unread byte that has completely arrived by `now_ns`."""
        return self._port.read(now_ns)

    def flush_input(self, now_ns: int) -> int:
        """Throw away the unread bytes and return how many."""
        return len(self.read(now_ns))

    def ready_ns(self, expected: int) -> int:
        """Return when `expected` unread bytes will have arrived."""
        return self._port.ready_ns(expected)

    def filenos(self) -> tuple[int, ...]:
        """Return the descriptor to wait for, if there is one."""
        return self._port.filenos()

    def close(self) -> None:
        """Give the line back."""
        self._port.close()
