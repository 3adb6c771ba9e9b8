from __future__ import annotations

import signal
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.realtime.daemon import Leg
from tests.realtime.served import Disturbances, Served, no_error_of_its_own
from tests.realtime.ui_browser import browsing, server


@pytest.fixture(scope="module")
def stalls(tmp_path_factory):
    beside = Disturbances(tmp_path_factory.mktemp("stalls"))
    yield beside
    beside.end()


@contextmanager
def serving(folder: Path):
    started: list[Served] = []

    def start(*words: str, legs=(), line="", **options) -> tuple[Leg, Served]:
        place = folder / f"d{len(started)}"
        place.mkdir()
        leg = Leg(place, "lin_roach", *legs)
        leg.line = line
        ends.callback(leg.end, signal.SIGKILL)
        started.append(Served(leg, place, *words, **options))
        ends.callback(started[-1].close)
        return leg, started[-1]

    # Everything is ended, whatever becomes of the end of one of them.
    with ExitStack() as ends:
        yield start
        said = [served.said() for served in started]
    for text in said:
        no_error_of_its_own(text)


@pytest.fixture
def serve(tmp_path):
    """Start legs and daemons beside them; all of them end with the test, and none may have met an unknown error."""
    with serving(tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def serve_all(tmp_path_factory):
    """The same for all tests of a file."""
    with serving(tmp_path_factory.mktemp("all")) as start:
        yield start


@pytest.fixture
def bench(serve):
    """A leg, and a daemon that is ready."""
    leg, served = serve()
    served.await_ready()
    return leg, served


@pytest.fixture(scope="module")
def served(serve_all):
    """A daemon that is ready, beside its leg, for all tests of a file."""
    _, served = serve_all()
    served.await_ready()
    return served


@pytest.fixture(scope="module")
def tab():
    """Make tabs in a browser."""
    with browsing() as make:
        yield make


@pytest.fixture
def ui(served, tmp_path):
    """`nuc ui` beside that daemon."""
    with server(tmp_path, "--address", f"ipc://{served.sockets}/command", "--data", str(served.data)) as started:
        yield started
