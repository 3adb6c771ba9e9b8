"""A function over many items, on worker processes: results as they come, one item in flight per worker.

    for index, result in run_all(function, items, jobs=4):
        ...

Workers are fresh interpreters, started once; where several lists of items follow each other, `Workers` keeps them. They
ignore Ctrl-C, which ends them through this process, and end by themselves when it dies, however it dies.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

if TYPE_CHECKING and sys.platform == "win32":
    from multiprocessing.connection import PipeConnection as Connection
elif TYPE_CHECKING:
    from multiprocessing.connection import Connection

T = TypeVar("T")
R = TypeVar("R")

Done = Callable[[int, int], None]
"""Told how many items are finished, of how many."""

_LAST_CALL_S = 5.0
NEW_OBJECTS = 50_000
"""So many new containers before a worker looks for cycles among them: bouts make few, and looking costs time."""


class ItemFailed(Exception):
    """The function raised for one item, or its worker died; `index` says which item. What was raised is the cause."""

    def __init__(self, index: int, item: object, reason: str) -> None:
        super().__init__(f"item {index} ({_name(item)}): {reason}")
        self.index = index


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def run_all(
    function: Callable[[T], R], items: Collection[T], *, jobs: int | None = None, done: Done | None = None
) -> Iterator[tuple[int, R]]:
    """Yield the index of each item and the function's result for it, in the order in which they are finished.

    Function, items and results must be picklable. `jobs` is the number of worker processes (default: all processors).
    Raises ItemFailed for the first item the function raises for; the workers are ended then, as they are when the
    caller does not go on asking. ValueError when `jobs` is below 1.
    """
    if not items:
        return
    with Workers(min(cores() if jobs is None else jobs, len(items))) as workers:
        yield from workers.run(function, items, done)


class Workers:
    """Worker processes for several lists of items, one after the other. Use as a context, which ends them."""

    def __init__(self, jobs: int | None = None) -> None:
        """Take the number of processes (default: all processors); they start with the first item."""
        self.jobs = cores() if jobs is None else jobs
        if self.jobs < 1:
            raise ValueError(f"jobs {self.jobs}; expected 1 or more")
        self._workers: list[_Worker[Any]] = []

    def __enter__(self) -> Workers:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the workers: at once where one is at work still."""
        self._end()

    def run(
        self, function: Callable[[T], R], items: Collection[T], done: Done | None = None
    ) -> Generator[tuple[int, R], None, None]:
        """Yield index and result of each item as they are finished. Raises ItemFailed as `run_all` does."""
        waiting = iter(enumerate(items))
        finished = 0
        try:
            while len(self._workers) < min(self.jobs, len(items)):
                self._workers.append(_Worker[Any](_spawn()))
            for worker in self._workers:
                worker.give(function, waiting)
            while busy := [worker for worker in self._workers if worker.busy]:
                ready = cast("list[Connection]", wait([worker.seat.pipe for worker in busy]))
                for worker in [worker for worker in busy if worker.seat.pipe in ready]:
                    index, result = worker.take()
                    worker.give(function, waiting)
                    finished += 1
                    if done is not None:
                        done(finished, len(items))
                    yield index, result
        except BaseException:
            # Whoever stops in the middle leaves items in flight, whose results nobody must take for others'.
            self._end()
            raise

    def _end(self) -> None:
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.leave()
        for worker in workers:
            worker.seat.process.join(_LAST_CALL_S)
            if worker.seat.process.is_alive():
                worker.seat.process.kill()
                worker.seat.process.join()
            worker.seat.process.close()


@dataclass(frozen=True, slots=True)
class _Seat:
    """A worker process and the pipe to it."""

    process: SpawnProcess
    pipe: Connection


