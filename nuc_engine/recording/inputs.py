"""The input record: everything that entered the tasks, by cycle, so that a bout on hardware can be repeated too.

`InputRecord.msgpack` is a stream of MessagePack arrays:

    ["head", 1, motors]                                         format and number of motors
    ["cycle", cycle, time_ns, positions, currents, status, stamps_ns]   replies of one completed cycle, raw
    ["edit", cycle, time_ns, hdso_id, values, refused]          one write of a changeset, and why not if refused
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgpack

from nuc_engine.changes import Applied
from nuc_engine.plan import Plan
from nuc_engine.tasks.board import Board

FILE = "InputRecord.msgpack"
FORMAT = 1


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
    """Yield the records of an input record, in order; a torn last one is left out."""
    with path.open("rb") as file:
        yield from msgpack.Unpacker(file, use_list=True)
