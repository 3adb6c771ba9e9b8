"""MCAP files that can be continued: what Foxglove and PlotJuggler open, growing chunk by chunk with the text logs.

The format is that of the MCAP specification, version 0 (mcap.dev/spec). Chunks are not compressed. What libraries for
it can not do is to go on with a file that was cut to a size that was noted: here a chunk is written whole or not at
all, and the summary at the end is made from the chunks that are there.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from nuc_engine.recording.growing import GrowingFile, Mark

MAGIC = b"\x89MCAP0\r\n"
_HEADER, _FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK = 1, 2, 3, 4, 5, 6
_MESSAGE_INDEX, _CHUNK_INDEX, _STATISTICS, _SUMMARY_OFFSET, _DATA_END = 7, 8, 11, 14, 15
_RECORD = struct.Struct("<BQ")
_MESSAGE_HEAD = struct.Struct("<BQHIQQ")
_CHUNK_HEAD = struct.Struct("<QQQI")
_LIBRARY = "nuc"


@dataclass(frozen=True, slots=True)
class Channel:
    """One topic with the JSON schema of its messages."""

    topic: str
    schema_name: str
    schema: bytes


@dataclass(slots=True)
class _Chunk:
    """A chunk on disk, as the index at the file's end has it."""

    start: int
    length: int
    first_ns: int
    last_ns: int
    size: int
    indices: dict[int, int] = field(default_factory=dict[int, int])
    index_length: int = 0
    counts: dict[int, int] = field(default_factory=dict[int, int])


class McapLog:
    """Writes one MCAP file. `records` counts messages; a `mark` continues what an earlier writer left."""

    def __init__(self, path: Path, channels: Sequence[Channel], mark: Mark | None = None) -> None:
        self.name = path.name
        self._channels = tuple(channels)
        self._file = GrowingFile(path, 0 if mark is None else mark.size)
        self.records = 0 if mark is None else mark.records
        self._chunks = _scan(path, self._file.size)[0] if self._file.size else []
        self._messages = bytearray()
        self._index: dict[int, list[tuple[int, int]]] = {}
        self._ready = b"" if self._file.size else _beginning(self._channels)
        self._pending: _Chunk | None = None
        self._count = 0
        self._ended = False

    @property
    def mark(self) -> Mark:
        """How far the file is whole on disk; to be asked for after `flush`."""
        return Mark(self._file.size, self.records)

    @property
    def missing(self) -> int:
        """Bytes before the mark that somebody else had taken away."""
        return self._file.missing

    @property
    def waiting(self) -> int:
        """Bytes of messages that are not on disk yet."""
        return len(self._messages)

    def add(self, channel: int, time_ns: int, message: bytes) -> None:
        """Add a message to a channel, by its number in the order given. Times before the start count as the start."""
        time_ns = max(0, time_ns)
        self._index.setdefault(channel + 1, []).append((time_ns, len(self._messages)))
        head = _MESSAGE_HEAD.pack(_MESSAGE, 22 + len(message), channel + 1, self._count, time_ns, time_ns)
        self._messages += head + message
        self._count += 1

    def flush(self, *, sync: bool = False) -> None:
        """Put what is buffered on disk as one chunk; after an OSError it is still there to be tried again."""
        self._write_ready()
        if self._messages:
            self._build()
            self._write_ready()
        if sync:
            self._file.sync()

    def _write_ready(self) -> None:
        if self._ready:
            self._file.write(self._ready)
            self._ready = b""
        if self._pending is not None:
            self._chunks.append(self._pending)
            self.records += sum(self._pending.counts.values())
            self._pending = None

    def _build(self) -> None:
        at = self._file.size
        times = [time for entries in self._index.values() for time, _ in entries]
        content = bytes(self._messages)
        head = _CHUNK_HEAD.pack(min(times), max(times), len(content), zlib.crc32(content))
        data = _record(_CHUNK, head + _text("") + struct.pack("<Q", len(content)) + content)
        chunk = _Chunk(at, len(data), min(times), max(times), len(content))
        for channel, entries in self._index.items():
            chunk.indices[channel] = at + len(data)
            chunk.counts[channel] = len(entries)
            pairs = b"".join(struct.pack("<QQ", *entry) for entry in entries)
            data += _record(_MESSAGE_INDEX, struct.pack("<HI", channel, len(pairs)) + pairs)
        chunk.index_length = len(data) - chunk.length
        self._ready = data
        self._pending = chunk
        self._messages.clear()
        self._index = {}

    def end(self) -> None:
        """Put everything on disk with the summary behind it, once; after an OSError it may be tried again."""
        self.flush()
        if not self._ended:
            self._file.write(_ending(self._file.size, self._channels, self._chunks))
            self._ended = True

    def close(self) -> None:
        """End the file and close it, also where that fails; may be called again."""
        if not self._file.closed:
            try:
                self.end()
            finally:
                self._file.close()

    def abandon(self) -> None:
        """Close without writing what is buffered, nor the summary."""
        self._file.close()


