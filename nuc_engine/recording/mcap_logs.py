"""The text logs of a bout as MCAP messages: one topic per file, one JSON object per line, named as columns.json says.

    /motor /sensors /states /muscles /plant     {"time_s": ..., owner: {what: number}} or {"time_s": ..., name: number}
    /events                                     {"time_s": ..., "kind": ..., "text": ...}: Infolog.txt

Times of messages are engine time in nanoseconds.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from nuc_engine.recording import columns
from nuc_engine.recording.growing import Mark
from nuc_engine.recording.logs import PLANT_FILE, line_ns
from nuc_engine.recording.mcap import Channel, McapLog

FILE = "bout.mcap"
EVENTS_FILE = "Infolog.txt"
CHUNK_BYTES = 1 << 20

_TOPICS: Mapping[str, str] = {
    "MotorData.txt": "motor",
    "SensData.txt": "sensors",
    "StateData.txt": "states",
    "MuscleData.txt": "muscles",
    PLANT_FILE: "plant",
}
_NO_NUMBER = re.compile(r"\b(nan|-?inf)\b|-nan|-inf")


class McapError(Exception):
    """A data directory that can not be exported; the message says why."""


class _Table:
    """How the lines of one data log become messages."""

    def __init__(self, topic: str, names: Sequence[str]) -> None:
        owners: dict[str, list[str] | None] = {}
        for name in names:
            owner, dot, what = name.rpartition(".")
            if dot:
                inner = owners.setdefault(owner, [])
                if inner is not None:
                    inner.append(what)
            else:
                owners[name] = None
        parts = ['"time_s": %s']
        self._order: list[int] = []
        at = {name: k for k, name in enumerate(names, 1)}
        for owner, inner in owners.items():
            if inner is None:
                parts.append(f"{_quoted(owner)}: %s")
                self._order.append(at[owner])
            else:
                parts.append(f"{_quoted(owner)}: {{{', '.join(f'{_quoted(what)}: %s' for what in inner)}}}")
                self._order += [at[f"{owner}.{what}"] for what in inner]
        self._form = "{" + ", ".join(parts) + "}"
        self._width = 1 + len(names)
        number = {"type": "number"}
        fields: dict[str, Any] = {"time_s": number}
        for owner, inner in owners.items():
            inside = dict.fromkeys(inner or (), number)
            fields[owner] = number if inner is None else {"type": "object", "properties": inside}
        self.channel = _channel(topic, fields)

    def message(self, line: str) -> bytes | None:
        """Return the message of one line, None for a line with other columns than the file should have."""
        cells = line.split()
        if len(cells) != self._width:
            return None
        if "n" in line:
            cells = ["null" if _NO_NUMBER.fullmatch(cell) else cell for cell in cells]
        return (self._form % (_seconds(cells[0]), *[cells[k] for k in self._order])).encode()


class McapTap:
    """Turns lines of the logs into messages as they are written. `described` is the content of columns.json."""

    def __init__(self, path: Path, described: Mapping[str, Any], *, plant: bool, mark: Mark | None = None) -> None:
        self._tables = _tables(described, plant=plant)
        self._numbers = {name: k for k, name in enumerate(self._tables)}
        self.log = McapLog(path, channels(described, plant=plant), mark)

    def take(self, file: str, line: str) -> None:
        """Add one line of a log; lines of files that are no topic, and damaged ones, are left out."""
        time_ns = line_ns(line)
        if time_ns is None:
            return
        if file == EVENTS_FILE:
            self.log.add(len(self._tables), time_ns, _event(line))
            return
        table = self._tables.get(file)
        message = None if table is None else table.message(line)
        if message is not None:
            self.log.add(self._numbers[file], time_ns, message)


def channels(described: Mapping[str, Any], *, plant: bool) -> list[Channel]:
    """Return the channels of a bout, in the order of their numbers."""
    text = {"type": "string"}
    events = _channel("events", {"time_s": {"type": "number"}, "kind": text, "text": text})
    return [*(table.channel for table in _tables(described, plant=plant).values()), events]


def read_columns(folder: Path) -> Mapping[str, Any]:
    """Return what columns.json of a data directory says. Raises McapError."""
    path = folder / columns.FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        _tables(found, plant=True)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise McapError(f"{path}: does not describe the logs ({error}); expected a data directory") from error
    return cast(Mapping[str, Any], found)


def export(folder: Path, out: Path) -> int:
    """Write the logs of a data directory as one MCAP file, in order of time; return the number of messages.

    Raises McapError, and OSError when the file can not be written.
    """
    plant = (folder / PLANT_FILE).exists()
    described = read_columns(folder)
    tap = McapTap(out, described, plant=plant)
    try:
        files = [*_tables(described, plant=plant), EVENTS_FILE]
        for _, _, name, line in heapq.merge(*(_lines(folder / name, k) for k, name in enumerate(files))):
            tap.take(name, line)
            if tap.log.waiting > CHUNK_BYTES:
                tap.log.flush()
    finally:
        tap.log.close()
    return tap.log.records


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
        if name in files and (plant or name != PLANT_FILE)
    }


def _event(line: str) -> bytes:
    time, _, rest = line.rstrip("\n").partition(" ")
    kind, _, text = rest.partition(" ")
    fields = {"time_s": float(_seconds(time)), "kind": kind, "text": text}
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _seconds(time_ns: str) -> str:
    padded = time_ns.rjust(10, "0")
    return f"{padded[:-9].lstrip('0') or '0'}.{padded[-9:]}"


def _quoted(name: str) -> str:
    return json.dumps(name).replace("%", "%%")


def _channel(topic: str, fields: Mapping[str, Any]) -> Channel:
    schema = {"title": f"nuc.{topic}", "type": "object", "properties": dict(fields)}
    return Channel(f"/{topic}", f"nuc.{topic}", json.dumps(schema, ensure_ascii=False).encode())
