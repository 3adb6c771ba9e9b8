"""Processes that a benchmark starts, and ends whatever happens."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time  # noqa: TID251  benchmarks are about real time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]
_SERVICE_MANAGER = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "RUNTIME_DIRECTORY")


class Broken(Exception):
    """A measurement that cannot be made; the message says why."""


class Child:
    """A process with its output in a file. Use as a context: it is ended when that is left.

    With `talks` its standard input and output are pipes, for `ask`; then the file has what it says on stderr.
    """

    def __init__(
        self, words: Iterable[str | Path], output: Path, *, talks: bool = False, notify: str | None = None
    ) -> None:
        self.output = output
        environment = {name: value for name, value in os.environ.items() if name not in _SERVICE_MANAGER}
        environment["XDG_RUNTIME_DIR"] = str(output.parent)
        if notify is not None:
            environment["NOTIFY_SOCKET"] = notify
        with output.open("ab") as file:
            self._process = subprocess.Popen(
                [str(word) for word in words],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
                stdout=subprocess.PIPE if talks else file,
                stderr=file,
                preexec_fn=_die_with_parent,  # noqa: PLW1509  benchmarks start processes from one thread
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def said(self) -> str:
        """Return what it has written so far."""
        return self.output.read_text(errors="replace")

    def ask(self, line: str, within_s: float) -> str:
        """Write a line to it and return the line it answers with."""
        pipe_in, pipe_out = self._process.stdin, self._process.stdout
        if pipe_in is None or pipe_out is None:
            raise Broken("this process does not talk")
        try:
            pipe_in.write(line.encode() + b"\n")
            pipe_in.flush()
        except OSError as error:
            raise Broken(f"it has ended: {self.said()}") from error
        answer = pipe_out.readline() if select.select([pipe_out], [], [], within_s)[0] else b""
        if not answer:
            raise Broken(f"no answer to {line!r} within {within_s:g} s: {self.said()}")
        return answer.decode().strip()

    def wait(self, within_s: float) -> int:
        """Return its exit status once it has ended by itself."""
        return self._process.wait(within_s)

    def end(self, within_s: float = 15.0) -> None:
        """End it, gently at first."""
        process = self._process
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            try:
                process.wait(within_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    # A benchmark that is killed leaves nothing behind.
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def python(module: str, *words: str | Path) -> list[str | Path]:
    """Return the words that run a module with this interpreter."""
    return [sys.executable, "-m", module, *words]


def until(condition: Callable[[], object], what: str, within_s: float, child: Child | None = None) -> None:
    """Wait for a condition. Raises Broken when it does not come true, or the process has ended."""
    deadline = time.monotonic() + within_s
    while not condition():
        if child is not None and not child.running:
            raise Broken(f"it has ended while {what} was waited for: {child.said()}")
        if time.monotonic() > deadline:
            raise Broken(f"no {what} within {within_s:g} s: {'' if child is None else child.said()}")
        time.sleep(0.01)


def below(pid: int) -> dict[str, int]:
    """Return the living processes below one, by name (`/proc/PID/comm`)."""
    parents: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            head, _, tail = (entry / "stat").read_text().rpartition(")")
        except OSError:
            continue
        state, parent = tail.split()[:2]
        if state != "Z":
            parents[int(entry.name)] = (int(parent), head.partition("(")[2])
    found: dict[str, int] = {}
    grown = {pid}
    while grown:
        children = {child for child, (parent, _) in parents.items() if parent in grown}
        found.update({parents[child][1]: child for child in children})
        grown = children
    return found


def resident_kib(pid: int) -> tuple[int, int]:
    """Return resident memory of a process, and the part of it that is its own, in KiB."""
    fields: dict[str, int] = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, _, rest = line.partition(":")
        fields[name] = int(rest.split()[0])
    return fields["Rss"], fields["Private_Dirty"] + fields["Private_Clean"]
