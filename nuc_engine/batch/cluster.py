"""A function over many items on a Dask cluster: the same as `nuc_engine.batch.pool`, on other machines too."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeVar

from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.pool import Done, ItemFailed
from nuc_engine.machine.needs import need

T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 2
"""Items per thread of the cluster that are under way: one in work and one that waits there."""
_ANSWER_S = 10.0


def run_on_cluster(
    function: Callable[[T], R], items: Collection[T], address: str, *, done: Done | None = None
) -> Iterator[tuple[int, R]]:
    """Yield the index of each item and the function's result for it, in the order in which they are finished.

    The workers need this package installed; items carry everything else. What has not come is cancelled when the caller
    does not go on asking. Raises BulkRefused where there is no cluster, ItemFailed for the first item the function
    raises for.
    """
    distributed = _library()
    with _client(distributed, address) as client:
        room = _AHEAD * sum(client.ncores().values())
        if not room:
            raise BulkRefused(f"{address}: the cluster has no workers; start some first")
        waiting = iter(enumerate(items))
        under_way: dict[Any, tuple[int, T]] = {}
        arriving = distributed.as_completed(loop=client.loop)

        def submit() -> None:
            for index, item in waiting:
                future = client.submit(function, item, pure=False)
                under_way[future] = index, item
                arriving.add(future)
                return

        try:
            for _ in range(room):
                submit()
            finished = 0
            while under_way:
                future = next(arriving)
                index, item = under_way.pop(future)
                error = future.exception()
                if error is not None:
                    raise ItemFailed(index, item, f"{type(error).__name__}: {error}") from error
                result = future.result()
                submit()
                finished += 1
                if done is not None:
                    done(finished, len(items))
                yield index, result
        finally:
            client.cancel(list(under_way))


def _client(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, set_as_default=False, timeout=_ANSWER_S)
    except (OSError, ValueError) as error:
        raise BulkRefused(f"{address}: no Dask scheduler answers ({error}); expected tcp://HOST:PORT") from error


def _library() -> Any:
    need(distributed="a cluster")
    import distributed

    return distributed
