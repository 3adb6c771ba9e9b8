"""How far a bout came, by its own records: also where its manifest is silent, or not to be believed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from nuc_engine.recording.logs import line_ns

_DATA = ("MotorData.txt", "SensData.txt", "StateData.txt", "MuscleData.txt")
_EVENTS = "Infolog.txt"
_TAIL = 1 << 16


@dataclass(frozen=True, slots=True)
class LastRecords:
    """Times of a bout's last records: of a task's data, of anything at all, and of its stop where that was logged."""

    data_ns: int
    last_ns: int
    stop_ns: int | None


def find_reach(folder: Path) -> LastRecords | None:
    """Return how far the bout of a data directory came, or None when nothing was recorded."""
    data = [time for name in _DATA if (time := line_ns(_last_line(folder / name))) is not None]
    event = _last_line(folder / _EVENTS)
    told = line_ns(event)
    if not data and told is None:
        return None
    data_ns = max(data, default=0)
    last_ns = max(data_ns, told or 0)
    return LastRecords(data_ns, last_ns, told if event.split()[1:2] == ["engine_stop"] else None)


def _last_line(path: Path) -> str:
    """Return the last whole line, "" where there is none. A torn one behind it does not count."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL))
        lines = file.read().split(b"\n")
    return lines[-2].decode(errors="replace") if len(lines) > 1 else ""