def mend(path: Path, channels: Sequence[Channel]) -> tuple[int, bytes]:
    """Return how many bytes of a file that was cut off are whole, and the end it lacks."""
    size = path.stat().st_size
    chunks, whole, ended = _scan(path, size)
    if ended:
        return size, b""
    return (whole, _ending(whole, channels, chunks)) if whole else (0, b"")


def _record(opcode: int, content: bytes) -> bytes:
    return _RECORD.pack(opcode, len(content)) + content


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<I", len(data)) + data


def _beginning(channels: Sequence[Channel]) -> bytes:
    return MAGIC + _record(_HEADER, _text("") + _text(_LIBRARY)) + _schemas(channels) + _channels(channels)


def _schemas(channels: Sequence[Channel]) -> bytes:
    return b"".join(
        _record(
            _SCHEMA,
            struct.pack("<H", k)
            + _text(channel.schema_name)
            + _text("jsonschema")
            + struct.pack("<I", len(channel.schema))
            + channel.schema,
        )
        for k, channel in enumerate(channels, 1)
    )


def _channels(channels: Sequence[Channel]) -> bytes:
    return b"".join(
        _record(_CHANNEL, struct.pack("<HH", k, k) + _text(channel.topic) + _text("json") + struct.pack("<I", 0))
        for k, channel in enumerate(channels, 1)
    )


def _ending(at: int, channels: Sequence[Channel], chunks: Sequence[_Chunk]) -> bytes:
    """Return everything behind the last chunk of a file of `at` bytes."""
    data_end = _record(_DATA_END, struct.pack("<I", 0))
    start = at + len(data_end)
    groups = (
        (_SCHEMA, _schemas(channels)),
        (_CHANNEL, _channels(channels)),
        (_STATISTICS, _statistics(len(channels), chunks)),
        (_CHUNK_INDEX, b"".join(_chunk_index(chunk) for chunk in chunks)),
    )
    summary, offsets = b"", b""
    for opcode, content in groups:
        if content:
            place = struct.pack("<BQQ", opcode, start + len(summary), len(content))
            offsets += _record(_SUMMARY_OFFSET, place)
            summary += content
    places = struct.pack("<QQ", start, start + len(summary))
    crc = zlib.crc32(_RECORD.pack(_FOOTER, 20) + places, zlib.crc32(summary + offsets))
    return data_end + summary + offsets + _record(_FOOTER, places + struct.pack("<I", crc)) + MAGIC