class _Worker(Generic[T]):
    """What this process knows of one worker: the item it has in hand."""

    def __init__(self, seat: _Seat) -> None:
        self.seat = seat
        self._item: tuple[int, T] | None = None

    @property
    def busy(self) -> bool:
        return self._item is not None

    def give(self, function: Callable[[T], Any], waiting: Iterator[tuple[int, T]]) -> None:
        """Send the next item, if there is one."""
        self._item = next(waiting, None)
        if self._item is None:
            return
        try:
            self.seat.pipe.send((function, self._item[1]))
        except (OSError, EOFError) as error:
            raise self._lost() from error

    def take(self) -> tuple[int, Any]:
        """Return the index and the result that came. Raises ItemFailed."""
        if self._item is None:
            raise RuntimeError("a worker without an item has answered; expected it to wait")
        index, item = self._item
        try:
            good, content, text = self.seat.pipe.recv()
        except (OSError, EOFError) as error:
            raise self._lost() from error
        self._item = None
        if good:
            return index, _unpickle(content)
        raise ItemFailed(index, item, text) from _error(content)

    def leave(self) -> None:
        """Let the worker end: by itself when it waits, by a signal when it is at work."""
        if self.busy:
            self.seat.process.terminate()
        self.seat.pipe.close()

    def _lost(self) -> ItemFailed:
        self.seat.process.join(_LAST_CALL_S)
        code = self.seat.process.exitcode
        how = f"killed by signal {-code}" if code is not None and code < 0 else f"exit status {code}"
        index, item = self._item if self._item is not None else (-1, None)
        return ItemFailed(index, item, f"its worker process died ({how}); it may have run out of memory")


def _spawn() -> _Seat:
    here, there = multiprocessing.Pipe()
    with _without_interrupt():
        process = multiprocessing.get_context("spawn").Process(target=_work, args=(there,), daemon=True)
        process.start()
    there.close()
    return _Seat(process, here)


@contextmanager
def _without_interrupt() -> Generator[None]:
    """Hold Ctrl-C back while a process starts, which inherits that: it must not meet one before it is set up."""
    if sys.platform == "win32":
        yield  # Nothing is inherited there, and a worker ignores it as soon as it runs.
        return
    # The tracker would let interrupts through again if it were started within.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(pipe: Connection) -> None:
    """Answer items until there are no more: what a worker process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.set_threshold(NEW_OBJECTS)
    while True:
        try:
            order = pipe.recv_bytes()
        except (EOFError, OSError):
            return
        answer = _answer(order)
        with suppress(BrokenPipeError):
            pipe.send(answer)


def _answer(order: bytes) -> tuple[bool, bytes, str]:
    """Return whether it went well, the pickled result or error, and what is wrong."""
    try:
        function, item = _unpickle(order)
        return True, pickle.dumps(function(item)), ""
    except Exception as error:
        error.add_note("in a worker process:\n" + "".join(traceback.format_exception(error)))
        return False, _pickled(error), f"{type(error).__name__}: {error}"


def _unpickle(content: bytes) -> Any:
    return pickle.loads(content)  # noqa: S301  it comes through a pipe that only this program has


def _pickled(error: Exception) -> bytes:
    try:
        return pickle.dumps(error)
    except Exception:  # an error may carry anything; what it says is known without it
        return b""


def _error(content: bytes) -> Exception | None:
    """Return the error a worker has sent, None where it can not be built again here."""
    try:
        found = _unpickle(content)
    except Exception:  # as above
        return None
    return found if isinstance(found, Exception) else None


def _leave(number: int, frame: FrameType | None) -> None:
    # As an exception, so that whatever is open is closed, and scratch folders go.
    del number, frame
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(1)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _name(item: object) -> str:
    """Return what people call an item: what it says of itself, else of what kind it is; never what it is made of."""
    if isinstance(item, list | tuple) and item:
        first, *more = cast(Sequence[object], item)
        return f"{_name(first)} and {len(more)} more" if more and isinstance(item, list) else _name(first)
    told = isinstance(item, int | float | str) or type(item).__str__ is not object.__str__
    return str(item) if told else type(item).__name__
