from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nuc_engine.client import AsyncClient, Client
from tests.client.fake_daemon import Clock, FakeDaemon, Leg, Serving, serving


@pytest.fixture
def daemon() -> FakeDaemon:
    return FakeDaemon(Leg())


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"ipc://{tmp_path}/command"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of every client: no answer is late because a machine is busy."""
    clock = Clock()
    for kind in (Client, AsyncClient):
        monkeypatch.setitem(kind.__init__.__kwdefaults__, "now_s", clock)
    return clock


@pytest.fixture
def served(daemon: FakeDaemon, address: str, tmp_path: Path) -> Iterator[Serving]:
    with serving(daemon, address, f"ipc://{tmp_path}/telemetry") as server:
        yield server
