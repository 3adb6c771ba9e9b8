"""What requests wait for, on an asyncio loop with a clock of paper."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from nuc_engine.messages.errors import Refused
from nuc_engine.service.waiting import MAX_BYTES, Awaited, Job, Waiting, Workshop
from tests.service.bench import PaperLoop

LATE = Refused("timeout", "late")


class Paper:
    """A loop, a clock that stands still, and jobs on them."""

    def __init__(self) -> None:
        self.now = 0
        self.loop = PaperLoop(lambda: self.now)
        self.waiting = Waiting(self.loop, lambda: self.now)
        self.workshop = Workshop(self.loop)

    def awaited(self) -> Awaited[Any]:
        return Awaited(loop=self.loop)

    def run(self, job: Job[Any]) -> list[tuple[Any, Exception | None]]:
        ends: list[tuple[Any, Exception | None]] = []
        self.waiting.start(job, lambda value, error: ends.append((value, error)))
        return ends

    def at(self, seconds: float) -> None:
        self.now = round(seconds * 1e9)
        for _ in range(5):
            self.loop.turn()


@pytest.fixture
def paper() -> Iterator[Paper]:
    made = Paper()
    yield made
    made.workshop.close()
    made.loop.close()


async def value_of(awaited: Awaited[Any]) -> Any:
    return await awaited


def test_a_job_begins_at_once_and_goes_on_when_it_is_told(paper: Paper) -> None:
    begun: list[str] = []
    awaited = paper.awaited()

    async def job() -> int:
        begun.append("begun")
        return await awaited + 1

    ends = paper.run(job())
    assert (begun, ends) == (["begun"], [])
    awaited.give(41)
    awaited.refuse(LATE)  # the first of them stays
    paper.at(0)
    assert ends == [(42, None)]


def test_a_job_that_waits_for_nothing_is_done_at_once(paper: Paper) -> None:
    awaited = paper.awaited()
    awaited.give("x")
    assert paper.run(value_of(awaited)) == [("x", None)]


@pytest.mark.parametrize("waits", [False, True])
def test_what_a_job_raises_reaches_whoever_started_it(paper: Paper, waits: bool) -> None:
    async def job() -> None:
        if waits:
            await asyncio.sleep(0)
        raise ValueError("oh")

    ends = paper.run(job())
    paper.at(0)
    ((value, error),) = ends
    assert (value, str(error)) == (None, "oh")


@pytest.mark.parametrize("where", ["at once", "later", "beside the loop"])
def test_memory_that_ran_out_is_no_answer_but_the_end(paper: Paper, where: str) -> None:
    def work() -> None:
        raise MemoryError

    async def job() -> None:
        if where == "beside the loop":
            await paper.workshop.do(work)
        elif where == "later":
            await asyncio.sleep(0)
        work()

    told: list[BaseException] = []
    paper.loop.set_exception_handler(lambda _, context: told.append(context["exception"]))
    if where == "at once":
        with pytest.raises(MemoryError):
            paper.run(job())
        return
    ends = paper.run(job())
    error = finished(paper, told)
    assert (type(error), ends) == (MemoryError, [])


def test_what_does_not_come_is_refused_in_time_and_not_before(paper: Paper) -> None:
    ends = paper.run(value_of(paper.waiting.within(paper.awaited(), 2.0, LATE)))
    paper.at(1.999)
    assert ends == []
    paper.at(2.0)
    assert ends == [(None, LATE)]


def test_a_condition_is_looked_at_again_and_again_until_it_holds(paper: Paper) -> None:
    held: list[int] = []
    ends = paper.run(value_of(paper.waiting.until(lambda: bool(held), 1.0, LATE)))
    paper.at(0.5)
    assert ends == []
    held.append(1)
    paper.at(0.503)
    assert ends == [(None, None)]
    late = paper.run(value_of(paper.waiting.until(lambda: False, 1.0, LATE)))
    paper.at(1.6)
    assert late == [(None, LATE)]


def finished(paper: Paper, ends: list[Any]) -> Any:
    for _ in range(5000):
        if ends:
            return ends[0]
        paper.loop.turn(0.01)
    raise AssertionError("the work was not done")


def test_work_is_done_beside_the_loop(paper: Paper) -> None:
    here = threading.get_ident()
    value, error = finished(paper, paper.run(paper.workshop.do(threading.get_ident)))
    assert error is None
    assert value != here


@pytest.mark.parametrize(("error", "kind"), [(Refused("not_found", "x"), "not_found"), (ValueError("x"), "failed")])
def test_what_goes_wrong_beside_the_loop_is_a_refusal(paper: Paper, error: Exception, kind: str) -> None:
    def work() -> None:
        raise error

    _, refused = finished(paper, paper.run(paper.workshop.do(work)))
    assert refused.kind == kind


def test_what_may_wait_for_the_workshop_is_bounded(paper: Paper) -> None:
    gate = threading.Event()
    first = paper.run(paper.workshop.do(lambda: gate.wait(5), MAX_BYTES))
    ((_, refused),) = paper.run(paper.workshop.do(lambda: None, 1))
    assert isinstance(refused, Refused)
    gate.set()
    finished(paper, first)
    assert finished(paper, paper.run(paper.workshop.do(lambda: 1, 1))) == (1, None)
