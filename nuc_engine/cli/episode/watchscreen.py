"""The screen of `nuc episode watch`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rich.text import Text
from textual.app import ComposeResult

from nuc_engine.cli.episode.watchview import FlightView
from nuc_engine.cli.terminal.fullscreen import FullScreen
from nuc_engine.cli.terminal.legscreen import paint

_FRAME_S = 1 / 15


class FlightScreen(FullScreen):
    """Draws what `take` has taken, which returns how old the newest snapshot is, in seconds."""

    def __init__(self, take: Callable[[FlightView], float]) -> None:
        super().__init__("flight")
        self._take, self._picture = take, FlightView(paint)

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield from self.texts.values()

    def on_mount(self) -> None:
        """Begin to look."""
        self.run_worker(self._look())

    async def _look(self) -> None:
        while True:
            age_s = self._take(self._picture)
            lines = self._picture.lines(*self.size, age_s)
            self.put("flight", Text.from_ansi("\n".join(lines), no_wrap=True))
            await asyncio.sleep(_FRAME_S)
