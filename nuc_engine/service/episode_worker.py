"""The process that runs a server's episodes, one after the other: `python -m nuc_engine.service.episode_worker FD FD`.

It is told by messages on a connection what to run, and by a word of shared memory when to stop; it answers once the
first step has been made, and once the episode has ended. Where somebody wants to look on, a thread of its own sends
the newest step, at its own pace: the loop only leaves it where the thread finds it. Nothing here waits for a viewer.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import resource
import shutil
import signal
import sys
import threading
import time  # noqa: TID251  the composition root hands the clocks out
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from drivers.units import NS_PER_S
from nuc_engine.bout.episode import EpisodeSpec, open_episode, record_episode
from nuc_engine.episode.document import RunConfig, RunConfigError
from nuc_engine.episode.loop import STARVED, EpisodeEnd, EpisodeStarved, run_steps
from nuc_engine.episode.system import Numbers
from nuc_engine.machine.locations import NotFound
from nuc_engine.messages.snapshots import DONE, FAILED, EpisodeSnapshot, pack_snapshot
from nuc_engine.recording.directory import DirectoryInUse
from nuc_engine.service.datagrams import Datagrams

STOP, STEP, LATE = range(3)
"""Words of the shared memory: the episode that is to stop (by the server); the step that is made and how many were
late (by this process)."""

MEMORY_BYTES = mmap.PAGESIZE
MOST_ROWS = 10_000_000
"""Rows of one log: 1.7 GB of a flight."""

MOST_DATA = 1 << 30
"""Bytes of memory this process may take."""

_BEHIND_NS = 100_000_000
"""What was held up for longer goes on from there: nothing is caught up with."""

_LONGEST_NS = 1e18
"""How long a step is made to last at most, however slow."""

_LOOK_NS = 20_000_000
"""How long a step is waited for before it is seen whether to stop."""

_SWITCH_S = 0.001
_ALL = 1 << 62

Step = tuple[int, Numbers, Numbers, Numbers]


class EpisodeOrder(Struct):
    """What is to be run. `out` empty: nothing is logged; `udp` empty: nobody looks on."""

    episode: int
    config: str
    text: bytes | None
    changes: dict[str, int | float]
    speed: float
    out: str
    udp: tuple[str, int] | None


class EpisodeBegun(Struct, tag="begun"):
    """The first step has been made."""

    episode: int
    dt_s: float
    steps: int
    columns: tuple[str, ...]


class EpisodeRefused(Struct, tag="refused"):
    """It cannot be run, and nothing was written."""

    episode: int
    problems: tuple[str, ...]


class EpisodeEnded(Struct, tag="ended"):
    """It has ended: state and reason as in a manifest, steps made, datagrams sent, and those that could not be."""

    episode: int
    state: str
    reason: str
    step: int
    snapshots: int
    unsent: int


Told = EpisodeBegun | EpisodeRefused | EpisodeEnded


class PacedWatch:
    """Sees every step of an episode: leaves it to be looked at, keeps its pace, and ends it where that is asked for.

    `words` are those of the shared memory, `begun` is called with the first step made; `now_ns` and `sleep_s` are the
    clock that a `speed` (times real time, 0: none) is kept by. What goes no faster than real time, and may have
    something real beside it, is ended where that is not kept for `starved_s` (0: late steps are only counted).
    """

    def __init__(
        self,
        order: EpisodeOrder,
        dt_s: float,
        words: memoryview,
        begun: Callable[[], None],
        now_ns: Callable[[], int],
        sleep_s: Callable[[float], None],
        starved_s: float,
    ) -> None:
        self.newest: Step | None = None
        self._episode, self._words, self._begun = order.episode, words, begun
        self._now_ns, self._sleep_s = now_ns, sleep_s
        self._period_ns = min(dt_s * NS_PER_S / order.speed, _LONGEST_NS) if order.speed else 0.0
        self._from_k, self._from_ns = 0, now_ns()
        self._late = self._short = 0
        self._dt_s, self._starved_s = dt_s, starved_s if order.speed <= 1.0 else 0.0
        words[STEP] = words[LATE] = 0

    @property
    def counts(self) -> Mapping[str, int]:
        """Steps that began after the one behind them was due, where a pace was asked for."""
        return {"late_steps": self._late} if self._period_ns else {}

    def __call__(self, k: int, state: Numbers, reference: Numbers, control: Numbers) -> None:
        """See a step. Raises KeyboardInterrupt where the episode is to end, EpisodeStarved where it must."""
        self.newest = (k, state, reference, control)
        self._words[STEP] = k
        if k == 1:
            self._begun()
        if self._period_ns:
            self._wait(k)
        if self._words[STOP] >= self._episode:
            raise KeyboardInterrupt

    def _wait(self, k: int) -> None:
        due_ns = self._from_ns + round((k - self._from_k) * self._period_ns)
        late_ns = self._now_ns() - due_ns
        if late_ns > max(self._period_ns, 0):
            self._late += 1
            self._short += 1
            self._words[LATE] = self._late
            if late_ns > _BEHIND_NS:
                self._from_k, self._from_ns = k, due_ns + late_ns
            self._judge(k, late_ns / NS_PER_S)
        else:
            self._short = max(self._short - 1, 0)
        while (left_ns := due_ns - self._now_ns()) > 0 and self._words[STOP] < self._episode:
            self._sleep_s(min(left_ns, _LOOK_NS) / NS_PER_S)

    def _judge(self, k: int, late_s: float) -> None:
        """End it where nobody can say any more that it runs in real time: its controls would come too late."""
        if not self._starved_s:
            return
        if late_s >= self._starved_s:
            raise EpisodeStarved(f"step {k} came {late_s:.3g} s late; at most {self._starved_s:g} s are borne")
        if self._short * self._dt_s >= self._starved_s:
            text = f"at step {k} {self._short} more steps had come late than in time; {self._starved_s:g} s of such"
            raise EpisodeStarved(f"{text} are borne. A lighter controller, a larger dt_s, or a lower speed keeps it")


class SnapshotSampler:
    """Sends the newest step of an episode at a rate, as a thread does that nobody waits for.

    `newest` returns it, None before the first; `send` takes datagrams, and never waits.
    """

    def __init__(
        self,
        episode: int,
        dt_s: float,
        rate_hz: float,
        newest: Callable[[], Step | None],
        send: Callable[[bytes], None],
    ) -> None:
        self.sent = 0
        self._episode, self._dt_s, self._period_s = episode, dt_s, 1.0 / rate_hz
        self._newest, self._send = newest, send

    def sample(self, phase: int = 0) -> None:
        """Send the newest step now, if there is one."""
        step = self._newest()
        if step is not None:
            self.sent += 1
            k, state, reference, control = step
            snapshot = EpisodeSnapshot(self._episode, self.sent, k * self._dt_s, state, reference, control, phase)
            self._send(pack_snapshot(snapshot))

    def run(self, now_s: Callable[[], float], ended: Callable[[float], bool]) -> None:
        """Sample until it has `ended`, which waits for so many seconds; late is late, and no burst follows."""
        due_s = now_s()
        while True:
            self.sample()
            due_s = max(due_s + self._period_s, now_s())
            if ended(due_s - now_s()):
                return


class EpisodeWork:
    """Runs what it is told. `tell` takes what became of it."""

    def __init__(
        self,
        words: memoryview,
        tell: Callable[[Told], None],
        now_ns: Callable[[], int],
        sleep_s: Callable[[float], None],
    ) -> None:
        self._words, self._tell, self._now_ns, self._sleep_s = words, tell, now_ns, sleep_s

    def run(self, order: EpisodeOrder) -> None:
        """Run one episode, and tell what became of it."""
        spec = EpisodeSpec(order.config, Path(order.out), order.changes, text=order.text)
        try:
            _, _, run = open_episode(spec)
            _check_rows(run, order)
            self._run(order, spec, run)
        except RunConfigError as error:
            self._tell(EpisodeRefused(order.episode, error.problems))
        except (NotFound, DirectoryInUse, OSError) as error:
            self._tell(EpisodeRefused(order.episode, (str(error),)))

    def _run(self, order: EpisodeOrder, spec: EpisodeSpec, run: RunConfig) -> None:
        told: list[bool] = []

        def begun() -> None:
            told.append(True)
            self._tell(EpisodeBegun(order.episode, run.dt_s, run.steps, columns_of(run)))

        watch = PacedWatch(order, run.dt_s, self._words, begun, self._now_ns, self._sleep_s, run.starved_s)
        datagrams = None if order.udp is None else Datagrams(*order.udp)
        sampler = None
        ended, thread = threading.Event(), None
        if datagrams is not None:
            sampler = SnapshotSampler(order.episode, run.dt_s, run.telemetry_hz, lambda: watch.newest, datagrams.send)
            looking = sampler.run
            thread = threading.Thread(target=lambda: looking(time.monotonic, ended.wait), name="nuc-snapshots")
            thread.start()
        try:
            end = record_episode(spec, watch).end if order.out else _unlogged(run, watch)
        except OSError as error:
            if not told:
                raise
            end = EpisodeEnd("fault", f"logging_failed: {error}", self._words[STEP], run.initial, None)
        finally:
            ended.set()
            if thread is not None:
                thread.join()
        if not told:  # it ended within its first step
            begun()
        if sampler is not None:
            sampler.sample(FAILED if end.state == "fault" else DONE)
        if datagrams is not None:
            datagrams.close()
        sent, unsent = (sampler.sent if sampler else 0), (datagrams.failed if datagrams else 0)
        step = self._words[STEP]
        self._tell(EpisodeEnded(order.episode, end.state, end.reason, step, sent - unsent, unsent))


def _check_rows(run: RunConfig, order: EpisodeOrder) -> None:
    rows = run.steps // run.every + 1
    if order.out and rows > MOST_ROWS:
        raise RunConfigError([f"log.every: {rows:,} rows; expected at most {MOST_ROWS:,}: log one of so many steps"])
    needed, free = 8 * rows * len(run.columns), free_bytes(Path(order.out)) if order.out else 0
    if order.out and needed > free:
        raise RunConfigError(
            [f"log.every: {needed:,} bytes; the disk has {free:,}: free some, or log one of more steps"]
        )


def free_bytes(folder: Path) -> int:
    """Return how many bytes can be written where a folder is to be."""
    return shutil.disk_usage(next(each for each in folder.absolute().parents if each.exists())).free


def columns_of(run: RunConfig) -> tuple[str, ...]:
    """Return what the numbers of a snapshot are: state, reference, control."""
    system = run.system
    return (*system.state, *(f"ref_{name}" for name in system.reference), *system.control)


def _unlogged(run: RunConfig, watch: PacedWatch) -> EpisodeEnd:
    try:
        return run_steps(run, None, watch)
    except KeyboardInterrupt:
        return EpisodeEnd("interrupted", "stopped by the operator", 0, run.initial, None)
    except EpisodeStarved as starved:
        return EpisodeEnd("fault", f"{STARVED}: {starved}", 0, run.initial, None)


def main(connection_fd: int, memory_fd: int) -> int:
    """Be the worker until the connection ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_DATA if most < 0 else min(MOST_DATA, most), most))
    sys.setswitchinterval(_SWITCH_S)
    connection = Connection(connection_fd)
    memory = mmap.mmap(memory_fd, MEMORY_BYTES)
    os.close(memory_fd)
    words = memoryview(memory).cast("Q")

    def end(*_: object) -> None:
        words[STOP] = _ALL

    signal.signal(signal.SIGTERM, end)
    # A server that is killed stops nothing any more: the kernel says so.
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)

    def tell(what: Any) -> None:
        connection.send_bytes(msgspec.msgpack.encode(what))

    work = EpisodeWork(words, tell, time.monotonic_ns, time.sleep)
    gc.collect()
    gc.freeze()
    with suppress(EOFError, OSError):  # the server has ended
        connection.send_bytes(b"")
        while words[STOP] != _ALL:
            work.run(msgspec.msgpack.decode(connection.recv_bytes(), type=EpisodeOrder))
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
