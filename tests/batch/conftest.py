from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import pytest


class Here:
    """Stands for worker processes where a test is not about them: everything is run here, in order."""

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs or 1

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(
        self, function: Callable[[Any], Any], items: Collection[Any], done: Any = None
    ) -> Iterator[tuple[int, Any]]:
        for index, item in enumerate(items):
            result = function(item)
            if done is not None:
                done(index + 1, len(items))
            yield index, result


def run_all_here(
    function: Callable[[Any], Any], items: Collection[Any], *, jobs: int | None = None, done: Any = None
) -> Iterator[tuple[int, Any]]:
    return Here(jobs).run(function, items, done)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run bouts in this process."""
    monkeypatch.setattr("nuc_engine.batch.tune.Workers", Here)
    monkeypatch.setattr("nuc_engine.batch.sweep.run_all", run_all_here)
