"""A servo's ear for instructions: it takes bytes in the order they come, and never looks back.

Once a header, an id and a length are there, as many bytes are waited for as that length announces, whatever they are; a
packet whose checksum is wrong then is gone with all that it has swallowed. The maker's own library for devices on a
Dynamixel bus hears like this (ROBOTIS-GIT/Dynamixel2Arduino, src/dxl_c/protocol.c), as does its page on Protocol 2.0
("Processing Order of Reception"); of Feetech's servos it is assumed. A host's ear hears otherwise: it may find a whole
packet within what a damaged length has swallowed.

How long a silence within a packet ends it is for whoever knows the time (`forget`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from drivers.framed.packet import Packet


class Listener(ABC):
    """A `drivers.framed.packet.PacketParser` for instructions; a dialect says how its packets look.

    `header` begins each of them, and `head` bytes say how long it is.
    """

    header: ClassVar[bytes]
    head: ClassVar[int]

    __slots__ = ("_buffer", "bad_checksums", "stray_bytes")

    def __init__(self) -> None:
        """Start with nothing heard."""
        self.bad_checksums = 0
        self.stray_bytes = 0
        self._buffer = b""

    @abstractmethod
    def size(self, head: bytes) -> int:
        """Return how many bytes the packet has that begins like this, 0 where none begins so or it is too long."""
        ...

    @abstractmethod
    def packet(self, frame: bytes) -> Packet | None:
        """Return a whole packet, None where its checksum is wrong."""
        ...

    @property
    def idle(self) -> bool:
        """Whether no packet is half received."""
        return not self._buffer

    def reset(self) -> None:
        """Drop a packet that is half received; its bytes are strays."""
        self.stray_bytes += len(self._buffer)
        self._buffer = b""

    def feed(self, data: bytes) -> list[tuple[int, Packet]]:
        """Return each instruction that `data` completes, with the index in `data` of its last byte."""
        packets: list[tuple[int, Packet]] = []
        known, buffer, at = len(self._buffer), self._buffer + data, 0
        while (start := buffer.find(self.header, at)) >= 0:
            self.stray_bytes += start - at
            at = start
            if len(buffer) < start + self.head:
                break
            size = self.size(buffer[start : start + self.head])
            if not size:
                self.stray_bytes += 1
                at = start + 1
                continue
            end = start + size
            if len(buffer) < end:
                break
            packet = self.packet(buffer[start:end])
            if packet is None:
                self.bad_checksums += 1
            elif packet.error < 0:
                packets.append((end - known - 1, packet))
            at = end
        if start < 0:
            rest = len(buffer) - self._begun(buffer, at)
            self.stray_bytes += rest - at
            at = rest
        self._buffer = buffer[at:]
        return packets

    def _begun(self, buffer: bytes, at: int) -> int:
        """Return how many bytes at the end, from `at` on, may be the begin of a header."""
        most = min(len(self.header) - 1, len(buffer) - at)
        return next((count for count in range(most, 0, -1) if buffer.endswith(self.header[:count])), 0)
