"""A function over many items, on worker processes or a Dask cluster: results as they come, few items under way.

    for index, result in run_all(function, items, jobs=4):
        ...

Processes are fresh interpreters, started once; where several lists of items follow each other, `Workers` keeps them.
They ignore Ctrl-C, which ends them through this process, and end by themselves when it ends, however it ends.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any, TypeVar, cast

from nuc_engine.batch.errors import BulkRefused
from nuc_engine.machine.core import cores
from nuc_engine.machine.needs import need

T = TypeVar("T")
R = TypeVar("R")

DoneCallback = Callable[[int, int], None]
"""Told how many items are finished, of how many."""

NEW_OBJECTS = 50_000
"""So many new containers before a worker looks for cycles among them: bouts make few, and looking costs time."""

_AHEAD = 2
"""Items, or groups of them, per worker that are under way: one in work, and one that waits there meanwhile."""
_GROUP = 4
"""Items that go to a cluster together, at most: each errand takes it some 10 ms."""
_ANSWER_S = 10.0
_LAST_CALL_S = 5.0


class ItemFailed(Exception):
    """The function raised for one item, or its worker ended; `index` says which item. What was raised is the cause."""

    def __init__(self, index: int, item: object, reason: str) -> None:
        super().__init__(f"item {index} ({_name(item)}): {reason}")
        self.index = index


def run_all(
    function: Callable[[T], R], items: Collection[T], *, jobs: int | None = None, done: DoneCallback | None = None
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
        # An executor for each: when a process ends, it is known which item it had in hand.
        self._workers: dict[Executor, BaseProcess] = {}

    def __enter__(self) -> Workers:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the workers: at once where one is at work still."""
        self._end()

    def run(
        self, function: Callable[[T], R], items: Collection[T], done: DoneCallback | None = None
    ) -> Generator[tuple[int, R], None, None]:
        """Yield index and result of each item as they are finished. Raises ItemFailed as `run_all` does."""
        try:
            while len(self._workers) < min(self.jobs, len(items)):
                self._workers.update([_spawn()])
            told = bool if done is None else partial(_tell, done, len(items))
            workers = list(self._workers)
            # The last go to whoever is idle: none waits behind a long one then.
            ahead = len(items) - len(workers)
            yield from _run(workers * _AHEAD, function, enumerate(items), told, self._why_lost, ahead)
        except BaseException:
            # A run that is stopped leaves items in flight; their results must not be taken for those of the next run.
            self._end()
            raise

    def _why_lost(self, executor: Executor) -> str:
        process = self._workers[executor]
        # Its own thread waits for the process too: only once that has ended is it known to all how the process did.
        executor.shutdown()
        code = process.exitcode
        how = f"killed by signal {-code}" if code is not None and code < 0 else f"exit status {code}"
        return f"its worker process ended ({how}); it may have run out of memory"

    def _end(self) -> None:
        workers, self._workers = self._workers, {}
        for process in workers.values():
            process.terminate()
        killer = threading.Timer(_LAST_CALL_S, lambda: [process.kill() for process in workers.values()])
        killer.start()
        for executor in workers:
            executor.shutdown()
        killer.cancel()


def _tell(done: DoneCallback, total: int, finished: int) -> None:
    done(finished, total)


def run_on_cluster(
    function: Callable[[T], R], items: Collection[T], address: str, *, done: DoneCallback | None = None
) -> Iterator[tuple[int, R]]:
    """Do as `run_all` on a Dask cluster, whose workers need this package installed; items carry everything else.

    What has not come is cancelled when the caller does not go on asking. Raises BulkRefused where there is no cluster.
    """
    need(distributed="a cluster")
    import distributed

    library = cast(Any, distributed)
    try:
        client = library.Client(address, set_as_default=False, timeout=_ANSWER_S)
    except (OSError, ValueError) as error:
        raise BulkRefused(f"{address}: no Dask scheduler answers ({error}); expected tcp://HOST:PORT") from error
    with client:
        room = _AHEAD * sum(client.ncores().values())
        if not room:
            raise BulkRefused(f"{address}: the cluster has no workers; start some first")
        executor = client.get_executor(pure=False)
        finished = 0
        try:
            for first, found in _run([executor] * room, partial(_each, function), _groups(items, room)):
                for index, result in enumerate(found, first):
                    if isinstance(result, _Failure):
                        error = result.error
                        raise ItemFailed(index, result.item, f"{type(error).__name__}: {error}") from error
                    finished += 1
                    if done is not None:
                        done(finished, len(items))
                    yield index, result
        finally:
            executor.shutdown(wait=False)


