"""The application as a browser meets it: who gets what, with which headers, and what a WebSocket is ended for."""

from __future__ import annotations

import time  # noqa: TID251  heartbeats are of the real clock
from hashlib import sha256
from pathlib import Path

import pytest
from starlette.websockets import WebSocketDisconnect

from nuc_engine.ui import server, tab
from nuc_engine.ui.bouts import BoutPages
from tests.ui.conftest import ORIGIN, PORT, Page, Start

SEALED = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
POLICY = (
    "default-src 'self'",
    "img-src 'self' blob:",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "object-src 'none'",
    "require-trusted-types-for 'script'",
    f"connect-src 'self' ws://127.0.0.1:{PORT}",
)


@pytest.mark.parametrize("path", ["/", "/nothing", "/api/session", "/api/bouts", "/api/nothing", "/live"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "BREW"])
def test_every_answer_is_sealed(page: Page, path: str, method: str) -> None:
    answer = page.web.request(method, path)
    assert SEALED.items() <= dict(answer.headers).items()
    policy = answer.headers["content-security-policy"]
    assert all(part in policy for part in POLICY)
    assert "set-cookie" not in answer.headers
    assert "server" not in answer.headers
    assert not any(name.startswith("access-control") for name in answer.headers)
    if path.startswith("/api/"):
        assert answer.headers["cache-control"] == "no-store"


def test_refusals_are_sealed_too(page: Page) -> None:
    for headers in (
        {"host": "evil.example"},
        {"host": "\xe9\r\nx", "origin": ORIGIN},
        {"origin": "http://evil.example"},
    ):
        answer = page.web.get("/", headers={name: value.encode("latin-1") for name, value in headers.items()})
        assert answer.status_code == 403
        assert SEALED.items() <= dict(answer.headers).items()
        assert "evil" not in answer.headers["content-security-policy"]


def test_a_token_opens_a_session_once(page: Page) -> None:
    token = page.access.new_token()
    assert page.web.get("/api/token").status_code == 401
    first = page.web.post("/api/session", json={"token": token})
    again = page.web.post("/api/session", json={"token": token})
    assert (first.status_code, again.status_code) == (200, 403)
    assert again.json()["error"]["kind"] == "not_allowed"
    other = page.web.post("/api/token", headers={"authorization": f"Bearer {first.json()['session']}"})
    assert page.web.post("/api/session", json=other.json()).status_code == 200


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b'{"token": 7}', b"\xff", b"[" * 50_000, b"x" * 1_000_000])
def test_a_body_that_is_none_opens_nothing(page: Page, body: bytes) -> None:
    assert page.web.post("/api/session", content=body).status_code == 403


def test_nothing_of_the_interface_is_there_without_a_session(start: Start, tmp_path: Path) -> None:
    page = start(more=BoutPages(tmp_path, tmp_path / "spare").routes())
    for path in ("/api/bouts", "/api/bouts/x", "/api/bouts/x/records", "/api/jobs/1", "/api/token", "/api/else"):
        assert page.web.get(path).status_code == 401
        assert page.web.get(path, headers={"authorization": "Bearer x"}).status_code == 401
    page.begin()
    assert page.web.get("/api/bouts").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/../outside.js",
            "/%2e%2e/outside.js",
            "/..%2foutside.js",
            "/sub/../../outside.js",
            "/sub//a.js",
            "//sub/a.js",
        ),
        *(
            "/notes.py",
            "/.hidden.js",
            "/sub",
            "/sub/",
            "/sub/a.js/",
            "/a.js%00",
            "/%00.js",
            "/..\\outside.js",
            "/nope.js",
        ),
        *("/%ff.js", "/" + "a" * 5000 + ".js", "/" + "a/" * 2000 + "a.js"),
    ],
)
def test_no_path_leads_out_of_the_static_files(start: Start, web: Path, path: str) -> None:
    page = start(web=web)
    answer = page.web.get(path)
    assert answer.status_code in (404, 400)
    assert "secret" not in answer.text
    assert page.web.get("/").text == "<!doctype html>"
    assert page.web.get("/sub/a.js").headers["content-type"] == "text/javascript; charset=utf-8"


def code_of(page: Page, path: str, *said: str, origin: str = ORIGIN) -> int:
    """Say something on a WebSocket; return the code it is closed with."""
    try:
        with page.socket(path, origin) as socket:
            for text in said:
                socket.send_text(text)
            while True:
                socket.receive_text()
    except WebSocketDisconnect as end:
        return end.code


@pytest.mark.parametrize("path", ["/live", "/stop"])
def test_a_websocket_of_others_is_refused_before_it_is_one(page: Page, path: str) -> None:
    for origin in ("http://evil.example", f"http://127.0.0.1:{PORT + 1}", "null", ""):
        with pytest.raises(WebSocketDisconnect) as end, page.socket(path, origin):
            pass
        assert end.value.code == 1008


