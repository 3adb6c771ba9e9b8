"""Live text logs: one whole line per record, white space between columns, no header (readings E1 to E5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from nuc_engine.control.tasks.board import Board
from nuc_engine.model.plan import Plan, Slot
from nuc_engine.model.store import Store
from nuc_engine.recording.files import DATA_LOGS, DEBUG_LOG, EVENT_LOG, PLANT_LOG, SENSED_LOG
from nuc_engine.recording.growing import GrowingFile, Mark
from sccils_schemas.names import printable

NUMBER = "%.9g"
"""Nine significant digits give a 32-bit float back exactly."""

NO_MARKS: Mapping[str, Mark] = MappingProxyType({})
"""A directory whose files are all begun anew."""

_TIME = re.compile(r"([0-9]{1,18})(\s|$)")
_PLANT_ROW = "%d" + f" {NUMBER}" * 4 + "\n"


Tap = Callable[[str, str], None]
"""Told the name of a file and a line that was added to it."""


class TextLog:
    """One text file, written in whole lines; `records` counts those on disk. `flush` puts what is buffered there.

    With a `mark`, what an earlier writer left is kept as far as the mark says, and continued. `tap` is told of
    every line.
    """

    def __init__(self, path: Path, mark: Mark | None = None, tap: Tap | None = None) -> None:
        self.name = path.name
        self.records = 0 if mark is None else mark.records
        self._lines: list[str] = []
        self._file = GrowingFile(path, 0 if mark is None else mark.size)
        self.append = self._lines.append if tap is None else self._append_and_tell
        self._tap = tap

    def _append_and_tell(self, line: str, /) -> None:
        self._lines.append(line)
        if self._tap is not None:
            self._tap(self.name, line)

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._file.closed

    @property
    def mark(self) -> Mark:
        """How far the file is whole on disk."""
        return Mark(self._file.size, self.records)

    @property
    def missing(self) -> int:
        """Bytes before the mark that somebody else had taken away."""
        return self._file.missing

    def flush(self, *, sync: bool = False) -> None:
        """Write the buffered lines out; after an OSError they are still there to be tried again."""
        if self._lines:
            count = len(self._lines)
            self._file.write("".join(self._lines).encode("utf-8", "backslashreplace"))
            self.records += count
            self._lines.clear()
        if sync:
            self._file.sync()

    def abandon(self) -> None:
        """Close without writing what is buffered."""
        self._lines.clear()
        self._file.close()

    def close(self) -> None:
        """Flush and close, also where flushing fails; may be called again."""
        if not self._file.closed:
            try:
                self.flush()
            finally:
                self._file.close()


class DataLogs:
    """The engine's data logs of one bout, one method per task. `marks` by file name continue another writer's."""

    def __init__(
        self, folder: Path, plan: Plan, store: Store, marks: Mapping[str, Mark] = NO_MARKS, tap: Tap | None = None
    ) -> None:
        names = (*DATA_LOGS, EVENT_LOG, DEBUG_LOG)
        logs = _open_all(folder, names, marks, tap)
        self._motor, self._sensors, self._states, self._muscles, self._info, self._debug = logs
        self._plant: TextLog | None = None
        self._sensed: TextLog | None = None
        self._folder = folder
        motors = len(plan.motors)
        self._motor_row = "%d" + " %d" * (4 * motors) + "\n"
        cells = [store.locate(Slot(index)) for index in plan.sensor_columns]
        self._sensor_cells = cells
        self._store, self._columns, self._marks = store, plan.sensor_columns, marks
        if SENSED_LOG in marks:
            self._sensed = TextLog(folder / SENSED_LOG, marks[SENSED_LOG])
        self._sensor_row = "%d" + f" {NUMBER}" * len(cells) + "\n"
        self._joint_muscles = [muscle_columns(plan, joint.index) for joint in plan.joints]
        row = "%d" + "".join(" %d" + f" {NUMBER}" * len(m) for m in self._joint_muscles)
        self._state_row = row + " %d" * len(plan.modules) + "\n"
        self._muscle_row = "%d" + f" {NUMBER}" * (2 * len(plan.muscles)) + "\n"

    def motor(self, now_ns: int, board: Board) -> None:
        """Log current and position of every motor, then what was sent and the age of each measurement."""
        row = [now_ns]
        for pair in zip(board.current_raw, board.position_raw, strict=True):
            row += pair
        for sent, stamp in zip(board.sent_raw, board.stamp_ns, strict=True):
            row += (sent, now_ns - stamp)
        self._motor.append(self._motor_row % tuple(row))

    def sensors(self, now_ns: int) -> None:
        """Log what was measured of every float sensor, in the sensor list's order."""
        numbers = [view[at] for view, at in self._sensor_cells]
        if self._store.parted:
            self.sensed(now_ns, numbers)
            numbers = self._store.measured(self._columns, numbers)
        self._sensors.append(self._sensor_row % (now_ns, *numbers))

    def sensed(self, now_ns: int, numbers: Sequence[float]) -> None:
        """Log what is sensed of every float sensor, likewise."""
        if self._sensed is None:
            self._sensed = TextLog(self._folder / SENSED_LOG, self._marks.get(SENSED_LOG))
        self._sensed.append(self._sensor_row % (now_ns, *numbers))

    def states(self, now_ns: int, board: Board) -> None:
        """Log state and activations of every joint; two activations at least, as NeuRoMod does (reading E4).

        Behind them is the state of every module without a motor.
        """
        activations = board.activations
        row: list[float] = [now_ns]
        for state, muscles in zip(board.states, self._joint_muscles, strict=False):
            row.append(state)
            row += [activations[muscle] if muscle >= 0 else 0.0 for muscle in muscles]
        row += board.states[len(self._joint_muscles) :]
        self._states.append(self._state_row % tuple(row))

    def muscles(self, now_ns: int, board: Board) -> None:
        """Log force and length of every muscle in document order."""
        values = chain.from_iterable(zip(board.forces, board.lengths, strict=True))
        self._muscles.append(self._muscle_row % (now_ns, *values))

    def plant(self, records: Iterable[Sequence[float]]) -> None:
        """Log the emulated plant's own record: time, foot position, contact force."""
        for record in records:
            if self._plant is None:
                self._plant = TextLog(self._folder / PLANT_LOG)
            self._plant.append(_PLANT_ROW % tuple(record))

    def event(self, now_ns: int, kind: str, text: str) -> None:
        """Log one event, a line of its own."""
        self._info.append(f"{now_ns} {printable(kind)} {_line(text)}\n")

    def debug(self, now_ns: int, text: str) -> None:
        """Log one line for the engine's makers."""
        self._debug.append(f"{now_ns} {_line(text)}\n")

    @property
    def files(self) -> list[TextLog]:
        """Every file there is so far."""
        logs = [self._motor, self._sensors, self._states, self._muscles, self._info, self._debug]
        return [*logs, *(log for log in (self._plant, self._sensed) if log is not None)]

    def flush(self) -> None:
        """Put everything on disk."""
        for log in self.files:
            log.flush()

    def abandon(self) -> None:
        """Close all files without writing what is buffered."""
        for log in self.files:
            log.abandon()

    def close(self) -> dict[str, int]:
        """Close all files, whatever becomes of one of them; return records per file."""
        with ExitStack() as stack:
            for log in self.files:
                stack.callback(log.close)
        return {log.name: log.records for log in self.files}


def _open_all(folder: Path, names: Sequence[str], marks: Mapping[str, Mark], tap: Tap | None) -> list[TextLog]:
    logs: list[TextLog] = []
    with ExitStack() as stack:
        for name in names:
            logs.append(TextLog(folder / name, marks.get(name), tap))
            stack.callback(logs[-1].abandon)
        stack.pop_all()
    return logs


def muscle_columns(plan: Plan, joint: int) -> list[int]:
    """Return the muscles whose activations a joint logs, padded with -1 to two."""
    muscles = list(plan.joints[joint].muscles)
    return muscles + [-1] * (2 - len(muscles))


def line_ns(line: str) -> int | None:
    """Return the time a line of a text log starts with, or None where it starts with no time."""
    found = _TIME.match(line)
    return int(found[1]) if found else None


def _line(text: str) -> str:
    return printable(" ".join(text.split()))
