"""Who only holds connections open is put out; who asks, or waits on a WebSocket, is not."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.server import ServerState

from nuc_engine.ui import connections
from nuc_engine.ui.connections import (
    FIRST_REQUEST_S,
    KNOWN,
    MOST_STRANGE,
    MOST_STRANGE_MESSAGES,
    READ_BYTES,
    STRANGER_S,
    BoundedProtocol,
    BoundedWebSocket,
)

UPGRADE = (
    b"GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


class Transport:
    """One end of a connection."""

    def __init__(self) -> None:
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


class Timers:
    """A loop on which time passes when it is told to."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.due: list[tuple[float, Callable[[], object]]] = []

    def call_later(self, delay_s: float, what: Callable[[], object], *_: object) -> Any:
        entry = (delay_s, what)
        self.due.append(entry)
        return type("Handle", (), {"cancel": lambda _: self.due.remove(entry)})()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def let_pass(self, time_s: float = FIRST_REQUEST_S) -> None:
        for delay_s, what in list(self.due):
            if delay_s <= time_s:
                what()


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Never answers."""
    await asyncio.Event().wait()


def with_one(what: Callable[[BoundedProtocol, Transport, Timers], None], others: int = 0) -> None:
    """Open a connection beside so many others."""

    async def work() -> None:
        config = uvicorn.Config(app, http=BoundedProtocol, ws=BoundedWebSocket, log_config=None, lifespan="off")
        config.load()
        timers, state, transport = Timers(asyncio.get_running_loop()), ServerState(), Transport()
        state.connections.update(object() for _ in range(others))  # pyright: ignore[reportArgumentType]
        protocol = BoundedProtocol(config, state, {}, timers)  # pyright: ignore[reportArgumentType]
        protocol.connection_made(transport)  # pyright: ignore[reportArgumentType]
        what(protocol, transport, timers)
        for task in state.tasks:
            task.cancel()

    asyncio.run(work())


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127"])
def test_who_asks_nothing_in_time_is_put_out(said: bytes) -> None:
    def what(protocol: BoundedProtocol, transport: Transport, timers: Timers) -> None:
        if said:
            protocol.data_received(said)
        timers.let_pass()
        assert transport.aborted

    with_one(what)


def test_who_asks_is_not() -> None:
    def what(protocol: BoundedProtocol, transport: Transport, timers: Timers) -> None:
        protocol.data_received(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        timers.let_pass()
        assert not transport.aborted

    with_one(what)


@pytest.mark.parametrize("known", [False, True])
def test_a_request_that_never_ends_is_put_out_unless_it_is_of_a_session(known: bool) -> None:
    def what(protocol: BoundedProtocol, transport: Transport, timers: Timers) -> None:
        protocol.data_received(b"POST /api/session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{")
        if known:
            protocol.scope[KNOWN] = True  # pyright: ignore[reportGeneralTypeIssues]  as the guard does
        timers.let_pass(FIRST_REQUEST_S)
        assert not transport.aborted
        timers.let_pass(STRANGER_S)
        assert transport.aborted is not known

    with_one(what)


def test_a_websocket_is_left_to_those_who_see_to_it() -> None:
    def what(protocol: BoundedProtocol, transport: Transport, timers: Timers) -> None:
        protocol.data_received(UPGRADE)
        assert timers.due == []

    with_one(what)


def test_one_connection_too_many_is_closed_unheard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 3)
    with_one(lambda _, transport, __: [transport.aborted] == [False] or pytest.fail("there was room"), 2)
    with_one(lambda _, transport, __: [transport.aborted] == [True] or pytest.fail("there was none"), 3)


PING = b"\x89\x80\x01\x02\x03\x04"
CHUNK = b"1\r\nx\r\n"


def heard(protocol: Any, transport: Transport, piece: bytes, most: int) -> int:
    """Say so much at most in small pieces, as they are read; return how much of it was heard."""
    pieces = READ_BYTES // len(piece)
    for said in itertools.count(0, pieces * len(piece)):
        if said > most or transport.aborted:
            return said
        protocol.data_received(piece * pieces)
    raise AssertionError


@pytest.mark.parametrize("known", [False, True])
def test_so_much_is_heard_of_who_has_not_said_whose_it_is(known: bool) -> None:
    def requests(protocol: BoundedProtocol, transport: Transport, timers: Timers) -> None:
        protocol.data_received(b"POST /api/x HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        if known:
            protocol.scope[KNOWN] = True  # pyright: ignore[reportGeneralTypeIssues]  as the guard does
        assert (heard(protocol, transport, CHUNK, 3 * MOST_STRANGE) > 2 * MOST_STRANGE) is known
        assert transport.aborted is not known

    def messages(protocol: BoundedProtocol, transport: Transport, timers: Timers) -> None:
        protocol.data_received(UPGRADE)
        socket = transport.protocol
        if known:
            socket.scope[KNOWN] = True
        assert (heard(socket, transport, PING, 3 * MOST_STRANGE_MESSAGES) > 2 * MOST_STRANGE_MESSAGES) is known
        assert transport.aborted is not known

    with_one(requests)
    with_one(messages)


def test_what_is_read_at_once_is_little() -> None:
    with_one(lambda _, transport, __: vars(transport).get("max_size") == READ_BYTES or pytest.fail("all there is"))


def test_what_is_sent_after_a_frame_that_is_none_is_sent_to_nobody() -> None:
    async def sent(socket: Any) -> None:
        await socket.send({"type": "websocket.accept"})
        socket.data_received(b"\xff\x80\x01\x02\x03\x04")
        with pytest.raises(ClientDisconnected):
            await socket.send({"type": "websocket.send", "text": "x"})
        with pytest.raises(RuntimeError):
            await socket.send({"type": "nothing"})

    def what(protocol: BoundedProtocol, transport: Transport, timers: Timers) -> None:
        protocol.data_received(UPGRADE)
        # The loop is under way, and nothing in it waits.
        with pytest.raises(StopIteration):
            sent(transport.protocol).send(None)

    with_one(what)
