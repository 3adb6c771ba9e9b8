"""What requests wait for: the core, a client, a moment, or work beside the loop; on the service's asyncio loop.

What a job raises is its answer; but where memory has run out, the service ends, and another goes on.
"""

from __future__ import annotations

import asyncio
import types
from collections import Counter
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from nuc_engine.messages.errors import Refused

T = TypeVar("T")

MAX_WAITING = 64
"""Pieces of work that may wait."""
MOST_OF_ONE = 2
"""Pieces of work that a client who only looks may have waiting."""
MOST_LOOKING = 32
"""Pieces that all of those may have."""
MAX_BYTES = 16 << 20
"""Bytes of documents that may be at work, and again as many that wait to be."""
_LOOK_S = 0.002

Job = Coroutine[Any, Any, T]


class Awaited(asyncio.Future[T]):
    """Something that will be known later: a value, or a Refused. The first of them stays."""

    def give(self, value: T) -> None:
        """Say what it is."""
        if not self.done():
            self.set_result(value)

    def refuse(self, error: Refused) -> None:
        """Say that there will be no value; nobody has to ask."""
        if not self.done():
            self.set_exception(error)
            self.exception()

    def tell(self, listener: Callable[[], None]) -> None:
        """Call `listener` soon after it is known."""
        self.add_done_callback(lambda _: listener())


class Waiting:
    """Runs jobs, and keeps what they wait for. `now_ns` is a monotonic clock in nanoseconds."""

    def __init__(self, loop: asyncio.AbstractEventLoop, now_ns: Callable[[], int]) -> None:
        self.loop, self.now_ns = loop, now_ns
        self._tasks: set[asyncio.Task[Any]] = set()
        self._conditions: list[tuple[Callable[[], bool], Awaited[None]]] = []
        self._looks: asyncio.Handle | None = None

    def start(self, job: Job[T], done: Callable[[T | None, Exception | None], None]) -> None:
        """Run a job up to its first wait at once, and on from there later; `done` gets its value or what it raised."""
        try:
            first = job.send(None)
        except StopIteration as end:
            done(end.value, None)
        except MemoryError:
            raise
        except Exception as error:
            done(None, error)
        else:
            self._tasks.add(task := self.loop.create_task(_finish(_rest(job, first), done)))
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.loop.call_exception_handler({"message": "a job of the service", "exception": error})

    def within(self, awaited: Awaited[T], timeout_s: float, late: Refused) -> Awaited[T]:
        """Refuse what is not known in time."""
        if not awaited.done():
            timer = self.loop.call_later(timeout_s, awaited.refuse, late)
            awaited.tell(timer.cancel)
        return awaited

    def until(self, condition: Callable[[], bool], timeout_s: float, late: Refused) -> Awaited[None]:
        """Return what is given once a condition holds, which nothing but looking again can tell."""
        awaited: Awaited[None] = Awaited(loop=self.loop)
        if condition():
            awaited.give(None)
        else:
            self._conditions.append((condition, awaited))
            self._look_again()
        return self.within(awaited, timeout_s, late)

    def look(self) -> None:
        """Look at the conditions."""
        for condition, awaited in self._conditions:
            if not awaited.done() and condition():
                awaited.give(None)
        self._conditions = [item for item in self._conditions if not item[1].done()]
        self._look_again()

    def _look_again(self) -> None:
        if self._looks is not None:
            self._looks.cancel()
        self._looks = self.loop.call_later(_LOOK_S, self.look) if self._conditions else None


async def _finish(rest: Any, done: Callable[[Any, Exception | None], None]) -> None:
    try:
        value = await rest
    except MemoryError:
        raise
    except Exception as error:
        done(None, error)
    else:
        done(value, None)


@types.coroutine
def _rest(job: Job[T], first: Any) -> Generator[Any, Any, T]:
    """Go on with a job that has begun to wait for `first`; tasks that begin at once are Python 3.12's."""
    with suppress(Exception):  # the job is told of it below
        yield first
    return (yield from job.__await__())


class Workshop:
    """Work that may take long, beside the loop: reading and checking documents, files; one piece after the other.

    What is done here must not touch anything the loop owns.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pool, self._reading = ThreadPoolExecutor(1, "nuc-workshop"), ThreadPoolExecutor(1, "nuc-reading")
        self._bytes = self._held = self._looked_at = 0
        self._whose: Counter[object] = Counter()
        self.waiting = 0

    def hold(self, size: int) -> bool:
        """Say whether a document of so many bytes may be kept until it is read, and count it then."""
        if self._held + size > MAX_BYTES:
            return False
        self._held += size
        return True

    def release(self, size: int) -> None:
        """Take back what `hold` counted."""
        self._held -= size

    async def do_for(self, whose: object, work: Callable[[], T], size: int = 0) -> T:
        """Return what `work` for a client that only looks returns: on a thread of its own, behind nobody who changes.

        Of each client few pieces may wait. Raises Refused.
        """
        if self._whose[whose] >= MOST_OF_ONE or self._whose.total() >= MOST_LOOKING:
            raise Refused("too_fast", "too many of these requests wait already", "wait for their answers")
        if self._looked_at + size > MAX_BYTES:
            raise Refused("refused", "too many documents wait to be looked at", "try again later")
        self._whose[whose] += 1
        self._looked_at += size
        try:
            return await self._do(self._reading, work)
        finally:
            self._whose[whose] -= 1
            self._looked_at -= size
            self._whose += Counter()

    async def do(self, work: Callable[[], T], size: int = 0) -> T:
        """Return what `work` returns; `size` is the bytes it keeps in memory. Raises Refused."""
        if self.waiting >= MAX_WAITING or self._bytes + size > MAX_BYTES:
            raise Refused("refused", "too many documents wait to be read", "try again later")
        self.waiting += 1
        self._bytes += size
        try:
            return await self._do(self._pool, work)
        finally:
            self.waiting -= 1
            self._bytes -= size

    async def _do(self, pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        try:
            return await self._loop.run_in_executor(pool, work)
        except (Refused, MemoryError):
            raise
        except Exception as fault:  # the waiting request must get every error
            raise Refused("failed", f"{type(fault).__name__}: {fault}") from fault

    def close(self) -> None:
        """End after what is done now."""
        for pool in (self._pool, self._reading):
            pool.shutdown(wait=False, cancel_futures=True)
