"""Packets of the Dynamixel Protocol 2.0: to bytes and back. Pure, no state but the parser's.

A packet is FF FF FD 00, id, length (2 bytes), instruction, parameters, CRC-16 (2 bytes); numbers are little-endian. A
status has instruction 55 and an error byte before its data. Within instruction and parameters FF FF FD goes out as
FF FF FD FD; length and CRC count the bytes that go out. Source: the maker's e-manual, "Protocol 2.0".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from drivers.dynamixel.table import LONGEST_PACKET
from drivers.errors import FrameError
from drivers.framed.listener import Listener
from drivers.framed.packet import BROADCAST, Packet

MAX_ID: Final = 252
FAST_SYNC_READ: Final = 0x8A
BULK_READ, BULK_WRITE = 0x92, 0x93
STATUS: Final = 0x55

MAX_LENGTH: Final = 4096
"""The largest length field that is taken for one: a fast reply of 252 servos with ten bytes each stays below."""

FAST_HEAD_BYTES: Final = 8
"""Bytes of a fast reply besides those of each servo: header, id, length, instruction."""

FAST_EACH_BYTES: Final = 4
"""Bytes of one servo's part of a fast reply besides its data: error, id, CRC."""

_HEADER: Final = b"\xff\xff\xfd\x00"
_PLAIN: Final = b"\xff\xff\xfd"
_STUFFED: Final = b"\xff\xff\xfd\xfd"
# Header, id and length come before what the length counts.
_PREFIX: Final = 7
_INSTRUCTION_LENGTH, _STATUS_LENGTH = 3, 4


# The CRC's polynomial, x^16 + x^15 + x^2 + 1, is (x + 1) (x^15 + x + 1). Squared k times, the second factor says that
# x^(15 2^k) leaves x^(2^k) + 1: a long number is halved by two shifts. By the first, a polynomial leaves its parity.
_FACTOR: Final = 0x8003
_FOLDS: Final = tuple((15 << k, (1 << (15 << k)) - 1, 1 << k) for k in range(MAX_LENGTH.bit_length() - 1, -1, -1))
# By the bits in the number of bytes: the folds that are not too long for so many.
_FOLDS_BY_SIZE: Final = tuple(
    tuple(fold for fold in _FOLDS if fold[0] < (8 << size) + 16) for size in range(MAX_LENGTH.bit_length() + 1)
)


def crc16(data: bytes | bytearray) -> int:
    """Return the CRC-16 of a packet's bytes: polynomial 8005, initial value 0, nothing reflected, nothing inverted.

    For what a packet may hold: up to twice `MAX_LENGTH` less one byte.
    """
    message = int.from_bytes(data, "big")
    rest = message << 16
    for shift, mask, step in _FOLDS_BY_SIZE[len(data).bit_length()]:
        while high := rest >> shift:
            rest = rest & mask ^ high ^ high << step
    # Right for both factors at once: the long one has an odd number of terms, so adding it changes the parity only.
    return rest ^ _FACTOR if (rest ^ message).bit_count() & 1 else rest


def split_fast(packet: Packet, length: int, count: int) -> list[Packet]:
    """Return the statuses within a fast reply of `count` servos with `length` bytes each; none if it does not fit.

    The packet's own CRC covers all of it; the CRCs within are left alone, as the maker's SDK leaves them. Whether a
    servo stuffs its part is not established: a packet that is too long as it came is tried without its stuffing.
    """
    if packet.bus_id != BROADCAST or packet.error < 0:
        return []
    each = length + FAST_EACH_BYTES
    # The parser took the first error byte off the front and the last CRC off the end.
    body = bytes((packet.error,)) + packet.params
    if len(body) + 2 != count * each:
        body = body.replace(_STUFFED, _PLAIN)
    if len(body) + 2 != count * each:
        return []
    starts = range(0, len(body), each)
    return [Packet(body[at + 1], -1, body[at + 2 : at + 2 + length], body[at]) for at in starts]


def fast_status(statuses: Sequence[Packet]) -> bytes:
    """Return the one packet in which servos answer a fast sync read, in their order.

    Each servo's CRC is that of everything up to it, nothing is stuffed: as one independent implementation has it and
    the maker's SDK takes it; what real servos send within is not established.
    """
    length = 1 + sum(FAST_EACH_BYTES + len(status.params) for status in statuses)
    if not statuses or length > MAX_LENGTH:
        raise FrameError(f"a fast reply of length {length} does not fit the wire: expected 6 to {MAX_LENGTH}")
    frame = bytearray(_HEADER) + bytes((BROADCAST, length & 0xFF, length >> 8, STATUS))
    for status in statuses:
        frame += bytes((_check("error", status.error, 0, 255), _check_id(status.bus_id))) + status.params
        frame += crc16(frame).to_bytes(2, "little")
    return bytes(frame)


