"""Torque off at a daemon elsewhere, past its service, over an ssh that stays open (`nuc_engine.client.offrelay`)."""

from __future__ import annotations

import itertools
import json
import shlex
import subprocess
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from time import monotonic
from typing import Any, cast

from nuc_engine.machine.rundir import COMMAND

AGAIN_S = 2.0
"""How long before it is logged in again."""

MOST_UNANSWERED = 8
"""Questions that nobody answers; the next log-in may be better."""

# A connection of its own: one that somebody's other log-ins share is as slow as what they copy, and is not ended by
# these times.
_OPTIONS = ("BatchMode=yes", "ConnectTimeout=5", "ServerAliveInterval=1", "ServerAliveCountMax=3", "ControlPath=none")
_LONGEST = 200
_END_S = 2.0

Answer = Mapping[str, Any] | str


def ssh_words(where: str) -> list[str]:
    """Return the command that answers for the daemon at `HOST` or `HOST:FOLDER`. Raises ValueError for what is none."""
    host, _, folder = where.partition(":")
    if not host or host.startswith("-") or not host.isprintable() or " " in host:
        raise ValueError(f"{where!r}: expected HOST, or HOST:FOLDER of its daemon, as in ssh")
    address = ["--address", f"ipc://{folder.rstrip('/')}/{COMMAND}"] if folder else []
    options = [word for option in _OPTIONS for word in ("-o", option)]
    return ["ssh", "-T", *options, "--", host, shlex.join(["nuc", "ctl", *address, "off", "--relay"])]


class SshOffPath:
    """One log-in, which is begun again when it ends. Its methods block, and may be called by different threads."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future[Answer]] = {}
        self._process: subprocess.Popen[str] | None = None
        self._answers = False
        self._said = "not logged in yet"
        self._begun_s = -AGAIN_S
        self._unanswered = 0

    def probe(self, answer_s: float) -> Answer:
        """Say whether torque off would be heard, or what is wrong."""
        return self._ask({"probe": True}, answer_s)

    def off(self, why: str, answer_s: float) -> Answer:
        """Take the torque off; return the daemon's answer, or what is wrong."""
        return self._ask({"off": why}, answer_s)

    def close(self) -> None:
        """Log out, for good."""
        with self._lock:
            self._begun_s = float("inf")
            process = self._process
            self._end()
        if process is not None:
            process.wait()

    def _ask(self, request: Mapping[str, Any], answer_s: float) -> Answer:
        with self._lock:
            process = self._logged_in()
            # What is written before somebody reads would be done at a moment that nobody chose.
            if process is None or process.stdin is None or not self._answers:
                return f"ssh: {self._said}"
            number = next(self._numbers)
            asked = self._waiting[number] = Future[Answer]()
            try:
                process.stdin.write(json.dumps({"id": number, **request}) + "\n")
                process.stdin.flush()
            except OSError:
                del self._waiting[number]
                return f"ssh: {self._said}"
        try:
            answer = asked.result(answer_s)
        except TimeoutError:
            with self._lock:
                self._waiting.pop(number, None)
                self._unanswered += 1
                if self._unanswered >= MOST_UNANSWERED:
                    self._end()
            return f"ssh: no answer within {answer_s:g} s ({self._said})"
        self._unanswered = 0
        return answer

    def _logged_in(self) -> subprocess.Popen[str] | None:
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None and monotonic() - self._begun_s >= AGAIN_S:
            self._begun_s, self._unanswered, self._answers = monotonic(), 0, False
            pipe = subprocess.PIPE
            try:
                self._process = subprocess.Popen(
                    self._words,
                    stdin=pipe,
                    stdout=pipe,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                    bufsize=1,
                )
            except OSError as error:
                self._said = str(error)
                return None
            threading.Thread(target=self._hear, args=(self._process,), name="nuc-ui ssh", daemon=True).start()
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        # Nobody waits for its end: somebody may be pressing the button.
        self._answers = False
        process.terminate()
        killing = threading.Timer(_END_S, process.kill)
        killing.daemon = True
        killing.start()

    def _hear(self, process: subprocess.Popen[str]) -> None:
        for line in process.stdout or ():
            told = _read(line)
            if told is None:  # what ssh or a shell says: why it does not work, as a rule
                self._said = line.strip()[:_LONGEST] or self._said
                continue
            number, answer = told.get("id"), told.get("answer")
            asked = self._waiting.pop(number, None) if isinstance(number, int) else None
            if asked is not None:
                asked.set_result(cast(Answer, answer) if isinstance(answer, dict) else str(told.get("error")))
            elif "relay" in told:
                self._said, self._answers = f"logged in at {told['relay']}", process is self._process
        self._answers = self._answers and process is not self._process
        while self._waiting:
            with suppress(KeyError):
                self._waiting.popitem()[1].set_result(f"ssh: {self._said}")
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _read(line: str) -> Mapping[str, Any] | None:
    try:
        told: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast(Mapping[str, Any], told) if isinstance(told, dict) else None
