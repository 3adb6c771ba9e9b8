"""Live text logs: one whole line per record, white space between columns, no header (readings E1 to E5)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import IO

from nuc_engine.plan import Plan, Slot
from nuc_engine.store import Store
from nuc_engine.tasks.board import Board

PLANT_FILE = "PlantData.txt"
NUMBER = "%.9g"
"""Nine significant digits give a 32-bit float back exactly."""

_TIME = re.compile(r"([0-9]{1,18})(\s|$)")
_PLANT_ROW = "%d" + f" {NUMBER}" * 4 + "\n"


class TextLog:
    """One text file, written in whole lines; `records` counts them. `flush` puts what is buffered on disk."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.records = 0
        self._lines: list[str] = []
        self._file: IO[str] = path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n")
        self.append = self._lines.append

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._file.closed

    def flush(self) -> None:
        """Write the buffered lines out."""
        if self._lines:
            self.records += len(self._lines)
            self._file.write("".join(self._lines))
            self._lines.clear()
        self._file.flush()

    def close(self) -> None:
        """Flush and close; may be called again."""
        if not self._file.closed:
            self.flush()
            self._file.close()


class DataLogs:
    """The engine's data logs of one bout, one method per task."""

    def __init__(self, folder: Path, plan: Plan, store: Store) -> None:
        self._motor = TextLog(folder / "MotorData.txt")
        self._sensors = TextLog(folder / "SensData.txt")
        self._states = TextLog(folder / "StateData.txt")
        self._muscles = TextLog(folder / "MuscleData.txt")
        self._info = TextLog(folder / "Infolog.txt")
        self._debug = TextLog(folder / "Debuglog.txt")
        self._plant: TextLog | None = None
        self._folder = folder
        motors = len(plan.motors)
        self._motor_row = "%d" + " %d" * (4 * motors) + "\n"
        cells = [store.locate(Slot(index)) for index in plan.sensor_columns]
        self._sensor_cells = cells
        self._sensor_row = "%d" + f" {NUMBER}" * len(cells) + "\n"
        self._joint_muscles = [muscle_columns(plan, joint.index) for joint in plan.joints]
        self._state_row = "%d" + "".join(" %d" + f" {NUMBER}" * len(m) for m in self._joint_muscles) + "\n"
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
        """Log every float sensor in the sensor list's order."""
        self._sensors.append(self._sensor_row % (now_ns, *[view[at] for view, at in self._sensor_cells]))

    def states(self, now_ns: int, board: Board) -> None:
        """Log state and activations of every joint; two activations at least, as NeuRoMod does (reading E4)."""
        activations = board.activations
        row: list[float] = [now_ns]
        for state, muscles in zip(board.states, self._joint_muscles, strict=True):
            row.append(state)
            row += [activations[muscle] if muscle >= 0 else 0.0 for muscle in muscles]
        self._states.append(self._state_row % tuple(row))

    def muscles(self, now_ns: int, board: Board) -> None:
        """Log force and length of every muscle in document order."""
        values = chain.from_iterable(zip(board.forces, board.lengths, strict=True))
        self._muscles.append(self._muscle_row % (now_ns, *values))

    def plant(self, records: Iterable[Sequence[float]]) -> None:
        """Log the emulated plant's own record: time, foot position, contact force."""
        for record in records:
            if self._plant is None:
                self._plant = TextLog(self._folder / PLANT_FILE)
            self._plant.append(_PLANT_ROW % tuple(record))

    def event(self, now_ns: int, kind: str, text: str) -> None:
        """Log one event, a line of its own."""
        self._info.append(f"{now_ns} {kind} {' '.join(text.split())}\n")

    def debug(self, now_ns: int, text: str) -> None:
        """Log one line for the engine's makers."""
        self._debug.append(f"{now_ns} {' '.join(text.split())}\n")

    @property
    def _all(self) -> list[TextLog]:
        logs = [self._motor, self._sensors, self._states, self._muscles, self._info, self._debug]
        return logs if self._plant is None else [*logs, self._plant]

    def flush(self) -> None:
        """Put everything on disk."""
        for log in self._all:
            log.flush()

    def close(self) -> dict[str, int]:
        """Close all files; return records per file."""
        for log in self._all:
            log.close()
        return {log.name: log.records for log in self._all}


def muscle_columns(plan: Plan, joint: int) -> list[int]:
    """Return the muscles whose activations a joint logs, padded with -1 to two."""
    muscles = list(plan.joints[joint].muscles)
    return muscles + [-1] * (2 - len(muscles))


def line_ns(line: str) -> int | None:
    """Return the time a line of a text log starts with, or None where it starts with no time."""
    found = _TIME.match(line)
    return int(found[1]) if found else None
