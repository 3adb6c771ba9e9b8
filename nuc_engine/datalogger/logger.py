"""The data logger of the daemon: a thread of the service, told of things through a ring that outlives both.

    logger = Logger(launch, wall=..., now_ns=..., request_dump=..., stream=sys.stderr)
    logger.start(); ...; logger.tell_author(number, "Ann", 0); ...; logger.stop()

What is told takes effect before every record that the core writes afterwards: tell first, then command the core.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from nuc_engine.daemon.block import Word
from nuc_engine.daemon.launch import Launch
from nuc_engine.daemon.wire import pack
from nuc_engine.datalogger.commits import inbox
from nuc_engine.datalogger.documents import DocumentStore, KeptDocuments
from nuc_engine.datalogger.events import EventLog
from nuc_engine.datalogger.manifest import Context
from nuc_engine.datalogger.writer import LoggingSettings, LogWriter, read_documents
from nuc_engine.recording.manifest import versions

LONGEST_TEXT = 2000
"""Characters of a note or mark."""
LONGEST_LABEL = 200
MOST_LABELS = 30

_PAUSE_S = 0.05


class LogRefused(Exception):
    """Something that can not be noted; the message says why."""


class Logger:
    """Runs a `LogWriter` in a thread of its own. Every method may be called from any thread, `tell_*` from one.

    `wall` gives the date and time with its zone, `now_ns` CLOCK_MONOTONIC; `request_dump` is called in the logger's
    thread when a STORE record is wanted; events go to `stream` as JSON lines.
    """

    def __init__(
        self,
        launch: Launch,
        *,
        wall: Callable[[], datetime],
        now_ns: Callable[[], int],
        request_dump: Callable[[], None],
        stream: TextIO,
        for_journal: bool = False,
        sync: bool = True,
    ) -> None:
        options = launch.options
        self._block, self._now_ns = launch.block, now_ns
        self.events = EventLog(stream, for_journal=for_journal)
        self._documents = DocumentStore(options.data)
        self._inbox = inbox(launch.block)
        context = Context(
            bus={line.name: line.url for line in launch.buses},
            options=_plain(asdict(options)),
            versions=cache(versions),
            wall=wall,
            sync=sync,
        )
        setting = LoggingSettings(options.data, options.logging == "always", options.labels, mcap=options.mcap)
        self._writer = LogWriter(launch.block, setting, context, self._documents, self.events, request_dump)
        self._logging = options.logging
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nuc-logger", daemon=True)
        self._status: dict[str, Any] = self._describe()

    def start(self) -> None:
        """Begin to log."""
        self._thread.start()

    def stop(self, timeout_s: float = 5.0) -> bool:
        """Put everything on disk and end; False when the disk did not let it in time. The next one continues."""
        self._ending.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        done = not self._thread.is_alive()
        if self._block.words[Word.SHUTDOWN] and (self._writer.failure or not done):
            self._tell_loss()
        return done

    @property
    def alive(self) -> bool:
        """Whether the thread runs: a service whose logger has ended should end too, and be started again."""
        return self._thread.is_alive()

    def status(self) -> dict[str, Any]:
        """Return state (off, waiting, logging, failing), folder, since, backlog in bytes, lost records, failure."""
        return self._status | {"backlog": self._writer.backlog, "lost": self._lost()}

    def documents(self) -> tuple[str, dict[str, bytes]] | None:
        """Return name and files of the configuration as an earlier service told them, None when none did."""
        found = read_documents(self._documents, self._block)
        return None if found is None else (found.name, dict(found.files))

    def tell_documents(self, name: str, files: Mapping[str, bytes], script: bytes | None = None) -> None:
        """Tell which configuration bouts are of from now on: its three documents, and plant.toml where there is one."""
        self._tell("documents", self._documents.keep(KeptDocuments(name, files)))
        if script is not None:
            self.tell_script(name, script)

    def tell_script(self, name: str, text: bytes, requests: tuple[int, int] = (0, -1)) -> None:
        """Tell of a script that is sent: it is kept with the bout under way, or the next one.

        `requests` are the first and the last of its changesets.
        """
        self._tell("script", self._documents.keep(KeptDocuments(name, {"scriptfile.xml": text})), *requests)

    def tell_author(self, first: int, author: str, oldest: int) -> None:
        """Tell whose edits are from a request's number on; nothing is to come of what is before `oldest`."""
        self._tell("author", first, author[:LONGEST_LABEL], oldest)

    def tell_answer(
        self, author: str, time_ns: int, cycle: int, held: Mapping[int, Sequence[Any]], said: Mapping[str, Any]
    ) -> None:
        """Tell what a client was answered: HDSOs by index, and other names. What finds no room is counted, and told."""
        if not self._tell_of(time_ns, "answer", cycle, author[:LONGEST_LABEL], held, said):
            self.tell_left_out(author, time_ns, len(held) + len(said))

    def tell_left_out(self, author: str, time_ns: int, count: int) -> None:
        """Tell that a client was answered with so many values that are not to be logged."""
        self._tell_of(time_ns, "left_out", author[:LONGEST_LABEL], count)

    def _tell_of(self, time_ns: int, what: str, *fields: Any) -> bool:
        rings = self._block.rings
        return rings["answers"].put(0, pack(what, rings["records"].written, time_ns, *fields))

    def tell_label(self, key: str, value: str, author: str, *, once: bool = False) -> None:
        """Set a label of this bout and those that follow, or with `once` of this (or the next) one only."""
        if not key or len(key) > LONGEST_LABEL or len(value) > LONGEST_LABEL:
            raise LogRefused(f"label {key[:40]!r}; expected a name and a text of up to {LONGEST_LABEL} characters")
        state = self._writer.state
        known = {**state.labels, **state.once}
        if key not in known and len(known) >= MOST_LABELS:
            raise LogRefused(f"label {key!r}: there are {MOST_LABELS} already; use a note")
        self._tell("note", f"label {key}", value, author, once)

    def tell_mark(self, text: str, author: str) -> None:
        """Mark this moment."""
        self._tell_text("mark", text, author)

    def tell_note(self, text: str, author: str) -> None:
        """Keep a note with this bout, or the next one."""
        self._tell_text("note", text, author)

    def tell_name(self, bout: int, name: str) -> None:
        """Give the directory of a bout a name, before it begins; empty: it is called by time and configuration."""
        self._tell("name", bout, name)

    def tell_window(self, start_ns: int, stop_ns: int = -1, name: str = "") -> None:
        """Log from one engine time to another (-1: the end of the bout), to a directory of that name, if one is given.

        For logging on command only.
        """
        self._tell("window", start_ns, stop_ns, name)

    def tell_window_end(self, stop_ns: int = -1) -> None:
        """Stop logging at an engine time, -1: now."""
        self._tell("window_end", stop_ns)

    def _tell_loss(self) -> None:
        """Say what ends with the daemon because the disk did not take it."""
        counts = self._writer.unwritten()
        if counts:
            text = ", ".join(f"{count} {kind}" for kind, count in counts.items())
            why = self._writer.failure or "the disk did not answer"
            self.events.tell("records_lost", f"not on disk at the end: {text} ({why})", records=counts)

    def _tell_text(self, what: str, text: str, author: str) -> None:
        if not text.strip() or len(text) > LONGEST_TEXT:
            raise LogRefused(f"{what} of {len(text)} characters; expected 1 to {LONGEST_TEXT}")
        self._tell("note", what, text, author[:LONGEST_LABEL], True)

    def _tell(self, what: str, *fields: Any) -> None:
        place = self._block.rings["records"].written
        if not self._inbox.put(0, pack(what, place, self._now_ns(), *fields)):
            why = self._writer.failure or f"{self._writer.backlog} bytes are still to be written"
            raise LogRefused(f"{what} can not be noted now: {why}; free space, or wait")

    def _lost(self) -> int:
        rings = self._block.rings
        return sum(rings[name].lost for name in ("records", "guardian", "supervisor"))

    def _run(self) -> None:
        try:
            while not self._ending.is_set():
                if not self._writer.step(self._now_ns()):
                    self._status = self._describe()
                    self._ending.wait(_PAUSE_S)
            self._writer.close(self._now_ns())
            self._status = self._describe()
        except MemoryError:  # the service ends with this thread; another begins where the last commit was
            os.write(2, b"nuc serve: the data logger has used all memory it may have\n")

    def _describe(self) -> dict[str, Any]:
        writer = self._writer
        bout, failure = writer.state.bout, writer.failure
        state = "failing" if failure else "logging" if bout is not None else "waiting"
        if state == "waiting" and self._logging == "command" and writer.state.window is None:
            state = "off"
        return {
            "state": state,
            "folder": None if bout is None else str(writer.folder(bout)),
            "started": None if bout is None else bout.started,
            "bout": self._block.words[Word.BOUT],
            "failure": failure,
            "labels": {**writer.state.labels, **writer.state.once} if bout is None else dict(bout.labels),
        }


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    return {key: str(value) if isinstance(value, Path) else value for key, value in options.items()}
