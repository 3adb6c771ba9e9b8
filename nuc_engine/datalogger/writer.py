"""The data logger without its thread: records of the rings into data directories, exactly once.

What it has read is given back to the core only after the files and a commit cover it. A new one begins where the last
commit was, cuts the files to the sizes that stand there, and reads the same records again.
"""

from __future__ import annotations

import traceback
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from nuc_engine.control.faults import FAULTS
from nuc_engine.daemon.block import Block, Word
from nuc_engine.daemon.ring import RingError
from nuc_engine.daemon.wire import RecordKind, unpack
from nuc_engine.datalogger.commits import Commit, CommitTooLarge, OpenBout, inbox, read_commit, write_commit
from nuc_engine.datalogger.documents import DocumentsMissing, DocumentStore, KeptDocuments
from nuc_engine.datalogger.events import EventLog
from nuc_engine.datalogger.keeper import LOST_FOR_GOOD, BoutKeeper, LoggingSettings
from nuc_engine.datalogger.manifest import Context

FLUSH_NS = 1_000_000_000
"""How often everything is put on disk."""

RETRY_NS = 250_000_000
MOST_BYTES = 2 << 20
"""Record bytes between two flushes at most: bounds what a new logger must read again, and memory."""

_LOGGING_FAILED = FAULTS["logging_failed"]
_RETRIED = (OSError, CommitTooLarge)
"""What may pass by itself: the same is tried again, and nothing is given back to the core until it works."""


