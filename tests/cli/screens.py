"""Screens driven without a terminal: keys in, what is shown out."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import convert, to_builtins
from rich.console import Console
from textual.app import App
from textual.pilot import Pilot

from nuc_engine.client import NotAnswered, Refused
from nuc_engine.client.methods import Methods
from nuc_engine.messages.requests import Request
from tests.client.fake_daemon import FakeDaemon
from tests.client.fake_daemon import Refusal as DaemonRefuses


async def settle(pilot: Pilot[Any]) -> None:
    """Let everything be done that a key has led to: each round does what the one before has sent.

    Textual's own pause goes by processor time, and takes a busy machine for an idle program.
    """
    for _ in range(5):
        await pilot.pause(0)
    await pilot.pause()


def play(app: App[Any], drive: Callable[[Pilot[Any]], Awaitable[None]], columns: int = 80, rows: int = 24) -> None:
    """Show a screen of this size, and let somebody at it."""

    async def run() -> None:
        async with app.run_test(size=(columns, rows)) as pilot:
            await settle(pilot)
            await drive(pilot)

    asyncio.run(run())


def shown(app: App[Any]) -> list[str]:
    """Return the lines that are on a screen."""
    columns, rows = app.size
    console = Console(width=columns, height=rows, file=io.StringIO(), force_terminal=True, record=True)
    screen: Any = app.screen
    console.print(screen._compositor.render_update(full=True, screen_stack=app.screen_stack[:-1], simplify=True))
    return console.export_text().splitlines()[:rows]


class Paper:
    """A client of a daemon of paper, without sockets."""

    def __init__(self, daemon: FakeDaemon) -> None:
        self.daemon, self.away = daemon, False
        daemon.greeted.append("alice")
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def do(self, call: Request[Any]) -> Any:
        if self.away:
            raise NotAnswered("nobody there")
        params: dict[str, Any] = to_builtins(call)
        self.sent.append((call.method, params))
        try:
            handler: Any = self.daemon.answers.get(call.method, getattr(self.daemon, f"do_{call.method}"))
            return convert(handler(**params), call.answer)
        except DaemonRefuses as error:
            raise Refused(error.kind, str(error), error.hint) from error

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self.do(getattr(Methods, name).build(*args, **kwargs))
