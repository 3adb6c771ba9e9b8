from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.fake_daemon import Clock, FakeDaemon, Leg, Serving, serving


@pytest.fixture
def daemon() -> FakeDaemon:
    return FakeDaemon(Leg())


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"ipc://{tmp_path}/command"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def served(daemon: FakeDaemon, address: str, tmp_path: Path) -> Iterator[Serving]:
    with serving(daemon, address, f"ipc://{tmp_path}/telemetry") as server:
        yield server
