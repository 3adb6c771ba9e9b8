"""Bounds on connections to the page's server: any user of the machine may open some, and each is a file of its process.

A torque-off button needs a file too, at the moment it is pressed.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 256
"""At once; one more is closed unheard."""

FIRST_REQUEST_S = 5.0
"""How long a connection may take for its first request."""


class BoundedProtocol(H11Protocol):
    """uvicorn's HTTP, which by itself waits for the first request of a connection for ever."""

    _first: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, if there is room."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._first = self.loop.call_later(FIRST_REQUEST_S, self._end_silent)

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

    def _forget(self) -> None:
        if self._first is not None:
            self._first.cancel()
            self._first = None
