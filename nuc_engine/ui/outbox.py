"""What waits to be sent to one tab, within bounds: who does not take what is sent is told how much it missed."""

from __future__ import annotations

import asyncio
from collections import deque

MOST_BYTES = 1 << 20
MOST_MESSAGES = 2048

Message = str | bytes


class Outbox:
    """Of one event loop. Once it was `full`, everything in it and everything after it is missed, and counted."""

    def __init__(self, most_bytes: int = MOST_BYTES, most_messages: int = MOST_MESSAGES) -> None:
        self._most_bytes, self._most_messages = most_bytes, most_messages
        self._waiting: deque[tuple[Message, int]] = deque()
        self._bytes = 0
        self._there = asyncio.Event()
        self.full = False
        self.missed = 0
        """Records that were dropped."""

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, message: Message, records: int = 0) -> None:
        """Add a message that holds so many records, or count them as missed."""
        if not self.full:
            self._waiting.append((message, records))
            self._bytes += len(message)
            self.full = self._bytes > self._most_bytes or len(self._waiting) > self._most_messages
            if self.full:
                self.missed = sum(held for _, held in self._waiting)
                self._waiting.clear()
        elif records:
            self.missed += records
        self._there.set()

    async def take(self) -> Message | None:
        """Return the next message, once there is one; None when it was full."""
        while not self._waiting and not self.full:
            self._there.clear()
            await self._there.wait()
        if self.full:
            return None
        message, _ = self._waiting.popleft()
        self._bytes -= len(message)
        return message