@pytest.mark.parametrize("path", ["/live", "/stop"])
@pytest.mark.parametrize(
    "first", ['{"session": "x"}', "{}", "", "[]", '{"beat": 1}', "\x00", '{"session": null}', "[" * 9999]
)
def test_a_websocket_without_a_session_is_closed(page: Page, path: str, first: str) -> None:
    page.begin()
    assert code_of(page, path, first) == server.REFUSED
    assert (page.workbench.tabs, page.workbench.stops) == (0, 0)


@pytest.mark.parametrize("path", ["/live", "/stop"])
def test_a_server_proves_itself_before_it_is_told_the_secret(page: Page, path: str) -> None:
    page.begin()
    session, nonce = sha256(page.secret.encode()).hexdigest(), "5a" * 32
    with page.socket(path) as socket:
        socket.send_text(f'{{"hello": "{session}", "nonce": "{nonce}"}}')
        assert socket.receive_json() == {"proof": page.access.proof(session, nonce)}
        socket.send_text(hello(page))
        assert "proof" not in socket.receive_json()
    for said in (f'{{"hello": "{"00" * 32}", "nonce": "{nonce}"}}', '{"hello": "x"}'):
        assert code_of(page, path, said) == server.REFUSED
    proved = f'{{"hello": "{session}", "nonce": "{nonce}"}}'
    assert code_of(page, path, proved, proved) == server.REFUSED, "a proof is no session"


def test_who_says_nothing_is_not_waited_for(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "FIRST_S", 0.05)
    assert code_of(page, "/live") == server.REFUSED
    assert code_of(page, "/stop") == server.REFUSED


def hello(page: Page) -> str:
    return f'{{"session": "{page.secret}"}}'


def test_so_many_tabs_and_not_one_more(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_TABS", 1)
    page.begin()
    for path in ("/live", "/stop"):
        with page.socket(path) as socket:
            socket.send_text(hello(page))
            socket.receive_text()
            assert code_of(page, path, hello(page)) == server.CROWDED
        assert code_of(page, path, hello(page), "nonsense") in (tab.BAD, 1000), "there is room again"


def test_a_tab_without_a_daemon_is_told_so_and_keeps_its_beat(page: Page) -> None:
    page.begin()
    with page.socket("/live") as socket:
        socket.send_text(hello(page))
        welcome = socket.receive_json()
        assert (welcome["topic"], welcome["daemon"], welcome["bouts"]) == ("welcome", None, True)
        socket.send_text('{"beat": 7}')
        assert socket.receive_json() == {"beat": 7}
        socket.send_text('{"id": 1, "method": "status"}')
        assert socket.receive_json()["error"]["kind"] == "no_daemon"


@pytest.mark.parametrize(
    "said", ["", "x", "[]", '{"id": 1, "method": "status", "more": 1}', '{"beat": "x"}', "{" * 9999]
)
def test_what_is_no_message_ends_the_tab(page: Page, said: str) -> None:
    page.begin()
    assert code_of(page, "/live", hello(page), said) == tab.BAD


def test_a_tab_whose_heart_stops_is_gone(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tab, "BEAT_S", 0.3)
    page.begin()
    begun = time.monotonic()
    assert code_of(page, "/live", hello(page)) == tab.GONE
    assert time.monotonic() - begun > 0.25
    assert page.workbench.tabs == 0


def test_a_button_without_a_daemon_says_that_it_stops_nothing(page: Page) -> None:
    page.begin()
    with page.socket("/stop") as socket:
        socket.send_text(hello(page))
        told = socket.receive_json()
        assert told["ready_ms"] is None
        assert told["why"]
        socket.send_text('{"off": "test", "pressed_unix_s": 1.5}')
        while "off_failed" not in (told := socket.receive_json()):
            assert told["ready_ms"] is None


@pytest.mark.parametrize("said", ["x", "[]", '{"off": 7}', '{"on": "x"}', "[" * 9999])
def test_what_is_no_message_of_a_button_ends_it(page: Page, said: str) -> None:
    page.begin()
    assert code_of(page, "/stop", hello(page), said) == 1000
    assert page.workbench.stops == 0


class Crowded:
    """The way of torque off of a process that has no descriptor left."""

    path = "socket"

    def probe(self) -> dict[str, object]:
        raise OSError(24, "Too many open files")

    def off(self, why: str) -> dict[str, object]:
        raise OSError(24, "Too many open files")


def test_a_button_outlives_whatever_goes_wrong_with_its_way(start: Start) -> None:
    page = start(stop=Crowded())
    page.begin()
    with page.socket("/stop") as socket:
        socket.send_text(hello(page))
        for _ in range(2):
            told = socket.receive_json()
            assert (told["ready_ms"], "Too many open files" in told["why"]) == (None, True)
        for _ in range(2):
            socket.send_text('{"off": "test"}')
            while "off_failed" not in (told := socket.receive_json()):
                pass
            assert "Too many open files" in told["off_failed"]
