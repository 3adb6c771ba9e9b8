"""A function over many items: on worker processes, and on a Dask cluster on the loopback interface."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.pool import NEW_OBJECTS, ItemFailed, Workers, cores, run_all, run_on_cluster
from nuc_engine.batch.sweep import run_sweep
from tests.batch import work
from tests.batch.test_sweep import plan_of


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


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (work.die, r"item 0 \(1\): its worker process ended \(killed by signal 9\)"),
        (work.unpicklable, "pickle"),
        (work.raise_awkward, "Awkward: oneother"),
    ],
)
def test_what_can_not_come_back_is_told(function: object, says: str) -> None:
    with pytest.raises(ItemFailed, match=says):
        list(run_all(function, [1], jobs=1))  # type: ignore[arg-type]
    assert not multiprocessing.active_children()


def test_a_worker_has_its_next_item_before_anybody_asks_and_its_end_is_told_of_the_one_it_had() -> None:
    results = run_all(work.die_at_three, [1, 2, 3, 4, 5, 6], jobs=1)
    assert next(results) == (0, 1)
    (process,) = multiprocessing.active_children()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL, "it went on to the third without being asked"
    assert next(results) == (1, 2)
    with pytest.raises(ItemFailed, match=r"item 2 \(3\): its worker process ended") as caught:
        next(results)
    assert caught.value.index == 2


def test_the_last_items_do_not_wait_behind_a_long_one(tmp_path: Path) -> None:
    slow, quick = tmp_path / "slow", tmp_path / "quick"
    os.mkfifo(slow)
    quick.write_text("quick")
    rescue = threading.Timer(30, slow.write_text, ["too late"])
    rescue.start()
    results = run_all(work.read, [str(slow), *[str(quick)] * 3], jobs=2)
    assert sorted(next(results) for _ in range(3)) == [(k, "quick") for k in (1, 2, 3)]
    rescue.cancel()
    slow.write_text("slow")
    assert list(results) == [(0, "slow")]


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


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(params=["here", "cluster"])
def run(request: pytest.FixtureRequest) -> Any:
    """Run items on workers of either kind."""
    if request.param == "here":
        return partial(run_all, jobs=2)
    return partial(run_on_cluster, address=request.getfixturevalue("address"))


def test_every_item_comes_once_with_its_index(run: Any) -> None:
    told: list[tuple[int, int]] = []
    assert dict(run(work.double, range(7), done=lambda *counts: told.append(counts))) == {k: 2 * k for k in range(7)}
    assert told == [(k, 7) for k in range(1, 8)]


def test_workers_of_either_kind_seldom_look_for_cycles(run: Any) -> None:
    assert dict(run(work.new_objects, [0])) == {0: NEW_OBJECTS}


def test_an_error_names_the_item_and_the_next_list_is_run(run: Any) -> None:
    with pytest.raises(ItemFailed, match=r"item 2 \(3\): ValueError: three is too many") as caught:
        list(run(work.fail_at_three, [1, 2, 3, 4]))
    assert caught.value.index == 2
    assert isinstance(caught.value.__cause__, ValueError)
    assert dict(run(work.double, [1])) == {0: 2}


def test_many_items_go_to_a_cluster_together_and_come_one_by_one(address: str) -> None:
    told: list[tuple[int, int]] = []
    found = run_on_cluster(work.double, range(50), address, done=lambda *counts: told.append(counts))
    assert dict(found) == {k: 2 * k for k in range(50)}
    assert told == [(k, 50) for k in range(1, 51)]
    seen: dict[int, int] = {}
    with pytest.raises(ItemFailed, match=r"item 37 \(3\): ValueError: three is too many") as caught:
        seen.update(run_on_cluster(work.fail_at_three, [5] * 37 + [3] + [6] * 12, address))
    assert caught.value.index == 37
    assert seen[36] == 5, "what was found in the group before it is not lost"
    assert 37 not in seen


def test_a_sweep_there_is_the_sweep_here(address: str, tmp_path: Path) -> None:
    plan = plan_of(seeds=(1, 2))
    run_sweep(plan, tmp_path / "there.parquet", cluster=address)
    run_sweep(plan, tmp_path / "here.parquet", jobs=1)
    there, here = (parquet.read_table(tmp_path / name) for name in ("there.parquet", "here.parquet"))
    assert there.to_pylist() == here.to_pylist()


def test_no_cluster_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nuc_engine.batch.pool._ANSWER_S", 0.3)
    with pytest.raises(BulkRefused, match="no Dask scheduler answers"):
        list(run_on_cluster(work.double, [1], "tcp://127.0.0.1:1"))
