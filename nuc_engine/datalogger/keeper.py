"""What the data logger does with each record, and with what the service tells it: bouts, directories, authors, notes.

Everything that must outlive this logger stands in one `Commit`; nothing in here knows of rings or of time passing.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drivers.units import S_PER_NS
from nuc_engine.control.faults import FAULTS, OFF
from nuc_engine.daemon.block import Block, Word
from nuc_engine.daemon.latch import latched
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.wire import RecordKind, unpack
from nuc_engine.datalogger.commits import MOST_AUTHORS, Commit, OpenBout, Running
from nuc_engine.datalogger.directory import BoutLog, BoutLogError
from nuc_engine.datalogger.documents import DocumentsMissing, DocumentStore
from nuc_engine.datalogger.events import EventLog
from nuc_engine.datalogger.manifest import Context
from nuc_engine.recording.directory import free_name, made_new

LOST_FOR_GOOD = (BoutLogError, DocumentsMissing, struct.error)
"""What no trying again mends: the bout, or the rest of it, is not logged."""

_FIXED = frozenset(
    {
        RecordKind.MOTOR,
        RecordKind.SENSORS,
        RecordKind.SENSED,
        RecordKind.STATES,
        RecordKind.MUSCLES,
        RecordKind.START,
    }
)
_KIND_NAMES = {int(kind): kind.name.lower() for kind in RecordKind}
_TIME = struct.Struct("=q")
_EDITS = frozenset({RecordKind.APPLIED, RecordKind.CONTROL})
_APPLIED = 7
"""Fields of an APPLIED record; one more is the cause of what a trigger did."""
_NOTES_AHEAD = 10
_SCRIPTS_KNOWN = 16


@dataclass(frozen=True, slots=True)
class LoggingSettings:
    """Where and when to log: the data folder, and whether every bout or on command; labels of every bout.

    With `mcap`, an MCAP file is written beside the text logs.
    """

    data: Path
    always: bool
    labels: Mapping[str, str]
    mcap: bool = False


class BoutKeeper:
    """Opens, feeds and ends data directories. `state` is what a later logger needs to go on.

    `commit` puts everything on disk and notes `state` in the block; `request_dump` asks the service for a STORE record,
    where logging begins in the middle of a bout. `urgent` is set when the next commit should not wait.
    """

    def __init__(
        self,
        block: Block,
        setting: LoggingSettings,
        context: Context,
        documents: DocumentStore,
        events: EventLog,
        state: Commit,
        *,
        commit: Callable[[], None],
        request_dump: Callable[[], None],
    ) -> None:
        self._words, self._setting, self._context = block.words, setting, context
        self._answers = block.rings["answers"]
        self._documents, self._events = documents, events
        self._commit, self._request_dump = commit, request_dump
        self.state = state
        self.bout: BoutLog | None = None
        self.urgent = False
        self._mode: int | None = None
        self._now_ns = 0

    def flush(self) -> None:
        """Put everything on disk and bring `state` up to date."""
        if self.bout is not None:
            self.bout.flush()

    def abandon(self) -> None:
        """Let go of the directory as it is: the next logger goes on."""
        if self.bout is not None:
            self.bout.abandon()
            self.bout = None

    def look(self, now_ns: int) -> None:
        """Take note of the time, and of what the kernel has said."""
        self._now_ns = now_ns
        if self.bout is not None:
            self.bout.kernel.look(now_ns)

    def reopen(self) -> None:
        """Go on in the directory in which an earlier logger was."""
        state = self.state.bout
        if state is None or self.bout is not None:
            return
        try:
            script = self._documents.load(state.script) if state.script else None
            documents = self._documents.load(state.documents)
            self.bout = BoutLog(self._setting.data, state, documents, script, self._context, mcap=self._setting.mcap)
        except LOST_FOR_GOOD as error:
            self.state.bout = None
            self._give_up(state.folder, error)
        else:
            self._events.tell("logging_resumed", state.folder, bout=state.number)

    def _give_up(self, what: str, error: Exception) -> None:
        self._events.tell("logging_failed", f"{what} is not logged: {error}")
        if self.state.running is not None:
            self.state.running.folders += 1
        self.state.window, self.state.planned = None, ""

    def lose(self, error: Exception) -> None:
        """Go on without the bout whose records cannot be understood."""
        if self.bout is None:
            self._give_up("the bout", error)
        else:
            self._close(self.bout.state.taken_ns, "fault", f"log_error: records are not of this configuration: {error}")

    def take(self, kind: int, content: bytes) -> None:
        """Do what a record asks for. Raises OSError: nothing of it has happened then that may not happen again."""
        if kind in _FIXED:
            self._take_data(kind, content)
            return
        record = unpack(content)
        match kind:
            case RecordKind.BOUT_BEGIN:
                self._begin(*record)
            case RecordKind.BOUT_END:
                self._end(*record)
            case RecordKind.EVENT:
                self._take_event(*record)
            case RecordKind.MODE:
                self._take_mode(*record)
            case RecordKind.LOST:
                self._take_lost(*record)
            case _:
                self._take_other(kind, record)

    def _take_data(self, kind: int, content: bytes) -> None:
        running = self.state.running
        if running is None:
            return
        time_ns = _TIME.unpack_from(content)[0] - running.start_ns
        if self.bout is None:
            if not self._wanted(time_ns):
                return
            self._open(running, time_ns)
            self._request_dump()
        bout = self.bout
        if bout is None:
            return
        if bout.state.until_ns >= 0 and time_ns >= bout.state.until_ns:
            self._close(bout.state.until_ns, "complete", "logged for the time asked for")
        elif bout.takes(time_ns):
            record = bout.unpack(kind, content)
            if kind == RecordKind.MOTOR and record.cycle < bout.state.cycle:
                bout.state.ended = True  # another core counts from the start
            else:
                bout.take(kind, record, "")

    def _take_other(self, kind: int, record: list[Any]) -> None:
        cause = record.pop() if kind == RecordKind.APPLIED and len(record) > _APPLIED else ""
        author = cause or (self._author(record[-1]) if kind in _EDITS else "")
        if kind in _EDITS:
            self._tell_edit(kind, record, author)
        if kind == RecordKind.APPLIED:
            self.state.written += not record[-2]
            self._count_script(record[-2], record[-1])
        bout, running = self.bout, self.state.running
        if bout is None or running is None:
            return
        time_ns = record[1 if kind == RecordKind.DONE else 0] - running.start_ns
        if kind in (RecordKind.POSE, RecordKind.COUNTS) or bout.takes(time_ns):
            bout.take(kind, record, author)

    def _count_script(self, refused: str, request: int) -> None:
        if not refused and any(first <= request <= last for first, last in self.state.script_requests):
            where = self.state if self.bout is None else self.bout.state
            where.script_writes += 1

    def _author(self, request: int) -> str:
        authors = self.state.authors
        at = bisect_right(authors, request, key=_first) - 1
        # What the core does by itself has no author.
        return authors[at][1] if request > 0 and at >= 0 else ""

    def _tell_edit(self, kind: int, record: list[Any], author: str) -> None:
        time_ns, cycle, *what, refused, request = record
        replaced = kind == RecordKind.APPLIED and what.pop()
        event = "edit_refused" if refused else "edit_replaced" if replaced else "edit"
        edit = what if kind == RecordKind.CONTROL else ["hdso", *what]
        self._tell(event, time_ns, refused, cycle=cycle, edit=edit, author=author or None, request=request)

    def _tell(self, event: str, time_ns: int, text: str = "", **fields: Any) -> None:
        running = self.state.running
        if running is not None:
            fields = {"bout": running.number, "time_s": round((time_ns - running.start_ns) * S_PER_NS, 6), **fields}
        self._events.tell(event, text, **fields)

    def _take_event(self, time_ns: int, name: str, text: str) -> None:
        cycle = None if self.bout is None else self.bout.state.cycle
        self._tell(name, time_ns, text, cycle=cycle)
        running = self.state.running
        if self.bout is not None and running is not None:
            self.bout.event(time_ns - running.start_ns, name, text)

    def _take_mode(self, time_ns: int, mode: int, why: str, number: int) -> None:
        if mode != self._mode:
            self._mode = mode
            self._tell("mode", time_ns, why, mode=Mode(mode).name.lower())
        if mode != Mode.RUNNING and self.bout is not None:
            # Only a new core says so before the bout of the last one was ended.
            self.bout.state.ended = True

    def _take_lost(self, time_ns: int, counts: Mapping[int, int]) -> None:
        named = {_KIND_NAMES.get(kind, str(kind)): count for kind, count in counts.items()}
        self._tell("records_lost", time_ns, ", ".join(f"{count} {kind}" for kind, count in named.items()))
        self.state.written += counts.get(RecordKind.APPLIED, 0)
        running, bout = self.state.running, self.bout
        if running is not None and bout is not None:
            bout.lost(time_ns - running.start_ns, named)
        words = self._words
        number = words[Word.BOUT]
        if RecordKind.BOUT_END in counts and running is not None and number != running.number:
            self._end(time_ns, running.number, "interrupted", "how the bout ended was lost")
        if RecordKind.BOUT_BEGIN in counts and number:
            self._begin(words[Word.BOUT_START], number, -1)
        if RecordKind.STORE in counts or RecordKind.BOUT_BEGIN in counts:
            self._request_dump()

    def _begin(self, start_ns: int, number: int, stop_ns: int) -> None:
        state = self.state
        if state.running is not None and state.running.number != number:
            self._end_torn()
        if state.running is None:
            state.running = Running(number, start_ns, stop_ns, self._words[Word.CORE_GENERATION])
            self._tell("bout_begin", start_ns)
        if self.bout is None and self._wanted(0):
            self._open(state.running, 0)

    def _wanted(self, time_ns: int) -> bool:
        if self._setting.always:
            running = self.state.running
            # One directory per bout, from its start.
            return running is not None and running.folders == 0
        window = self.state.window
        return window is not None and window[0] <= time_ns and (window[1] < 0 or time_ns < window[1])

    def _open(self, running: Running, time_ns: int) -> None:
        """Begin a directory; a logger that comes after this one finds the same name."""
        state = self.state
        if not state.documents:
            raise DocumentsMissing("no documents were told of; configure the daemon again")
        documents = self._documents.load(state.documents)
        from_ns, until_ns, name = (0, -1, "") if self._setting.always or state.window is None else state.window
        while not state.planned:
            name = name or (state.named[1] if state.named[:1] == [running.number] else "")
            state.planned = free_name(self._setting.data, name or self._stem(documents.name))
            self._commit()
            if not made_new(self._setting.data / state.planned):
                state.planned = ""  # Somebody else has made it since it was looked for.
        opened = OpenBout(
            folder=state.planned,
            number=running.number,
            documents=state.documents,
            begin_ns=running.start_ns,
            from_ns=max(from_ns, 0),
            until_ns=until_ns,
            started=self._context.wall().isoformat(timespec="seconds"),
            labels={**state.labels, **state.once},
            script=state.script,
            script_writes=state.script_writes,
            written_before=state.written,
            taken_ns=time_ns,
            deaths=self._words[Word.CORE_DEATHS],
            answers_lost=self._answers.lost,
        )
        script = self._documents.load(state.script) if state.script else None
        bout = BoutLog(self._setting.data, opened, documents, script, self._context, mcap=self._setting.mcap)
        bout.begin(time_ns)
        for what, text, author, said in state.notes:
            bout.note(time_ns, what, text, author, wall=said)
        self.bout, state.bout, state.planned = bout, opened, ""
        state.once, state.notes, state.script, state.script_writes = {}, [], "", 0
        running.folders += 1
        self.urgent = True
        self._events.tell("logging_begun", opened.folder, bout=running.number)

    def _stem(self, configuration: str) -> str:
        return f"{self._context.wall():%Y%m%d_%H%M%S}_{configuration}"

    def _end(self, time_ns: int, number: int, how: str, reason: str) -> None:
        running = self.state.running
        if running is None or running.number != number:
            return
        self._close(time_ns - running.start_ns, how, reason)
        self._tell("bout_end", time_ns, f"{how}: {reason}")
        self.state.running, self.state.window = None, None
        self.urgent = True

    def _close(self, time_ns: int, how: str, reason: str) -> None:
        bout = self.bout
        if bout is None:
            return
        bout.answers.count_lost(self._answers.lost)
        bout.finish(time_ns, how, reason, self._now_ns)
        self.bout = self.state.bout = None
        self.urgent = True
        self._events.tell("logging_ended", bout.state.folder, bout=bout.state.number)
        if self.state.window is not None and self.state.window[1] >= 0:
            self.state.window = None

    def end_if_gone(self, running: Running, no_core: bool, generation: int, number: int) -> None:
        """End the bout `running` when, before all records were read, there was no core of its any more."""
        replaced = no_core or generation != running.generation
        closed = self.bout is not None and self.bout.state.ended and number != running.number
        if replaced or closed:
            self._end_torn()

    def _end_torn(self) -> None:
        """End a bout of which the core could not tell the end: it was killed."""
        running, words = self.state.running, self._words
        if running is None:
            return
        last_ns = running.start_ns + (self.bout.state.taken_ns if self.bout is not None else 0)
        name = latched(words) or "core_dead"
        if name == OFF:
            self._end(last_ns, running.number, "interrupted", f"{name}: the core ended within the bout")
        else:
            hint = FAULTS[name].hint
            self._end(last_ns, running.number, "fault", f"{name}: the core ended within the bout ({hint})")

    def answered(self, what: str, time_ns: int, fields: list[Any]) -> None:
        """Log what a client was answered, or that it is not logged."""
        bout, running = self.bout, self.state.running
        if bout is not None and running is not None and bout.takes(now_ns := max(0, time_ns - running.start_ns)):
            bout.answers.take(now_ns, what, fields)

    def obey(self, what: str, time_ns: int, fields: list[Any]) -> None:
        """Do what the service tells."""
        state = self.state
        match what, fields:
            case "author", [first, author, oldest]:
                state.authors.append((first, author))
                done = bisect_right(state.authors, oldest, key=_first) - 1
                del state.authors[: max(done, len(state.authors) - MOST_AUTHORS, 0)]
            case "documents", [name]:
                if name != state.documents:
                    # A script that was sent to another configuration is not of the bouts of this one.
                    state.script, state.script_writes, state.written = "", 0, 0
                state.documents, self.urgent = name, True
                self._documents.forget({name, state.script, "" if state.bout is None else state.bout.documents})
            case "script", [name, first, last]:
                state.script_requests = [*state.script_requests[1 - _SCRIPTS_KNOWN :], [first, last]]
                self._keep_script(name)
            case "note", [kind, text, author, once]:
                self._note(time_ns, kind, text, author, once)
            case "name", [number, name]:
                state.named = [number, name]
            case "window", [start_ns, stop_ns, name]:
                state.window = [start_ns, stop_ns, name]
                if state.bout is not None and not self._setting.always:
                    state.bout.until_ns = stop_ns
            case "window_end", [stop_ns]:
                if not self._setting.always:
                    state.end_window(time_ns, stop_ns)
            case _:
                pass

    def _keep_script(self, name: str) -> None:
        if self.bout is None:
            self.state.script = name
        else:
            self.bout.add_script(self._documents.load(name), name)

    def _note(self, time_ns: int, kind: str, text: str, author: str, once: bool) -> None:
        state = self.state
        self._tell(kind.partition(" ")[0], time_ns, text, author=author, key=kind.partition(" ")[2] or None)
        if kind.startswith("label ") and not once:
            state.labels[kind.removeprefix("label ")] = text
        said = self._context.wall().isoformat(timespec="seconds")
        if self.bout is not None and state.running is not None:
            self.bout.note(time_ns - state.running.start_ns, kind, text, author, wall=said)
        elif kind.startswith("label "):
            if once:
                state.once[kind.removeprefix("label ")] = text
        else:
            # The next bout's; what nobody started a bout for makes room.
            state.notes = [*state.notes[1 - _NOTES_AHEAD :], [kind, text, author, said]]


def _first(run: tuple[int, str]) -> int:
    return run[0]
