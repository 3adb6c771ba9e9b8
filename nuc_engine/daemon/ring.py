"""A ring of records in shared memory: one producer, one consumer, any two processes.

    header   8 x int64: written, kept, lost, refused, high, three reserved
    data     records, each padded to 16 bytes: uint32 size, uint32 kind, uint32 crc, uint32 zero, then `size` bytes

`written` and `kept` count bytes since the ring was made and never turn back; `written - kept` is what lies in the ring.
The producer moves `written` after a record is complete; the consumer reads ahead with a cursor of its own and moves
`kept` when the records are safe, so that a consumer that ends finds again what it had not yet put away. A record never
wraps: what is left at the end of the data is skipped. The checksum covers kind and content: on machines that reorder
writes a record may be seen before its bytes are, and is then simply not there yet.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

HEADER = 64
_WRITTEN, _KEPT, _LOST, _REFUSED, _HIGH = 0, 1, 2, 3, 4
_RECORD = struct.Struct("=IIII")
_SKIP = 0xFFFFFFFF
_SEEN_TORN = 1000


class RingError(Exception):
    """A ring that does not hold what it should; the message says where."""


class Ring:
    """Both ends of a ring over `buffer`, of which the data part is a multiple of 16 bytes."""

    def __init__(self, buffer: memoryview) -> None:
        self._words = buffer[:HEADER].cast("q")
        self._data = buffer[HEADER:]
        self._size = len(self._data)
        self._torn = 0
        if self._size % 16 or self._size < 64:
            raise RingError(f"a ring needs a multiple of 16 bytes of data, at least 64; got {self._size}")

    @property
    def lost(self) -> int:
        """Records the producer had no room for."""
        return self._words[_LOST]

    @property
    def kept(self) -> int:
        """The consumer's place: everything before it may be overwritten."""
        return self._words[_KEPT]

    @property
    def written(self) -> int:
        """The producer's place."""
        return self._words[_WRITTEN]

    @property
    def high(self) -> int:
        """The most bytes that ever waited."""
        return self._words[_HIGH]

    @property
    def capacity(self) -> int:
        """Bytes of data, record headers included."""
        return self._size

    @property
    def room(self) -> int:
        """Bytes that can be put in now, record headers and what is skipped at the end of the data included."""
        return self._size - (self._words[_WRITTEN] - self._words[_KEPT])

    @staticmethod
    def needs(content: bytes) -> int:
        """Return the bytes that a record takes."""
        return (len(content) + 31) & ~15

    def put(self, kind: int, content: bytes) -> bool:
        """Add a record; False, and counted, when there is no room."""
        if self.offer(kind, content):
            return True
        self._words[_LOST] += 1
        return False

    def offer(self, kind: int, content: bytes) -> bool:
        """Add a record; False when there is no room: it is not lost yet, since who offers it does so again."""
        words = self._words
        written = words[_WRITTEN]
        size = len(content)
        need = self.needs(content)
        at = written % self._size
        skip = self._size - at if at + need > self._size else 0
        waiting = written + skip + need - words[_KEPT]
        if waiting > self._size:
            return False
        data = self._data
        if skip:
            _RECORD.pack_into(data, at, 0, _SKIP, 0, 0)
            written += skip
            at = 0
        data[at + 16 : at + 16 + size] = content
        _RECORD.pack_into(data, at, size, kind, zlib.crc32(content, kind), 0)
        words[_WRITTEN] = written + need
        words[_HIGH] = max(words[_HIGH], waiting)
        return True

    def read(self, cursor: int) -> Iterator[tuple[int, int, bytes]]:
        """Yield (kind, cursor after it, content) of what lies ahead of `cursor`, which starts as `kept`."""
        words, data = self._words, self._data
        while cursor < words[_WRITTEN]:
            at = cursor % self._size
            size, kind, crc, _ = _RECORD.unpack_from(data, at)
            if kind == _SKIP:
                cursor += self._size - at
                continue
            content = bytes(data[at + 16 : at + 16 + size])
            if at + 16 + size > self._size or zlib.crc32(content, kind) != crc:
                self._torn += 1
                if self._torn > _SEEN_TORN:
                    raise RingError(f"the record at {cursor} does not become whole")
                return
            self._torn = 0
            cursor += (size + 31) & ~15
            yield kind, cursor, content

    def keep(self, cursor: int) -> None:
        """Give everything before `cursor` back to the producer."""
        self._words[_KEPT] = cursor

    def take(self) -> Iterator[tuple[int, bytes]]:
        """Yield (kind, content) of every record and give each back at once."""
        for kind, cursor, content in self.read(self._words[_KEPT]):
            self._words[_KEPT] = cursor
            yield kind, content
