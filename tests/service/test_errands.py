from __future__ import annotations

import pytest

from nuc_engine.messages.errors import Refused
from nuc_engine.service.errands import Answer, Errands
from nuc_engine.service.workshop import MAX_BYTES, Workshop

LATE = Refused("timeout", "late")


class Clock:
    now = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def run(errands, coroutine):
    ends = []
    errands.start(coroutine, lambda value, error: ends.append((value, error)))
    return ends


def test_an_errand_goes_on_when_its_answer_comes(clock):
    errands, answer = Errands(clock), Answer()

    async def errand():
        return await answer + 1

    ends = run(errands, errand())
    assert ends == []
    answer.give(41)
    assert ends == [(42, None)]


def test_an_answer_that_is_there_is_not_waited_for(clock):
    answer = Answer()
    answer.give("x")

    async def errand():
        return await answer

    assert run(Errands(clock), errand()) == [("x", None)]


def test_the_first_answer_stays():
    answer = Answer()
    answer.refuse(LATE)
    answer.give(1)
    with pytest.raises(Refused):
        answer.result()


def test_an_answer_that_does_not_come_is_refused_in_time_and_not_before(clock):
    errands, answer = Errands(clock), Answer()
    errands.within(answer, 2.0, LATE)
    clock.now = 1_999_999_999
    errands.step()
    assert not answer.done
    assert errands.next_ns() == 2_000_000_000
    clock.now = 2_000_000_000
    errands.step()
    with pytest.raises(Refused):
        answer.result()
    assert errands.next_ns() is None


def test_a_condition_is_looked_at_in_every_step_until_it_holds(clock):
    errands, held = Errands(clock), []
    answer = errands.until(lambda: bool(held), 1.0, LATE)
    errands.step()
    assert errands.watching
    held.append(1)
    errands.step()
    assert answer.done
    assert not errands.watching
    answer.result()


def test_sleep_ends_without_an_error(clock):
    errands = Errands(clock)
    answer = errands.sleep(0.5)
    clock.now = 499_999_999
    errands.step()
    assert not answer.done
    clock.now = 500_000_000
    errands.step()
    assert answer.done
    assert answer.result() is None


def test_what_an_errand_raises_reaches_whoever_started_it(clock):
    async def errand():
        raise ValueError("oh")

    ((value, error),) = run(Errands(clock), errand())
    assert value is None
    assert isinstance(error, ValueError)


def collect(workshop, answer):
    for _ in range(5000):
        workshop.collect()
        if answer.done:
            return
        workshop.woken.wait(0.01)
        workshop.woken.clear()
    raise AssertionError("the work was not done")


@pytest.fixture
def workshop():
    import threading

    woken = threading.Event()
    made = Workshop(woken.set)
    made.woken = woken
    yield made
    made.close()


def test_work_is_done_beside_the_loop_and_given_when_collected(workshop):
    answer = workshop.do(lambda: 6 * 7)
    collect(workshop, answer)
    assert answer.result() == 42


@pytest.mark.parametrize(("error", "kind"), [(Refused("not_found", "x"), "not_found"), (ValueError("x"), "failed")])
def test_what_goes_wrong_beside_the_loop_is_an_answer(workshop, error, kind):
    def work():
        raise error

    answer = workshop.do(work)
    collect(workshop, answer)
    with pytest.raises(Refused) as refused:
        answer.result()
    assert refused.value.kind == kind


def test_what_may_wait_for_the_workshop_is_bounded(workshop):
    import threading

    gate = threading.Event()
    first = workshop.do(lambda: gate.wait(5), MAX_BYTES)
    with pytest.raises(Refused):
        workshop.do(lambda: None, 1)
    gate.set()
    collect(workshop, first)
    collect(workshop, workshop.do(lambda: None, 1))
