"""One tab of a browser: a client of the daemon by itself, what it asks for, and what it is sent.

The tab says its session's secret first, once the server has shown that it knows it (`nuc_engine.ui.access`), then
requests and a heartbeat each second:

    {"hello": "...", "nonce": "..."}
    {"session": "..."}
    {"id": 1, "method": "get", "params": {"names": ["Coxa_angle"]}}
    {"beat": 7}

Control is never implied: what needs it is refused here until this tab has asked for it by `take_control`. A tab that is
not heard for BEAT_S leaves, and control is given back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic
from typing import Any, Protocol

import msgspec
from msgspec import Struct
from starlette.websockets import WebSocketDisconnect

from nuc_engine.client import Client, ClientError, Refused
from nuc_engine.messages.answers import Greeting
from nuc_engine.messages.checked import check_request
from nuc_engine.messages.errors import NotAnswered
from nuc_engine.messages.requests import REQUESTS, SLOW_S, OffRequest, Request
from nuc_engine.ui.outbox import Message, Outbox

BEAT_S = 3.0
"""A tab that has said nothing for so long is gone."""

MOST_WAITING = 64
"""Requests of one tab that may wait for their answers."""

TOO_SLOW, GONE, BAD = 4008, 4001, 4002
"""Codes a WebSocket is closed with: what was sent is not taken; no heartbeat; no message of ours."""

_KEEP_S = 10.0
_GREET_S = 0.3
_LAST_WORDS_S = 1.0
_GREET_AGAIN_S = 2.0
_CONTROLLED = ("script", "shutdown")
"""Besides what changes a value or the mode: a script may, and without the daemon there is no bout of anybody's."""

_HIDDEN = frozenset({"hello", "leave", "subscribe", "unsubscribe"})
"""What the connection itself does; records come without being asked for."""


class PageMessage(Struct, forbid_unknown_fields=True):
    """A message of the page: whose it is and what the server has to prove, the secret, a request, or a heartbeat."""

    hello: str | None = None
    nonce: str | None = None
    session: str | None = None
    id: int | str | None = None
    method: str | None = None
    params: dict[str, Any] | None = None
    beat: int | None = None


class AcceptedSocket(Protocol):
    """A WebSocket that was accepted."""

    async def receive_text(self) -> str:
        """Return the next message."""
        ...

    async def send_text(self, data: str) -> None:
        """Send a text."""
        ...

    async def send_bytes(self, data: bytes) -> None:
        """Send bytes."""
        ...

    async def close(self, code: int = 1000, reason: str | None = None) -> None:
        """Close it."""
        ...


def read_message(text: str) -> PageMessage:
    """Return a message of the page. Raises ValueError for what is none."""
    try:
        return msgspec.json.decode(text, type=PageMessage)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise ValueError(f"no message of the page: {error}") from error


