"""Ends a bout that nobody watches, where that was asked for: the tab in control is gone, and none takes control."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from nuc_engine.client import Client, ClientError

_AGAIN_S = 1.0
_ATTEMPTS = 10


class UnwatchedStop:
    """Of one event loop. `status` returns the daemon's last one; `make` a client that may end the bout."""

    def __init__(self, after_s: float, make: Callable[[], Client], status: Callable[[], Mapping[str, Any]]) -> None:
        self._after_s, self._make, self._status = after_s, make, status
        self._task: asyncio.Task[None] | None = None

    def gone(self) -> None:
        """Hear that a tab is gone that had control."""
        self.taken()
        self._task = asyncio.get_running_loop().create_task(self._wait())

    def taken(self) -> None:
        """Hear that a tab has taken control: somebody watches."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _wait(self) -> None:
        await asyncio.sleep(self._after_s)
        for _ in range(_ATTEMPTS):
            status = self._status()
            # Somebody else, who took it meanwhile, watches.
            if status.get("mode") != "RUNNING" or status.get("control"):
                return
            if await asyncio.to_thread(self._stop):
                return
            await asyncio.sleep(_AGAIN_S)

    def _stop(self) -> bool:
        with suppress(ClientError), self._make() as client:
            client.stop()
            return True
        return False
