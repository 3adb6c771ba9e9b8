"""Who may speak to the page's server: one-time tokens, sessions, Host and Origin.

There are no cookies, which all ports of a host share. Whoever can read the redirect file (mode 0600) has a token, good
once and for a minute; the page gives it away for a session's secret, which it says with everything it asks for.

A port that a server has left may be anybody's: before the page says its secret on a new connection, the server has to
prove that it knows it too (`proof`), by the HMAC of a number the page has just drawn.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Sequence
from hashlib import sha256

TOKEN_S = 60.0
"""How long a token is good for, if nobody uses it."""

MOST_SESSIONS = 64
"""Sessions that are remembered; one more, and the oldest is forgotten."""

_MOST_TOKENS = 8
_LONGEST = 256


class PageAccess:
    """Tokens and sessions of one server at `port` of this machine. `now_s` is a clock that only moves forward."""

    def __init__(self, port: int, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
        self._origins = frozenset(f"http://{host}" for host in self._hosts)
        self._tokens: dict[bytes, float] = {}
        self._sessions: dict[bytes, bytes] = {}

    def new_token(self) -> str:
        """Return a token that is good for one session, within TOKEN_S."""
        token = secrets.token_urlsafe(32)
        self._tokens[_digest(token)] = self._now_s() + TOKEN_S
        while len(self._tokens) > _MOST_TOKENS:
            del self._tokens[next(iter(self._tokens))]
        return token

    def exchange(self, token: str) -> str | None:
        """Return the secret of a new session for a token, which is spent by that; None where it is no good."""
        until_s = self._tokens.pop(_digest(token), None)
        if until_s is None or self._now_s() > until_s:
            return None
        secret = secrets.token_urlsafe(32)
        self._sessions[_digest(secret)] = _digest(f"prove:{secret}")
        while len(self._sessions) > MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return secret

    def knows(self, secret: object) -> bool:
        """Say whether this is the secret of a session."""
        return isinstance(secret, str) and len(secret) <= _LONGEST and _digest(secret) in self._sessions

    def proof(self, session: str, nonce: str) -> str | None:
        """Return what shows that this server knows a session's secret, of which `session` is the SHA-256; both in hex.

        None for a session that it does not know, as after a restart, and for what is no hex.
        """
        try:
            key = self._sessions.get(bytes.fromhex(session))
            said = bytes.fromhex(nonce)
        except ValueError:
            return None
        return None if key is None else hmac.digest(key, said, "sha256").hex()

    def authorised(self, headers: Sequence[tuple[bytes, bytes]]) -> bool:
        """Say whether a request's headers (lower case names) hold the secret of a session, once."""
        said = _values(headers, b"authorization")
        kind, _, secret = said[0].partition(" ") if len(said) == 1 else ("", "", "")
        return kind.lower() == "bearer" and self.knows(secret.strip())

    def refuses(self, headers: Sequence[tuple[bytes, bytes]], *, websocket: bool) -> str:
        """Say why a request is none of the page's own; nothing where it may be.

        A name that leads here without being ours (DNS rebinding) tells itself by Host; a page of another port, or a
        frame, by Origin, which a browser sends with every WebSocket and with whatever changes something.
        """
        hosts, origins = _values(headers, b"host"), _values(headers, b"origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return "this server is spoken to as 127.0.0.1 or localhost, with its port"
        if len(origins) > 1 or (websocket and not origins):
            return "a WebSocket says which page opened it, once"
        if origins and origins[0].lower() not in self._origins:
            return "pages of other origins get nothing here"
        if any(site not in ("same-origin", "none") for site in _values(headers, b"sec-fetch-site")) and websocket:
            return "pages of other origins get nothing here"
        return ""


def _values(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]


def _digest(secret: str) -> bytes:
    return sha256(secret.encode(errors="surrogatepass")).digest()
