from __future__ import annotations

import multiprocessing
import os

import pytest

from nuc_engine.batch.pool import ItemFailed, Workers, cores, run_all
from tests.batch import work


def test_every_item_comes_once_with_its_index() -> None:
    told: list[tuple[int, int]] = []
    found = dict(run_all(work.double, [5, 6, 7, 8], jobs=2, done=lambda *counts: told.append(counts)))
    assert found == {0: 10, 1: 12, 2: 14, 3: 16}
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_nothing_to_do_starts_no_process() -> None:
    assert list(run_all(work.double, [], jobs=2)) == []
    assert not multiprocessing.active_children()


def test_workers_serve_several_lists_and_are_others_than_this_process() -> None:
    with Workers(1) as workers:
        first = {process for _, process in workers.run(work.process_id, range(3))}
        again = {process for _, process in workers.run(work.process_id, range(3))}
    assert first == again
    assert len(first) == 1
    assert os.getpid() not in first
    assert not multiprocessing.active_children()


def test_an_error_names_the_item_and_ends_the_workers() -> None:
    with pytest.raises(ItemFailed, match=r"item 2 \(3\): ValueError: three is too many") as caught:
        list(run_all(work.fail_at_three, [1, 2, 3, 4], jobs=1))
    assert caught.value.index == 2
    assert isinstance(caught.value.__cause__, ValueError)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (work.die, "killed by signal 9"),
        (work.unpicklable, "pickle"),
        (work.raise_awkward, "Awkward: oneother"),
    ],
)
def test_what_can_not_come_back_is_told(function: object, says: str) -> None:
    with pytest.raises(ItemFailed, match=says):
        list(run_all(function, [1], jobs=1))  # type: ignore[arg-type]
    assert not multiprocessing.active_children()


def test_a_function_that_workers_can_not_find_is_told() -> None:
    with pytest.raises(Exception, match=r"(?i)pickle|local"):
        list(run_all(lambda item: item, [1], jobs=1))
    assert not multiprocessing.active_children()


def test_who_stops_asking_leaves_no_process_behind() -> None:
    results = run_all(work.double, list(range(10)), jobs=2)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert not multiprocessing.active_children()


def test_after_a_list_that_was_given_up_the_next_one_gets_its_own_results() -> None:
    with Workers(2) as workers:
        first = workers.run(work.double, [1, 2, 3, 4])
        next(first)
        first.close()
        assert dict(workers.run(work.double, [10, 20])) == {0: 20, 1: 40}


def test_no_jobs_are_refused() -> None:
    with pytest.raises(ValueError, match="expected 1 or more"):
        list(run_all(work.double, [1], jobs=0))
    assert cores() >= 1