class Dynamixel2:
    """Protocol 2.0 as a `drivers.framed.packet.Dialect`."""

    name: str = "dynamixel"
    max_id: int = MAX_ID
    address_bytes: int = 2

    def instruction(self, bus_id: int, instruction: int, params: bytes = b"") -> bytes:
        """Return an instruction packet, stuffed where it must be. Raises `FrameError`."""
        if bus_id != BROADCAST:
            _check_id(bus_id)
        if _check("instruction", instruction, 1, 255) == STATUS:
            raise FrameError(f"instruction {STATUS:#04x} marks a status: use Dialect.status")
        return _frame(bus_id, bytes((instruction,)) + params)

    def status(self, bus_id: int, error: int, params: bytes = b"") -> bytes:
        """Return a status packet, stuffed where it must be. Raises `FrameError`."""
        return _frame(_check_id(bus_id), bytes((STATUS, _check("error", error, 0, 255))) + params)

    def parser(self, *, status: bool) -> Parser:
        """Return an ear for status packets, or for instructions."""
        return Parser(status=status)

    def listener(self) -> InstructionListener:
        """Return a servo's ear."""
        return InstructionListener()

    def status_bytes(self, data: int) -> int:
        """Return how long a status with `data` bytes of data is at least."""
        return _PREFIX + _STATUS_LENGTH + data


DIALECT: Final = Dynamixel2()


class InstructionListener(Listener):
    """A servo's ear; it passes over statuses."""

    header = _HEADER
    head = _PREFIX

    __slots__ = ()

    def size(self, head: bytes) -> int:
        """Return how many bytes the packet has."""
        bus_id, length = head[4], head[5] | head[6] << 8
        fits = _INSTRUCTION_LENGTH <= length <= LONGEST_PACKET - _PREFIX
        return _PREFIX + length if fits and (bus_id <= MAX_ID or bus_id == BROADCAST) else 0

    def packet(self, frame: bytes) -> Packet | None:
        """Return the instruction or the status, None where the CRC is wrong."""
        if crc16(frame[:-2]) != frame[-2] | frame[-1] << 8:
            return None
        bus_id, instruction, params = frame[4], frame[_PREFIX], frame[_PREFIX + 1 : -2]
        if instruction == STATUS:
            return Packet(bus_id, -1, params, error=0)
        return Packet(bus_id, instruction, params.replace(_STUFFED, _PLAIN))


