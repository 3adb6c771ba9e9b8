"""Ports without a device: bytes paced on a virtual clock, with an emulator at the other end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from drivers.errors import PortError
from drivers.port import NEVER, wire_ns

_USUAL = 64
"""Messages up to so long have their times on the wire worked out beforehand; a longer one lengthens the table."""

Underway = list[tuple[int, int]]
"""Bytes that have not completely arrived: (instant of the first bit, byte)."""


class PacedLine:
    """One direction of a serial line: bytes handed over now arrive one by one at the baud rate.

    Bytes handed over while others are still under way follow them without a gap.
    """

    __slots__ = ("_backlog", "_base_ns", "_baud", "_chunk", "_done_ns", "_free_ns", "_skip", "_wire")

    def __init__(self, baud: int) -> None:
        """Start with a silent line."""
        self._baud = baud
        self._wire = [wire_ns(count, baud) for count in range(_USUAL + 1)]
        self._free_ns: int = 0
        self._chunk = b""
        self._base_ns: int = 0
        self._skip = 0
        self._done_ns: int = NEVER
        # Chunks behind the first, each with the instant its first bit starts.
        self._backlog: list[tuple[bytes, int]] = []

    def deliver(self, data: bytes, start_ns: int) -> None:
        """Send `data` with its first bit at `start_ns`, or as soon as the line is free."""
        if not data:
            return
        free_ns = self._free_ns
        start_ns = start_ns if start_ns > free_ns else free_ns
        try:
            self._free_ns = done_ns = start_ns + self._wire[len(data)]
        except IndexError:
            self._lengthen(len(data))
            self._free_ns = done_ns = start_ns + self._wire[len(data)]
        if self._chunk:
            self._backlog.append((data, start_ns))
        else:
            self._chunk = data
            self._base_ns = start_ns
            self._skip = 0
            self._done_ns = done_ns

    def collide(self, data: bytes, start_ns: int) -> bytes:
        """Send `data` with its first bit at `start_ns` whoever else is talking; return what the wire makes of it.

        An idle line is high, so of bits that are sent at once the zeros win. A byte that meets bytes of `data` is lost
        in them; what comes after `data` arrives as if nothing had happened.
        """
        if self._free_ns <= start_ns or not data:
            self.deliver(data, start_ns)
            return data
        mixed, later = mix(data, start_ns, self._recall(start_ns), self._baud)
        self.deliver(mixed, start_ns)
        self._put_back(later)
        return mixed

    def echo(self, data: bytes, start_ns: int) -> bytes:
        """Put the host's own bytes on the line, as `collide` does; for lines that keep apart whose bytes are whose."""
        return self.collide(data, start_ns)

    def read(self, now_ns: int) -> bytes:
        """Return every unread byte that has completely arrived by `now_ns`."""
        if self._done_ns <= now_ns and not self._backlog:
            data = self._chunk
            self._chunk = b""
            self._done_ns = NEVER
            return data
        return self._read_across(now_ns)

    def ready_ns(self, expected: int) -> int:
        """Return when `expected` unread bytes will have arrived, `NEVER` if fewer are on the way."""
        first = len(self._chunk)
        if first == expected:
            return self._done_ns
        if first > expected:
            return self._base_ns + self._wire[self._skip + expected]
        missing = expected - first
        for data, start_ns in self._backlog:
            if len(data) >= missing:
                return start_ns + self._wire[missing]
            missing -= len(data)
        return NEVER

    def flush_input(self, now_ns: int) -> int:
        """Throw away what arrived by `now_ns`; return how many bytes that were."""
        return len(self.read(now_ns))

    def _lengthen(self, count: int) -> None:
        self._wire += [wire_ns(more, self._baud) for more in range(len(self._wire), count + 1)]

    def _arrived(self, size: int, base_ns: int, skip: int, now_ns: int) -> int:
        """Return how many of `size` bytes, which follow `skip` others that began at `base_ns`, are there."""
        wire, arrived = self._wire, 0
        while arrived < size and base_ns + wire[skip + arrived + 1] <= now_ns:
            arrived += 1
        return arrived

    def _read_across(self, now_ns: int) -> bytes:
        """Read when the first chunk is only partly there, or others follow it."""
        taken = bytearray()
        while self._chunk:
            if self._done_ns > now_ns:
                arrived = self._arrived(len(self._chunk), self._base_ns, self._skip, now_ns)
                taken += self._chunk[:arrived]
                self._chunk = self._chunk[arrived:]
                self._skip += arrived
                break
            taken += self._chunk
            self._chunk = b""
            self._done_ns = NEVER
            if self._backlog:
                self._chunk, self._base_ns = self._backlog.pop(0)
                self._skip = 0
                self._done_ns = self._base_ns + self._wire[len(self._chunk)]
        return bytes(taken)

    def _put_back(self, later: Underway) -> None:
        """Send again what was called back and is undamaged."""
        for at_ns, byte in later:
            self.deliver(bytes((byte,)), at_ns)

    def _recall(self, now_ns: int) -> Underway:
        """Take what has not completely arrived by `now_ns` off the line, and return it."""
        wire, back = self._wire, Underway()
        kept: list[tuple[bytes, int]] = []
        for data, start_ns in self._backlog:
            arrived = self._arrived(len(data), start_ns, 0, now_ns)
            if arrived:
                kept.append((data[:arrived], start_ns))
            back += [(start_ns + wire[k], data[k]) for k in range(arrived, len(data))]
        self._backlog = kept
        arrived = self._arrived(len(self._chunk), self._base_ns, self._skip, now_ns)
        left = range(arrived, len(self._chunk))
        if left:
            back = [(self._base_ns + wire[self._skip + k], self._chunk[k]) for k in left] + back
            self._chunk = self._chunk[:arrived]
            self._done_ns = self._base_ns + wire[self._skip + arrived] if arrived else NEVER
        self._free_ns = 0
        return back


