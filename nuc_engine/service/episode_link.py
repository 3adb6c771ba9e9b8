"""The server's end of the process that runs its episodes: what was asked of it, how far it is, what became of it."""

from __future__ import annotations

import asyncio
import mmap
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Literal

import msgspec

from nuc_engine.messages.errors import Refused
from nuc_engine.service.episode_worker import (
    LATE,
    MEMORY_BYTES,
    STEP,
    STOP,
    EpisodeBegun,
    EpisodeEnded,
    EpisodeOrder,
    EpisodeRefused,
    Told,
)
from nuc_engine.service.waiting import Awaited

_END_S = 2.0


@dataclass(slots=True)
class EpisodeProgress:
    """What is known of an episode. `state` as the server's status has it."""

    order: EpisodeOrder
    state: Literal["running", "done", "failed"] = "running"
    reason: str = ""
    begun: EpisodeBegun | None = None
    step: int = 0
    late: int = 0
    snapshots: int = 0
    unsent: int = 0


class EpisodeLink:
    """One worker process, replaced where it dies. To be used on the event loop it was made for.

    `newest` is the episode that was asked for last, None before the first; one that was refused is not remembered.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.ended: Callable[[EpisodeProgress], None] = lambda _: None
        """Called with each episode that has ended."""
        self.broke: Callable[[Exception], None] = lambda _: None
        """Called where the worker can not even begin."""
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as this
        self._file.truncate(MEMORY_BYTES)
        self._memory = mmap.mmap(self._file.fileno(), MEMORY_BYTES)
        self._words = memoryview(self._memory).cast("Q")
        self.newest: EpisodeProgress | None = None
        self.number = self.deaths = 0
        self._before: EpisodeProgress | None = None
        self._begun: Awaited[EpisodeBegun] | None = None
        self._ended: list[Awaited[None]] = []
        self._open()

    @property
    def running(self) -> bool:
        """Whether an episode is under way."""
        return self.newest is not None and self.newest.state == "running"

    def progress(self) -> EpisodeProgress | None:
        """Return what is known of the newest episode now."""
        if self.newest is not None and self.running:
            self.newest.step, self.newest.late = self._words[STEP], self._words[LATE]
        return self.newest

    def start(self, order: EpisodeOrder) -> Awaited[EpisodeBegun]:
        """Let an episode begin; what is returned is known once its first step is made, or it was refused."""
        content = msgspec.msgpack.encode(order)
        self._before = self.newest
        self.newest = EpisodeProgress(order)
        self._begun = begun = Awaited(loop=self._loop)
        try:
            self._connection.send_bytes(content)
        except OSError:
            self._died()
        return begun

    def stop(self) -> Awaited[None]:
        """Ask for the end of what is under way; what is returned is known once that has come."""
        ended: Awaited[None] = Awaited(loop=self._loop)
        if self.newest is None or not self.running:
            ended.give(None)
        else:
            self._words[STOP] = self.newest.order.episode
            self._ended.append(ended)
        return ended

    def kill(self) -> None:
        """End the worker, whatever it does; another one is there then."""
        self._process.kill()
        self._warm = True  # whatever it would have come to, it did not fail by itself
        self._died()

    def close(self) -> None:
        """End the worker, an episode first."""
        self._loop.remove_reader(self._connection.fileno())
        self._process.send_signal(signal.SIGTERM)
        self._connection.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._words.release()
        self._memory.close()
        self._file.close()

    def _open(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            fds = (theirs.fileno(), self._file.fileno())
            self._process = subprocess.Popen(
                [sys.executable, "-m", "nuc_engine.service.episode_worker", *map(str, fds)],
                stdin=subprocess.DEVNULL,
                pass_fds=fds,
                start_new_session=True,
            )
        self._warm = False
        self._connection = Connection(ours.detach())
        self._loop.add_reader(self._connection.fileno(), self._hear)

    def wait_warm(self) -> None:
        """Wait until the worker has loaded what it needs."""
        with suppress(EOFError, OSError):
            self._connection.recv_bytes()
            self._warm = True

    def _hear(self) -> None:
        try:
            heard = self._connection.recv_bytes()
        except (EOFError, OSError):
            self._died()
            return
        self._warm = True
        if heard:
            self._take(msgspec.msgpack.decode(heard, type=Told))

    def _take(self, told: Told) -> None:
        newest = self.newest
        if newest is None or told.episode != newest.order.episode:
            return
        match told:
            case EpisodeBegun():
                newest.begun = told
                if self._begun is not None:
                    self._begun.give(told)
            case EpisodeRefused():
                self.newest = self._before
                if self._begun is not None:
                    self._begun.refuse(Refused("refused", "\n".join(told.problems)))
                self._over()
            case EpisodeEnded():
                newest.state = "failed" if told.state == "fault" else "done"
                newest.reason, newest.step = told.reason, told.step
                newest.late, newest.snapshots, newest.unsent = self._words[LATE], told.snapshots, told.unsent
                self.ended(newest)
                self._over()

    def _over(self) -> None:
        for ended in self._ended:
            ended.give(None)
        self._ended.clear()

    def _died(self) -> None:
        """Note that the worker has ended, and begin another one."""
        self._loop.remove_reader(self._connection.fileno())
        self._connection.close()
        try:
            status = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self.deaths += 1
        why = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
        if (newest := self.progress()) is not None and newest.state == "running":
            newest.state, newest.reason = "failed", f"the process that ran it ended {why}"
            if self._begun is not None:
                self._begun.refuse(Refused("failed", newest.reason, "see what the server said"))
            self.ended(newest)
        self._over()
        began = self._warm
        self._open()
        if not began:
            self.broke(RuntimeError(f"the process that is to run episodes ended {why} before it began"))