@dataclass(frozen=True, slots=True)
class _Failure:
    """What the function raised for one item of a group, which ends with it."""

    item: str
    error: Exception


def _groups(items: Collection[T], room: int) -> Iterator[tuple[int, list[T]]]:
    """Yield items in groups, each with the index of its first; the last go alone: none waits for others of a group."""
    each, first = iter(items), 0
    while group := list(islice(each, max(1, min(_GROUP, (len(items) - first) // (2 * room))))):
        yield first, group
        first += len(group)


def _each(function: Callable[[T], R], group: Sequence[T]) -> list[R | _Failure]:
    found: list[R | _Failure] = []
    for item in group:
        try:
            found.append(_call(function, item))
        except Exception as error:  # what was found before it is not lost
            return [*found, _Failure(_name(item), error)]
    return found


def _run(
    executors: Sequence[Executor],
    function: Callable[[T], R],
    items: Iterable[tuple[int, T]],
    done: Callable[[int], object] = bool,
    why_lost: Callable[[Executor], str] = str,
    ahead: float = math.inf,
) -> Generator[tuple[int, R], None, None]:
    """Keep an item under way for each place at an executor; `done` is told how many are finished.

    After `ahead` items an executor is given one only when it has none.
    """
    waiting = iter(items)
    under_way: dict[Future[R], tuple[Executor, int, T]] = {}
    given = 0

    def give(executor: Executor) -> None:
        nonlocal given
        if given >= ahead and any(executor is busy for busy, *_ in under_way.values()):
            return
        for index, item in waiting:
            try:
                future = executor.submit(_call, function, item)
            except BrokenExecutor as error:  # it ended while nobody looked: found in its turn, after what it had
                future = Future[R]()
                future.set_exception(error)
            under_way[future] = executor, index, item
            given += 1
            return

    for executor in executors:
        give(executor)
    finished = 0
    while under_way:
        ended = wait(under_way, return_when=FIRST_COMPLETED).done
        # In the order given: when a worker ends, what waits behind the item it had in hand is lost with it.
        for future in [future for future in under_way if future in ended]:
            executor, index, item = under_way.pop(future)
            try:
                result = future.result()
            except Exception as error:
                lost = isinstance(error, BrokenExecutor)
                why = why_lost(executor) if lost else f"{type(error).__name__}: {error}"
                raise ItemFailed(index, item, why) from error
            give(executor)
            finished += 1
            done(finished)
            yield index, result


def _spawn() -> tuple[Executor, BaseProcess]:
    before = multiprocessing.active_children()
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(1, context, initializer=_begin)
    with _without_interrupt():
        executor.submit(os.getpid)
    (process,) = (child for child in multiprocessing.active_children() if child not in before)
    return executor, process


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


def _begin() -> None:
    """Set a worker process up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_end_with_parent, daemon=True).start()


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


def _call(function: Callable[[T], R], item: T) -> R:
    """Call the function where a worker is, for what can come back."""
    # Here, since a worker of a cluster is begun by others.
    gc.set_threshold(max(NEW_OBJECTS, gc.get_threshold()[0]))
    try:
        return function(item)
    except SystemExit:
        os._exit(1)  # Told to leave: its results are not wanted any more.
    except Exception as error:
        error.add_note("in a worker process:\n" + "".join(traceback.format_exception(error)))
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301  it was made here
        except Exception:  # an error may carry anything; what it says is known without it
            raise RuntimeError(f"{type(error).__name__}: {error}") from None
        raise


def _name(item: object) -> str:
    """Return what people call an item: what it says of itself, else of what kind it is; never what it is made of."""
    if isinstance(item, list | tuple) and item:
        first, *more = cast(Sequence[object], item)
        return f"{_name(first)} and {len(more)} more" if more and isinstance(item, list) else _name(first)
    told = isinstance(item, int | float | str) or type(item).__str__ is not object.__str__
    return str(item) if told else type(item).__name__
