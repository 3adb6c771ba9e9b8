"""The recorder of a bout: everything the executive tells goes to the files of its data directory."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from nuc_engine.changes import Applied, Changeset, Controlled
from nuc_engine.plan import Plan
from nuc_engine.recording import columns
from nuc_engine.recording.inputs import InputRecord
from nuc_engine.recording.logs import DataLogs
from nuc_engine.recording.scriptlog import HdsoScriptLog
from nuc_engine.store import Store
from nuc_engine.tasks.board import Board
from sccils_schemas.model import Model


class BoutRecorder:
    """Implements `nuc_engine.executive.Recorder` for one data directory. `events` counts events by kind."""

    def __init__(self, folder: Path, model: Model, plan: Plan, store: Store) -> None:
        self._logs = DataLogs(folder, plan, store)
        self._inputs = InputRecord(folder, plan)
        self._script = HdsoScriptLog(folder / "Scriptlog.xml", plan, "Scriptlog", model.name)
        self._hdso = HdsoScriptLog(folder / "HDSOlog.xml", plan, "HDSOlog", model.name)
        self._store, self._plan = store, plan
        self._cycle = 0
        self.events: dict[str, int] = {}
        self.refused: list[Applied] = []
        self.states, self.muscles = self._logs.states, self._logs.muscles
        self.plant, self.debug = self._logs.plant, self._logs.debug
        text = json.dumps(columns.describe_columns(model, plan), indent=1) + "\n"
        (folder / columns.FILE).write_text(text, encoding="utf-8")

    def start(self, now_ns: int, bus: str) -> None:
        """Log the start, and dump the whole store: what was known before the first task ran."""
        self.event(now_ns, "engine_start", self._plan.name)
        self._logs.debug(now_ns, f"bus {bus}")
        for hdso in self._plan.hdsos:
            self._logs.debug(now_ns, f"hdso {hdso.id_num} {hdso.name} {hdso.kind} {hdso.datatype} at {hdso.offset}")
        for hdso in self._plan.hdsos:
            self._hdso.answer(now_ns, 0, hdso.index, self._store.values(hdso.index) or ())

    def motor(self, now_ns: int, board: Board) -> None:
        """A cycle is complete."""
        self._cycle = board.cycle
        self._logs.motor(now_ns, board)
        self._inputs.cycle(now_ns, board)

    def sensors(self, now_ns: int, store: Store) -> None:
        """Sensors are converted."""
        self._logs.sensors(now_ns)

    def applied(self, applied: Applied) -> None:
        """A write was made or refused."""
        self._script.applied(applied)
        self._inputs.edit(applied)
        if applied.refused:
            self.refused.append(applied)

    def controlled(self, controlled: Controlled) -> None:
        """A control was made or refused."""
        self._inputs.control(controlled)

    def done(self, now_ns: int, changeset: Changeset, refused: int) -> None:
        """A changeset has taken effect: every write and control of it was told already."""

    def answer(self, now_ns: int, hdso: int, values: tuple[int | float, ...], origin: int) -> None:
        """A request is answered."""
        self._hdso.answer(now_ns, self._cycle, hdso, values)

    def event(self, now_ns: int, kind: str, text: str) -> None:
        """Something worth a line happened."""
        self.events[kind] = self.events.get(kind, 0) + 1
        self._logs.event(now_ns, kind, text)

    def flush(self) -> None:
        """Put everything on disk."""
        for sink in (self._logs, self._inputs, self._script, self._hdso):
            sink.flush()

    def close(self) -> dict[str, Any]:
        """Close all files, whatever becomes of one of them; return records per file. Raises OSError from the first."""
        counts: dict[str, Any] = {}
        with ExitStack() as stack:
            for sink in (self._logs, self._inputs, self._script, self._hdso):
                stack.callback(lambda close=sink.close: counts.update(close()))
        return dict(sorted(counts.items()))
