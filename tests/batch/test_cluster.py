"""The same on a Dask cluster, on the loopback interface."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.pool import ItemFailed, run_on_cluster
from nuc_engine.batch.sweep import run_sweep
from tests.batch import work
from tests.batch.test_sweep import plan_of

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


def test_every_item_comes_once_with_its_index(address: str) -> None:
    told: list[tuple[int, int]] = []
    found = dict(run_on_cluster(work.double, range(7), address, done=lambda *counts: told.append(counts)))
    assert found == {k: 2 * k for k in range(7)}
    assert told == [(k, 7) for k in range(1, 8)]


def test_an_error_names_the_item(address: str) -> None:
    with pytest.raises(ItemFailed, match=r"item 2 \(3\): ValueError: three is too many"):
        list(run_on_cluster(work.fail_at_three, [1, 2, 3, 4], address))
    assert dict(run_on_cluster(work.double, [1], address)) == {0: 2}


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
