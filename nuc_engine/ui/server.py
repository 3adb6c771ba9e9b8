"""The web application: headers and who may speak, static files, sessions, and the two WebSockets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_urlsafe
from time import monotonic, time
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from nuc_engine.client import Client, ClientError, Refused
from nuc_engine.ui.access import PageAccess
from nuc_engine.ui.answers import MOST_LONG, answer, body_of, problem
from nuc_engine.ui.bridge import DaemonBridge, encode
from nuc_engine.ui.connections import KNOWN
from nuc_engine.ui.outbox import Outbox
from nuc_engine.ui.stop import TorqueOffPath
from nuc_engine.ui.tab import BrowserTab, PageMessage, TabClient, error_of, read_message
from nuc_engine.ui.unwatched import UnwatchedStop

WEB = Path(__file__).with_name("web")

MOST_TABS = 16
"""Tabs that may be open at once; as many connections of their torque-off buttons."""

FIRST_S = 2.0
"""How long a WebSocket may take for each message until its session is known."""

PROBE_EVERY_S = 0.5
"""How often a torque-off button is told whether it would be heard."""

REFUSED, CROWDED = 4003, 4004
"""Codes a WebSocket is closed with: no session; too many tabs."""

_TYPES = MappingProxyType(
    {
        ".html": "text/html; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".svg": "image/svg+xml",
        ".png": "image/png",
        ".woff2": "font/woff2",
        ".json": "application/json",
        ".txt": "text/plain; charset=utf-8",
        ".md": "text/plain; charset=utf-8",
    }
)
_POLICY = (
    "default-src 'self'; img-src 'self' blob:; media-src 'self' blob:; connect-src 'self' ws://{host}; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; object-src 'none'; require-trusted-types-for 'script'"
)
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class StopMessage(Struct, forbid_unknown_fields=True):
    """A message of a torque-off button: a session's secret first, then why, each time it is pressed."""

    session: str | None = None
    off: str | None = None
    pressed_unix_s: float | None = None


