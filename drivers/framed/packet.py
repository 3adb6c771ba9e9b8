"""A packet of a framed servo protocol, and what a dialect of the wire offers: bytes to packets and back."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

BROADCAST: Final = 0xFE
"""The id that every servo listens to, in all dialects."""

PING, READ, WRITE, REBOOT = 0x01, 0x02, 0x03, 0x08
SYNC_READ, SYNC_WRITE = 0x82, 0x83


class Packet(NamedTuple):
    """One packet with a right checksum: an instruction (`error` -1) or a status (`instruction` -1).

    `params` is what follows instruction or error, without stuffing; of a status that is the data.
    """

    bus_id: int
    instruction: int
    params: bytes = b""
    error: int = -1


class PacketParser(Protocol):
    """Takes bytes in any pieces, gives whole packets with a right checksum; never raises for any bytes.

    `bad_checksums` counts whole packets thrown away, `stray_bytes` bytes that belong to no whole packet.
    """

    bad_checksums: int
    stray_bytes: int

    @property
    def idle(self) -> bool:
        """Whether no packet is half received."""
        ...

    def reset(self) -> None:
        """Drop a packet that is half received."""
        ...

    def feed(self, data: bytes) -> list[tuple[int, Packet]]:
        """Return each packet that `data` completes, with the index in `data` of its last byte."""
        ...


class Dialect(Protocol):
    """How packets of one protocol look on the wire. All of it raises `FrameError` for what the wire can not carry."""

    name: str
    max_id: int
    address_bytes: int
    """Width of a register address in a packet, and of a length beside it: 2 (Dynamixel) or 1 (Feetech)."""

    def instruction(self, bus_id: int, instruction: int, params: bytes = b"") -> bytes:
        """Return an instruction packet as it goes over the wire."""
        ...

    def status(self, bus_id: int, error: int, params: bytes = b"") -> bytes:
        """Return a status packet as it goes over the wire."""
        ...

    def parser(self, *, status: bool) -> PacketParser:
        """Return an ear for status packets (the host's), or one for all that hosts say (a byte log's).

        On a line that echoes, the host's ear is behind a port that takes the echo out.
        """
        ...

    def listener(self) -> PacketParser:
        """Return an ear for instructions that hears what a servo does: a damaged length keeps it waiting."""
        ...

    def status_bytes(self, data: int) -> int:
        """Return how long a status with `data` bytes of data is at least (stuffing may add to it)."""
        ...
