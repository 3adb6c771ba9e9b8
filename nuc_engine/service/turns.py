"""Turns of a server on an asyncio loop: whatever becomes readable leads to one, in which everything is looked at."""

from __future__ import annotations

import asyncio

from nuc_engine.service.channel import ReadySockets, Sockets


class Turns:
    """A server's. `over` is known once something has gone wrong that a new process may not have."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sockets: Sockets) -> None:
        self.sockets = sockets
        self.sockets.more = self._again
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self._soon = False
        self.over: asyncio.Future[None] = loop.create_future()

    def begin(self) -> None:
        """Begin to take turns."""
        for descriptor in self.sockets.descriptors:
            self._loop.add_reader(descriptor, self._turn)
        self._loop.call_soon(self._turn)

    def step(self) -> ReadySockets:
        """Do everything that there is to do now; return the sockets that were read."""
        raise NotImplementedError

    def wait_ms(self) -> int:
        """Return how long nothing is due for."""
        raise NotImplementedError

    def fail(self, error: BaseException) -> None:
        """Let the server end because of this."""
        if not self.over.done():
            self.over.set_exception(error)

    def close(self) -> None:
        """Take no more turns, and close the sockets."""
        if self._timer is not None:
            self._timer.cancel()
        for descriptor in self.sockets.descriptors:
            self._loop.remove_reader(descriptor)
        self.sockets.close()

    def _again(self) -> None:
        """Take one more turn, once those who wait have had theirs."""
        if not self._soon:
            self._soon = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._soon = False
        try:
            read = self.step()
        except Exception as error:
            self.fail(error)
            return
        # A descriptor of ZeroMQ tells of a change, not that there is something to read.
        if self.sockets.ready(read):
            self._again()
        else:
            self._due(self._loop.time() + self.wait_ms() / 1000)

    def _due(self, when_s: float) -> None:
        """Take a turn by then. A timer that ends earlier stays: a turn too many costs less than a timer for each."""
        if self._timer is not None:
            if self._timer.when() <= when_s:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(when_s, self._timed)

    def _timed(self) -> None:
        self._timer = None
        self._turn()