@dataclass(slots=True)
class Workbench:
    """What one server has: who may speak, the daemon that is watched, or none, and routes of data directories."""

    access: PageAccess
    author: str
    bridge: DaemonBridge | None = None
    stop: TorqueOffPath | None = None
    unwatched: UnwatchedStop | None = None
    more: Iterable[BaseRoute] = ()
    bouts: bool = True
    emulated: bool = False
    way: Sequence[str] = ()
    """How `nuc ctl` is told of the same daemon: address and keys, nothing where it finds it."""

    web: Path = WEB
    tabs: int = 0
    stops: int = 0
    clients: dict[str, TabClient] = field(default_factory=dict[str, TabClient])
    """Of the tabs that are open, by a key that each is told."""

    def app(self) -> ASGIApp:
        """Return the application."""
        return RequestGuard(Starlette(routes=self.routes()), self.access)

    def routes(self) -> list[BaseRoute]:
        """Return everything that can be asked for."""
        return [
            Route("/api/session", self.open_session, methods=["POST"]),
            Route("/api/token", self.new_token, methods=["POST"]),
            Route("/api/ask/{tab}", self.ask, methods=["POST"]),
            *self.more,
            WebSocketRoute("/live", self.live),
            WebSocketRoute("/stop", self.stop_button),
            Route("/{path:path}", self.static, methods=["GET"]),
        ]

    @property
    def drives(self) -> bool:
        """Whether a bout drives real servos now, as far as that is known."""
        status = None if self.bridge is None else self.bridge.status
        return not self.emulated and status is not None and status.get("mode") == "RUNNING"

    # --- HTTP ---

    async def open_session(self, request: Request) -> Response:
        """Give a session's secret for a token."""
        try:
            asked = msgspec.json.decode(await body_of(request) or b"", type=dict[str, str])
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            asked = {}
        secret = self.access.exchange(asked.get("token", ""))
        if secret is None:
            return problem(403, "not_allowed", "this token is no good, or was used", "open the page anew: nuc ui")
        return answer({"session": secret})

    async def new_token(self, request: Request) -> Response:
        """Give a token for another tab."""
        return answer({"token": self.access.new_token()})

    async def ask(self, request: Request) -> Response:
        """Do a request of a tab by its own client: what is too long for a message of its WebSocket, either way.

        It is answered as there: a browser says of every status that is an error that something did not load.
        """
        if request.path_params["tab"] not in self.clients:
            return answer({"ok": False, "error": error_of(_gone())})
        body = await body_of(request, MOST_LONG)
        client = self.clients.get(request.path_params["tab"])
        if not body:
            return problem(413, "bad_request", f"expected a request of at most {MOST_LONG >> 20} MiB")
        try:
            asked = read_message(body.decode())
            if client is None:
                raise _gone()
            return answer({"ok": True, "result": await client.ask(asked.method or "", asked.params or {})})
        except ClientError as error:
            return answer({"ok": False, "error": error_of(error)})
        except ValueError as error:
            return problem(400, "bad_request", str(error))

    async def static(self, request: Request) -> Response:
        """Give a file of the page."""
        name = request.path_params["path"] or "index.html"
        parts = name.split("/")
        kind = _TYPES.get(Path(name).suffix)
        path = self.web.joinpath(*parts)
        if kind is None or any(not part or part.startswith(".") or "\\" in part or "\0" in part for part in parts):
            return PlainTextResponse("not found", 404)
        try:
            content = await asyncio.to_thread(path.read_bytes)
        except OSError:
            return PlainTextResponse("not found", 404)
        return Response(content, media_type=kind, headers={"cache-control": "no-cache"})

    # --- WebSockets ---

    async def live(self, socket: WebSocket) -> None:
        """Serve one tab."""
        await socket.accept()
        if not await self._known(socket):
            return await _shut(socket, REFUSED)
        if self.tabs >= MOST_TABS:
            return await _shut(socket, CROWDED)
        self.tabs += 1
        outbox = Outbox()
        bridge, client, key = self.bridge, self._client(), token_urlsafe(16)
        tab = BrowserTab(_Text(socket), outbox, client, lambda: encode("welcome", **self._welcome(client), tab=key))
        if client is not None:
            self.clients[key] = client
        try:
            await tab.greet()
            if bridge is not None:
                bridge.join(tab)
            await tab.run()
        finally:
            self.tabs -= 1
            self.clients.pop(key, None)
            if bridge is not None:
                bridge.part(tab)
            if self.unwatched is not None and client is not None and client.in_control:
                self.unwatched.gone(client.name)

    async def _known(self, socket: WebSocket) -> bool:
        """Say whether a WebSocket is one of a session, once it has been shown that this server knows the session."""
        first = await _message(socket)
        if first is not None and first.hello is not None:
            proof = self.access.proof(first.hello, first.nonce or "")
            if proof is None:
                return False
            with suppress(WebSocketDisconnect, OSError):
                await socket.send_text(msgspec.json.encode({"proof": proof}).decode())
            first = await _message(socket)
        if first is None or not self.access.knows(first.session):
            return False
        socket.scope[KNOWN] = True
        return True

    def _client(self) -> TabClient | None:
        bridge = self.bridge
        if bridge is None:
            return None
        return TabClient(
            lambda: Client(bridge.address, name=f"{self.author} (page)", keys=bridge.keys),
            done=bridge.hurry,
            took=self._taken,
            off=None if self.stop is None else self.stop.off,
        )

    def _taken(self) -> None:
        if self.unwatched is not None:
            self.unwatched.taken()

    def _welcome(self, client: TabClient | None) -> dict[str, Any]:
        bridge = self.bridge
        return {
            "daemon": None if bridge is None else bridge.address,
            "way": list(self.way),
            "bouts": self.bouts,
            "author": "" if client is None else client.author,
            "client": "" if client is None else client.name,
            "columns": [] if bridge is None else bridge.columns,
            "layout": 0 if bridge is None else bridge.layout,
            "every_cycle": bridge is not None and bridge.every_cycle,
            "stop": None if self.stop is None else self.stop.path,
        }

    async def stop_button(self, socket: WebSocket) -> None:
        """Serve one torque-off button: probes on one thread, torque off on another, which waits for nothing."""
        await socket.accept()
        if not await self._known(socket):
            return await _shut(socket, REFUSED)
        if self.stops >= MOST_TABS:
            return await _shut(socket, CROWDED)
        self.stops += 1
        line = self.stop
        prober, presser = ThreadPoolExecutor(1, "nuc-ui probe"), ThreadPoolExecutor(1, "nuc-ui off")
        presser.submit(int)  # the thread is there before it is needed
        sending = asyncio.Lock()

        async def send(content: dict[str, Any]) -> None:
            async with sending:
                await socket.send_text(msgspec.json.encode(content).decode())

        probes = asyncio.create_task(_probe(line, prober, send))
        try:
            while True:
                message = msgspec.json.decode(await _text(socket), type=StopMessage)
                if message.off is not None:
                    await send(await _press(line, presser, message.off))
        except (WebSocketDisconnect, msgspec.MsgspecError, UnicodeError, RecursionError):
            pass
        finally:
            self.stops -= 1
            probes.cancel()
            prober.shutdown(wait=False)
            presser.shutdown(wait=False)
            await _shut(socket, 1000)


