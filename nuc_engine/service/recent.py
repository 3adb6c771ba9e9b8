"""What happened lately, numbered, for clients that ask and for the telemetry's event topic."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.wire import RecordKind
from sccils_schemas.names import printable

KEPT = 2000

Happening = Mapping[str, Any]


class Recent:
    """The last happenings: each has `seq`, `unix_time_s`, `name`, `text` and what belongs to it."""

    def __init__(self, unix_time_s: Callable[[], float], start_ns: int | None = None) -> None:
        self.unix_time_s, self._start_ns = unix_time_s, start_ns
        self._mode: int | None = None
        self._kept: deque[Happening] = deque(maxlen=KEPT)
        # Numbers that rise over the service's next lives too: who asks for what is new need not know of them.
        self._next = max(1, int(unix_time_s() * 1000))
        self.listeners: list[Callable[[Happening], None]] = []
        self.journal: Callable[[str, str], None] = _nowhere
        self.privileges_missing: list[str] = []

    def add(self, name: str, text: str, **more: Any) -> None:
        """Note something that the service itself did or found; it goes to the journal too."""
        self.journal(name, f"{text} (by {more['author']})" if "author" in more else text)
        self._note(name, text, **more)

    def _note(self, name: str, text: str, **more: Any) -> None:
        told = {"name": printable(name), "text": printable(text)}
        happening = {"seq": self._next, "unix_time_s": self.unix_time_s(), **told, **more}
        self._next += 1
        self._kept.append(happening)
        for listener in self.listeners:
            listener(happening)

    def take(self, kind: int, fields: Sequence[Any]) -> None:
        """Note a record of the core, the guardian or the supervisor, where it is one."""
        match kind, fields:
            case RecordKind.EVENT, [time_ns, name, text]:
                if name == "privilege_missing" and text not in self.privileges_missing:
                    self.privileges_missing.append(text)
                self._note(name, text, time_s=self._engine_time_s(time_ns))
            case RecordKind.MODE, [time_ns, mode, why, bout] if mode != self._mode:
                self._mode = mode
                self._note("mode", why, mode=Mode(mode).name, bout=bout, time_s=self._engine_time_s(time_ns))
            case RecordKind.BOUT_BEGIN, [start_ns, bout, _]:
                self._start_ns = start_ns
                self._note("bout_begin", "", bout=bout, time_s=0.0)
            case RecordKind.BOUT_END, [time_ns, bout, state, reason]:
                self._note("bout_end", reason, bout=bout, state=state, time_s=self._engine_time_s(time_ns))
                self._start_ns = None
            case RecordKind.LOST, [time_ns, counts]:
                named = {RecordKind(int(kind)).name.lower(): count for kind, count in counts.items()}
                self._note("records_lost", "the ring was full", counts=named, time_s=self._engine_time_s(time_ns))
            case _:
                pass

    def _engine_time_s(self, time_ns: int) -> float | None:
        return None if self._start_ns is None else (time_ns - self._start_ns) / 1e9

    def since(self, seq: int) -> list[Happening]:
        """Return what happened after the one of this number."""
        return [happening for happening in self._kept if happening["seq"] > seq]


def _nowhere(name: str, text: str) -> None:
    del name, text
