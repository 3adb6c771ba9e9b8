"""What holds for every test."""

import gc
import os
from collections.abc import Generator

# Before NumPy is loaded: threads of its algebra wait for each other on a machine whose cores are busy with other tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings

import drivers.port

# An example is not judged by the wall clock: the first one may load what all others share, on a machine that is busy.
settings.register_profile("no_deadline", deadline=None)
settings.load_profile("no_deadline")


@pytest.fixture(autouse=True)
def _the_collector_stays_on() -> Generator[None]:
    """See that no test takes the rights to real time for its whole process: without a collector memory only grows."""
    yield
    assert gc.isenabled(), "a test let nuc_engine.realtime.acquire work on the process that runs the tests"


def pytest_configure() -> None:
    """Refuse to test another core than was asked for."""
    compiled = not str(drivers.port.__file__).endswith(".py")
    asked = os.environ.get("NUC_CORE")
    if asked and (asked == "compiled") is not compiled:
        raise pytest.UsageError(f"NUC_CORE={asked}, but the core is {drivers.port.__file__}")