async def _probe(
    line: TorqueOffPath | None, thread: ThreadPoolExecutor, send: Callable[[dict[str, Any]], Awaitable[None]]
) -> None:
    due_s = monotonic()
    while True:
        told = {"ready_ms": None, "why": "there is no daemon here", "path": None}
        if line is not None:
            told = await _on(thread, line.probe)
        try:
            await send({**told, "unix_s": time()})
        except (WebSocketDisconnect, OSError):
            return
        due_s = max(due_s + PROBE_EVERY_S, monotonic())
        await asyncio.sleep(due_s - monotonic())


async def _press(line: TorqueOffPath | None, thread: ThreadPoolExecutor, why: str) -> dict[str, Any]:
    if line is None:
        return {"off_failed": "there is no daemon here"}
    answer = await _on(thread, lambda: line.off(why))
    return {"off_failed": answer["why"]} if "why" in answer else answer


async def _on(thread: ThreadPoolExecutor, what: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Do something on a thread; whatever goes wrong there is told, and the button stays."""
    try:
        return await asyncio.get_running_loop().run_in_executor(thread, what)
    except Exception as error:  # a process without descriptors, say: what fails now may go the next time
        return {"ready_ms": None, "why": f"{type(error).__name__}: {error}", "path": None}


class _Text:
    """A WebSocket whose messages are texts; whatever else comes ends it."""

    def __init__(self, socket: WebSocket) -> None:
        self.send_text, self.send_bytes, self.close = socket.send_text, socket.send_bytes, socket.close
        self._socket = socket

    async def receive_text(self) -> str:
        return await _text(self._socket)


async def _text(socket: WebSocket) -> str:
    """Return the next message. Raises WebSocketDisconnect at the end, and where it is none that a page sends."""
    message = await socket.receive()
    text = message.get("text")
    if message["type"] != "websocket.receive" or not isinstance(text, str):
        raise WebSocketDisconnect
    return text


def _gone() -> Refused:
    return Refused("gone", "this tab is not connected", "try again in a moment")


async def _message(socket: WebSocket) -> PageMessage | None:
    """Return the next message of who has not said whose it is yet, None where there is none in time."""
    try:
        async with asyncio.timeout(FIRST_S):
            return read_message(await _text(socket))
    except (TimeoutError, ValueError, WebSocketDisconnect):
        return None


async def _shut(socket: WebSocket, code: int) -> None:
    with suppress(TimeoutError, RuntimeError, OSError, WebSocketDisconnect):
        async with asyncio.timeout(FIRST_S):
            await socket.close(code)


class RequestGuard:
    """Outermost: whoever is not the page itself gets nothing, and every answer has the headers that keep it so."""

    def __init__(self, app: ASGIApp, access: PageAccess) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._access.refuses(scope["headers"], websocket=True):
            await send({"type": "websocket.close", "code": 1008})
            return
        with suppress(WebSocketDisconnect):  # who goes while it is spoken to
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, path = scope["headers"], scope["path"]
        why, api = self._access.refuses(headers, websocket=False), path.startswith("/api/")
        if self._access.authorised(headers):
            scope[KNOWN] = True
        host = next((value.decode("latin-1") for key, value in headers if key == b"host"), "")

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                policy = _POLICY.format(host="127.0.0.1" if why else host)
                more = [*_HEADERS, (b"content-security-policy", policy.encode("latin-1", "replace"))]
                more += [(b"cache-control", b"no-store")] if api else []
                message["headers"] = [*message.get("headers", ()), *more]
            await send(message)

        if why:
            await problem(403, "not_allowed", why)(scope, receive, sealed)
        elif api and path != "/api/session" and KNOWN not in scope:
            await problem(401, "not_allowed", "no session", "open the page anew: nuc ui")(scope, receive, sealed)
        else:
            with suppress(ClientDisconnect):
                await self._app(scope, receive, sealed)
