"""Throw rubbish at the page's server, and write benchmarks/WEBFUZZ.md: `python -m benchmarks.webfuzz [--inputs N]`.

Part of `make nightly`. Requests of every route the server has, handshakes and WebSocket frames that were right once,
cut, doubled and overwritten in places, and random bytes; each on a connection of its own, half of them with a session.
The server has to go on, to answer nothing with an error of its own, and to let go of every connection; the daemon hears
nothing but tabs that come and go.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time  # noqa: TID251  benchmarks are about real time
import urllib.request
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from starlette.routing import BaseRoute, Route

from nuc_engine import BoutSpec, run_bout
from nuc_engine.client import Client
from nuc_engine.machine.locations import find_configuration
from nuc_engine.ui.access import PageAccess
from nuc_engine.ui.launch import pages_of
from nuc_engine.ui.server import Workbench

INPUTS = 100_000
BOUT = "bout"
"""The data directory that is there."""

Held = tuple[int, int]
HELD = ("descriptors", "resident MiB")
_ANSWER_S = 0.02
_LONGEST = 70_000
_AT_ONCE = 8
_MOST_JOBS = 4000
_MORE_FILES, _MORE_MIB = 4, 50
_MASK = bytes((1, 2, 3, 4))
_SAID = (
    '{"id": 1, "method": "run", "params": {"delay_s": 0.5, "labels": {"a": "b"}}}',
    '{"id": "x", "method": "set", "params": {"changes": [["FT_flux_FTang", 65.5]]}}',
    '{"id": 3, "method": "script", "params": {"text": "<hdsoscript/>"}}',
    '{"id": 4, "method": "get", "params": {"names": ["FT_angle", 1e999, NaN, -0, 99999999999999999999999]}}',
    '{"id": 5, "method": "subscribe", "params": ' + '{"a": [' * 500 + "]}" * 500 + "}",
    '{"id": 18446744073709551616, "method": "arm"}',
    '{"beat": 7}',
    '{"off": 7}',
)
_FRAMES = (
    b"\x01\x80" + _MASK,  # a text that never ends
    b"\x00\x80" + _MASK,  # goes on with nothing
    b"\x82\x85" + _MASK + b"bytes",
    b"\x89\x80" + _MASK,
    b"\x88\x82" + _MASK + b"\x03\xe8",
    b"\x81\xff" + (1 << 62).to_bytes(8, "big") + _MASK,
    b"\x81\x7f" + (70_000).to_bytes(8, "big"),
    b"\xf1\x80" + _MASK,
)
_DOCUMENTS: dict[str, str] = {
    path.name: path.read_text(encoding="utf-8") for path in find_configuration("lin_roach").glob("*.*")
}
_TRIAL = {"name": "lin_roach", "documents": _DOCUMENTS, "values": {}, "angles": {}, "duration_s": 0.1}
_BELOW = (
    BOUT,
    "some%20bout%2Fx/records?from=1&to=2&most=100",
    f"{BOUT}/records?from=0&to=1&most=100",
    f"{BOUT}/seen",
    f"{BOUT}/switches",
    f"{BOUT}/diagram?at=0.5&what=regions",
    f"{BOUT}/thumbnail.png",
    f"{BOUT}/figures/pathstate.png",
    f"{BOUT}/files",
    f"{BOUT}/files/manifest.json",
    f"{BOUT}/movie",
    f"{BOUT}/replay",
)
_NAMED: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "id": ("1",),
        "tab": ("x",),
        "name": ("A", "itf"),
        "whose": ("published", "own"),
        "file": ("kick.png",),
        "path": ("", "app.js", "pages/../app.js"),
        "rest": _BELOW,
    }
)
_BODIES: Mapping[str, Any] = MappingProxyType(
    {
        "/api/session": {"token": "aaaa"},
        "/api/token": None,
        "/api/ask/{tab}": {"id": 1, "method": "status"},
        "/api/bouts/{rest:anything}": {"begin_s": 0.0, "end_s": 0.1, "speed": 0.5, "views": ["side"]},
        "/api/saved": {"documents": _DOCUMENTS},
        "/api/timeline": {
            "text": '<hdsoscript name="x"><hdsoMod idNum="9" NumElts="1" time="0">1</hdsoMod></hdsoscript>'
        },
        "/api/differences": {"name": "lin_roach", "before": _DOCUMENTS, "after": _DOCUMENTS, "values": {}},
        "/api/diagrams": {"name": "lin_roach", "documents": _DOCUMENTS, "values": {}, "what": "regions"},
        "/api/dryruns": _TRIAL,
        "/api/virtual": _TRIAL,
        "/api/virtual/{id}": {"speed": 2.0},
        "/api/bench/doctor": {},
        "/api/bench/scan": {"url": "emulated:aimotor?servos=2"},
        "/api/bench/registers": {"url": "emulated:dynamixel", "id": 1},
        "/api/experiments/{name}": {"repeat": 1, "seed": 1},
    }
)


class Asked(NamedTuple):
    """A request."""

    method: str
    path: bytes
    head: bytes
    body: bytes

    def raw(self) -> bytes:
        """Return it as it is sent."""
        line = self.method.encode() + b" " + self.path + b" HTTP/1.1\r\n" + self.head
        return line + f"Content-Length: {len(self.body)}\r\n\r\n".encode() + self.body

    def damaged(self, some: np.random.Generator) -> bytes:
        """Return one that was right once: all of it is damaged, or its body alone, or its path."""
        match int(some.integers(3)):
            case 0:
                return mutated(self.raw(), some)
            case 1 if self.body:
                return self._replace(body=mutated(self.body, some)).raw()
            case _:
                begins, _, rest = self.path[1:].partition(b"/")
                return self._replace(
                    path=b"/" + begins + b"/" + quote(mutated(rest, some), safe="/?=&%").encode()
                ).raw()


def throw(port: int, secret: str, inputs: int, seed: int) -> Counter[tuple[str, str]]:
    """Throw so many inputs at the server at a port, whose session's secret this is; count kinds and answers."""
    http, opened = requests(port, secret), handshakes(port)
    sockets = [frame(said.encode()) for said in _SAID]
    sockets += [
        *_FRAMES,
        frame(b"x") * 2000,
        _FRAMES[0] + _FRAMES[1] * 5000,
        frame(b"\xff\xfe"),
        frame(b"x" * 65_535),
    ]
    first = frame(json.dumps({"session": secret}).encode())

    def one(number: int) -> tuple[str, str]:
        some, opening = np.random.default_rng([seed, number]), b""
        match number % 3:
            case 0:
                kind, data = "requests", http[int(some.integers(len(http)))].damaged(some)
            case 1:
                kind, data = "handshakes", mutated(opened[int(some.integers(len(opened)))], some)
            case _:
                kind, opening = "frames", opened[int(some.integers(len(opened)))]
                data = sockets[int(some.integers(len(sockets)))]
                data = mutated(data, some) if some.random() < 0.8 else data
                data = (first if some.random() < 0.5 else b"") + data
        return kind, _thrown(port, data, opening)

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return Counter(threads.map(one, range(inputs)))


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
            case _:
                pass
    return bytes(changed)


