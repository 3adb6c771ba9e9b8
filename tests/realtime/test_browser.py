"""A real browser with a page that means harm: fetch, a form and a WebSocket, at every port of a daemon.

It needs a browser (Debian: chromium), which `make nightly` asks for; where there is none, it says so.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgpack
import pytest

from nuc_engine.messages.keys import ALLOWED, make_pair
from tests.realtime.daemon import wait_for

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PAGE_S = 60.0

PAGE = """<!doctype html><title>harmless</title><body><script>
const ports = %(ports)s, bytes = Uint8Array.from(atob("%(body)s"), c => c.charCodeAt(0));
const text = String.fromCharCode(...bytes);
async function attack() {
  for (const port of ports) for (let filler = 0; filler < 64; filler += 1) {
    const url = "http://127.0.0.1:" + port + "/" + "a".repeat(filler);
    const stop = AbortSignal.timeout(3000);
    await fetch(url, {method: "POST", mode: "no-cors", body: bytes, signal: stop}).catch(() => 0);
  }
  for (const port of ports) {
    const form = document.createElement("form"), field = document.createElement("textarea");
    const frame = document.createElement("iframe");
    frame.name = "into" + port; document.body.append(frame);
    Object.assign(form, {method: "post", enctype: "text/plain", action: "http://127.0.0.1:" + port + "/",
                         target: frame.name});
    field.name = "x"; field.value = text; form.append(field); document.body.append(form); form.submit();
    await new Promise(done => {
      const web = new WebSocket("ws://127.0.0.1:" + port + "/");
      web.onopen = () => { web.send(bytes); };
      web.onerror = web.onclose = done; setTimeout(done, 3000);
    });
  }
  await new Promise(done => setTimeout(done, 1000));
  await fetch("/done", {method: "POST", body: JSON.stringify(ports.length)});
}
attack();
</script>"""


@contextmanager
def website(page: str) -> Generator[tuple[str, threading.Event]]:
    """Publish a page; the event is set when it says that it has done its worst."""
    done = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            done.set()

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_address[1]}/", done
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def browsing(url: str, folder: Path) -> Generator[None]:
    assert BROWSER is not None
    words = [
        BROWSER,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
    ]
    words += [f"--user-data-dir={folder}/profile", "--remote-debugging-port=0", url]
    with (folder / "browser.out").open("wb") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, start_new_session=True)
    try:
        yield
    finally:
        os.killpg(process.pid, 9)
        process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def forward(path: str) -> Generator[int]:
    """Let a port of loopback lead to a Unix socket, as `ssh -L` does."""
    opened: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.socket(socket.AF_UNIX)
                opened.extend((near, far))
                far.connect(path)
                for pair in ((near, far), (far, near)):
                    threads.append(threading.Thread(target=pump, args=pair, daemon=True))
                    threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threads.append(threading.Thread(target=accept, daemon=True))
        threads[0].start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            threads[0].join()
            for end in opened:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
            for end in opened:
                end.close()


@pytest.mark.skipif(
    BROWSER is None, reason="NO BROWSER: a web page was not tried against the daemon (Debian: chromium)"
)
def test_a_page_in_a_browser_neither_arms_nor_runs_nor_reads(serve, tmp_path):
    make_pair(tmp_path / "keys", "server")
    (tmp_path / "keys" / ALLOWED).touch()
    commands, telemetry = free_port(), free_port()
    file = f"ipc://{tmp_path}/command"
    _, served = serve(
        *("--keys", str(tmp_path / "keys"), "--command", file, "--command", f"tcp://127.0.0.1:{commands}"),
        *("--telemetry", f"tcp://127.0.0.1:{telemetry}"),
        command=file,
    )
    served.await_ready()
    requests = [("take_control", {"force": True}), ("arm", {}), ("run", {}), ("shutdown", {})]
    body = b""
    for number, (method, params) in enumerate(requests):
        wish = msgpack.packb({"id": number, "method": method, "params": params})
        body += b"\x01\x00" + bytes([len(wish) + 1, 0]) + wish
    with forward(f"{tmp_path}/command") as forwarded:
        ports = [commands, telemetry, forwarded]
        page = PAGE % {"ports": json.dumps(ports), "body": base64.b64encode(body * 8).decode()}
        before = served.words()["connections"]
        with website(page) as (url, done), browsing(url, tmp_path):
            assert done.wait(PAGE_S), (tmp_path / "browser.out").read_text(errors="replace")[-2000:]
    status = served.words()
    assert (status["mode"], status["bout"], status["control"]) == ("CONFIGURED", 0, "")
    assert [client["name"] for client in status["clients"]] == ["bench"]
    assert sum(client["rubbish"] for client in status["clients"]) == 0
    # It did come through to all three: 64 requests each, a form and a WebSocket.
    assert status["connections"]["closed"] - before["closed"] >= 3 * 64, status["connections"]
    wait_for(lambda: served.words()["ready"], "a daemon that lives", served)
    assert served.process.poll() is None
