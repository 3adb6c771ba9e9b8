"""The text logs of a bout as MCAP messages: one topic per file, one JSON object per line, named as columns.json says.

    /motor /sensors /states /muscles /plant     {"time_s": ..., owner: {what: number}} or {"time_s": ..., name: number}
    /events                                     {"time_s": ..., "kind": ..., "text": ...}: Infolog.txt

Times of messages are engine time in nanoseconds. Every life of a logger writes a file of its own: bout.mcap,
bout_2.mcap, ... Chunks are not compressed, and there is one for each time the text logs were put on disk.
"""

from __future__ import annotations

import heapq
import json
import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from mcap.data_stream import RecordBuilder
from mcap.exceptions import McapError as FormatError
from mcap.reader import make_reader
from mcap.records import Chunk, DataEnd, Footer, Header
from mcap.stream_reader import StreamReader
from mcap.writer import MCAP0_MAGIC, CompressionType, Writer

from nuc_engine.recording.files import (
    COLUMNS_FILE,
    EVENT_LOG,
    MCAP_FILE,
    MOTOR_LOG,
    MUSCLE_LOG,
    PLANT_LOG,
    SENSOR_LOG,
    STATE_LOG,
)
from nuc_engine.recording.growing import GrowingFile, Mark
from nuc_engine.recording.logs import line_ns

_FILE = re.compile(r"bout(?:_([0-9]+))?\.mcap")
_MESSAGES_AT_ONCE = 10_000
_TOPICS: Mapping[str, str] = {
    MOTOR_LOG: "motor",
    SENSOR_LOG: "sensors",
    STATE_LOG: "states",
    MUSCLE_LOG: "muscles",
    PLANT_LOG: "plant",
}
_CELL = "\0"
_NO_NUMBER = re.compile(r"\b(nan|-?inf)\b|-nan|-inf")


class McapError(Exception):
    """A data directory that cannot be exported; the message says why."""


class _Table:
    """How the lines of one data log become messages."""

    def __init__(self, topic: str, names: Sequence[str]) -> None:
        places: dict[str, Any] = {}
        for k, name in enumerate(names, 1):
            owner, dot, what = name.rpartition(".")
            if not dot:
                places[name] = k
            elif isinstance(inner := places.setdefault(owner, {}), dict):
                inner[what] = k
        # What belongs to one owner comes together.
        self._order = [k for at in places.values() for k in (at.values() if isinstance(at, dict) else (at,))]
        self._form = json.dumps(_filled(places, _CELL)).replace("%", "%%").replace(json.dumps(_CELL), "%s")
        self._width = 1 + len(names)
        number = {"type": "number"}
        inside = _filled(places, number)
        objects = {
            name: {"type": "object", "properties": inside[name]} for name in places if inside[name] is not number
        }
        self.topic, self.fields = topic, {**inside, **objects}

    def message(self, line: str) -> bytes | None:
        """Return the message of one line, None for a line with other columns than the file should have."""
        cells = line.split()
        if len(cells) != self._width:
            return None
        if "n" in line:
            cells = ["null" if _NO_NUMBER.fullmatch(cell) else cell for cell in cells]
        return (self._form % (_seconds(cells[0]), *[cells[k] for k in self._order])).encode()


class McapLog:
    """One MCAP file, grown by lines of the logs. `described` is the content of columns.json; `records` counts messages.

    What is buffered, and the summary, are written as by `GrowingFile`: whole or not at all, and again after an OSError.
    """

    def __init__(self, path: Path, described: Mapping[str, Any], *, plant: bool) -> None:
        self.name = path.name
        self.records = 0
        self._waiting: list[tuple[int, int, bytes]] = []
        self._file = GrowingFile(path)
        self._ready = bytearray()
        self._ended = False
        self._tables = _tables(described, plant=plant)
        self._writer = Writer(cast(Any, self), compression=CompressionType.NONE)
        self._writer.start(library="nuc")
        text = {"type": "string"}
        schemas = [(table.topic, table.fields) for table in self._tables.values()]
        for topic, fields in [*schemas, ("events", {"time_s": {"type": "number"}, "kind": text, "text": text})]:
            schema = json.dumps({"title": f"nuc.{topic}", "type": "object", "properties": fields}, ensure_ascii=False)
            number = self._writer.register_schema(f"nuc.{topic}", "jsonschema", schema.encode())
            self._writer.register_channel(f"/{topic}", "json", number)
        self._numbers = {name: k for k, name in enumerate([*self._tables, EVENT_LOG], 1)}

    def take(self, file: str, line: str) -> None:
        """Add one line of a log; lines of files that are no topic, and damaged ones, are left out."""
        time_ns, number = line_ns(line), self._numbers.get(file)
        if time_ns is None or number is None:
            return
        message = _event(line) if file == EVENT_LOG else self._tables[file].message(line)
        if message is not None:
            self._waiting.append((number, max(0, time_ns), message))

    def write(self, data: bytes) -> int:
        """Take bytes from the library."""
        self._ready += data
        return len(data)

    def tell(self) -> int:
        """Tell the library where its next bytes will stand."""
        return self._file.size + len(self._ready)

    @property
    def mark(self) -> Mark:
        """How far the file is whole on disk; to be asked for after `flush`."""
        return Mark(self._file.size, self.records)

    @property
    def waiting(self) -> int:
        """Messages that are not on disk yet."""
        return len(self._waiting)

    def flush(self, *, sync: bool = False) -> None:
        """Put what is buffered on disk as one chunk; after an OSError it is still there to be tried again."""
        waiting, self._waiting = self._waiting, []
        for number, time_ns, message in waiting:
            self._writer.add_message(number, time_ns, message, time_ns)
        if waiting:
            self.records += len(waiting)
            self._writer.flush()
        self._file.write(bytes(self._ready))
        self._ready.clear()
        if sync:
            self._file.sync()

    def end(self) -> None:
        """Put everything on disk with the summary behind it, once; after an OSError it may be tried again."""
        if not self._ended:
            self.flush()
            self._writer.finish()
            self._ended = True
        self.flush()

    def close(self) -> None:
        """End the file and close it, also where that fails; may be called again."""
        if not self._file.closed:
            try:
                self.end()
            finally:
                self._file.close()

    def abandon(self) -> None:
        """End the file without the messages that are buffered, as far as the disk lets it."""
        self._waiting.clear()
        with suppress(OSError):
            self.close()


