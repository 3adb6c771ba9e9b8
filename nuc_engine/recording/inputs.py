"""The input record: everything that entered the tasks, by cycle, so that a bout on hardware can be repeated too.

`InputRecord.msgpack` is a stream of MessagePack arrays:

    ["head", 1, motors]                                         format and number of motors
    ["cycle", cycle, time_ns, positions, currents, status, stamps_ns]   replies of one completed cycle, raw
    ["edit", cycle, time_ns, hdso_id, values, refused]          one write of a changeset, and why not if refused
    ["control", cycle, time_ns, what, joint_id, value, refused]     one control of a changeset, likewise; of a
                                                                     sensor (what: sense) its HDSO's id
    ["happened", cycle, time_ns, event]                         done to an emulated leg (`plants.events.event_record`)
    ["ran", "start", time_ns, level, goals]             an exchange began; torque level and goals as the bus was told
    ["ran", what, time_ns]                                      of a real bout: a task ran (see RAN), in this order
    ["store", cycle, time_ns, bytes]                            every HDSO: set flags, then the data area
    ["lost", cycle, time_ns, from_ns, {kind: count}]            what is not in here or in the logs, and from when on

Edits and controls of a daemon's bout end with one text more: whose they were.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeGuard, cast

import msgpack

from nuc_engine.control.bus_tap import ExchangeReplies
from nuc_engine.control.controls import subject
from nuc_engine.model.changes import Applied, Controlled
from nuc_engine.model.plan import Plan
from nuc_engine.plants.events import read_event
from nuc_engine.recording.files import INPUT_RECORD
from nuc_engine.recording.growing import GrowingFile, Mark

FORMAT = 1

RAN = ("sensors", "states", "muscles", "changeset")
"""What can have run besides: the three tasks that follow, a changeset all of whose edits stand before it."""


class InputRecordError(Exception):
    """An input record that cannot be read; the message names the file and the record, counted from 1."""


class InputRecord:
    """Writes the input record of one bout. `records` counts them; a `mark` continues that of an earlier writer."""

    name = INPUT_RECORD

    def __init__(self, folder: Path, plan: Plan, mark: Mark | None = None) -> None:
        self._file = GrowingFile(folder / INPUT_RECORD, 0 if mark is None else mark.size)
        self._packer = msgpack.Packer(autoreset=False)
        self._plan = plan
        self.records = 0 if mark is None else mark.records
        if not self._file.size:
            self._put("head", FORMAT, len(plan.motors))

    @property
    def mark(self) -> Mark:
        """How far the record is whole on disk; to be asked for after `flush`."""
        return Mark(self._file.size, self.records)

    @property
    def missing(self) -> int:
        """Bytes before the mark that somebody else had taken away."""
        return self._file.missing

    def _put(self, *record: Any) -> None:
        self.records += 1
        self._packer.pack(record)

    def cycle(self, now_ns: int, cycle: int, replies: ExchangeReplies) -> None:
        """Record the replies of one cycle as they came."""
        self._put("cycle", cycle, now_ns, *replies)

    def started(self, now_ns: int, level: int, goals: Sequence[int]) -> None:
        """Record that an exchange began, and what the bus was told: -1 of what is only read, -2 for torque off."""
        self._put("ran", "start", now_ns, level, goals)

    def edit(self, applied: Applied, author: str = "") -> None:
        """Record one write of a changeset."""
        hdso = self._plan.hdsos[applied.write.hdso].id_num
        by = (author,) if author else ()
        self._put("edit", applied.cycle, applied.time_ns, hdso, applied.write.values, applied.refused, *by)

    def control(self, controlled: Controlled, author: str = "") -> None:
        """Record one control of a changeset."""
        control, (of, _) = controlled.control, subject(controlled.control, self._plan)
        what, value, by = control.what, control.value, (author,) if author else ()
        self._put("control", controlled.cycle, controlled.time_ns, what, of, value, controlled.refused, *by)

    def happened(self, cycle: int, time_ns: int, event: Mapping[str, Any]) -> None:
        """Record what was done to the leg from outside."""
        self._put("happened", cycle, time_ns, dict(event))

    def store(self, now_ns: int, cycle: int, live: bytes) -> None:
        """Record the live area of the whole store."""
        self._put("store", cycle, now_ns, live)

    def ran(self, now_ns: int, what: str) -> None:
        """Record that a task ran: one of RAN."""
        self._put("ran", what, now_ns)

    def lost(self, now_ns: int, cycle: int, from_ns: int, counts: Mapping[str, int]) -> None:
        """Record that records are missing: kinds as `nuc_engine.daemon.wire` names them, and from when on."""
        self._put("lost", cycle, now_ns, from_ns, dict(counts))

    def flush(self, *, sync: bool = False) -> None:
        """Put what is buffered on disk; after an OSError it is still there to be tried again."""
        self._file.write(self._packer.bytes())
        self._packer.reset()
        if sync:
            self._file.sync()

    def abandon(self) -> None:
        """Close without writing what is buffered."""
        self._file.close()

    def close(self) -> dict[str, int]:
        """Flush and close, also where flushing fails; return records per file. May be called again."""
        if not self._file.closed:
            try:
                self.flush()
            finally:
                self._file.close()
        return {INPUT_RECORD: self.records}


def read_inputs(path: Path) -> Iterator[list[Any]]:
    """Yield the records of an input record, in order; a torn last one is left out.

    Raises InputRecordError at the first record that is not one of the kinds above, and for a file that does not
    start with a head of this format.
    """
    motors: int | None = None
    # Opened here: what is compiled does not end a generator that is left half way, and with it what that one has open.
    with path.open("rb") as file:
        for number, record in enumerate(_unpacked(path, file), 1):
            if motors is None:
                motors = _motors(path, record)
            elif not is_record(record, motors):
                raise InputRecordError(f"{path}: record {number} is no cycle of {motors} motors and no edit")
            yield record


def _unpacked(path: Path, file: BinaryIO) -> Iterator[Any]:
    try:
        yield from msgpack.Unpacker(file, use_list=True)
    except (msgpack.UnpackException, ValueError) as error:
        raise InputRecordError(f"{path}: is no MessagePack from byte {file.tell()} or before ({error})") from error


def _motors(path: Path, record: Any) -> int:
    if not isinstance(record, list) or len(cast(list[Any], record)) != 3 or record[0] != "head":
        raise InputRecordError(f"{path}: does not start with a head")
    if record[1] != FORMAT or not _whole(record[2]) or record[2] < 0:
        raise InputRecordError(f"{path}: is of format {record[1]!r} for {record[2]!r} motors; expected {FORMAT}")
    return record[2]


def motors_of(head: Any) -> int | None:
    """Return how many motors a record is of by its head, None for what is no head of this format."""
    match head:
        case ["head", 1, motors] if _whole(motors) and motors >= 0:
            return motors
        case _:
            return None


def is_record(record: Any, motors: int) -> bool:
    """Say whether this is a record, but the head, of so many motors."""
    match record:
        case ["cycle", cycle, time_ns, *columns]:
            fits = _whole(cycle) and len(columns) == 4 and all(_row(c, motors) for c in columns)
        case ["edit", cycle, time_ns, hdso, list() as values, str(), *by]:
            numbers = all(_number(value) for value in cast(list[Any], values))
            fits = _whole(cycle) and _whole(hdso) and numbers and _author(by)
        case ["control", cycle, time_ns, str(), joint, value, str(), *by]:
            fits = _whole(cycle) and _whole(joint) and (isinstance(value, str) or _number(value)) and _author(by)
        case ["happened", cycle, time_ns, dict() as event]:
            fits = _whole(cycle) and _is_event(cast(dict[Any, Any], event))
        case ["ran", "start", time_ns, level, goals]:
            fits = _whole(level) and _row(goals, motors)
        case ["ran", str(what), time_ns]:
            fits = what in RAN
        case ["store", cycle, time_ns, bytes()]:
            fits = _whole(cycle)
        case ["lost", cycle, time_ns, from_ns, dict() as counts]:
            named = all(isinstance(key, str) and _whole(n) for key, n in cast(dict[Any, Any], counts).items())
            fits = _whole(cycle) and _whole(from_ns) and named
        case _:
            return False
    return fits and _whole(time_ns)


def _is_event(event: Mapping[Any, Any]) -> bool:
    try:
        read_event(event)
    except ValueError:
        return False
    return True


def _author(rest: list[Any]) -> bool:
    return not rest or (len(rest) == 1 and isinstance(rest[0], str))


def _row(column: Any, motors: int) -> bool:
    return isinstance(column, list) and len(cast(list[Any], column)) == motors and all(map(_whole, column))


def _whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return _whole(value) or (isinstance(value, float) and math.isfinite(value))