def _statistics(channels: int, chunks: Sequence[_Chunk]) -> bytes:
    counts: dict[int, int] = {}
    for chunk in chunks:
        for channel, count in chunk.counts.items():
            counts[channel] = counts.get(channel, 0) + count
    pairs = b"".join(struct.pack("<HQ", channel, count) for channel, count in sorted(counts.items()))
    first = min((chunk.first_ns for chunk in chunks), default=0)
    last = max((chunk.last_ns for chunk in chunks), default=0)
    numbers = struct.pack("<QHIIIIQQ", sum(counts.values()), channels, channels, 0, 0, len(chunks), first, last)
    return _record(_STATISTICS, numbers + struct.pack("<I", len(pairs)) + pairs)


def _chunk_index(chunk: _Chunk) -> bytes:
    offsets = b"".join(struct.pack("<HQ", channel, at) for channel, at in chunk.indices.items())
    content = struct.pack("<QQQQ", chunk.first_ns, chunk.last_ns, chunk.start, chunk.length)
    content += struct.pack("<I", len(offsets)) + offsets
    content += struct.pack("<Q", chunk.index_length) + _text("") + struct.pack("<QQ", chunk.size, chunk.size)
    return _record(_CHUNK_INDEX, content)


def _scan(path: Path, size: int) -> tuple[list[_Chunk], int, bool]:
    """Return the whole chunks within the first bytes of a file, where the last one ends, and whether there is an end.

    A chunk is whole with all indices behind it; nobody but the next chunk, or the end, tells that none is missing.
    """
    chunks: list[_Chunk] = []
    whole = 0
    entries: list[int] = []
    with path.open("rb") as file:
        for opcode, at, length in _records(file, size):
            if opcode == _DATA_END:
                return chunks, at, _ends_well(file, size)
            if opcode in (_SCHEMA, _CHANNEL):
                whole = at + length
            elif opcode == _CHUNK:
                whole, entries = at, []
                chunks.append(_read_chunk(file, at, length))
            elif opcode == _MESSAGE_INDEX and chunks:
                entries += _read_index(file, chunks[-1], at, length)
        if chunks and _all_there(file, chunks[-1], entries):
            whole = chunks[-1].start + chunks[-1].length + chunks[-1].index_length
        elif chunks:
            chunks.pop()
    return chunks, whole, False


def _records(file: IO[bytes], size: int) -> Iterator[tuple[int, int, int]]:
    """Yield (opcode, place, length with head) of every record that lies whole within `size` bytes."""
    at = len(MAGIC)
    if file.read(at) != MAGIC:
        return
    while at + _RECORD.size <= size:
        file.seek(at)
        opcode, length = _RECORD.unpack(file.read(_RECORD.size))
        if opcode == 0 or at + _RECORD.size + length > size:
            return
        yield opcode, at, _RECORD.size + length
        at += _RECORD.size + length


def _read_chunk(file: IO[bytes], at: int, length: int) -> _Chunk:
    file.seek(at + _RECORD.size)
    first, last, size, _ = _CHUNK_HEAD.unpack(file.read(_CHUNK_HEAD.size))
    return _Chunk(at, length, first, last, size)


def _read_index(file: IO[bytes], chunk: _Chunk, at: int, length: int) -> list[int]:
    """Take a message index into its chunk; return where in the chunk its messages are."""
    file.seek(at + _RECORD.size)
    channel, size = struct.unpack("<HI", file.read(6))
    offsets = [offset for _, offset in struct.iter_unpack("<QQ", file.read(size))]
    chunk.indices[channel], chunk.counts[channel] = at, len(offsets)
    chunk.index_length += length
    return offsets


def _all_there(file: IO[bytes], chunk: _Chunk, offsets: Sequence[int]) -> bool:
    begin = chunk.start + _RECORD.size + _CHUNK_HEAD.size + len(_text("")) + 8
    found = 0
    for offset in offsets:
        file.seek(begin + offset)
        found += _RECORD.size + _RECORD.unpack(file.read(_RECORD.size))[1]
    return found == chunk.size


def _ends_well(file: IO[bytes], size: int) -> bool:
    file.seek(max(0, size - len(MAGIC)), os.SEEK_SET)
    return file.read(len(MAGIC)) == MAGIC