class Parser:
    """Takes bytes in any pieces, gives whole packets with a right CRC (a `drivers.framed.packet.PacketParser`).

    Every header may start a packet, also one within a packet: of those, the one that is complete first with a right
    CRC is the packet. So a length that was damaged swallows nothing, and a packet whose sender did not stuff is
    understood all the same.

    An ear for statuses leaves the parameters of broadcast ones, which are fast replies, as they came (`split_fast`). An
    ear for instructions passes over statuses.
    """

    __slots__ = ("_buffer", "_least", "_scanned", "_starts", "_status", "bad_checksums", "stray_bytes")

    def __init__(self, *, status: bool) -> None:
        """Start with nothing heard."""
        self._status = status
        self._least = _STATUS_LENGTH if status else _INSTRUCTION_LENGTH
        self._buffer = bytearray()
        # Where headers start in the buffer, and how far it was searched for them.
        self._starts: list[int] = []
        self._scanned = 0
        self.bad_checksums = 0
        self.stray_bytes = 0

    @property
    def idle(self) -> bool:
        """Whether no packet is half received."""
        return not self._buffer

    def reset(self) -> None:
        """Drop a packet that is half received."""
        self.stray_bytes += len(self._buffer)
        self._buffer.clear()
        self._starts.clear()
        self._scanned = 0

    def feed(self, data: bytes) -> list[tuple[int, Packet]]:
        """Return each packet that `data` completes, with the index in `data` of its last byte."""
        buffer = self._buffer
        if not buffer and (wholes := self._wholes(data)) is not None:
            return wholes
        known = len(buffer)
        buffer += data
        self._find_headers()
        packets: list[tuple[int, Packet]] = []
        front = 0
        while (due := self._due()) is not None:
            end, start, whole = due
            self._starts.remove(start)
            if not whole:
                continue
            frame = bytes(buffer[start:end])
            if crc16(frame[:-2]) != frame[-2] | frame[-1] << 8:
                self.bad_checksums += 1
                front = self._skip_bad(front, start, end)
                continue
            self.stray_bytes += start - front
            front = end
            self._starts[:] = [at for at in self._starts if at >= end]
            packet = self._decode(frame)
            if packet is not None:
                packets.append((end - 1 - known, packet))
        self._shorten(front)
        return packets

    def _wholes(self, data: bytes) -> list[tuple[int, Packet]] | None:
        """Return the packets that `data` is, nothing more and nothing less; None where that is not sure at once."""
        packets: list[tuple[int, Packet]] = []
        start, size = 0, len(data)
        while start < size:
            end = data.find(_HEADER, start + 1)
            if end < 0:
                end = size
            whole = self._whole(data[start:end])
            if whole is None:
                return None
            packets.append((end - 1, whole))
            start = end
        return packets

    def _whole(self, data: bytes) -> Packet | None:
        """Return the packet that `data` is, in which no header is but at its begin; None where it is none."""
        size = len(data)
        if not self._least <= size - _PREFIX <= MAX_LENGTH or not data.startswith(_HEADER):
            return None
        if data[5] | data[6] << 8 != size - _PREFIX or (self._status != (data[_PREFIX] == STATUS)):
            return None
        return self._decode(data) if crc16(data[:-2]) == data[-2] | data[-1] << 8 else None

    def _find_headers(self) -> None:
        buffer, at = self._buffer, self._scanned
        while (at := buffer.find(_HEADER, at)) >= 0:
            self._starts.append(at)
            at += len(_HEADER)
        last = self._starts[-1] + len(_HEADER) if self._starts else 0
        self._scanned = max(last, len(buffer) - len(_HEADER) + 1, 0)

    def _due(self) -> tuple[int, int, bool] | None:
        """Return what is decided next: (where, start of the header, whether there is a whole frame)."""
        first: tuple[int, int, bool] | None = None
        for start in self._starts:
            due = self._decided(start)
            if due is not None and (first is None or due < first):
                first = due
        return first

    def _decided(self, start: int) -> tuple[int, int, bool] | None:
        buffer = self._buffer
        size = len(buffer)
        if size < start + _PREFIX:
            return None
        length = buffer[start + 5] | buffer[start + 6] << 8
        if not self._least <= length <= MAX_LENGTH:
            return start + _PREFIX, start, False
        if self._status and size > start + _PREFIX and buffer[start + _PREFIX] != STATUS:
            return start + _PREFIX + 1, start, False
        end = start + _PREFIX + length
        return (end, start, True) if size >= end else None

    def _skip_bad(self, front: int, start: int, end: int) -> int:
        """Return where what is undecided begins, after a frame that was whole but wrong."""
        if any(at + len(_HEADER) <= end for at in self._starts):
            return front
        self.stray_bytes += start - front
        return end - _header_begun(self._buffer, start + 1, end)

    def _shorten(self, front: int) -> None:
        """Drop what is decided, and what no packet can begin in."""
        buffer, starts = self._buffer, self._starts
        keep = starts[0] if starts else len(buffer) - _header_begun(buffer, front, len(buffer))
        self.stray_bytes += keep - front
        if keep:
            del buffer[:keep]
            self._starts = [at - keep for at in starts]
            self._scanned = max(self._scanned - keep, 0)

    def _decode(self, frame: bytes) -> Packet | None:
        bus_id, instruction, body = frame[4], frame[_PREFIX], frame[_PREFIX + 1 : -2]
        if self._status:
            params = body[1:] if bus_id == BROADCAST else body[1:].replace(_STUFFED, _PLAIN)
            return Packet(bus_id, -1, params, body[0])
        if instruction == STATUS:
            return None
        return Packet(bus_id, instruction, body.replace(_STUFFED, _PLAIN))


def _header_begun(buffer: bytearray, start: int, end: int) -> int:
    """Return how many bytes at the end of `buffer[start:end]` may be the begin of a header."""
    for count in range(min(len(_HEADER) - 1, end - start), 0, -1):
        if buffer.startswith(_HEADER[:count], end - count, end):
            return count
    return 0


def _frame(bus_id: int, body: bytes) -> bytes:
    body = body.replace(_PLAIN, _STUFFED)
    length = len(body) + 2
    if length > MAX_LENGTH:
        raise FrameError(f"a packet of length {length} does not fit the wire: expected at most {MAX_LENGTH}")
    frame = _HEADER + bytes((bus_id, length & 0xFF, length >> 8)) + body
    return frame + crc16(frame).to_bytes(2, "little")


def _check(what: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise FrameError(f"{what} {value} does not fit the wire: expected {low} to {high}")
    return value


def _check_id(bus_id: int) -> int:
    return _check("bus id", bus_id, 0, MAX_ID)
