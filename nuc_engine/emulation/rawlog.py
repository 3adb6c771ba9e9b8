"""The byte log's records on disk: 128 bytes of header, then 32 bytes for each piece of up to eight bytes on the line.

Everything is little-endian; instants are CLOCK_MONOTONIC in ns, which all processes of a machine share.

    header   8s magic  H version  H 0  I baud  q instant of plant time 0  32s ids (bit n: servo n)
             32s family of the servos  40s name of the leg
    record   B kind  B length  H event  I link  q stamp  q wire  8s bytes

A record of the host's bytes has `stamp` when they were read and `wire` when their first bit started; `link` counts
the host's pieces. A record of a servo's has `stamp` when they had been handed over, `wire` when they were due, and
`link` of the piece that asked.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final

from nuc_engine.emulation.errors import ByteLogError
from nuc_engine.recording.growing import GrowingFile

MAGIC: Final = b"NUCBYTES"
VERSION: Final = 2
LONGEST: Final = 8
HEADER: Final = struct.Struct("<8sHHIq32s32s40s")
RECORD: Final = struct.Struct("<BBHIqq8s")

_ID_BYTES: Final = 32
_PIECES: Final = 512
"""Records kept in memory at most, until they are flushed."""


class RawKind(IntEnum):
    """Whose bytes a record holds."""

    HOST = 1
    SERVO = 2
    LOST = 3
    """A servo's bytes that could not be delivered: unplugged, or the host does not read."""
    EVENT = 4
    ECHO = 5
    """The host's own bytes, come back."""


class RawEvent(IntEnum):
    """What was done to the emulator; `link` is the servo's bus id, or a number that goes with the event."""

    UNPLUGGED = 1
    PLUGGED = 2
    SERVO_UNPLUGGED = 3
    SERVO_PLUGGED = 4
    STUCK = 5
    UNSTUCK = 6
    SUPPLY_OFF = 7
    SUPPLY_ON = 8
    BABBLING = 9
    SILENT = 10
    WRONG_ID = 11
    STALLED = 12
    FAULTS_SET = 13
    KICKED = 14
    GROUND_CHANGED = 15
    TRIPPED = 16
    RECOVERED = 17
    OVERLOAD_SET = 18
    LOADED = 19
    TAKEN_APART = 20
    PUT_TOGETHER = 21
    BROWNED_OUT = 22


@dataclass(frozen=True, slots=True)
class LogHeader:
    """What a byte log is of. `start_ns` is the instant of plant time 0; `ids` are the servos' ids on the bus."""

    name: str
    baud: int
    start_ns: int
    ids: tuple[int, ...]
    family: str = "aimotor"


@dataclass(frozen=True, slots=True)
class RawRecord:
    """One record; see the module."""

    kind: RawKind
    event: int
    link: int
    stamp_ns: int
    wire_ns: int
    data: bytes


class RawLog:
    """Writes a byte log. Records are collected by `put` and are in the file after `flush`, whoever dies then.

    A disk that takes nothing does not stop the servos: flushing is tried again, and `lost` counts the records there
    was no room for meanwhile.
    """

    __slots__ = ("_buffer", "_file", "_filled", "lost", "records")

    def __init__(self, path: Path, header: LogHeader) -> None:
        """Make the file anew. Raises `OSError`."""
        self.records = self.lost = 0
        self._buffer = bytearray(RECORD.size * _PIECES)
        self._filled = 0
        self._file = GrowingFile(path)
        ids = sum(1 << bus_id for bus_id in header.ids).to_bytes(_ID_BYTES, "little")
        names = header.family.encode(), header.name.encode()
        self._file.write(HEADER.pack(MAGIC, VERSION, 0, header.baud, header.start_ns, ids, *names))

    def put(self, kind: RawKind, link: int, stamp_ns: int, wire_ns: int, data: bytes, event: int = 0) -> None:
        """Add a record; `data` longer than eight bytes is cut (see `pieces`)."""
        if self._filled == len(self._buffer):
            self.flush()
        if self._filled == len(self._buffer):
            self.lost += 1
            return
        link &= 0xFFFF_FFFF
        RECORD.pack_into(
            self._buffer, self._filled, kind, min(len(data), LONGEST), event, link, stamp_ns, wire_ns, data
        )
        self._filled += RECORD.size
        self.records += 1

    def flush(self) -> None:
        """Hand what was collected to the operating system, or keep it for the next time."""
        if self._filled:
            with suppress(OSError):
                self._file.write(bytes(memoryview(self._buffer)[: self._filled]))
                self._filled = 0

    def close(self) -> None:
        """Flush and close; may be called again."""
        if not self._file.closed:
            self.flush()
            self.lost += self._filled // RECORD.size
            self._file.close()


def read_header(data: bytes, name: str) -> LogHeader:
    """Return the header of a byte log's content. Raises `ByteLogError`; `name` is what the message calls it."""
    if len(data) < HEADER.size or data[:8] != MAGIC:
        raise ByteLogError(f"{name} is no byte log: expected it to start with {MAGIC.decode()}")
    _, version, _, baud, start_ns, ids, family, leg = HEADER.unpack_from(data)
    bits = int.from_bytes(ids, "little")
    if version != VERSION:
        raise ByteLogError(f"{name} is a byte log of version {version}: expected {VERSION}")
    return LogHeader(
        name=_text(leg),
        baud=baud,
        start_ns=start_ns,
        ids=tuple(bit for bit in range(8 * _ID_BYTES) if bits >> bit & 1),
        family=_text(family),
    )


def _text(raw: bytes) -> str:
    return raw.rstrip(b"\0").decode(errors="replace")


def read_records(data: bytes, first: int = 0) -> Iterator[RawRecord]:
    """Yield the whole records of a byte log's content from number `first` on; half a record at the end is no record."""
    whole = (len(data) - HEADER.size) // RECORD.size
    for number in range(first, whole):
        kind, length, event, link, stamp_ns, wire_ns, piece = RECORD.unpack_from(
            data, HEADER.size + number * RECORD.size
        )
        yield RawRecord(RawKind(kind), event, link, stamp_ns, wire_ns, piece[:length])


def pieces(data: bytes) -> Sequence[bytes]:
    """Return `data` cut into what fits a record each."""
    return [data[at : at + LONGEST] for at in range(0, len(data), LONGEST)]
