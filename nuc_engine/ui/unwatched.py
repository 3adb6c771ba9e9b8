"""Ends a bout that nobody watches, where that was asked for: the tab in control is gone, and none takes control."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from nuc_engine.client import Client, ClientError

_AGAIN_S = 1.0
_ATTEMPTS = 120
"""Longer than a client that is gone can be taken to have control."""


class UnwatchedStop:
    """Of one event loop. `status` returns the daemon's last one; `make` a client that may end the bout."""

    def __init__(self, after_s: float, make: Callable[[], Client], status: Callable[[], Mapping[str, Any]]) -> None:
        self._after_s, self._make, self._status = after_s, make, status
        self._task: asyncio.Task[None] | None = None

    def gone(self, name: str) -> None:
        """Hear that a tab is gone that had control, and what it was called: the daemon may take it to be there yet."""
        self.taken()
        self._task = asyncio.get_running_loop().create_task(self._wait(name))

    def taken(self) -> None:
        """Hear that a tab has taken control: somebody watches."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _wait(self, name: str) -> None:
        await asyncio.sleep(self._after_s)
        for _ in range(_ATTEMPTS):
            status = self._status()
            holder = str(status.get("control") or "")
            # Somebody else, who took it meanwhile, watches.
            if status.get("mode") != "RUNNING" or holder not in ("", name):
                return
            if await asyncio.to_thread(self._stop, taken=bool(holder)):
                return
            await asyncio.sleep(_AGAIN_S)

    def _stop(self, *, taken: bool) -> bool:
        with suppress(ClientError), self._make() as client:
            if taken:
                client.take_control(force=True)
            client.stop()
            return True
        return False
