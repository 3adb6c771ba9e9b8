"""Screens that take the whole terminal, on textual: loaded only when one is shown."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import ClassVar

from rich.text import Text
from textual.app import App
from textual.binding import Binding, BindingType
from textual.widgets import Static

from nuc_engine.cli.terminal.leaving import SIGNALS


class FullScreen(App[None]):
    """A screen that Ctrl-C ends, and what ends a process from outside; `run_whole` gives the terminal back.

    `texts` are the parts of it that hold nothing but text, by name.
    """

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "quit", priority=True, show=False)]
    CSS = "Screen { background: ansi_default; scrollbar-size-vertical: 1; } Static { height: auto; }"

    def __init__(self, *names: str) -> None:
        # The terminal's own colours.
        super().__init__(ansi_color=True)
        self.texts = {name: Static(id=name) for name in names}

    def run_whole(self) -> None:
        """Show it until somebody ends it. Raises SystemExit where that was a signal."""
        # The mouse stays the terminal's, which marks and copies with it.
        self.run(mouse=False)
        if self.return_code:
            raise SystemExit(self.return_code)

    def on_load(self) -> None:
        """Hear what ends it from outside, and go on to give the terminal back."""
        if sys.platform == "win32":
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, *SIGNALS):
            if signal.getsignal(number) is not signal.SIG_IGN:
                status = 0 if number == signal.SIGINT else 128 + number
                loop.add_signal_handler(number, self.exit, None, status)

    def put(self, name: str, content: str | Text) -> None:
        """Show a text, where another one was; one that is no `Text` is taken as it is."""
        text = Text(content) if isinstance(content, str) else content
        if self.texts[name].content != text:
            self.texts[name].update(text)
