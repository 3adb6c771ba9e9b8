"""Whatever is sent to any route of the page's server: strangers get nothing, and nothing is an error of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.routing import Route

from nuc_engine.ui.access import PageAccess
from nuc_engine.ui.answers import MOST_LONG
from nuc_engine.ui.launch import pages_of
from nuc_engine.ui.server import Workbench
from tests.ui.conftest import Page, Start


def posts() -> list[str]:
    """Return the path of every route that takes a body, as the server has them; what is to be named in it is `x`."""
    _, _, more = pages_of(Path(), Path(), lambda: False)
    routes = Workbench(PageAccess(0, lambda: 0.0), "", more=more).routes()
    found = [each.path for each in routes if isinstance(each, Route) and "POST" in (each.methods or ())]
    return sorted({re.sub(r"\{[^}]*\}", "x", path) for path in found})


BODIES = (
    b"[" * 50_000,
    b'{"a":' * 50_000,
    b"{" + b'"name": NaN' + b"}",
    b'{"duration_s": 1e999, "repeat": 1e999, "seed": 1e999, "id": 1e999, "speed": 1e999}',
    b'{"seed": ' + b"9" * 5000 + b"}",
    b'{"documents": {"\\ud800": "\\udfff"}, "name": "\\ud800", "text": "\\ud800"}',
    b'{"documents": {"../x": "", "/etc/passwd": ""}, "name": "../x", "text": 7}',
    b"\xff\xfe\x00",
    b'"' + b"x" * 60_000 + b'"',
    json.dumps({"documents": {str(number): "" for number in range(2000)}, "name": "x" * 5000}).encode(),
)


NOT_READ = {"/api/token": 200, "/api/ask/x": 200, "/api/session": 403, "/api/bouts/x": 404, "/api/virtual/x": 404}
"""What is answered where a body is not looked at, or not to its end: there is no such tab, no such bout."""


@pytest.fixture
def everything(start: Start, tmp_path: Path) -> Iterator[Page]:
    """A server with all its routes, its session begun."""
    bouts, virtual, more = pages_of(tmp_path / "data", tmp_path, lambda: False)
    page = start(more=more)
    page.begin()
    yield page
    assert page.web.portal is not None
    for each in (virtual, bouts):
        page.web.portal.call(each.close)


@pytest.mark.parametrize("path", [path for path in posts() if path != "/api/token"])
def test_no_body_is_an_error_of_the_servers_own(everything: Page, path: str) -> None:
    for body in BODIES:
        status = everything.web.post(path, content=body).status_code
        # A tab that is gone is told so, as on its WebSocket.
        assert 400 <= status < 500 or (path, status) == ("/api/ask/x", 200), body[:60]


@pytest.mark.parametrize("path", posts())
def test_more_than_may_be_sent_is_refused_though_nobody_says_how_much_it_is(everything: Page, path: str) -> None:
    pieces = (b" " * 65_536 for _ in range(MOST_LONG // 65_536 + 2))
    status = everything.web.post(path, content=pieces).status_code
    assert status == NOT_READ.get(path, 413)


@pytest.mark.parametrize("path", posts())
def test_without_a_session_no_body_is_taken(everything: Page, path: str) -> None:
    del everything.web.headers["authorization"]
    for body in (b"{}", b"x" * 100_000):
        assert everything.web.post(path, content=body).status_code == (403 if path == "/api/session" else 401)