def mix(data: bytes, start_ns: int, others: Underway, baud: int) -> tuple[bytes, Underway]:
    """Return what a wire makes of `data`, begun at `start_ns`, and of others' bytes: `data` mixed, and what is later.

    The others' bytes must be in their order in time, each ending after `start_ns`.
    """
    mixed, byte_ns, end_ns = bytearray(data), wire_ns(1, baud), start_ns + wire_ns(len(data), baud)
    later: Underway = []
    for at_ns, byte in others:
        if at_ns >= end_ns:
            later.append((at_ns, byte))
            continue
        first, last = (at_ns - start_ns) // byte_ns, (at_ns - start_ns + byte_ns - 1) // byte_ns
        for slot in range(max(first, 0), min(last, len(data) - 1) + 1):
            mixed[slot] &= byte
    return bytes(mixed), later


class WireEnd(Protocol):
    """What hangs on the far end of an in-process port: an emulated bus."""

    def connect(self, line: PacedLine) -> None:
        """Send replies into `line` from now on."""
        ...

    def receive(self, data: bytes, now_ns: int) -> None:
        """Take request bytes whose first bit starts at `now_ns`."""
        ...


class InProcessPort(PacedLine):
    """The host's end of a line whose other end is an emulator in this process (a `drivers.port.Port`)."""

    __slots__ = ("_closed", "_end")

    def __init__(self, end: WireEnd, baud: int) -> None:
        """Connect `end` to this port at `baud` bit/s."""
        super().__init__(baud)
        self._end = end
        self._closed = False
        end.connect(self)

    @property
    def hold_ns(self) -> int:
        """Nothing is held back."""
        return 0

    @property
    def late_ns(self) -> int:
        """Nothing is late beyond its time-out."""
        return 0

    @property
    def counts(self) -> Mapping[str, int]:
        """Nothing goes wrong on it by itself."""
        return {}

    def write(self, data: bytes, now_ns: int) -> None:
        """Hand `data` to the emulator. Raises `PortError` after `close`."""
        if self._closed:
            raise PortError("write on a closed in-process port: open the bus again")
        self._end.receive(data, now_ns)

    def filenos(self) -> tuple[int, ...]:
        """Return nothing: there is no descriptor to wait for, `ready_ns` knows."""
        return ()

    def close(self) -> None:
        """Refuse further writes."""
        self._closed = True