class LogWriter:
    """Reads `records`, `guardian`, `supervisor`, `answers` and the inbox; writes, commits, gives back.

    `request_dump` asks the service for a STORE record: logging begins in the middle of a bout.
    """

    def __init__(
        self,
        block: Block,
        setting: LoggingSettings,
        context: Context,
        documents: DocumentStore,
        events: EventLog,
        request_dump: Callable[[], None],
    ) -> None:
        self._block, self._data = block, setting.data
        self._documents, self._events = documents, events
        self._rings = {name: block.rings[name] for name in ("records", "guardian", "supervisor", "answers")}
        self._rings["inbox"] = inbox(block)
        found = read_commit(block)
        self.state = found if found is not None else Commit(labels=dict(setting.labels))
        for name, ring in self._rings.items():
            self.state.places.setdefault(name, ring.kept)
        self._keeper = BoutKeeper(
            block,
            setting,
            context,
            documents,
            events,
            self.state,
            commit=self._put_away,
            request_dump=request_dump,
        )
        self._told: dict[str, deque[tuple[int, list[Any]]]] = {name: deque() for name in ("inbox", "answers")}
        self._told_to = {name: self.state.places[name] for name in self._told}
        self._flushed_ns = self._retry_ns = 0
        self._reported_ns = -_LOGGING_FAILED.again_ns
        self._unwritten = False
        self.failure = ""

    # --- steps ---

    def step(self, now_ns: int) -> bool:
        """Do what there is to do now; return whether there is more at once. Never raises for what a disk does."""
        self._events.sum_up(now_ns)
        if self.failure and now_ns < self._retry_ns:
            return False
        try:
            self._documents.save()
            self._keeper.reopen()
            self._keeper.look(now_ns)
            if self._unwritten:
                self._commit(now_ns)
            more = self._read()
            if more or self._crowded or self._keeper.urgent or now_ns - self._flushed_ns >= FLUSH_NS:
                self._commit(now_ns)
        except _RETRIED as error:
            self._fail(now_ns, error)
            return False
        if self.failure:
            self._recovered()
        return more

    def close(self, now_ns: int) -> None:
        """Put everything on disk and let go: another logger continues, or `nuc recover` mends."""
        self.step(max(now_ns, self._retry_ns))
        if not self.failure:
            with suppress(OSError, CommitTooLarge):
                self._commit(now_ns)
        self._keeper.abandon()
        self._events.sum_up()

    def unwritten(self) -> dict[str, int]:
        """Return how many records of the core, by kind, no commit covers."""
        ring = self._rings["records"]
        with suppress(RingError):
            return dict(Counter(RecordKind(kind).name.lower() for kind, _, _ in ring.read(ring.kept)))
        return {}

    def folder(self, bout: OpenBout) -> Path:
        """Return the data directory of a bout."""
        return self._data / bout.folder

    @property
    def backlog(self) -> int:
        """Bytes of records that are not on disk yet."""
        ring = self._rings["records"]
        return ring.written - ring.kept

    @property
    def _crowded(self) -> bool:
        """Whether so much of the ring is taken up that what was read should be given back before its time."""
        rings = [self._rings[name] for name in ("records", "answers")]
        return any(ring.written - ring.kept > ring.capacity // 4 for ring in rings)

    def _fail(self, now_ns: int, error: Exception) -> None:
        self.failure = str(error)
        self._retry_ns = now_ns + RETRY_NS
        if now_ns - self._reported_ns >= _LOGGING_FAILED.again_ns:
            self._reported_ns = now_ns
            self._events.tell("logging_failed", f"{error} ({_LOGGING_FAILED.hint})", backlog=self.backlog)

    def _recovered(self) -> None:
        self._events.tell("logging_recovered", f"after: {self.failure}", backlog=self.backlog)
        self.failure = ""
        self._reported_ns = -_LOGGING_FAILED.again_ns

    def _commit(self, now_ns: int) -> None:
        self._put_away()
        self._flushed_ns = now_ns

    def _put_away(self) -> None:
        self._unwritten = True
        self._keeper.flush()
        self._note_commit()
        for name, ring in self._rings.items():
            ring.keep(self.state.places[name])
        self._unwritten = self._keeper.urgent = False

    def _note_commit(self) -> None:
        number = self.state.number
        while True:
            self.state.number = number + 1
            try:
                write_commit(self._block, self.state)
                return
            except CommitTooLarge as error:
                self.state.number = number
                if not self.state.shed():
                    raise
                self._events.tell("notes_dropped", str(error), level="warning")

    # --- reading ---

    def _read(self) -> bool:
        # Looked at before the ring: a core that was gone by now has put nothing behind what is read.
        words = self._block.words
        running = self.state.running
        gone = (words[Word.CORE_PID] == 0, words[Word.CORE_GENERATION], words[Word.BOUT])
        places, ring = self.state.places, self._rings["records"]
        begun = places["records"]
        most = min(MOST_BYTES, ring.capacity // 4)
        until = ring.written
        # What was told before a record was written has been heard before that record is taken.
        self._hear()
        try:
            for kind, after, content in ring.read(begun):
                if after > until:
                    break
                self._answer_told()
                self._safely(f"a record of kind {kind}", self._take, kind, content)
                places["records"] = after
                if after - begun > most:
                    return True
        except RingError as error:
            self._events.tell("log_error", f"records up to now are lost: {error}")
            places["records"] = ring.written
        self._answer_told()
        for name in ("guardian", "supervisor"):
            for kind, after, content in self._rings[name].read(places[name]):
                if kind == RecordKind.EVENT:
                    self._safely(f"a record of kind {kind}", self._take, kind, content)
                places[name] = after
        if running is not None and running is self.state.running:
            self._keeper.end_if_gone(running, *gone)
        return False

    def _take(self, kind: int, content: bytes) -> None:
        try:
            self._keeper.take(kind, content)
        except LOST_FOR_GOOD as error:
            self._keeper.lose(error)

    def _safely(self, what: str, do: Callable[..., None], *arguments: Any) -> None:
        """Do what a record, or the service, asks for; what can not be understood must not end the log of all others."""
        try:
            do(*arguments)
        except (*_RETRIED, MemoryError):  # without memory another process goes on, from the same record
            raise
        except Exception as error:
            told = " | ".join(traceback.format_exception(error)).replace("\n", " ")
            self._events.tell("log_error", f"{what} was left out: {told}")

    def _hear(self) -> None:
        for name, told in self._told.items():
            for _, after, content in self._rings[name].read(self._told_to[name]):
                told.append((after, unpack(content)))
                self._told_to[name] = after

    def _answer_told(self) -> None:
        for name, told in self._told.items():
            obey = self._keeper.answered if name == "answers" else self._keeper.obey
            while told and told[0][1][1] <= self.state.places["records"]:
                after, (what, _, time_ns, *fields) = told[0]
                self._safely(f"{what}, as the service told it,", obey, what, time_ns, fields)
                self.state.places[name] = after
                told.popleft()


def read_documents(store: DocumentStore, block: Block) -> KeptDocuments | None:
    """Return the documents of the configuration in force as an earlier logger was told them, None when it was not."""
    commit = read_commit(block)
    if commit is None or not commit.documents:
        return None
    with suppress(DocumentsMissing, OSError):
        return store.load(commit.documents)
    return None
