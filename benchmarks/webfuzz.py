"""Throw rubbish at the page's server: `python -m benchmarks.webfuzz [--inputs N]`, part of `make nightly`.

Requests, handshakes and WebSocket frames that were right once, cut, doubled and overwritten in places, and random
bytes; each on a connection of its own, a third of them with a session. The server has to go on, and to let go of every
connection; the daemon hears nothing but tabs that come and go.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time  # noqa: TID251  benchmarks are about real time
import urllib.request
from contextlib import suppress
from pathlib import Path

import numpy as np

INPUTS = 100_000
_ANSWER_S = 0.02
_LONGEST = 70_000
_MASK = bytes((1, 2, 3, 4))
_SAID = (
    '{"id": 1, "method": "run", "params": {"delay_s": 0.5, "labels": {"a": "b"}}}',
    '{"id": "x", "method": "set", "params": {"changes": [["FT_flux_FTang", 65.5]]}}',
    '{"id": 3, "method": "script", "params": {"text": "<hdsoscript/>"}}',
    '{"beat": 7}',
)


def throw(port: int, secret: str, inputs: int, seed: int) -> int:
    """Throw so many inputs at the server at a port, whose session's secret this is; return how many were taken."""
    some = np.random.default_rng(seed)
    http, sockets, opened = _requests(port, secret), [frame(said.encode()) for said in _SAID], handshakes(port)
    first = frame(json.dumps({"session": secret}).encode())
    taken = 0
    for number in range(inputs):
        opening = b""
        match number % 3:
            case 0:
                data = mutated(http[int(some.integers(len(http)))], some)
            case 1:
                data = mutated(opened[int(some.integers(len(opened)))], some)
            case _:
                opening = opened[int(some.integers(len(opened)))]
                data = (first if some.random() < 0.5 else b"") + mutated(sockets[int(some.integers(4))], some)
        taken += _thrown(port, data, opening)
    return taken


def mutated(data: bytes, some: np.random.Generator) -> bytes:
    """Return an input that was right once."""
    changed = bytearray(data)
    for _ in range(int(some.integers(1, 6))):
        at = int(some.integers(len(changed) + 1))
        piece = some.bytes(int(some.integers(1, 9)))
        match int(some.integers(6)):
            case 0:
                changed[at : at + len(piece)] = piece
            case 1:
                changed[at:at] = piece
            case 2:
                del changed[at : at + int(some.integers(1, 40))]
            case 3:
                changed[at:at] = changed[: int(some.integers(200))]
            case 4:
                changed = bytearray(some.bytes(int(some.integers(300))))
            case _ if some.random() < 0.02:
                changed[at:at] = bytes(piece[:1]) * int(some.integers(_LONGEST))
    return bytes(changed)


def _thrown(port: int, data: bytes, opening: bytes) -> bool:
    # A connection that is ended says that it has heard enough.
    with socket.create_connection(("127.0.0.1", port), timeout=10) as link, suppress(ConnectionError, TimeoutError):
        if opening:
            link.sendall(opening)
            link.recv(4096)  # what comes before a WebSocket is open is not heard
        link.sendall(data)
        link.settimeout(_ANSWER_S)
        while link.recv(65_536):
            pass
    return True


def _requests(port: int, secret: str) -> list[bytes]:
    own = f"Host: 127.0.0.1:{port}\r\n"
    with_session = f"{own}Authorization: Bearer {secret}\r\n"
    return [
        f"{line} HTTP/1.1\r\n{head}\r\n{body}".encode()
        for head in (own, with_session)
        for line, body in (
            ("GET /", ""),
            ("GET /api/bouts?q=x", ""),
            ("GET /api/bouts/some%20bout%2Fx/records?from=1&to=2&most=100", ""),
            ("GET /api/jobs/1", ""),
            ("POST /api/session", '{"token": "aaaa"}'),
        )
    ]


def handshakes(port: int) -> list[bytes]:
    """Return what opens the page's two WebSockets."""
    return [
        (
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        ).encode()
        for path in ("/live", "/stop")
    ]


def frame(content: bytes) -> bytes:
    """Return a text as a client's WebSocket frame (RFC 6455, section 5.2)."""
    size = bytes([0x80 | len(content)]) if len(content) < 126 else bytes([0xFE]) + len(content).to_bytes(2, "big")
    return b"\x81" + size + _MASK + bytes(byte ^ _MASK[k % 4] for k, byte in enumerate(content))


def main() -> None:
    """Start a page beside a daemon with an emulated leg, and throw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=INPUTS, help=f"default: {INPUTS:,}")
    inputs = parser.parse_args().inputs
    with tempfile.TemporaryDirectory() as folder:
        words = ["-m", "nuc_engine.cli", "ui", "--no-browser", "--emulated", "lin_roach", "--data", f"{folder}/data"]
        environment = {**os.environ, "XDG_RUNTIME_DIR": folder}
        with subprocess.Popen([sys.executable, *words], env=environment, stderr=subprocess.PIPE, text=True) as ui:
            assert ui.stderr is not None
            found = None
            while found is None:
                found = re.search(r"127\.0\.0\.1:(\d+)/  \(open (.+?), which", ui.stderr.readline())
            port, page = int(found[1]), Path(found[2])
            secret = _session(port, page)
            throw(port, secret, 300, seed=0)
            before, begun = _held(ui.pid), time.monotonic()
            throw(port, secret, inputs, seed=1)
            took_s = time.monotonic() - begun
            time.sleep(15)
            after = _held(ui.pid)
            alive = ui.poll() is None and _session(port, page) != ""
            ui.terminate()
            said = ui.stderr.read()
    print(
        f"{inputs:,} inputs in {took_s:.0f} s; "
        f"descriptors {before[0]} -> {after[0]}, memory {before[1]} -> {after[1]} MiB"
    )
    if not alive or "Traceback" in said or after[0] > before[0] + 4 or after[1] > before[1] + 50:
        sys.exit(f"the server did not come through:\n{said[-4000:]}")


def _session(port: int, page: Path) -> str:
    token = re.search(r"#t=([\w-]+)", page.read_text(encoding="utf-8"))
    if token is None:
        return ""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/session", json.dumps({"token": token[1]}).encode())
    with suppress(OSError), urllib.request.urlopen(request) as answer:
        return str(json.loads(answer.read())["session"])
    return ""


def _held(pid: int) -> tuple[int, int]:
    """Return open descriptors and resident MiB of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return len(os.listdir(f"/proc/{pid}/fd")), pages * os.sysconf("SC_PAGESIZE") >> 20


if __name__ == "__main__":
    main()
