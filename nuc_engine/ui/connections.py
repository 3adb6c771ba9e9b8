"""Bounds on connections to the page's server: any user of the machine may open some, and each is a file of its process.

A torque-off button needs a file too, at the moment it is pressed.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

MOST_CONNECTIONS = 256
"""At once; one more is closed unheard."""

FIRST_REQUEST_S = 5.0
"""How long a connection may take for its first request."""

STRANGER_S = 20.0
"""How long one may be there on which nobody has said the secret of a session: a body may never end."""

MOST_STRANGE, MOST_STRANGE_MESSAGES = 65_536, 8192
"""Bytes that one may bring on which nobody has said it, in requests and on a WebSocket: small pieces are long work."""

READ_BYTES = 1024
"""Read of a connection at once: what was read is worked out before anything else has its turn, torque off too."""

KNOWN = "nuc.known"
"""Stands in the scope of a request, or a WebSocket, that has said it."""


class BoundedProtocol(H11Protocol):
    """uvicorn's HTTP, which by itself waits for a connection's first request, and for the end of any, for ever."""

    _timers: tuple[asyncio.TimerHandle, ...] = ()
    _strange = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, if there is room."""
        transport.max_size = READ_BYTES  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            later = self.loop.call_later
            self._timers = later(FIRST_REQUEST_S, self._end_silent), later(STRANGER_S, self._end_stranger)

    def data_received(self, data: bytes) -> None:
        """Take what was read, as long as it is not too much of a stranger."""
        known = self.scope is not None and KNOWN in self.scope  # pyright: ignore[reportUnnecessaryComparison]
        self._strange = 0 if known else self._strange + len(data)
        if self._strange > MOST_STRANGE:
            self.transport.abort()
        else:
            super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of it."""
        self._forget()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Leave it to a WebSocket, which has 2 s to say whose it is (`nuc_engine.ui.server`)."""
        self._forget()
        super().handle_websocket_upgrade(event)

    def _end_silent(self) -> None:
        if self.scope is None:  # pyright: ignore[reportUnnecessaryComparison]  none before the first request
            self.transport.abort()

    def _end_stranger(self) -> None:
        if self.scope is None or KNOWN not in self.scope:  # pyright: ignore[reportUnnecessaryComparison]
            self.transport.abort()

    def _forget(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers = ()


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket, which by itself hears as many small frames as come before anybody is known.

    One that a frame has ended that is none is over for who still sends on it, and nobody's mistake.
    """

    _strange = 0

    def data_received(self, data: bytes) -> None:
        """Take what was read, as long as it is not too much of a stranger."""
        if KNOWN not in getattr(self, "scope", ()):  # none before the handshake
            self._strange += len(data)
        if self._strange > MOST_STRANGE_MESSAGES:
            self.transport.abort()
        else:
            super().data_received(data)

    def handle_ping(self) -> None:
        """Answer whoever is still there."""
        if not self.transport.is_closing():
            super().handle_ping()

    async def send(self, message: Any) -> None:
        """Send; raises ClientDisconnected at the end."""
        try:
            await super().send(message)
        except RuntimeError as error:
            if self.close_sent and message["type"] == "websocket.send":
                raise ClientDisconnected from error
            raise
