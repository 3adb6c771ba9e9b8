from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from nuc_engine.ui.access import PageAccess
from nuc_engine.ui.server import Workbench

PORT = 8123
ORIGIN = f"http://127.0.0.1:{PORT}"
Start = Callable[..., "Page"]


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