def _thrown(port: int, data: bytes, opening: bytes) -> str:
    """Return what the server said to it: a kind of HTTP status, or what else became of the connection."""
    # A connection that is ended says that it has heard enough.
    with socket.create_connection(("127.0.0.1", port), timeout=10) as link:
        said, ended = b"", True
        try:
            if opening:
                link.sendall(opening)
                link.recv(4096)  # what comes before a WebSocket is open is not heard
            link.sendall(data)
            link.settimeout(_ANSWER_S)
            while part := link.recv(65_536):
                said = said or part
        except TimeoutError:
            ended = False
        except ConnectionError:
            pass
    if opening:
        return "closed" if ended else "open"
    found = re.match(rb"HTTP/1\.1 (\d)", said)
    return f"{found[1].decode()}xx" if found else "closed unheard" if ended else "no answer yet"


def requests(port: int, secret: str) -> list[Asked]:
    """Return a right request of every route the server has, by every method it takes, with a session and without."""
    own = f"Host: 127.0.0.1:{port}\r\n"
    return [
        Asked(method, path.encode(), head.encode(), json.dumps(_BODIES[route.path]).encode() if posts else b"")
        for head in (own, f"{own}Authorization: Bearer {secret}\r\n")
        for route in routes()
        if isinstance(route, Route)
        for path in _paths(route.path)
        for method in sorted(route.methods or ())
        for posts in [method == "POST"]
    ]


