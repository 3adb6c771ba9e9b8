"""What takes long, one at a time: child processes of `nuc`, niced, with their progress, an end, and what came of it."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import select
import shlex
import shutil
import signal
import struct
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from starlette.responses import Response

from nuc_engine.ui.answers import problem
from nuc_engine.ui.reading import plain
from sccils_schemas.names import printable

T = TypeVar("T")
State = Literal["waiting", "running", "done", "failed", "cancelled"]

MOST_WAITING = 8
MOST_APART = 2
KEPT = 16
MOST_KEPT_BYTES = 2 << 30
"""Of what jobs that have ended left; the oldest go first."""
RESULT = "bout"
"""The folder of a data directory that a job leaves in its own."""
HELD = "it stands still: a bout drives real servos"
_END_S = 3.0
_LOOK_S = 0.5
_BAR = re.compile(r"\[([#.-]{4,})\]")
_MARKS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LONGEST = 400
_COLUMNS = 200
_FOLDER = "{folder}"
_MOST_RESULT = 1 << 20
_TABLES = frozenset({"doctor", "scan", "registers"})
"""Kinds whose result the page shows as it is."""

_DONE_BY = MappingProxyType(
    {"replay": "identical", "doctor": "checks", "registers": "registers", "experiment": "experiments"}
)
"""What the result has, by kind, where the job has done what it was to do whatever it found."""


@dataclass(slots=True, eq=False)
class Job:
    """One of them. `words` are those after `nuc`; `file` is what it leaves, in a folder of its own.

    `files` are put there first, by their paths in it.
    """

    id: str
    kind: str
    bout: str
    words: Sequence[str]
    folder: Path
    file: Path | None = None
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    typed: Sequence[str] = ()
    """Words after `nuc` that do the same for who types them, where they are others."""
    state: State = "waiting"
    progress: float | None = None
    text: str = ""
    result: dict[str, Any] = field(default_factory=dict[str, Any])
    size: int = 0
    held: Callable[[], bool] = lambda: False
    """Whether it is to stand still for now."""
    apart: bool = False
    """It waits for nobody's end and nobody for its: it goes on as its lines of stdin say."""
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
            "text": printable(self.text),
            "found": self.result if self.kind in _TABLES and self.result else None,
            "verdict": verdict(self.result) if self.kind == "replay" and self.result else None,
            "file": self.file.name if whole and self.file is not None else None,
            "result": f"job:{self.id}" if self.result_folder is not None else None,
            "line": self.line,
        }

    @property
    def line(self) -> str:
        """The same for a shell; nothing where it needs files that are here alone."""
        file = None if self.file is None else str(self.file)
        words = [self.file.name if self.file and word == file else word for word in self.typed or self.words]
        words = [word for word in words if word != "--json"]
        line = shlex.join(["nuc", *words])
        own = any(word.startswith(str(self.folder.parent)) for word in words)
        return "" if own or printable(line) != line else line

    @property
    def result_folder(self) -> Path | None:
        """The data directory that it leaves, once it has ended; None where it leaves none."""
        folder = self.folder / RESULT
        return folder if self.state in ("done", "failed") and folder.is_dir() else None

    async def run(self) -> None:
        """Run it to its end."""
        if self.state != "waiting":
            return
        try:
            await _to_its_end(asyncio.to_thread(self._put_files))
            while self.held():
                self.text = HELD
                await asyncio.sleep(_LOOK_S)
            self.state = "running"
            out = await self._outcome()
        except asyncio.CancelledError:
            await self._end()
            self.state = "cancelled"
            raise
        with suppress(ValueError, TypeError, RecursionError):
            self.result = dict(plain(json.loads(out)))
        good = (self._process is not None and self._process.returncode == 0) or _DONE_BY.get(self.kind) in self.result
        self.state = "done" if good else "failed"
        if self.result.get("errors"):
            self.text = str(self.result["errors"][0])[:_LONGEST]

    def _put_files(self) -> None:
        self.folder.mkdir()
        for name, content in self.files.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        self.files = {}

    async def _outcome(self) -> bytes:
        """Run it; return what it said on stdout."""
        with _terminal(self._hear) as terminal:
            self._process = await asyncio.create_subprocess_exec(
                *(*_AS_A_CHILD, sys.executable, "-m", "nuc_engine.cli", *self.words),
                stdin=asyncio.subprocess.PIPE if self.apart else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=terminal,
                start_new_session=True,
            )
            holding = asyncio.create_task(self._hold(self._process))
            try:
                # Not `communicate`, which would end its input.
                out = await _bounded(self._process.stdout)
                await self._process.wait()
            finally:
                holding.cancel()
            return out

    def say(self, command: Mapping[str, Any]) -> bool:
        """Say a line to it; whether it is there to hear."""
        process = self._process
        if process is None or process.stdin is None or process.returncode is not None:
            return False
        process.stdin.write(json.dumps(command).encode() + b"\n")
        return True

    async def _hold(self, process: asyncio.subprocess.Process) -> None:
        """Let it stand still, with all it has begun, as long as it is held."""
        stands = False
        while True:
            await asyncio.sleep(_LOOK_S)
            if self.held() != stands and sys.platform != "win32":
                stands = not stands
                self.text = HELD if stands else ""
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGSTOP if stands else signal.SIGCONT)

    def _hear(self, said: str) -> None:
        for line in re.split(r"[\r\n]+", _MARKS.sub("", said)):
            if bar := _BAR.search(line):
                self.progress = bar[1].count("#") / len(bar[1])
                line = line[bar.end() :]  # noqa: PLW2901  how far it is, in words
            if line.strip():
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


