"""`nuc ui` and a browser with its page, beside a daemon and a leg: what a person at the bench looks at."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import sys
import time  # noqa: TID251  real processes live on the real clock
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.realtime.daemon import TIMEOUT_S, Process, wait_for

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
try:
    from playwright.sync_api import Page, sync_playwright
except ImportError:
    BROWSER = None

needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="NO BROWSER: the page of nuc ui was not tried (Debian: chromium; pip: playwright)"
)
WORDS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
)
SOON_MS = TIMEOUT_S * 1000
_BAD = frozenset({"error", "warning"})
_NODE_FOLDERS = (f"{sys.prefix}/node_modules", os.environ.get("NODE_PATH", ""), "/usr/lib/node_modules")
_AXES = [Path(folder, "axe-core", "axe.min.js") for folder in _NODE_FOLDERS if folder]
AXE = next(filter(Path.is_file, _AXES), None)
"""What looks for what keeps somebody from using a page; from npm, for tests alone."""


class Server(Process):
    """`nuc ui` with these words."""

    def __init__(self, folder: Path, *words: str) -> None:
        super().__init__(["nuc_engine.cli", "ui", *words, "--no-browser"], folder, "ui")
        try:
            wait_for(lambda: "which holds the key" in self.said(), "the page's server", self)
            wait_for(self.answers, "an answer of the page's server", self)
        except BaseException:
            self.end(signal.SIGKILL)
            raise

    def answers(self) -> bool:
        """Say whether it takes connections."""
        try:
            socket.create_connection(("127.0.0.1", int(self.origin.rpartition(":")[2])), 1.0).close()
        except OSError:
            return False
        return True

    @property
    def origin(self) -> str:
        return re.findall(r"http://127\.0\.0\.1:\d+", self.said())[0]

    def url(self) -> str:
        """Return the page's address with a token that has not been used."""
        file = Path(re.findall(r"open (\S+),", self.said())[0])
        return re.findall(r'href="([^"]+)"', file.read_text())[0]


@contextmanager
def server(folder: Path, *words: str) -> Generator[Server]:
    started = Server(folder, *words)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.send_signal(signal.SIGCONT)
        started.end()
        # A picture that is being drawn when it is told to end is given up, and uvicorn says so at length.
        said = re.sub(r"Traceback(?:.*\n)+?asyncio\.exceptions\.CancelledError.*", "", started.said())
        assert "Traceback" not in said, said


class Watched:
    """A tab, and everything it complained of or asked for elsewhere."""

    def __init__(self, page: Page, origin: str) -> None:
        self.page, self.origin = page, origin
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda said: self.complaints.append(said.text) if said.type in _BAD else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("websocket", lambda socket: self.asked.append(socket.url))

    def go(self, where: str) -> None:
        self.page.evaluate("where => { location.hash = where; }", where)
        self.page.wait_for_timeout(300)

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def until(self, script: str, arg: Any = None) -> None:
        self.page.wait_for_function(script, arg=arg, timeout=SOON_MS)

    def note_when(self, condition: str) -> None:
        """Let the page note when a condition begins to hold: ms since 1970, in `sawAt`."""
        note = "globalThis.sawAt = performance.timeOrigin + performance.now()"
        look = f"const look = () => {{ if ({condition}) {note}; else setTimeout(look, 5); }};"
        self.page.evaluate(f"() => {{ globalThis.sawAt = 0; {look} look(); }}")

    def noted(self) -> float:
        """Wait until it holds; return when that began."""
        self.until("() => globalThis.sawAt")
        return self.page.evaluate("sawAt")

    def elsewhere(self) -> list[str]:
        """Return what was asked of anything but the page's own server."""
        host = self.origin.removeprefix("http://")
        own = (f"http://{host}/", f"ws://{host}/", f"blob:http://{host}/")
        return [url for url in self.asked if not url.startswith(own)]


@contextmanager
def browsing(folder: Path) -> Generator[Any]:
    """Start a browser; the value makes a tab of a URL."""
    opened: list[Any] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=list(WORDS))

        def tab(started: Server, *, token: str = "", **options: Any) -> Watched:
            context = browser.new_context(**{"viewport": {"width": 1024, "height": 700}, **options})
            opened.append(context)
            watched = Watched(context.new_page(), started.origin)
            watched.page.goto(f"{started.origin}/#t={token}" if token else started.url())
            watched.until("() => globalThis.nuc?.live.open")
            return watched

        try:
            yield tab
        finally:
            for context in opened:
                context.close()
            browser.close()


def monotonic_ns(unix_ms: float) -> int:
    """Return a moment of a page's clock (ms since 1970) on this machine's monotonic clock."""
    return round(time.monotonic_ns() - (time.time_ns() - unix_ms * 1e6))
