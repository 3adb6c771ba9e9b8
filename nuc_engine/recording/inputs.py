"""The input record: everything that entered the tasks, by cycle, so that a bout on hardware can be repeated too.

`InputRecord.msgpack` is a stream of MessagePack arrays:

    ["head", 1, motors]                                         format and number of motors
    ["cycle", cycle, time_ns, positions, currents, status, stamps_ns]   replies of one completed cycle, raw
    ["edit", cycle, time_ns, hdso_id, values, refused]          one write of a changeset, and why not if refused
    ["control", cycle, time_ns, what, joint_id, value, refused]     one control of a changeset, likewise
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, TypeGuard, cast

import msgpack

from nuc_engine.changes import Applied, Controlled
from nuc_engine.plan import Plan
from nuc_engine.tasks.board import Board

FILE = "InputRecord.msgpack"
FORMAT = 1


class InputRecordError(Exception):
    """An input record that can not be read; the message names the file and the record, counted from 1."""


class InputRecord:
    """Writes the input record of one bout."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self._file: IO[bytes] = (folder / FILE).open("wb")
        self._packer = msgpack.Packer(autoreset=False)
        self._plan = plan
        self.records = 1
        self._packer.pack(["head", FORMAT, len(plan.motors)])

    def cycle(self, now_ns: int, board: Board) -> None:
        """Record the replies of one cycle as they came."""
        self.records += 1
        self._packer.pack(
            ("cycle", board.cycle, now_ns, board.position_raw, board.current_raw, board.status, board.stamp_ns)
        )

    def edit(self, applied: Applied) -> None:
        """Record one write of a changeset."""
        self.records += 1
        hdso = self._plan.hdsos[applied.write.hdso].id_num
        self._packer.pack(("edit", applied.cycle, applied.time_ns, hdso, applied.write.values, applied.refused))

    def control(self, controlled: Controlled) -> None:
        """Record one control of a changeset."""
        self.records += 1
        control, joint = controlled.control, self._plan.joints[controlled.control.joint].id_num
        self._packer.pack(
            ("control", controlled.cycle, controlled.time_ns, control.what, joint, control.value, controlled.refused)
        )

    def flush(self) -> None:
        """Put what is buffered on disk."""
        self._file.write(self._packer.bytes())
        self._packer.reset()
        self._file.flush()

    def close(self) -> dict[str, int]:
        """Flush and close; return records per file. May be called again."""
        if not self._file.closed:
            self.flush()
            self._file.close()
        return {FILE: self.records}


def read_inputs(path: Path) -> Iterator[list[Any]]:
    """Yield the records of an input record, in order; a torn last one is left out.

    Raises InputRecordError at the first record that is not one of the three kinds above, and for a file that does not
    start with a head of this format.
    """
    motors: int | None = None
    for number, record in enumerate(_unpacked(path), 1):
        if motors is None:
            motors = _motors(path, record)
        elif not _is_record(record, motors):
            raise InputRecordError(f"{path}: record {number} is no cycle of {motors} motors and no edit")
        yield record


def _unpacked(path: Path) -> Iterator[Any]:
    with path.open("rb") as file:
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


def _is_record(record: Any, motors: int) -> bool:
    match record:
        case ["cycle", cycle, time_ns, *columns]:
            return _whole(cycle) and _whole(time_ns) and len(columns) == 4 and all(_row(c, motors) for c in columns)
        case ["edit", cycle, time_ns, hdso, list() as values, str()]:
            numbers = all(_number(value) for value in cast(list[Any], values))
            return _whole(cycle) and _whole(time_ns) and _whole(hdso) and numbers
        case _:
            return False


def _row(column: Any, motors: int) -> bool:
    return isinstance(column, list) and len(cast(list[Any], column)) == motors and all(map(_whole, column))


def _whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return _whole(value) or (isinstance(value, float) and math.isfinite(value))