class TabClient:
    """The tab's client on a thread of its own: requests are done one after the other, as they came.

    `done` is called, on any thread, when something was asked for that may have changed the daemon; `took`, on the event
    loop, when control was taken. `off` takes the torque off on a way of its own, past what is under way here.
    """

    def __init__(
        self,
        make: Callable[[], Client],
        done: Callable[[], None],
        took: Callable[[], None],
        off: Callable[[str], dict[str, Any]] | None = None,
    ) -> None:
        self._make, self._done, self._took, self._off = make, done, took, off
        self._took_from: Greeting | None = None
        self._thread = ThreadPoolExecutor(1, "nuc-ui tab")
        # What takes long is asked by another client: nothing that drives or stops waits for it.
        self._looking = ThreadPoolExecutor(1, "nuc-ui tab, looking")
        self._off_thread = ThreadPoolExecutor(1, "nuc-ui tab, off")
        self._offs: asyncio.Future[dict[str, Any]] | None = None
        self._client: Client | None = None
        self._looker: Client | None = None
        self._waiting = 0
        self._took_s: float | None = None
        self._said_s = 0.0
        self._left = False

    @property
    def name(self) -> str:
        """What the daemon calls this client; nothing before it has answered."""
        greeting = None if self._client is None else self._client.greeting
        return "" if greeting is None else greeting.name

    @property
    def author(self) -> str:
        """What the daemon's logs call it."""
        greeting = None if self._client is None else self._client.greeting
        return "" if greeting is None else greeting.author

    @property
    def in_control(self) -> bool:
        """Whether this tab has taken control, and nobody has taken it from it."""
        return self._took_s is not None

    def control(self, holder: str, asked_s: float) -> None:
        """Hear who had control at `asked_s`: what was taken may have been taken by others meanwhile."""
        if self._took_s is not None and asked_s >= self._took_s and holder != self.name and not self._left:
            self._took_s = None

    async def greet(self) -> None:
        """Say hello; a daemon that does not answer now will be greeted with the first request."""
        with suppress(ClientError):
            await self._run(self._greet)

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Do a request; return its result as it can be written in JSON. Raises ClientError."""
        kind = REQUESTS.get(method)
        if kind is None or method in _HIDDEN:
            raise Refused("unknown_method", f"no method {method!r} for a page")
        if self._waiting >= MOST_WAITING:
            raise Refused("too_fast", f"{MOST_WAITING} requests of this tab wait for their answers", "wait for them")
        if self._left:
            raise Refused("gone", "this tab is gone")
        request = check_request(kind, params)
        if isinstance(request, OffRequest) and self._off is not None:
            return await self._take_off(self._off, request)
        self._waiting += 1
        try:
            if beside(kind):
                return await _on(self._looking, lambda: self._look(request))
            return await self._run(lambda: self._ask(request))
        finally:
            self._waiting -= 1
            if method == "take_control" and self.in_control and not self._left:
                self._took()

    def keep(self) -> None:
        """Say something, if nothing was said for a while: control is lost by silence, and room for clients too."""
        if self._waiting == 0 and monotonic() - self._said_s > _KEEP_S:
            self._said_s = monotonic()
            self._thread.submit(self._keep)

    def leave(self) -> None:
        """Say goodbye, which gives control back, once what is under way is done.

        `in_control` stays what it was.
        """
        self._left = True
        for thread, close in ((self._thread, self._close), (self._looking, self._close_looker)):
            thread.submit(close)
            thread.shutdown(wait=False, cancel_futures=False)
        self._off_thread.shutdown(wait=False, cancel_futures=False)

    async def _take_off(self, off: Callable[[str], dict[str, Any]], request: OffRequest) -> Any:
        """Take the torque off, whatever else of this tab waits for its answer."""
        # On a thread of its own, and once however often it is asked for meanwhile.
        if self._offs is None or self._offs.done():
            self._offs = asyncio.ensure_future(_on(self._off_thread, lambda: off(request.why)))
        answer = await asyncio.shield(self._offs)
        if "off" not in answer:
            raise Refused("failed", str(answer.get("off_failed", "no answer")), "cut the supply")
        self._done()
        return answer["off"]

    async def _run(self, what: Callable[[], Any]) -> Any:
        return await _on(self._thread, what)

    # --- on the thread ---

    def _open(self) -> Client:
        if self._client is None:
            self._client = self._make()
        return self._client

    def _greet(self) -> None:
        self._open().greet(2.0)

    def _ask(self, request: Request[Any]) -> Any:
        if self._left:  # what it still had to ask would be done for nobody
            raise Refused("gone", "this tab is gone")
        client, method = self._open(), request.method
        if type(request).control or method in _CONTROLLED:
            if self._took_s is not None:
                # One that was started anew gives control with whatever is asked for first: that is not asking for it.
                client.greet(_GREET_AGAIN_S)
            if self._took_s is None or client.greeting is not self._took_from:
                self._took_s = None
                raise Refused("no_control", "this tab does not have control", "take control first")
        self._said_s = monotonic()
        if method in ("release_control", "hand_over"):
            self._took_s = None
        answer = client.do(request)
        if method == "take_control":
            self._took_s, self._took_from = monotonic(), client.greeting
        self._done()
        return answer

    def _keep(self) -> None:
        with suppress(ClientError):
            self._open().status()

    def _close(self) -> None:
        if self._client is not None:
            self._client.close()

    def _look(self, request: Request[Any]) -> Any:
        if self._left:
            raise Refused("gone", "this tab is gone")
        if self._looker is None:
            self._looker = self._make()
        return self._looker.do(request)

    def _close_looker(self) -> None:
        if self._looker is not None:
            self._looker.close()


def beside(kind: type[Request[Any]]) -> bool:
    """Say whether a request changes nothing and may take long."""
    return not kind.control and kind.at_least_s >= SLOW_S


async def _on(thread: ThreadPoolExecutor, what: Callable[[], Any]) -> Any:
    return await asyncio.get_running_loop().run_in_executor(thread, what)


class BrowserTab:
    """What goes on on one WebSocket, once its session is known. `welcome` is what the page is told of itself."""

    def __init__(
        self, socket: AcceptedSocket, outbox: Outbox, client: TabClient | None, welcome: Callable[[], Message]
    ) -> None:
        self._socket, self._outbox, self._client, self._welcome = socket, outbox, client, welcome
        self._name = ""
        self._heard_s = monotonic()
        self._asked: set[asyncio.Task[None]] = set()

    def put(self, message: Message, records: int = 0) -> None:
        """Take a message for the page."""
        self._outbox.put(message, records)

    async def greet(self) -> None:
        """Say hello to the daemon, and to the page as whom it is known there, or will be if that is not at once."""
        if self._client is not None:
            greeting = asyncio.create_task(self._client.greet())
            self._asked.add(greeting)
            greeting.add_done_callback(self._asked.discard)
            await asyncio.wait([greeting], timeout=_GREET_S)
        self._introduce()

    def control(self, holder: str, asked_s: float) -> None:
        """Hear who has control."""
        if self._client is not None:
            self._client.control(holder, asked_s)

    async def run(self) -> None:
        """Send and receive until the tab is gone, then give control back."""
        parts = [asyncio.create_task(part()) for part in (self._send, self._receive, self._watch)]
        try:
            done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*parts, *self._asked):
                task.cancel()
            if self._client is not None:
                self._client.leave()
        await asyncio.wait(parts)
        for part in parts:
            error = None if part.cancelled() else part.exception()
            if error is not None and not isinstance(error, WebSocketDisconnect | OSError):
                raise error
            if error is None and part in done:
                await _close(self._socket, part.result())

    async def _send(self) -> int:
        while (message := await self._outbox.take()) is not None:
            if isinstance(message, str):
                await self._socket.send_text(message)
            else:
                await self._socket.send_bytes(message)
        async with asyncio.timeout(_LAST_WORDS_S):
            await self._socket.send_text(_json({"topic": "missed", "records": self._outbox.missed}))
        return TOO_SLOW

    async def _receive(self) -> int:
        while True:
            try:
                message = read_message(await self._socket.receive_text())
            except (ValueError, KeyError):
                return BAD
            self._heard_s = monotonic()
            if message.beat is not None:
                self._outbox.put(_json({"beat": message.beat}))
            if message.method is not None:
                asked = asyncio.create_task(self._answer(message.id, message.method, message.params or {}))
                self._asked.add(asked)
                asked.add_done_callback(self._asked.discard)

    async def _watch(self) -> int:
        while True:
            # By turns, so that a server that was held up hears first what has come meanwhile.
            await asyncio.sleep(BEAT_S / 6)
            if self._outbox.full:
                await asyncio.sleep(_LAST_WORDS_S)
                return TOO_SLOW
            if monotonic() - self._heard_s > BEAT_S:
                return GONE
            if self._client is not None:
                self._client.keep()
                if self._client.name != self._name:  # it answers late, or again, and knows it by another
                    self._introduce()

    def _introduce(self) -> None:
        self._name = "" if self._client is None else self._client.name
        self._outbox.put(self._welcome())

    async def _answer(self, number: int | str | None, method: str, params: dict[str, Any]) -> None:
        try:
            if self._client is None:
                raise Refused("no_daemon", "there is no daemon here: data directories only")
            told = {"id": number, "ok": True, "result": await self._client.ask(method, params)}
        except ClientError as error:
            told = {"id": number, "ok": False, "error": error_of(error)}
        self._outbox.put(_json(told))


def error_of(error: ClientError) -> dict[str, str]:
    """Return kind, text and hint of what a client raised."""
    if isinstance(error, Refused):
        return {"kind": error.kind, "text": error.text, "hint": error.hint}
    kind = "not_answered" if isinstance(error, NotAnswered) else "failed"
    return {"kind": kind, "text": str(error), "hint": ""}


async def _close(socket: AcceptedSocket, code: int) -> None:
    # A tab that takes nothing does not take this either.
    with suppress(TimeoutError, RuntimeError, OSError, WebSocketDisconnect):
        async with asyncio.timeout(_LAST_WORDS_S):
            await socket.close(code)


def _json(content: Any) -> str:
    return msgspec.json.encode(content).decode()
