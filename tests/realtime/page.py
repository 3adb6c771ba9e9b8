"""`nuc ui` as a process, and what its page says to it: a tab, a torque-off button, HTTP.

with page(folder) as ui, ui.tab() as tab:
    tab.ask("take_control")
    tab.until(lambda: tab.status.get("torque"))
"""

from __future__ import annotations

import http.client
import json
import re
import signal
import struct
import threading
import time  # noqa: TID251  real processes live on the real clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.realtime.daemon import TIMEOUT_S, Process, wait_for

HEAD = struct.Struct("<IId")


class Ui(Process):
    """`nuc ui WORDS` with a redirect file in `folder`."""

    def __init__(self, folder: Path, *words: str, name: str = "ui") -> None:
        super().__init__(["nuc_engine.cli", "ui", "--no-browser", *words], folder, name)
        try:
            wait_for(lambda: "http://" in self.said(), "the page's address", self)
        except BaseException:
            self.end(signal.SIGKILL)
            raise
        found = re.search(r"http://127\.0\.0\.1:(\d+)/  \(open (.+?), which", self.said())
        assert found is not None, self.said()
        self.port, self.page = int(found[1]), Path(found[2])
        self.origin = f"http://127.0.0.1:{self.port}"
        self.secret = ""

    def token(self) -> str:
        """Return what the redirect file holds."""
        found = re.search(r"#t=([\w-]+)", self.page.read_text())
        assert found is not None
        return found[1]

    def begin(self) -> str:
        """Open the page's session."""
        status, _, content = self.http("POST", "/api/session", json.dumps({"token": self.token()}).encode())
        assert status == 200, content
        self.secret = json.loads(content)["session"]
        return self.secret

    def http(self, method: str, path: str, body: bytes = b"") -> tuple[int, dict[str, str], bytes]:
        """Ask over HTTP; return status, headers and content."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        try:
            headers = {"authorization": f"Bearer {self.secret}"} if self.secret else {}
            link.request(method, path, body, headers)
            answer = link.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            link.close()

    def told(self, path: str, method: str = "GET", body: bytes = b"") -> Any:
        """Return what is told in JSON."""
        return json.loads(self.http(method, path, body)[2])

    @contextmanager
    def socket(self, path: str) -> Iterator[ClientConnection]:
        """Open a WebSocket that has said its session."""
        address = f"ws://127.0.0.1:{self.port}{path}"
        with connect(
            address, origin=self.origin, compression=None, max_size=None, open_timeout=TIMEOUT_S, close_timeout=2
        ) as link:
            link.send(json.dumps({"session": self.secret}))
            yield link

    @contextmanager
    def tab(self) -> Iterator[Tab]:
        """Open a tab."""
        with self.socket("/live") as link:
            tab = Tab(link)
            try:
                tab.until(lambda: tab.welcome)
                yield tab
            finally:
                tab.close()

    @contextmanager
    def button(self) -> Iterator[Button]:
        """Open the connection of a torque-off button."""
        with self.socket("/stop") as link:
            yield Button(link)


class Tab:
    """A tab that takes what it is sent, on a thread; its heart beats."""

    def __init__(self, link: ClientConnection) -> None:
        self.link = link
        self.welcome: dict[str, Any] = {}
        self.layouts: dict[int, dict[str, Any]] = {}
        self.status: dict[str, Any] = {}
        self.events: list[dict[str, Any]] = []
        self.heard: list[tuple[float, str]] = []
        """When which topic came (time.monotonic)."""
        self.records: list[tuple[int, tuple[float, ...]]] = []
        """Layout and values of every record."""
        self.arrived: list[tuple[float, float]] = []
        """When a batch came (s on the records' clock), and when its last record was whole."""
        self.missed = 0
        self.closed: int | None = None
        self.beats = True
        self._answers: dict[int, dict[str, Any]] = {}
        self._numbers = 0
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._read), threading.Thread(target=self._beat)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        try:
            while True:
                self._take(self.link.recv())
        except ConnectionClosed:
            self.closed = self.link.close_code

    def _beat(self) -> None:
        while not self._ended.wait(0.5):
            if self.beats:
                with suppress(ConnectionClosed):
                    self.link.send('{"beat": 1}')

    def _take(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            layout, count, _ = HEAD.unpack_from(message)
            width = (len(message) - HEAD.size) // 8 // count
            row = struct.Struct(f"<{width}d")
            rows = list(row.iter_unpack(message[HEAD.size :]))
            self.arrived.append((time.monotonic(), rows[-1][0] / 1e9))
            self.records += [(layout, values) for values in rows]
            return
        told = json.loads(message)
        topic = told.get("topic", "")
        self.heard.append((time.monotonic(), topic))
        match topic:
            case "welcome":
                self.welcome = told
            case "layout":
                self.layouts[told["layout"]] = told
            case "status":
                self.status = told["status"]
            case "events":
                self.events += told["events"]
            case "missed":
                self.missed += told["records"]
        if "id" in told:
            self._answers[told["id"]] = told

    def ask(self, method: str, **params: Any) -> Any:
        """Ask for something; return the result, or raise AssertionError with the refusal."""
        told = self.answer(method, **params)
        assert told["ok"], told
        return told["result"]

    def answer(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask for something; return the whole answer."""
        self._numbers += 1
        number = self._numbers
        self.link.send(json.dumps({"id": number, "method": method, "params": params}))
        self.until(lambda: number in self._answers, method)
        return self._answers.pop(number)

    def insist(self, method: str, **params: Any) -> Any:
        """Ask until it is granted: a core that has just begun has not heard of every servo yet."""
        until = time.monotonic() + TIMEOUT_S
        while not (told := self.answer(method, **params))["ok"]:
            assert time.monotonic() < until, told
            time.sleep(0.02)
        return told["result"]

    def until(self, condition: Callable[[], object], what: str = "something") -> None:
        """Wait until a condition holds."""
        until = time.monotonic() + TIMEOUT_S
        while not condition():
            assert time.monotonic() < until, f"no {what} within {TIMEOUT_S:g} s"
            time.sleep(0.002)

    def heard_since(self, topic: str, since: float) -> float | None:
        """Return when a topic came for the first time after an instant."""
        return next((at for at, what in list(self.heard) if what == topic and at >= since), None)

    def columns(self) -> list[str]:
        """Return the names of the columns of the last records."""
        layout = self.records[-1][0] if self.records else max(self.layouts)
        return [column["name"] for column in self.layouts[layout]["columns"]]

    def of_bout(self, bout: int) -> list[dict[str, float]]:
        """Return the records of a bout, by name."""
        names = self.columns()
        at = names.index("bout")
        return [dict(zip(names, row, strict=True)) for _, row in list(self.records) if row[at] == bout]

    def close(self) -> None:
        """Go."""
        self._ended.set()
        self.link.close()
        for thread in self._threads:
            thread.join()


class Button:
    """A torque-off button."""

    def __init__(self, link: ClientConnection) -> None:
        self.link = link

    def hear(self, within_s: float = TIMEOUT_S) -> dict[str, Any]:
        """Return what is said next."""
        return json.loads(self.link.recv(within_s))

    def ready(self) -> dict[str, Any]:
        """Return the next probe that went through."""
        while (told := self.hear()).get("ready_ms") is None:
            pass
        return told

    def press(self, why: str = "test") -> dict[str, Any]:
        """Press it; return what came of it."""
        self.link.send(json.dumps({"off": why, "pressed_unix_s": time.time()}))
        while not {"off", "off_failed"} & (told := self.hear()).keys():
            pass
        return told
