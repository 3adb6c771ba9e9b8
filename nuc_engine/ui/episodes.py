"""A server of episodes over a WebSocket, for programs that have no ZeroMQ: the same requests and answers, in JSON.

Whoever can read the file that is named at the start (mode 0600) has a token, good once and for a minute, and says it
first; it is answered with a session's secret, which is said instead on later connections:

    {"token": "..."}                                              {"session": "..."}
    {"id": 1, "method": "start", "params": {"config": "..."}}     {"id": 1, "ok": true, "result": {...}}

Host and Origin are those of this port, as of the workbench's page; whatever else comes gets an error of HTTP.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from secrets import token_bytes
from time import monotonic
from typing import Any

import msgspec
from msgspec import Struct
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from nuc_engine.messages.errors import Refused
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.dispatch import JSON
from nuc_engine.service.dispatch import serve as carry_out
from nuc_engine.service.episodes import EPISODE_METHODS, EpisodeHub
from nuc_engine.ui.access import PageAccess
from nuc_engine.ui.outbox import Outbox
from nuc_engine.ui.tokenfile import kept_file

PATH = "/episodes"
MOST_SOCKETS = 16
"""WebSockets that may be open at once."""
MOST_CONNECTIONS = 64
"""Connections at once, whatever they have said so far; one more is closed unheard."""
MOST_BYTES = 1 << 19
"""Bytes of one message: a RunConfig as long as one may be, in JSON."""
FIRST_S = 2.0
"""How long a WebSocket may take to say whose it is."""
REFUSED, CROWDED = 4003, 4004
"""Codes a WebSocket is closed with: no session; too many of them."""

_HOST = "127.0.0.1"
_QUEUED = 16
_HELD = 1 << 16
_PING_S = 20.0


class FirstMessage(Struct, forbid_unknown_fields=True):
    """What a WebSocket says first: a token, or the secret of a session."""

    token: str | None = None
    session: str | None = None


class _BoundedConnection(ServerConnection):
    """A connection of a server that takes so many."""

    open_now = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a connection, if there is room."""
        super().connection_made(transport)
        type(self).open_now += 1
        if self.open_now > MOST_CONNECTIONS:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of it."""
        type(self).open_now -= 1
        super().connection_lost(exc)


class EpisodeSocket:
    """The WebSocket side of one server of episodes at a port of this machine."""

    def __init__(self, hub: EpisodeHub, access: PageAccess) -> None:
        self._hub, self._access = hub, access
        self.open = self.turned_away = 0
        self.renew: Callable[[], object] = bool
        """Called where a token was used, so that there is another one."""

    def check(self, connection: ServerConnection, request: Request) -> Response | None:
        """Refuse who is none of ours before it is a WebSocket."""
        headers = [(name.lower().encode(), value.encode()) for name, value in request.headers.raw_items()]
        why = self._access.refuses(headers, websocket=True)
        if why or request.path != PATH:
            self.turned_away += 1
            status = HTTPStatus.FORBIDDEN if why else HTTPStatus.NOT_FOUND
            return connection.respond(status, f"{why or f'there is {PATH} and nothing else'}\n")
        return None

    async def serve(self, connection: ServerConnection) -> None:
        """Serve one WebSocket until it ends."""
        if self.open >= MOST_SOCKETS:
            await connection.close(CROWDED)
            return
        self.open += 1
        try:
            with suppress(ConnectionClosed):
                secret = await self._session(connection)
                if secret is None:
                    await connection.close(REFUSED)
                else:
                    await connection.send(json.dumps({"session": secret}))
                    await self._talk(connection)
        finally:
            self.open -= 1

    async def _session(self, connection: ServerConnection) -> str | None:
        """Return the secret of the session that a WebSocket belongs to, None where it belongs to none."""
        try:
            async with asyncio.timeout(FIRST_S):
                first = msgspec.json.decode(await connection.recv(), type=FirstMessage)
        except (TimeoutError, msgspec.MsgspecError, UnicodeError, RecursionError):
            return None
        if first.session is not None and self._access.knows(first.session):
            return first.session
        secret = None if first.token is None else self._access.exchange(first.token)
        if secret is not None:
            self.renew()
        return secret

    async def _talk(self, connection: ServerConnection) -> None:
        hub, key, outbox = self._hub, b"\xff" + token_bytes(8), Outbox()
        sender = asyncio.create_task(_send_all(connection, outbox))
        try:
            async for message in connection:
                payload = message.encode() if isinstance(message, str) else message
                client = self._client(key, len(payload), outbox)
                if client is not None:
                    hub.control.note_message(key, hub.now_ns)
                    carry_out(hub, EPISODE_METHODS, client, payload, _answers(client, outbox), form=JSON)
                if outbox.full:  # whoever does not take what is sent would not take a goodbye either
                    connection.transport.abort()
                    break
        finally:
            sender.cancel()
            if (client := hub.clients.get(key)) is not None:
                hub.clients.drop(client)

    def _client(self, key: bytes, size: int, outbox: Outbox) -> ConnectedClient | None:
        """Return who has sent so many bytes, None where that is not to be done."""
        try:
            client = self._hub.clients.sender(key, [], None, self._hub.now_ns)
            if client.spend(self._hub.now_ns, size):
                return client
            if client.refused % 1000 != 1:
                return None
            error = Refused("too_fast", "too many messages", "wait for answers")
        except Refused as refused:
            error = refused
        said = {"kind": error.kind, "text": error.text, "hint": error.hint}
        outbox.put(JSON.pack({"id": None, "ok": False, "error": said}).decode())
        return None


def _answers(client: ConnectedClient, outbox: Outbox) -> Callable[[bytes], None]:
    def reply(answer: bytes) -> None:
        client.charge(len(answer))
        outbox.put(answer.decode())

    return reply


async def _send_all(connection: ServerConnection, outbox: Outbox) -> None:
    with suppress(ConnectionClosed):
        while (message := await outbox.take()) is not None:
            await connection.send(message)


@asynccontextmanager
async def open_socket(hub: EpisodeHub, port: int, show: Callable[[str], None]) -> AsyncGenerator[EpisodeSocket]:
    """Take WebSockets at a port of this machine (0: any), as long as this is open. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((_HOST, port))
        port = listening.getsockname()[1]
        access = PageAccess(port, monotonic)
        url = f"ws://{_HOST}:{port}{PATH}"

        def written() -> str:
            return json.dumps({"url": url, "origin": f"http://{_HOST}:{port}", "token": access.new_token()}) + "\n"

        door = EpisodeSocket(hub, access)
        with kept_file("token.json", written) as kept:
            door.renew = kept.renew
            async with _server(door, listening):
                show(f"listens at {url}  (token in {kept.path})")
                yield door


def _server(door: EpisodeSocket, listening: socket.socket) -> Any:
    quiet = logging.getLogger("nuc.episodes")
    quiet.setLevel(logging.CRITICAL)
    return serve(
        door.serve,
        sock=listening,
        process_request=door.check,
        create_connection=_BoundedConnection,
        compression=None,
        server_header=None,
        max_size=MOST_BYTES,
        max_queue=_QUEUED,
        write_limit=_HELD,
        open_timeout=FIRST_S,
        close_timeout=FIRST_S,
        ping_interval=_PING_S,
        ping_timeout=_PING_S,
        logger=quiet,
    )
