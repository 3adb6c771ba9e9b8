"""`nuc ui` and a browser with its page, beside a daemon and a leg: what a person at the bench looks at."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import sys
import time  # noqa: TID251  real processes live on the real clock
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.analysis.scriptlog import read_script_log
from nuc_engine.client import Client
from nuc_engine.machine.locations import find_configuration
from sccils_schemas.model import load_model
from tests.realtime.daemon import TIMEOUT_S, Process, wait_for
from tests.realtime.served import Disturbances, Served, repeat_disturbed

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
try:
    from playwright.sync_api import Error as PlaywrightError
    from playwright.sync_api import Page, sync_playwright
except ImportError:
    BROWSER, PlaywrightError = None, OSError

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
LIVE = "() => nuc.live.liveness(performance.now()).live && nuc.live.ring.end > 20 && nuc.live.model"
"""Records come, and the page knows of what."""
_BAD = frozenset({"error", "warning"})
_NODE_FOLDERS = (f"{sys.prefix}/node_modules", os.environ.get("NODE_PATH", ""), "/usr/lib/node_modules")
_AXES = [Path(folder, "axe-core", "axe.min.js") for folder in _NODE_FOLDERS if folder]
AXE = next(filter(Path.is_file, _AXES), None)
"""What looks for what keeps somebody from using a page; from npm, for tests alone."""

needs_axe = pytest.mark.skipif(
    AXE is None, reason="NO AXE: the page was not checked for who can not see it (make test gets it where there is npm)"
)


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

    def await_live(self) -> None:
        self.until(LIVE)

    def take_control(self) -> None:
        """Take control by the page's button, once nobody has it."""
        self.until("() => !nuc.live.status.control")
        self.page.get_by_role("button", name="Take control").click()
        self.until("() => nuc.live.inControl")

    def give_back(self, served: Served) -> None:
        """Give control back by the page's button."""
        self.page.get_by_role("button", name="Give back").click()
        wait_for(lambda: served.words()["control"] == "", "control", served)

    def begin(self, served: Served, where: str) -> None:
        """Begin a bout, and let the page, at `where`, have control of it."""
        self.go(where)
        if self.page.evaluate("nuc.live.inControl"):
            self.give_back(served)
        served.run_bout()
        served.client.release_control()
        self.take_control()

    def leave(self, served: Served) -> None:
        """Close a tab that complained of nothing, and that gives control back with it."""
        assert self.complaints == []
        self.page.close()
        wait_for(lambda: served.words()["control"] in ("", "bench"), "control that is given back with the tab", served)

    def violations(self) -> list[tuple[str, list[str]]]:
        """Return what keeps somebody from using the page: rules, and elements with what is wrong with each."""
        assert AXE is not None
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run().then(({violations}) => violations)")
        return [(each["id"], [_where(node) for node in each["nodes"][:3]]) for each in found]

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


def _where(node: dict[str, Any]) -> str:
    return f"{node['html'][:200]} {node.get('failureSummary', '')[:300]}"


@contextmanager
def browsing() -> Generator[Any]:
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


def set_free(served: Served) -> None:
    """Arm where a busy machine has made that necessary, and leave control to nobody."""
    if served.words()["latched"]:
        served.insist(served.client.arm)
    served.client.take_control(force=True)
    served.client.release_control()


@contextmanager
def another(served: Served, name: str = "other") -> Generator[Client]:
    """Let somebody else take control, and give it back."""
    with Client(f"ipc://{served.sockets}/command", name=name) as other:
        other.take_control(force=True)
        yield other
        other.release_control()


def in_a_bout(stalls: Disturbances, served: Served, trial: Callable[[], object]) -> None:
    """Repeat a trial whose bout was ended by a disturbance while it waited for the page."""

    def once() -> None:
        try:
            trial()
        except PlaywrightError:
            assert served.words()["mode"] == "RUNNING", "the bout has ended"
            raise

    repeat_disturbed(stalls, once)


def written(folder: Path, name: str) -> list[tuple[float, float]]:
    """Return what the script log of a bout says was written to a value: times (s) and numbers, in order."""
    model, _ = load_model(find_configuration("lin_roach"))
    assert model is not None
    script = read_script_log(folder, model).script
    assert script is not None
    return [(float(entry.time_s), entry.data[0]) for entry in script.entries if entry.name == name]
