from __future__ import annotations

import time  # noqa: TID251  jobs are processes
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from nuc_engine.ui.access import PageAccess
from nuc_engine.ui.bouts import BoutPages
from nuc_engine.ui.server import Workbench

PORT = 8123
ORIGIN = f"http://127.0.0.1:{PORT}"
Start = Callable[..., "Page"]
PATIENCE_S = 60.0


class Page:
    """A workbench, spoken to as its page does."""

    def __init__(self, workbench: Workbench) -> None:
        self.workbench, self.access = workbench, workbench.access
        self.web = TestClient(workbench.app(), base_url=ORIGIN)
        self.secret = ""

    def begin(self) -> str:
        """Open a session."""
        answer = self.web.post("/api/session", json={"token": self.access.new_token()}, headers={"origin": ORIGIN})
        self.secret = answer.json()["session"]
        self.web.headers["authorization"] = f"Bearer {self.secret}"
        return self.secret

    def socket(self, path: str, origin: str = ORIGIN):
        """Return a WebSocket, to be entered."""
        return self.web.websocket_connect(f"ws://127.0.0.1:{PORT}{path}", headers={"origin": origin})

    def ended(self, number: str) -> dict[str, Any]:
        """Return a job once it has ended."""
        until = time.monotonic() + PATIENCE_S
        while (job := self.web.get(f"/api/jobs/{number}").json())["state"] in ("waiting", "running"):
            assert time.monotonic() < until, job
            time.sleep(0.05)
        return job


@pytest.fixture
def now() -> list[float]:
    """The clock of tokens, s."""
    return [100.0]


@pytest.fixture
def access(now: list[float]) -> PageAccess:
    return PageAccess(PORT, lambda: now[0])


@pytest.fixture
def start(access: PageAccess) -> Iterator[Start]:
    """Make pages of workbenches; their loops end with the test."""
    entered: list[TestClient] = []

    def make(**options: object) -> Page:
        page = Page(Workbench(access, "tester", **options))
        page.web.__enter__()
        entered.append(page.web)
        return page

    yield make
    for web in entered:
        web.__exit__()


@pytest.fixture
def page(start: Start) -> Page:
    """A page without a daemon."""
    return start()


@pytest.fixture
def bouts(tmp_path: Path) -> BoutPages:
    """Pages of the bouts in `data`; what jobs leave is in `spare`."""
    (tmp_path / "spare").mkdir()
    return BoutPages(tmp_path / "data", tmp_path / "spare")


@pytest.fixture
def beside(start: Start, bouts: BoutPages) -> Iterator[Start]:
    """Make a page of bouts and of other pages beside them, its session begun; all of them are closed with the test."""
    ends: list[Callable[[], object]] = []

    def make(*others: Any) -> Page:
        pages = (*others, bouts)
        page = start(more=[route for each in pages for route in each.routes()])
        page.begin()
        assert page.web.portal is not None
        ends.extend(partial(page.web.portal.call, each.close) for each in pages if hasattr(each, "close"))
        return page

    yield make
    for end in ends:
        end()


@pytest.fixture
def web(tmp_path: Path) -> Path:
    """Static files of a page of its own."""
    folder = tmp_path / "web"
    (folder / "sub").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>")
    (folder / "sub" / "a.js").write_text("export const a = 1;")
    (folder / "notes.py").write_text("secret")
    (folder / ".hidden.js").write_text("secret")
    (tmp_path / "outside.js").write_text("secret")
    return folder
