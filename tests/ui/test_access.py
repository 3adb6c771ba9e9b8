"""Tokens, sessions, Host and Origin."""

from __future__ import annotations

import shlex
from hashlib import sha256
from pathlib import Path

import pytest

from nuc_engine.ui.access import MOST_SESSIONS, TOKEN_S, PageAccess
from nuc_engine.ui.launch import forward_line
from tests.ui.conftest import ORIGIN, PORT


def test_a_token_is_good_once_and_for_a_minute(access: PageAccess, now: list[float]) -> None:
    token = access.new_token()
    assert access.exchange("") is None
    assert access.exchange(token + "x") is None
    secret = access.exchange(token)
    assert access.knows(secret)
    assert access.exchange(token) is None
    late = access.new_token()
    now[0] += TOKEN_S + 0.1
    assert access.exchange(late) is None
    assert access.knows(secret), "a session lasts as long as the server"


def test_secrets_are_of_their_own_and_nothing_else_is_known(access: PageAccess) -> None:
    first, second = (access.exchange(access.new_token()) for _ in range(2))
    assert first != second
    for other in (None, 7, "", "x", "\udcff", first[:-1] if first else "", "x" * 100_000, [first]):
        assert not access.knows(other)


def test_a_server_proves_only_the_sessions_it_has_and_each_number_otherwise(access: PageAccess) -> None:
    first, second = (access.exchange(access.new_token()) or "" for _ in range(2))
    names = [sha256(secret.encode()).hexdigest() for secret in (first, second)]
    proofs = {access.proof(name, nonce) for name in names for nonce in ("00" * 32, "01" * 32)}
    assert len(proofs) == 4
    assert None not in proofs
    assert access.proof(names[0], "00" * 32) in proofs, "the same again"
    assert PageAccess(PORT, lambda: 0.0).proof(names[0], "00" * 32) is None, "a server that was started anew"
    for session, nonce in ((sha256(b"x").hexdigest(), "00"), ("", ""), ("x", "00"), (names[0], "0"), (names[0], "é")):
        assert access.proof(session, nonce) is None


def test_sessions_are_bounded_and_the_oldest_goes(access: PageAccess) -> None:
    secrets = [access.exchange(access.new_token()) for _ in range(MOST_SESSIONS + 1)]
    assert not access.knows(secrets[0])
    assert all(map(access.knows, secrets[1:]))


def test_tokens_are_bounded(access: PageAccess) -> None:
    tokens = [access.new_token() for _ in range(100)]
    assert sum(access.exchange(token) is not None for token in tokens) < 20


@pytest.mark.parametrize(
    ("headers", "good"),
    [
        ([], False),
        ([(b"authorization", b"Bearer %s")], True),
        ([(b"authorization", b"bearer  %s ")], True),
        ([(b"authorization", b"Basic %s")], False),
        ([(b"authorization", b"%s")], False),
        ([(b"authorization", b"Bearer ")], False),
        ([(b"authorization", b"Bearer %s"), (b"authorization", b"Bearer %s")], False),
        ([(b"cookie", b"session=%s")], False),
        ([(b"authorization", b"Bearer \xff\xfe")], False),
    ],
)
def test_the_secret_is_said_in_one_header(access: PageAccess, headers: list[tuple[bytes, bytes]], good: bool) -> None:
    secret = (access.exchange(access.new_token()) or "").encode()
    said = [(name, value.replace(b"%s", secret)) for name, value in headers]
    assert access.authorised(said) is good


HERE = (b"host", f"127.0.0.1:{PORT}".encode())
OWN = (b"origin", ORIGIN.encode())


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"host", b"127.0.0.1")],
        [(b"host", b"evil.example")],
        [(b"host", f"evil.example:{PORT}".encode())],
        [(b"host", f"127.0.0.1:{PORT + 1}".encode())],
        [(b"host", f"127.0.0.1:{PORT}.evil.example".encode())],
        [HERE, HERE],
        [HERE, (b"host", b"evil.example")],
        [HERE, (b"origin", b"http://evil.example")],
        [HERE, (b"origin", f"http://127.0.0.1:{PORT + 1}".encode())],
        [HERE, (b"origin", f"https://127.0.0.1:{PORT}".encode())],
        [HERE, (b"origin", b"null")],
        [HERE, (b"origin", b"")],
        [HERE, (b"origin", b"file://")],
        [HERE, OWN, OWN],
    ],
)
@pytest.mark.parametrize("websocket", [False, True])
def test_forged_hosts_and_origins_are_refused(
    access: PageAccess, headers: list[tuple[bytes, bytes]], websocket: bool
) -> None:
    assert access.refuses(headers, websocket=websocket)


def test_what_a_browser_says_of_the_own_page_is_let_in(access: PageAccess) -> None:
    local = (b"host", f"LOCALHOST:{PORT}".encode())
    for host in (HERE, local):
        assert access.refuses([host], websocket=False) == ""
        assert access.refuses([host, OWN], websocket=True) == ""
    assert access.refuses([HERE], websocket=True), "a browser says the origin of every WebSocket"
    assert access.refuses([HERE, OWN, (b"sec-fetch-site", b"cross-site")], websocket=True)


def test_the_line_for_another_machine_keeps_the_port_and_what_it_fetches_to_oneself() -> None:
    line = forward_line(40123, Path("/run/user/1/nuc ui/open.html"))
    assert line.startswith("(umask 077; ssh -f -L 40123:127.0.0.1:40123 ")
    *_, fetch, _, file = shlex.split(line.strip("()"))
    # The forwarded port has to be there for as long as what is fetched is good.
    assert shlex.split(fetch) == ["cat", "/run/user/1/nuc ui/open.html;", "sleep", "60"]
    assert file == "nuc-ui.html"