def visit(port: int, secret: str) -> None:
    """Ask for everything once, as it should be: what reads is started by the first who asks for it, and stays."""
    for request in requests(port, secret):
        _thrown(port, request.raw(), b"")
    forget_jobs(port, secret)


def routes() -> Sequence[BaseRoute]:
    """Return every route of the server, as it has them itself."""
    _, _, more = pages_of(Path(), Path(), lambda: False)
    return Workbench(PageAccess(0, time.monotonic), "", more=more).routes()


def _paths(path: str) -> list[str]:
    found = re.search(r"\{(\w+)[^}]*\}", path)
    if found is None:
        return [path]
    return [each for value in _NAMED[found[1]] for each in _paths(path[: found.start()] + value + path[found.end() :])]


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
    """Start a page beside a daemon with an emulated leg, throw, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=INPUTS, help=f"default: {INPUTS:,}")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("WEBFUZZ.md"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run_bout(BoutSpec(config="lin_roach", duration_s=1.0, out=Path(folder, "data", BOUT)))
        words = ["-m", "nuc_engine.cli", "ui", "--no-browser", "--emulated", "lin_roach", "--data", f"{folder}/data"]
        environment = {**os.environ, "XDG_RUNTIME_DIR": folder}
        with (
            subprocess.Popen([sys.executable, *words], env=environment, stderr=subprocess.PIPE, text=True) as ui,
            Path(folder, "said").open("w+", encoding="utf-8") as said,
        ):
            assert ui.stderr is not None
            found = None
            while found is None:
                found = re.search(r"127\.0\.0\.1:(\d+)/  \(open (.+?), which", ui.stderr.readline())
            with ThreadPoolExecutor(1) as reading:  # a pipe that nobody empties would hold the server up
                reading.submit(said.writelines, ui.stderr)
                try:
                    wrong, table = _tried(ui, folder, int(found[1]), Path(found[2]), arguments.inputs)
                finally:
                    ui.terminate()
            said.seek(0)
            told = said.read()
    print(table)
    if wrong or "Traceback" in told:
        sys.exit(f"the server did not come through: {'; '.join(wrong)}\n{told[-4000:]}")
    arguments.out.write_text(table, encoding="utf-8")


def _tried(ui: subprocess.Popen[str], folder: str, port: int, page: Path, inputs: int) -> tuple[list[str], str]:
    """Throw; return what is wrong, and the table."""
    secret = _session(port, page)
    visit(port, secret)
    throw(port, secret, 300, seed=0)
    forget_jobs(port, secret)
    (address,) = Path(folder).glob("**/command")
    with Client(f"ipc://{address}", name="listener") as client:
        events = client.listen()
        heard, before = _heard(client), _held(ui.pid)
        begun = time.monotonic()
        became = throw(port, secret, inputs, seed=1)
        took_s = time.monotonic() - begun
        most = _held(ui.pid)
        forget_jobs(port, secret)
        until = time.monotonic() + 60
        while (after := _held(ui.pid))[0] > before[0] and time.monotonic() < until:
            time.sleep(1)
        told: list[Any] = []
        while (event := events.receive(0.5)) is not None:
            told.append(event)
        now = _heard(client)
    wrong = [] if ui.poll() is None and _session(port, page) else ["it is gone, or opens no session"]
    wrong += ["answers with errors of its own"] if any(answer == "5xx" for _, answer in became) else []
    wrong += [f"descriptors {before[0]} -> {after[0]}"] if after[0] > before[0] + _MORE_FILES else []
    wrong += [f"memory {before[1]} -> {after[1]} MiB"] if after[1] > before[1] + _MORE_MIB else []
    wrong += [f"the daemon has heard of it: {heard} -> {now}, {told[:5]}"] if heard != now or told else []
    return wrong, _table(became, took_s, before, most, after)


def _heard(client: Client) -> dict[str, Any]:
    """Return what of a daemon's status anything that was asked of it would have changed; connections come and go."""
    status = client.status()
    names = ("mode", "bout", "torque", "latched", "control", "undo", "redo", "edits", "edits_refused", "clamps")
    found = {name: getattr(status, name) for name in (*names, "latches", "recording", "losses", "deaths")}
    return {**found, "turned away": status.connections.get("turned_away")}


