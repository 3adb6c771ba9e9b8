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

STRANGER_S = 20.0
"""How long one may be there on which nobody has said the secret of a session: a body may never end."""

KNOWN = "nuc.known"
"""Stands in the scope of a request that has said it."""


class BoundedProtocol(H11Protocol):
    """uvicorn's HTTP, which by itself waits for a connection's first request, and for the end of any, for ever."""

    _timers: tuple[asyncio.TimerHandle, ...] = ()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, if there is room."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            later = self.loop.call_later
            self._timers = later(FIRST_REQUEST_S, self._end_silent), later(STRANGER_S, self._end_stranger)

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
