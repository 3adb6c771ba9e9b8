"""The screen of `nuc demo`: a leg that steps at real speed."""

from __future__ import annotations

import asyncio

import click
from rich.text import Text
from textual.app import ComposeResult

from nuc_engine.cli.terminal import wallclock
from nuc_engine.cli.terminal.fullscreen import FullScreen
from nuc_engine.cli.terminal.legview import Color, LegView
from nuc_engine.cli.terminal.live import LiveLeg, paced

_FRAME_S = 1 / 15


class LegScreen(FullScreen):
    """A leg, drawn as it steps, until this simulated time. Raises what the leg does when it cannot go on."""

    def __init__(self, leg: LiveLeg, title: str, end_s: float) -> None:
        super().__init__("leg")
        self._leg, self._end_s = leg, end_s
        self._picture = LegView(title, paint)
        self._begun_s = wallclock.seconds()
        self.wrong: Exception | None = None

    def run_whole(self) -> None:
        """Show it until somebody ends it, or the time has come."""
        super().run_whole()
        if self.wrong is not None:
            raise self.wrong

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield from self.texts.values()

    def on_mount(self) -> None:
        """Begin to step."""
        self.run_worker(self._step())

    async def _step(self) -> None:
        try:
            for left_s in paced(self._leg, _FRAME_S, self._end_s):
                await asyncio.sleep(max(0.0, left_s))
                self._draw()
        except Exception as error:  # told once the terminal has been given back
            self.wrong = error
        self.exit()

    def _draw(self) -> None:
        speed = self._leg.time_s / max(wallclock.seconds() - self._begun_s, 1e-9)
        lines = self._picture.lines(self._leg.view(), *self.size, speed)
        self.put("leg", Text.from_ansi("\n".join(lines), no_wrap=True))


def paint(text: str, color: Color | None) -> str:
    """Return a text in a colour; the screen knows which ones the terminal has."""
    if color is None or not text:
        return text
    red, green, blue = (round(255 * part) for part in color)
    return click.style(text, fg=(red, green, blue))
