"""What takes long, one at a time: child processes of `nuc`, niced, with their progress, an end, and what came of it."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import select
import shutil
import signal
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

State = Literal["waiting", "running", "done", "failed", "cancelled"]

MOST_WAITING = 8
KEPT = 16
_END_S = 3.0
_BAR = re.compile(r"\[([#.-]{4,})\]")
_MARKS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LONGEST = 400


@dataclass(slots=True, eq=False)
class Job:
    """One of them. `words` are those after `nuc`; `file` is what it leaves, in a folder of its own."""

    id: str
    kind: str
    bout: str
    words: Sequence[str]
    folder: Path
    file: Path | None = None
    state: State = "waiting"
    progress: float | None = None
    text: str = ""
    result: dict[str, Any] = field(default_factory=dict[str, Any])
    _process: asyncio.subprocess.Process | None = None

    def told(self) -> dict[str, Any]:
        """Return how it is, for the page."""
        whole = self.state == "done" and self.file is not None and self.file.is_file()
        return {
            "id": self.id,
            "kind": self.kind,
            "bout": self.bout,
            "state": self.state,
            "progress": 1.0 if self.state == "done" else self.progress,
            "text": self.text,
            "verdict": verdict(self.result) if self.kind == "replay" and self.result else None,
            "file": self.file.name if whole and self.file is not None else None,
        }

    async def run(self) -> None:
        """Run it to its end."""
        if self.state != "waiting":
            return
        self.folder.mkdir()
        self.state = "running"
        try:
            out = await self._outcome()
        except asyncio.CancelledError:
            await self._end()
            self.state = "cancelled"
            raise
        if self._process is None:
            return
        with suppress(ValueError, RecursionError):
            self.result = dict(json.loads(out))
        # A replay that found a difference has done what it was to do.
        good = self._process.returncode == 0 or (self.kind == "replay" and "identical" in self.result)
        self.state = "done" if good else "failed"
        if self.result.get("errors"):
            self.text = str(self.result["errors"][0])[:_LONGEST]

    async def _outcome(self) -> bytes:
        """Run it; return what it said on stdout."""
        with _terminal(self._hear) as terminal:
            self._process = await asyncio.create_subprocess_exec(
                *(*_NICELY, sys.executable, "-m", "nuc_engine.cli", *self.words),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=terminal,
                start_new_session=True,
            )
            out, _ = await self._process.communicate()
            return out

    def _hear(self, said: str) -> None:
        for line in re.split(r"[\r\n]+", _MARKS.sub("", said)):
            if bar := _BAR.search(line):
                self.progress = bar[1].count("#") / len(bar[1])
            elif line.strip():
                self.text = line.strip()[:_LONGEST]

    async def _end(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        for end in _ENDS:
            with suppress(ProcessLookupError):
                end(process)
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_S):
                    await process.wait()
                    return


@contextmanager
def _terminal(hear: Callable[[str], None]) -> Generator[int]:
    """Give a descriptor for a program to draw its bars on, which programs do for terminals alone, and hear them."""
    if sys.platform == "win32":  # no terminals there: no bars
        yield asyncio.subprocess.DEVNULL
        return
    near, far = os.openpty()
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            hear(os.read(near, 4096).decode(errors="replace"))
        except OSError:
            loop.remove_reader(near)

    loop.add_reader(near, read)
    try:
        yield far
    finally:
        os.close(far)
        while select.select([near], [], [], 0)[0]:
            try:
                hear(os.read(near, 4096).decode(errors="replace"))
            except OSError:
                break
        loop.remove_reader(near)
        os.close(near)


def _ask_to_end(process: asyncio.subprocess.Process) -> None:
    if sys.platform == "win32":
        process.terminate()
    else:
        os.killpg(process.pid, signal.SIGTERM)


def _end_at_once(process: asyncio.subprocess.Process) -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)


_ENDS = (_ask_to_end, _end_at_once)
_NICELY = () if sys.platform == "win32" else ("nice", "-n", "10")


class JobQueue:
    """All of them; the folder they leave files in is the server's own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._turn = asyncio.Lock()
        self._numbers = itertools.count(1)

    def start(self, kind: str, bout: str, words: Sequence[str], leaves: str = "") -> Job | None:
        """Begin one, as soon as those before it have ended; None where too many wait.

        `leaves` is the name of the file it makes, which `{out}` stands for in its words.
        """
        if len(self._tasks) >= MOST_WAITING:
            return None
        number = str(next(self._numbers))
        folder = self._folder / number
        file = folder / leaves if leaves else None
        job = Job(number, kind, bout, [str(file) if word == "{out}" else word for word in words], folder, file)
        self._jobs[number] = job
        task = asyncio.get_running_loop().create_task(self._run(job))
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._tasks.pop(number, None))
        self._forget()
        return job

    def find(self, number: str) -> Job | None:
        """Return one by its number."""
        return self._jobs.get(number)

    async def cancel(self, job: Job) -> None:
        """End one, whatever it is at; what it has left so far goes."""
        task = self._tasks.get(job.id)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            job.state = "cancelled"
        await asyncio.to_thread(shutil.rmtree, job.folder, ignore_errors=True)

    async def close(self) -> None:
        """End all."""
        for job in list(self._jobs.values()):
            await self.cancel(job)

    async def _run(self, job: Job) -> None:
        try:
            async with self._turn:
                await job.run()
        except OSError as error:
            job.state, job.text = "failed", str(error)

    def _forget(self) -> None:
        over = deque(number for number in self._jobs if number not in self._tasks)
        while len(self._jobs) > KEPT and over:
            shutil.rmtree(self._jobs.pop(over.popleft()).folder, ignore_errors=True)


def verdict(result: dict[str, Any]) -> str:
    """Return what `nuc replay --json` says, as a sentence."""
    if result.get("identical"):
        return "identical: the same bytes again"
    if result.get("changed_files"):
        return f"files were changed after the bout: {', '.join(map(str, result['changed_files']))}"[:_LONGEST]
    if result.get("difference"):
        return f"differs: {result['difference']}"[:_LONGEST]
    if result.get("changed_versions"):
        return f"made by other versions: {', '.join(map(str, result['changed_versions']))}"[:_LONGEST]
    return "not identical"