def forget_jobs(port: int, secret: str) -> None:
    """End what right requests have begun. Jobs are numbered from 1."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with closing(link):
        for number in range(1, _MOST_JOBS):
            link.request("DELETE", f"/api/jobs/{number}", headers={"Authorization": f"Bearer {secret}"})
            link.getresponse().read()


def _table(became: Counter[tuple[str, str]], took_s: float, before: Held, most: Held, after: Held) -> str:
    answers = sorted({answer for _, answer in became})
    total = sum(became.values())
    lines = [
        "# Rubbish at the page's server",
        "",
        f"Made by `python -m benchmarks.webfuzz`, part of `make nightly`: {total:,} inputs in {took_s:.0f} s, "
        f"{_AT_ONCE} at once, each on a connection of its own. Requests are of all {len(routes())} routes of the "
        f"server. *No answer yet*: none within {1000 * _ANSWER_S:.0f} ms, when whoever asked was gone; *closed* and "
        "*open* is what a WebSocket was by then. None was answered with an error of the server's own (5xx), it wrote "
        "of none, and the daemon beside it heard nothing: mode, bout, control, values, losses and clients that were "
        "turned away are as they were, and no event came.",
        "",
        f"| input | {' | '.join(answers)} |",
        f"|---|{'---|' * len(answers)}",
        *(
            f"| {kind} | {' | '.join(f'{became[kind, answer]:,}' for answer in answers)} |"
            for kind in sorted({kind for kind, _ in became})
        ),
        "",
        "| held by the server | before | as the last came | after |",
        "|---|---|---|---|",
        *(f"| {name} | {' | '.join(str(each[k]) for each in (before, most, after))} |" for k, name in enumerate(HELD)),
        "",
        "Before, every route was visited once: each of the three processes that read for the page is started by the "
        "first who asks for it, and holds eight pipes. A job holds four descriptors (both ends of a terminal, two "
        "pipes) while it runs, one on the virtual clock a fifth, its records, as long as it is kept; at most three "
        "run, at most 16 are kept, so that there is an end to both.",
        "",
    ]
    return "\n".join(lines)


def _session(port: int, page: Path) -> str:
    token = re.search(r"#t=([\w-]+)", page.read_text(encoding="utf-8"))
    if token is None:
        return ""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/session", json.dumps({"token": token[1]}).encode())
    with suppress(OSError), urllib.request.urlopen(request) as answer:
        return str(json.loads(answer.read())["session"])
    return ""


def _held(pid: int) -> Held:
    """Return open descriptors and resident MiB of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return len(os.listdir(f"/proc/{pid}/fd")), pages * os.sysconf("SC_PAGESIZE") >> 20


if __name__ == "__main__":
    main()
