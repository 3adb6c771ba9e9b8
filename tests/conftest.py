"""What holds for every test."""

import gc
from collections.abc import Generator

import pytest


@pytest.fixture(autouse=True)
def _the_collector_stays_on() -> Generator[None]:
    """See that no test takes the rights to real time for its whole process: without a collector memory only grows."""
    yield
    assert gc.isenabled(), "a test let nuc_engine.realtime.acquire work on the process that runs the tests"
