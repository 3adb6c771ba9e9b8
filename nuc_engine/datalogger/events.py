"""Engine events as JSON lines for the journal: one object a line, with level, event, bout, cycle and engine time.

A line begins with `<N>`, the priority of systemd's journal, where that is what reads it. Repeats of one event are told
once, with how often: a servo whose plug is loose would else be told two hundred times a second. Data directories keep
each.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TextIO

import structlog

from nuc_engine.control.faults import FAULTS, OFF, Effect
from sccils_schemas.names import printable

_LEVELS: Mapping[str, str] = MappingProxyType(
    {
        "core_exit": "warning",
        OFF: "warning",
        "child_died": "error",
        "records_lost": "error",
        "privilege_missing": "warning",
        "control_refused": "warning",
        "trigger_refused": "warning",
        "bad_signal": "warning",
        "edit_refused": "warning",
        "script_cut": "warning",
        "log_shortened": "error",
        "log_error": "error",
    }
)
_WHEN = frozenset({"time_s", "cycle"})
"""What differs in repeats of one event."""

_MOST = 256
SUM_UP_NS = 10_000_000_000
"""How often the number of repeated events is logged."""

_PRIORITY: Mapping[str, int] = MappingProxyType({"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2})


def level_of(event: str) -> str:
    """Return how much an event matters: by the table of faults, else by what its name is known for."""
    fault = FAULTS.get(event)
    if fault is not None:
        return "warning" if fault.worst is Effect.WARN else "error"
    return _LEVELS.get(event, "info")


class EventLog:
    """Writes events to a stream. `for_journal` puts the priority before each line.

    In a row of events of one name, what is equal but for its time is told when it comes first; then, before an event
    of another name and now and then (`sum_up`), how many `times` it came again. Several threads may tell.
    """

    def __init__(self, stream: TextIO, *, for_journal: bool = False) -> None:
        self._stream = stream
        processors: list[Any] = [
            structlog.processors.add_log_level,
            structlog.processors.EventRenamer("event"),
            structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
        ]
        if for_journal:
            processors.append(_with_priority)
        self._lock = threading.Lock()
        self._name = ""
        self._row: dict[str, tuple[str, dict[str, Any], int]] = {}
        self._summed_ns = 0
        self._log = structlog.wrap_logger(
            structlog.WriteLogger(stream),
            processors=processors,
            wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
            context_class=dict,
            cache_logger_on_first_use=True,
        )

    def tell(self, event: str, text: str = "", *, level: str = "", **fields: Any) -> None:
        """Write one event. A stream that cannot be written to any more changes nothing."""
        known = {key: value for key, value in fields.items() if value is not None}
        if text:
            known["text"] = printable(text)
        if event in FAULTS:
            known["fault"] = event
        level = level or level_of(event)
        same = repr((level, [(key, value) for key, value in known.items() if key not in _WHEN]))
        with self._lock:
            if event != self._name or len(self._row) > _MOST:
                self._sum_up()
                self._name, self._row = event, {}
            told = self._row.get(same)
            self._row[same] = (level, known, 0 if told is None else told[2] + 1)
            if told is None:
                self._write(level, event, known)

    def sum_up(self, now_ns: int | None = None) -> None:
        """Tell how often what goes on has happened again, if that was not told lately; without a time, at once."""
        with self._lock:
            if now_ns is None or now_ns - self._summed_ns >= SUM_UP_NS:
                self._summed_ns = now_ns or 0
                self._sum_up()

    def _sum_up(self) -> None:
        for same, (level, known, times) in self._row.items():
            if times:
                self._row[same] = (level, known, 0)
                self._write(level, self._name, {**known, "times": times})

    def _write(self, level: str, event: str, known: Mapping[str, Any]) -> None:
        try:
            self._log.log(getattr(logging, level.upper()), event, **known)
        except (OSError, ValueError):
            return


def _with_priority(logger: Any, name: str, line: str) -> str:
    del logger
    return f"<{_PRIORITY.get(name, 6)}>{line}"
