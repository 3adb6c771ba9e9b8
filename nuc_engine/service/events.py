"""Engine events as JSON lines for the journal: one object a line, with level, event, bout, cycle and engine time.

A line begins with `<N>`, the priority of systemd's journal, where that is what reads it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TextIO

import structlog

from nuc_engine.faults import FAULTS, OFF, Effect

_LEVELS: Mapping[str, str] = MappingProxyType(
    {
        "core_dead": "error",
        "core_stalled": "error",
        "core_exit": "warning",
        OFF: "warning",
        "child_died": "error",
        "records_lost": "error",
        "logging_failed": "error",
        "privilege_missing": "warning",
        "control_refused": "warning",
        "edit_refused": "warning",
        "script_cut": "warning",
        "log_shortened": "error",
        "log_error": "error",
    }
)
_PRIORITY: Mapping[str, int] = MappingProxyType({"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2})


def level_of(event: str) -> str:
    """Return how much an event matters: by the table of faults, else by what its name is known for."""
    fault = FAULTS.get(event)
    if fault is not None:
        return "warning" if fault.effect is Effect.WARN else "error"
    return _LEVELS.get(event, "info")


class EventLog:
    """Writes events to a stream. `for_journal` puts the priority before each line."""

    def __init__(self, stream: TextIO, *, for_journal: bool = False) -> None:
        self._stream = stream
        processors: list[Any] = [
            structlog.processors.add_log_level,
            structlog.processors.EventRenamer("event"),
            structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
        ]
        if for_journal:
            processors.append(_with_priority)
        self._log = structlog.wrap_logger(
            structlog.WriteLogger(stream),
            processors=processors,
            wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
            context_class=dict,
            cache_logger_on_first_use=True,
        )

    def tell(self, event: str, text: str = "", *, level: str = "", **fields: Any) -> None:
        """Write one event. A stream that can not be written to any more changes nothing."""
        known = {key: value for key, value in fields.items() if value is not None}
        if text:
            known["text"] = text
        if event in FAULTS:
            known["fault"] = event
        try:
            self._log.log(getattr(logging, (level or level_of(event)).upper()), event, **known)
        except (OSError, ValueError):
            return


def _with_priority(logger: Any, name: str, line: str) -> str:
    del logger
    return f"<{_PRIORITY.get(name, 6)}>{line}"