async def _bounded(said: asyncio.StreamReader | None) -> bytes:
    """Read to the end; nothing is kept of what is longer than a result may be."""
    out = bytearray()
    while said is not None and (chunk := await said.read(65_536)):
        if len(out) <= _MOST_RESULT:
            out += chunk
    return bytes(out) if len(out) <= _MOST_RESULT else b""


@contextmanager
def _terminal(hear: Callable[[str], None]) -> Generator[int]:
    """Give a descriptor for a program to draw its bars on, which programs do for terminals alone, and hear them."""
    if sys.platform == "win32":  # no terminals there: no bars
        yield asyncio.subprocess.DEVNULL
        return
    import fcntl
    import termios

    near, far = os.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("4H", 24, _COLUMNS, 0, 0))
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
        os.killpg(process.pid, signal.SIGCONT)


def _end_at_once(process: asyncio.subprocess.Process) -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)


_ENDS = (_ask_to_end, _end_at_once)
_NICELY = () if sys.platform == "win32" else ("nice", "-n", "10")
# Whatever becomes of the server: what it began ends with it.
_AS_A_CHILD = (*(("setpriv", "--pdeathsig", "TERM") if shutil.which("setpriv") else ()), *_NICELY)


async def _to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Wait for what can not be stopped half-way, also where nobody wants it any more."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class JobQueue:
    """All of them; the folder they leave files in is the server's own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._turn = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._removing: set[asyncio.Future[None]] = set()

    def start(
        self,
        kind: str,
        bout: str,
        words: Sequence[str],
        leaves: str = "",
        files: Mapping[str, bytes] = MappingProxyType({}),
        held: Callable[[], bool] = lambda: False,
        *,
        apart: bool = False,
        typed: Sequence[str] = (),
    ) -> Job | None:
        """Begin one, as soon as those before it have ended; None where too many wait.

        `leaves` is the name of the file it makes, which `{out}` stands for in its words; `{folder}` at the beginning of
        one is the job's own, in which `files` lie. While it is `held` it stands still. One that is `apart` begins at
        once, beside the others; of those there are only so many too.
        """
        beside = sum(self._jobs[each].apart for each in self._tasks if each in self._jobs)
        if len(self._tasks) - beside >= MOST_WAITING or (apart and beside >= MOST_APART):
            return None
        number = str(next(self._numbers))
        folder = self._folder / number
        file = folder / leaves if leaves else None
        placed = [str(folder) + word.removeprefix(_FOLDER) if word.startswith(_FOLDER) else word for word in words]
        placed = [str(file) if word == "{out}" else word for word in placed]
        job = Job(number, kind, bout, placed, folder, file, files, typed, held=held, apart=apart)
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
        if self._removing:
            await asyncio.wait(self._removing)

    async def _run(self, job: Job) -> None:
        try:
            async with nullcontext() if job.apart else self._turn:
                await job.run()
            with suppress(OSError):  # it is being removed
                job.size = await asyncio.to_thread(_size, job.folder)
        except Exception as error:  # whatever it is: the page is told, and the next one has its turn
            job.state, job.text = "failed", f"{type(error).__name__}: {error}"[:_LONGEST]

    def _forget(self) -> None:
        over = deque(number for number in self._jobs if number not in self._tasks)
        while over and (len(self._jobs) > KEPT or sum(job.size for job in self._jobs.values()) > MOST_KEPT_BYTES):
            folder = self._jobs.pop(over.popleft()).folder
            self._removing.add(
                task := asyncio.ensure_future(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))
            )
            task.add_done_callback(self._removing.discard)


def too_many() -> Response:
    """Say that one more can not wait."""
    return problem(429, "too_fast", "too many jobs wait", "wait for them, or cancel one")


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
