"""Packets of Feetech's bus protocol (FT-SCS): bytes to packets and back. Pure, no state but the parser's.

An instruction is FF FF ID LEN INST params SUM, a status the same with the error bits in the place of INST. LEN counts
what follows it, SUM is the inverted low byte of the sum of all from ID on. Nothing is stuffed, and nothing but its
sense tells a status from an instruction. Numbers are little-endian on STS (the SCS series has them the other way round
and other registers, and is not for this codec).
Source: the maker's page "FT-SCS protocol" (ftservo/ftservo-wiki, docs/en/reference/protocol/ft-scs.md).
"""

from __future__ import annotations

from typing import Final

from drivers.errors import FrameError
from drivers.feetech.table import LONGEST_PACKET
from drivers.framed.listener import Listener
from drivers.framed.packet import BROADCAST, PING, READ, REBOOT, SYNC_READ, SYNC_WRITE, WRITE, Packet

MAX_ID: Final = 253
REG_WRITE, ACTION, RECOVER, BACKUP, RESET, CALIBRATE = 0x04, 0x05, 0x06, 0x09, 0x0A, 0x0B
"""Instructions beside those that all dialects have: write later, now, factory settings, keep settings, forget turns,
take the present position for another one."""

INSTRUCTIONS: Final = {
    PING: "ping",
    READ: "read",
    WRITE: "write",
    REG_WRITE: "write at action",
    ACTION: "action",
    RECOVER: "factory settings",
    REBOOT: "reboot",
    BACKUP: "backup",
    RESET: "reset turns",
    CALIBRATE: "calibrate position",
    SYNC_READ: "sync read",
    SYNC_WRITE: "sync write",
}
"""Names of the instructions, for people."""

MAX_PARAMS: Final = 253
"""LEN is one byte and counts two more than the parameters."""

_HEADER: Final = b"\xff\xff"
_STATUS_BYTES: Final = 6


def checksum(body: bytes) -> int:
    """Return the checksum over ID, LEN, INST or ERROR, and parameters."""
    return ~sum(body) & 0xFF


def _frame(bus_id: int, kind: int, params: bytes) -> bytes:
    if len(params) > MAX_PARAMS:
        raise FrameError(f"{len(params)} bytes of parameters do not fit a packet: expected at most {MAX_PARAMS}")
    if not 0 <= kind <= 0xFF:
        raise FrameError(f"instruction or error {kind} does not fit the wire: expected 0 to 255")
    body = bytes((bus_id, len(params) + 2, kind)) + params
    return _HEADER + body + bytes((checksum(body),))


class FeetechParser:
    """Finds packets in bytes that come in any pieces (a `drivers.framed.packet.PacketParser`).

    A packet whose checksum is wrong is counted, and what is inside it is searched again, since its length may be what
    is wrong.
    """

    __slots__ = ("_buffer", "_status", "_suspect", "bad_checksums", "stray_bytes")

    def __init__(self, *, status: bool) -> None:
        self.bad_checksums = 0
        self.stray_bytes = 0
        self._buffer = b""
        # How many bytes from the buffer's start are of packets that turned out bad.
        self._suspect = 0
        self._status = status

    @property
    def idle(self) -> bool:
        """Whether no packet is half received."""
        return not self._buffer

    def reset(self) -> None:
        """Drop a packet that is half received; its bytes are strays."""
        self._skip(0, len(self._buffer))
        self._buffer = b""
        self._suspect = 0

    def feed(self, data: bytes) -> list[tuple[int, Packet]]:
        """Return each packet that `data` completes, with the index in `data` of its last byte."""
        packets: list[tuple[int, Packet]] = []
        before = len(self._buffer)
        buffer = self._buffer + data
        at = 0
        while (start := self._find(buffer, at)) >= 0:
            self._skip(at, start)
            at = start
            if len(buffer) - start < 4:
                break
            end = start + 4 + buffer[start + 3]
            if end > len(buffer):
                break
            if checksum(buffer[start + 2 : end - 1]) != buffer[end - 1]:
                self.bad_checksums += 1
                self._suspect = max(self._suspect, end)
                at = start + 1
                continue
            packets.append((max(end, self._suspect) - before - 1, self._packet(buffer[start + 2 : end - 1])))
            at = end
        if start < 0:
            # The last byte may be the first of a header.
            rest = len(buffer) - (buffer[at:].endswith(b"\xff"))
            self._skip(at, rest)
            at = rest
        self._buffer = buffer[at:]
        self._suspect = max(self._suspect - at, 0)
        return packets

    def _find(self, buffer: bytes, at: int) -> int:
        """Return where the next packet may start, -1 for nowhere: FF FF, then an id, then a length that can be."""
        while (start := buffer.find(_HEADER, at)) >= 0:
            head = buffer[start + 2 : start + 4]
            if not (head[:1] == b"\xff" or (len(head) == 2 and head[1] < 2)):
                return start
            at = start + 1
        return -1

    def _skip(self, start: int, end: int) -> None:
        """Count bytes that are of no packet, unless they are of a bad one."""
        self.stray_bytes += max(end - max(start, self._suspect), 0)

    def _packet(self, body: bytes) -> Packet:
        if self._status:
            return Packet(body[0], -1, body[3:], body[2])
        return Packet(body[0], body[2], body[3:])


class FeetechListener(Listener):
    """A servo's ear."""

    header = _HEADER
    head = 4

    __slots__ = ()

    def size(self, head: bytes) -> int:
        """Return how many bytes the packet has; an id of 255 is a header begun too early."""
        bus_id, length = head[2], head[3]
        return self.head + length if bus_id != 0xFF and 2 <= length <= LONGEST_PACKET - self.head else 0

    def packet(self, frame: bytes) -> Packet | None:
        """Return the instruction, None where the checksum is wrong."""
        if checksum(frame[2:-1]) != frame[-1]:
            return None
        return Packet(frame[2], frame[4], frame[5:-1])


class FeetechDialect:
    """Feetech's packets (a `drivers.framed.packet.Dialect`)."""

    name: str = "feetech"
    max_id: int = MAX_ID
    address_bytes: int = 1

    def instruction(self, bus_id: int, instruction: int, params: bytes = b"") -> bytes:
        """Return an instruction packet; ids are 0 to 253, or `BROADCAST`."""
        if not (0 <= bus_id <= MAX_ID or bus_id == BROADCAST):
            raise FrameError(f"bus id {bus_id} does not fit the wire: expected 0 to {MAX_ID}, or {BROADCAST} for all")
        return _frame(bus_id, instruction, params)

    def status(self, bus_id: int, error: int, params: bytes = b"") -> bytes:
        """Return a status packet; `error` is a mask of what is wrong with the servo."""
        if not 0 <= bus_id <= MAX_ID:
            raise FrameError(f"bus id {bus_id} does not fit the wire: expected 0 to {MAX_ID}")
        return _frame(bus_id, error, params)

    def parser(self, *, status: bool) -> FeetechParser:
        """Return an ear for status packets or for instructions."""
        return FeetechParser(status=status)

    def listener(self) -> FeetechListener:
        """Return a servo's ear."""
        return FeetechListener()

    def status_bytes(self, data: int) -> int:
        """Return how long a status with `data` bytes of data is."""
        return _STATUS_BYTES + data


DIALECT: Final = FeetechDialect()
