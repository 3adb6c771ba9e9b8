"""The data directory of a daemon's bout, written from records by the same functions as one on virtual time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drivers.errors import BusUrlError
from drivers.units import NS_PER_S
from nuc_engine.control.bus_tap import ExchangeReplies
from nuc_engine.control.tasks.board import Board
from nuc_engine.daemon.wire import Formats, MotorRecord, NumbersRecord, RecordKind, StatesRecord
from nuc_engine.datalogger.answers import Answers
from nuc_engine.datalogger.commits import OpenBout
from nuc_engine.datalogger.documents import KeptDocuments
from nuc_engine.datalogger.kernellog import KernelLog
from nuc_engine.datalogger.manifest import Context, bout_manifest, read_notes
from nuc_engine.model.changes import Applied, Controlled, JointControl, Write
from nuc_engine.model.plan import Plan, Slot
from nuc_engine.model.planning import PlanError, build_plan
from nuc_engine.model.store import Store, StoreError
from nuc_engine.recording import manifest
from nuc_engine.recording.columns import describe_columns
from nuc_engine.recording.files import KERNEL_LOG, MANIFEST_FILE, NOTES_FILE, SCRIPT_FILE
from nuc_engine.recording.lock import FolderLock
from nuc_engine.recording.logs import TextLog
from nuc_engine.recording.recorder import BoutRecorder
from sccils_schemas.model import Model, load_model

if TYPE_CHECKING:
    from nuc_engine.recording.mcap import McapLog

_DATA = (
    RecordKind.MOTOR,
    RecordKind.SENSORS,
    RecordKind.SENSED,
    RecordKind.STATES,
    RecordKind.MUSCLES,
    RecordKind.START,
)


class BoutLogError(Exception):
    """A data directory that cannot be written to for a reason that trying again does not mend."""


class BoutLog:
    """Writes one data directory; `state` says where an earlier logger was, and is kept up to date for the next one."""

    def __init__(
        self,
        data: Path,
        state: OpenBout,
        documents: KeptDocuments,
        script: KeptDocuments | None,
        context: Context,
        *,
        mcap: bool = False,
    ) -> None:
        self.folder, self.state = data / state.folder, state
        self._documents, self._context = documents, context
        self.script = script
        self._stopped = False
        self.dirty = False
        with ExitStack() as stack:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = stack.enter_context(FolderLock(self.folder))
            self._inputs = _put_documents(self.folder, documents, script)
            model, plan = _load(self.folder, documents.name, context.families)
            self.plan = plan
            self._store, self._board = Store(plan), Board(plan, lambda *_: None)
            self._formats = Formats(plan)
            self._cells = [self._store.locate(Slot(index)) for index in plan.sensor_columns]
            if not (self.folder / MANIFEST_FILE).exists() or not state.marks:
                self._begin_manifest()
            self._mcap: McapLog | None = None
            if mcap:
                from nuc_engine.recording.mcap import new_life

                self._mcap = new_life(self.folder, describe_columns(model, plan), state.marks)
                stack.callback(self._mcap.abandon)
            tap = None if self._mcap is None else self._mcap.take
            self._recorder = BoutRecorder(self.folder, model, plan, self._store, state.marks, tap)
            self.answers = Answers(self._recorder, state)
            stack.callback(self._recorder.abandon)
            self._notes = TextLog(self.folder / NOTES_FILE, state.marks.get(NOTES_FILE))
            stack.callback(self._notes.abandon)
            self.kernel = KernelLog(self.folder, state, state.marks.get(KERNEL_LOG), context.kernel)
            stack.pop_all()
        self._beside = (self._notes, self.kernel.log)
        self._recorder.cycle = state.cycle
        self._recorder.events = state.events
        beside = {log.name: log.missing for log in self._beside if log.missing}
        for name, size in {**self._recorder.missing, **beside}.items():
            self.event(state.taken_ns, "log_shortened", f"{name}: {size} bytes were removed by another program")

    def begin(self, now_ns: int) -> None:
        """Log the start. Engine times here and below are of the bout."""
        bus = ", ".join(f"{name}={url}" if name else url for name, url in self._context.bus.items())
        self._recorder.describe(now_ns, bus)

    def takes(self, now_ns: int) -> bool:
        """Say whether data of this engine time belong here."""
        state = self.state
        return not state.ended and state.from_ns <= now_ns and (state.until_ns < 0 or now_ns < state.until_ns)

    def take(self, kind: int, record: Any, author: str) -> None:
        """Write one record, whose time has been found to belong here."""
        if kind in _DATA:
            self._take_data(kind, record)
            return
        begin = self.state.begin_ns
        match kind, record:
            case RecordKind.APPLIED, [time_ns, cycle, hdso, values, replaced, refused, request]:
                applied = Applied(time_ns - begin, cycle, Write(hdso, tuple(values)), refused, request, replaced)
                self._recorder.applied(applied, author)
                self.state.refused += bool(refused)
            case RecordKind.CONTROL, [time_ns, cycle, what, joint, value, refused, request]:
                control = JointControl(what, joint, value)
                self._recorder.controlled(Controlled(time_ns - begin, cycle, control, refused, request), author)
            case RecordKind.DONE, [_, time_ns, *_]:
                self._recorder.ran(time_ns - begin, "changeset")
            case RecordKind.STORE, [time_ns, cycle, live]:
                self._dump(max(0, time_ns - begin), cycle, live)
            case RecordKind.POSE, [_, pose]:
                self.state.pose_deg, self.dirty = pose, True
            case RecordKind.COUNTS, [_, counts]:
                self.state.counts = counts
            case _:
                pass

    def _take_data(self, kind: int, record: Any) -> None:
        board, begin, state = self._board, self.state.begin_ns, self.state
        if isinstance(record, MotorRecord):
            now_ns = record.time_ns - begin
            board.cycle, board.status, board.sent_raw = record.cycle, record.status, record.sent_raw
            board.position_raw, board.current_raw = record.position_raw, record.current_raw
            # A stamp of 0 is that of a motor that has never answered.
            board.stamp_ns = [stamp - begin if stamp else 0 for stamp in record.stamp_ns]
            self._recorder.motor(now_ns, board, ExchangeReplies.of(board))
            state.cycle = record.cycle
        elif isinstance(record, StatesRecord):
            now_ns = record.time_ns - begin
            board.states, board.activations = record.states, record.activations
            self._recorder.states(now_ns, board)
            self._recorder.ran(now_ns, "states")
        elif isinstance(record, NumbersRecord) and kind == RecordKind.SENSORS:
            now_ns = record.time_ns - begin
            for (view, at), number in zip(self._cells, record.numbers, strict=True):
                view[at] = number
            self._recorder.sensors(now_ns, self._store)
            self._recorder.ran(now_ns, "sensors")
        elif isinstance(record, NumbersRecord) and kind == RecordKind.SENSED:
            now_ns = record.time_ns - begin
            self._recorder.sensed(now_ns, record.numbers)
        elif isinstance(record, NumbersRecord):
            now_ns = record.time_ns - begin
            half = len(record.numbers) // 2
            board.forces, board.lengths = record.numbers[:half], record.numbers[half:]
            self._recorder.muscles(now_ns, board)
            self._recorder.ran(now_ns, "muscles")
        else:
            now_ns = record[0] - begin
            self._recorder.started(now_ns, *record[1:])
        state.taken_ns = now_ns
        self.answers.tell(now_ns)

    def unpack(self, kind: int, content: bytes) -> Any:
        """Return a record of this bout's plan."""
        return self._formats.unpack(kind, content)

    def _dump(self, now_ns: int, cycle: int, live: bytes) -> None:
        try:
            self._store.load_bytes(live)
        except StoreError as error:
            self.event(now_ns, "log_error", str(error))
            return
        self._recorder.dump(now_ns, cycle)
        self._recorder.keep_store(now_ns, cycle, live)

    def event(self, now_ns: int, name: str, text: str) -> None:
        """Log an event, a line of its own."""
        self._recorder.event(max(0, now_ns), name, text)

    def lost(self, now_ns: int, counts: Mapping[str, int]) -> None:
        """Note that records of these kinds never came, since the last one that did."""
        since = self.state.taken_ns
        self._recorder.lost(now_ns, since, counts)
        for kind, count in counts.items():
            known = self.state.losses.setdefault(kind, [0, since, now_ns])
            known[0] += count
            known[2] = now_ns
        self.dirty = True

    def note(self, now_ns: int, what: str, text: str, author: str, *, wall: str) -> None:
        """Keep a note, a mark or a label that was set (`what` is then "label KEY"), with its author."""
        entry = {"time_s": round(now_ns / NS_PER_S, 6), "what": what, "text": text, "author": author, "said": wall}
        self._notes.append(json.dumps(entry, ensure_ascii=False) + "\n")
        self.event(now_ns, what.partition(" ")[0], f"{what.partition(' ')[2]} {text} by {author}".strip())
        if what.startswith("label "):
            self.state.labels[what.removeprefix("label ")] = text
        self.dirty = True

    def add_script(self, script: KeptDocuments, name: str) -> None:
        """Keep the text of a script that was sent: the first one under its well-known name, later ones numbered."""
        path, number = self.folder / SCRIPT_FILE, 2
        for content in script.files.values():
            while path.exists() and path.read_bytes() != content:
                path, number = self.folder / f"scriptfile_{number}.xml", number + 1
            _put_file(path, content)
            self._inputs[path.name] = hashlib.sha256(content).hexdigest()
            self.script = self.script or script
        self.state.script = self.state.script or name
        self.dirty = True

    def flush(self) -> None:
        """Put everything on disk and bring `state` up to date. Raises OSError; it may be tried again."""
        if self.dirty:
            # Before the sums are taken: the notes in the manifest are those of the file.
            self._notes.flush()
            self._begin_manifest()
            self.dirty = False
        self._recorder.flush(sync=self._context.sync)
        for log in self._beside:
            log.flush(sync=self._context.sync)
        self.state.marks |= self._recorder.marks | {log.name: log.mark for log in self._beside}
        if self._mcap is not None:
            self._mcap.flush(sync=self._context.sync)
            self.state.marks[self._mcap.name] = self._mcap.mark

    def finish(self, now_ns: int, state: str, reason: str, clock_ns: int) -> None:
        """End the directory; it is `clock_ns` by CLOCK_MONOTONIC.

        Raises OSError; it may then be tried again, in this life of the logger or the next.
        """
        if not self._stopped:
            self._stopped = True
            self.answers.tell(now_ns, at_once=True)
            self.kernel.end(clock_ns, now_ns)
            self._recorder.event(max(0, now_ns), "engine_stop", f"{state}: {reason}")
            self._recorder.end()
        self.flush()
        if self._mcap is not None:
            self._mcap.end()
        ended = self._manifest().ended(
            self.folder,
            state,
            reason,
            stopped=self._context.wall(),
            engine_time_s=max(0, now_ns) / NS_PER_S,
            # Those of the core never came where it was killed.
            counts={**self.state.counts, "cycles": self.state.cycle},
            records={name: mark.records for name, mark in self.state.marks.items()},
            events=self.state.events,
        )
        manifest.write_manifest(self.folder, ended)
        self._recorder.close()
        for log in self._beside:
            log.close()
        self.kernel.close()
        if self._mcap is not None:
            self._mcap.close()
        self._lock.release()

    def abandon(self) -> None:
        """Let go of the directory as it is on disk: the next logger continues it."""
        self._recorder.abandon()
        for log in self._beside:
            log.abandon()
        self.kernel.close()
        if self._mcap is not None:
            self._mcap.abandon()
        self._lock.release()

    def _begin_manifest(self) -> None:
        manifest.write_manifest(self.folder, self._manifest())

    def _manifest(self) -> manifest.Manifest:
        script = None if self.script is None else self.script.name
        known = bout_manifest(self.state, self._context, self._documents.name, self.plan, script, self._inputs)
        return replace(known, notes=read_notes(self.folder / NOTES_FILE))


def _put_documents(folder: Path, documents: KeptDocuments, script: KeptDocuments | None) -> dict[str, str]:
    """Write the configuration, and the script, where they are not there yet; return their sums."""
    files = dict(documents.files)
    if script is not None:
        files |= dict.fromkeys([SCRIPT_FILE], next(iter(script.files.values())))
    for name, content in files.items():
        path = folder / Path(name).name
        if not path.exists() or path.read_bytes() != content:
            _put_file(path, content)
    sums = {Path(name).name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    for path in folder.glob("scriptfile_*.xml"):
        sums[path.name] = manifest.sha256(path)
    return sums


def _put_file(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.new")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    except OSError:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise


def _load(folder: Path, name: str, families: Mapping[str, str]) -> tuple[Model, Plan]:
    model, problems = load_model(folder)
    if model is None:
        reasons = "; ".join(str(problem) for problem in problems.errors)
        raise BoutLogError(f"{folder}: the documents of {name} cannot be read back: {reasons}")
    model = replace(model, name=name)
    try:
        return model, build_plan(model, families)
    except (PlanError, BusUrlError) as error:
        raise BoutLogError(f"{folder}: {error}") from error
