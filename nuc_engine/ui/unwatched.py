"""Ends a bout that nobody watches, where that was asked for: the tab in control is gone, and none takes control."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Literal

from nuc_engine.client import Client, ClientError

_AGAIN_S = 1.0

Ended = Literal["ended", "nothing", "watched", "failed"]


class UnwatchedStop:
    """Of one event loop. `status` returns the daemon's last one; `make` a client that may end the bout."""

    def __init__(
        self,
        after_s: float,
        make: Callable[[], Client],
        status: Callable[[], Mapping[str, Any]],
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._after_s, self._make, self._status, self._sleep = after_s, make, status, sleep
        self._task: asyncio.Task[None] | None = None
        self._name = ""
        self._times = 0

    def gone(self, name: str) -> None:
        """Hear that a tab is gone that had control, and what it was called: the daemon may take it to be there yet."""
        self.taken()
        self._name = name
        self._task = asyncio.get_running_loop().create_task(self._wait(self._times))

    def taken(self) -> None:
        """Hear that a tab has taken control: somebody watches."""
        self._times += 1
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def close(self) -> str:
        """End at once what a tab has left that had control: none can come any more. Return what is to be said of it."""
        waiting = self._task is not None and not self._task.done()
        self.taken()
        if not waiting:
            return ""
        match await asyncio.to_thread(self._end, self._times):
            case "ended":
                return "the bout was ended: no tab is left that could take control (--stop-without-tab)"
            case "failed":
                return "A BOUT MAY GO ON, and nobody watches: it could not be ended from here; nuc ctl stop"
            case _:
                return ""

    async def _wait(self, times: int) -> None:
        """Look until somebody watches: a bout may be about to begin, after the delay it was given."""
        await self._sleep(self._after_s)
        while not self._watched(self._status()):
            if self._status().get("mode") == "RUNNING" and await asyncio.to_thread(self._end, times) != "failed":
                return
            await self._sleep(_AGAIN_S)

    def _watched(self, status: Mapping[str, Any]) -> bool:
        """Say whether somebody else has control. Once the dead tab has lost it, whoever is called so is another."""
        holder = str(status.get("control") or "")
        if status and not holder:
            self._name = ""
        return bool(holder) and holder != self._name

    def _end(self, times: int) -> Ended:
        """End the bout, if one runs and nobody has come meanwhile, by what the daemon itself says now."""
        with suppress(ClientError), self._make() as client:
            status = client.status()
            if status.mode != "RUNNING":
                return "nothing"
            if self._watched(status.data) or times != self._times:
                return "watched"
            if status.control:
                client.take_control(force=True)
            client.stop()
            return "ended"
        return "failed"
