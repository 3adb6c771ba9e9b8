"""The recorder of a bout: everything the executive tells goes to the files of its data directory."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

from nuc_engine.control.bus_tap import ExchangeReplies
from nuc_engine.control.controls import SENSE, subject
from nuc_engine.control.tasks.board import Board
from nuc_engine.model.changes import Applied, Changeset, Controlled
from nuc_engine.model.plan import Plan
from nuc_engine.model.store import Store
from nuc_engine.plants.events import PlantEvent, event_record
from nuc_engine.recording import columns
from nuc_engine.recording.files import COLUMNS_FILE, INPUT_RECORD
from nuc_engine.recording.growing import Mark
from nuc_engine.recording.inputs import InputRecord
from nuc_engine.recording.logs import NO_MARKS, DataLogs, Tap
from nuc_engine.recording.scriptlog import HdsoScriptLog, Values
from sccils_schemas.model import Model


class _Sink(Protocol):
    """One file of a data directory, as what ends it sees it."""

    @property
    def name(self) -> str: ...

    @property
    def mark(self) -> Mark: ...

    @property
    def missing(self) -> int: ...

    def flush(self, *, sync: bool = False) -> None: ...


class BoutRecorder:
    """Implements `nuc_engine.control.executive.Recorder` for one data directory. `events` counts events by kind.

    `marks` by file name continue what another recorder of the same bout has left. `cycle` is the last complete one.
    `tap` is told every line of the data logs and of Infolog.txt.
    """

    def __init__(
        self,
        folder: Path,
        model: Model,
        plan: Plan,
        store: Store,
        marks: Mapping[str, Mark] = NO_MARKS,
        tap: Tap | None = None,
    ) -> None:
        with ExitStack() as stack:
            # Where one file cannot be opened, none is left open.
            self._logs = DataLogs(folder, plan, store, marks, tap)
            stack.callback(self._logs.abandon)
            self._inputs = InputRecord(folder, plan, marks.get(INPUT_RECORD))
            stack.callback(self._inputs.abandon)
            self._script = self._open_script(stack, folder, "Scriptlog", model, plan, marks)
            self._hdso = self._open_script(stack, folder, "HDSOlog", model, plan, marks)
            text = json.dumps(columns.describe_columns(model, plan), indent=1) + "\n"
            (folder / COLUMNS_FILE).write_text(text, encoding="utf-8", newline="\n")
            stack.pop_all()
        self._store, self._plan = store, plan
        self.cycle = 0
        self.events: dict[str, int] = {}
        self.refused: list[Applied] = []
        self.states, self.muscles = self._logs.states, self._logs.muscles
        self.plant, self.debug = self._logs.plant, self._logs.debug

    @staticmethod
    def _open_script(
        stack: ExitStack, folder: Path, kind: str, model: Model, plan: Plan, marks: Mapping[str, Mark]
    ) -> HdsoScriptLog:
        name = f"{kind}.xml"
        log = HdsoScriptLog(folder / name, plan, kind, model.name, marks.get(name))
        stack.callback(log.abandon)
        return log

    def start(self, now_ns: int, bus: str) -> None:
        """Log the start, and dump the whole store: what was known before the first task ran."""
        self.describe(now_ns, bus)
        self.dump(now_ns, 0)

    def describe(self, now_ns: int, bus: str) -> None:
        """Log the start, the bus, and where each HDSO lies."""
        self.event(now_ns, "engine_start", self._plan.name)
        self._logs.debug(now_ns, f"bus {bus}")
        for hdso in self._plan.hdsos:
            self._logs.debug(now_ns, f"hdso {hdso.id_num} {hdso.name} {hdso.kind} {hdso.datatype} at {hdso.offset}")

    def dump(self, now_ns: int, cycle: int) -> None:
        """Log every HDSO of the store as it is."""
        for hdso in self._plan.hdsos:
            self._hdso.answer(now_ns, cycle, hdso.index, self._store.values(hdso.index) or ())

    def keep_store(self, now_ns: int, cycle: int, live: bytes) -> None:
        """Keep the store's bytes in the input record, so that a repetition starts from exactly these."""
        self._inputs.store(now_ns, cycle, live)

    def lost(self, now_ns: int, from_ns: int, counts: Mapping[str, int]) -> None:
        """Records of these kinds were lost since then."""
        words = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
        self.event(now_ns, "records_lost", f"lost {words} between {from_ns / 1e9:.3f} s and {now_ns / 1e9:.3f} s")
        self._inputs.lost(now_ns, self.cycle, from_ns, counts)

    def ran(self, now_ns: int, what: str) -> None:
        """Keep the order in which the tasks of a real bout ran."""
        self._inputs.ran(now_ns, what)

    def started(self, now_ns: int, level: int, goals: Sequence[int]) -> None:
        """An exchange begins."""
        self._inputs.started(now_ns, level, goals)

    def motor(self, now_ns: int, board: Board, replies: ExchangeReplies) -> None:
        """A cycle is complete."""
        self.cycle = board.cycle
        self._logs.motor(now_ns, board)
        self._inputs.cycle(now_ns, board.cycle, replies)

    def sensors(self, now_ns: int, store: Store) -> None:
        """Sensors are converted."""
        self._logs.sensors(now_ns)

    def sensed(self, now_ns: int, numbers: Sequence[float]) -> None:
        """So much is sensed of each sensor, where it is not all as measured."""
        self._logs.sensed(now_ns, numbers)

    def applied(self, applied: Applied, author: str = "") -> None:
        """A write was made or refused."""
        by = ", ".join(filter(None, (author, applied.cause)))
        self._script.applied(applied, by)
        self._inputs.edit(applied, by)
        if applied.refused:
            self.refused.append(applied)

    def controlled(self, controlled: Controlled, author: str = "") -> None:
        """A control was made or refused: a line of its own, since the script log cannot say it."""
        self._inputs.control(controlled, author)
        control = controlled.control
        text = f"{subject(control, self._plan)[1]}: {control.what} {control.value}"
        if control.what == SENSE:
            text += f", cycle {controlled.cycle}"
        by = f" by {author}" if author else ""
        if controlled.refused:
            self.event(controlled.time_ns, "control_refused", f"{text}{by}: {controlled.refused}")
        else:
            self.event(controlled.time_ns, "control", f"{text}{by}")

    def happened(self, event: PlantEvent) -> None:
        """Something was done to the leg from outside."""
        record = event_record(event)
        self._script.happened(event, self.cycle)
        self._inputs.happened(self.cycle, event.at_ns, record)
        words = (f"{name} {value}" for name, value in record.items() if name not in ("kind", "at_ns"))
        self.event(event.at_ns, "plant_event", f"{record['kind']} {', '.join(words)}")

    def done(self, now_ns: int, changeset: Changeset, refused: int) -> None:
        """A changeset has taken effect: every write and control of it was told already."""

    def answer(self, now_ns: int, hdso: int, values: Values, origin: int, author: str = "") -> None:
        """A request is answered by the engine."""
        self._hdso.answer(now_ns, self.cycle, hdso, values, author)

    def answered(
        self, now_ns: int, cycle: int, held: Mapping[int, Values], said: Mapping[str, Any], author: str
    ) -> None:
        """A client was answered beside the engine: HDSOs by index, and other names, with what they were."""
        for hdso, values in held.items():
            self._hdso.answer(now_ns, cycle, hdso, values, author)
        for name, value in said.items():
            self._hdso.answered(now_ns, cycle, f"{name} = {'no value' if value is None else value}", author)

    def left_out(self, text: str) -> None:
        """Answers are not logged."""
        self._hdso.left_out(text)

    def event(self, now_ns: int, kind: str, text: str) -> None:
        """Something worth a line happened."""
        self.events[kind] = self.events.get(kind, 0) + 1
        self._logs.event(now_ns, kind, text)

    @property
    def _sinks(self) -> tuple[_Sink, ...]:
        return (*self._logs.files, self._inputs, self._script, self._hdso)

    @property
    def marks(self) -> dict[str, Mark]:
        """How far each file is whole on disk; to be asked for after `flush`."""
        return {sink.name: sink.mark for sink in self._sinks}

    @property
    def missing(self) -> dict[str, int]:
        """Bytes before the marks that somebody else had taken away, by file."""
        return {sink.name: sink.missing for sink in self._sinks if sink.missing}

    def flush(self, *, sync: bool = False) -> None:
        """Put everything on disk."""
        for sink in self._sinks:
            sink.flush(sync=sync)

    def end(self) -> None:
        """End the documents, so that all there is to do is `flush` and `close`."""
        self._script.end()
        self._hdso.end()

    def abandon(self) -> None:
        """Close all files as they are on disk: somebody else will continue them."""
        for sink in (self._logs, self._inputs, self._script, self._hdso):
            sink.abandon()

    def close(self) -> dict[str, Any]:
        """Close all files, whatever becomes of one of them; return records per file. Raises OSError from the first."""
        counts: dict[str, Any] = {}
        with ExitStack() as stack:
            for close in (self._logs.close, self._inputs.close, self._script.close, self._hdso.close):
                stack.callback(_close_and_count, close, counts)
        return dict(sorted(counts.items()))


def _close_and_count(close: Callable[[], Mapping[str, int]], counts: dict[str, Any]) -> None:
    counts.update(close())