def new_life(folder: Path, described: Mapping[str, Any], marks: Mapping[str, Mark]) -> McapLog:
    """Begin the next file of a data directory; earlier lives' files are given what their `marks` say, and an end."""
    lives = [name for name in marks if _FILE.fullmatch(name)]
    for name in lives:
        path, mark = folder / name, marks[name]
        if path.exists() and _messages(path) != mark.records:
            file = GrowingFile(path, mark.size)
            file.write(_end())
            file.close()
    return McapLog(folder / (f"bout_{len(lives) + 1}.mcap" if lives else MCAP_FILE), described, plant=False)


def files_in(folder: Path) -> list[str]:
    """Return the names of a bout's MCAP files."""
    return sorted(path.name for path in folder.glob("bout*.mcap") if _FILE.fullmatch(path.name))


def mend(path: Path) -> tuple[int, bytes]:
    """Return how many bytes of a file that was cut off are whole, and the end it lacks: one without an index."""
    whole = 0
    with path.open("rb") as file, suppress(FormatError, ValueError, struct.error):
        for record in StreamReader(file, emit_chunks=True).records:
            if isinstance(record, Chunk) and zlib.crc32(record.data) != record.uncompressed_crc:
                break
            if isinstance(record, Header | Chunk):
                whole = file.tell()
        else:
            return path.stat().st_size, b""
    return whole, _end() if whole else b""


def _end() -> bytes:
    """Return the end of a file that has no summary: readers go through it from its beginning."""
    records = RecordBuilder()
    DataEnd(0).write(records)
    Footer(0, 0, 0).write(records)
    return records.end() + MCAP0_MAGIC


def _messages(path: Path) -> int:
    """Return how many messages a file says it has; -1 where it has no summary."""
    with path.open("rb") as file:
        try:
            summary = make_reader(file).get_summary()
        except (FormatError, ValueError, struct.error, OSError):
            return -1
    return -1 if summary is None or summary.statistics is None else summary.statistics.message_count


def read_columns(folder: Path) -> Mapping[str, Any]:
    """Return what columns.json of a data directory says. Raises McapError."""
    path = folder / COLUMNS_FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        _tables(found, plant=True)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise McapError(f"{path}: does not describe the logs ({error}); expected a data directory") from error
    return cast(Mapping[str, Any], found)


def export(folder: Path, out: Path) -> int:
    """Write the logs of a data directory as one MCAP file, in order of time; return the number of messages.

    Raises McapError, and OSError when the file cannot be written.
    """
    plant = (folder / PLANT_LOG).exists()
    described = read_columns(folder)
    log = McapLog(out, described, plant=plant)
    try:
        files = [*_tables(described, plant=plant), EVENT_LOG]
        for _, _, name, line in heapq.merge(*(_lines(folder / name, k) for k, name in enumerate(files))):
            log.take(name, line)
            if log.waiting >= _MESSAGES_AT_ONCE:
                log.flush()
    finally:
        log.close()
    return log.records


def _lines(path: Path, order: int) -> Iterator[tuple[int, int, str, str]]:
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        for line in file:
            time_ns = line_ns(line)
            if time_ns is not None and line.endswith("\n"):
                yield time_ns, order, path.name, line


def _tables(described: Mapping[str, Any], *, plant: bool) -> dict[str, _Table]:
    files = described["files"]
    return {
        name: _Table(topic, [str(column["name"]) for column in files[name]["columns"][1:]])
        for name, topic in _TOPICS.items()
        if name in files and (plant or name != PLANT_LOG)
    }


def _event(line: str) -> bytes:
    time, _, rest = line.rstrip("\n").partition(" ")
    kind, _, text = rest.partition(" ")
    fields = {"time_s": float(_seconds(time)), "kind": kind, "text": text}
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _seconds(time_ns: str) -> str:
    padded = time_ns.rjust(10, "0")
    return f"{padded[:-9].lstrip('0') or '0'}.{padded[-9:]}"


def _filled(places: Mapping[str, Any], cell: Any) -> dict[str, Any]:
    """Return a message with the same in every cell."""
    inside = {name: dict.fromkeys(at, cell) if isinstance(at, dict) else cell for name, at in places.items()}
    return {"time_s": cell, **inside}
