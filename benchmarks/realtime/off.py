"""How long `nuc ctl off` takes: from the start of its process to the request, to torque off on the wire, to its end.

Beside it, in turn, what nobody can go below: an interpreter that loads ZeroMQ and MessagePack and sends one frame.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time  # noqa: TID251  benchmarks are about real time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack
import zmq

from benchmarks.realtime.children import ROOT, Broken
from benchmarks.realtime.report import median, table, verdict
from benchmarks.realtime.served import Leg, Served
from benchmarks.realtime.wakeup import BAUD
from nuc_engine.emulation.bytelog import read

MOST_S = 0.2
_BARE = """
import sys, msgpack, zmq
socket = zmq.Context().socket(zmq.DEALER)
socket.connect(sys.argv[1])
socket.send(msgpack.packb({"id": 2, "method": "off", "params": {}}))
socket.recv()
"""
_TIMEOUT_MS = 20_000


@dataclass(frozen=True, slots=True)
class Stop:
    """One `nuc ctl off` beside a running leg: seconds from the start of its process."""

    wire_s: float
    end_s: float


def off(repeats: int) -> list[str]:
    """Measure and return the section of the report."""
    with tempfile.TemporaryDirectory() as name:
        stops = _stops(Path(name), repeats)
        asked, bare = _requests(Path(name), repeats)
    rows = [
        ["`nuc ctl off`: first torque-off on the wire", *_spread([stop.wire_s for stop in stops])],
        ["`nuc ctl off`: all servos confirmed, process ended", *_spread([stop.end_s for stop in stops])],
        ["`nuc ctl -a ADDRESS off`, to another machine: its request has come", *_spread(asked)],
        ["Python, ZeroMQ, MessagePack and one frame: has come", *_spread(bare)],
    ]
    rows[0].append(verdict(median(stops, lambda stop: stop.wire_s) < MOST_S))
    return [
        f"## `nuc ctl off`, from the start of its process: {repeats} times",
        "",
        "Seconds. The first two beside a bout of the emulated leg, all logs on, from its byte log; the last two in "
        "turn, at a bare ZeroMQ socket, with no bout under way.",
        "",
        *table(["", "median", "least", "most", f"median under {MOST_S} s"], rows),
    ]


def _spread(found: list[float]) -> list[str]:
    return [f"{median(found, float):.3f}", f"{min(found):.3f}", f"{max(found):.3f}"]


def _nuc(*address: str) -> list[str]:
    return [sys.executable, "-c", "from nuc_engine.cli import main; main()", "ctl", *address, "off"]


def _stops(folder: Path, repeats: int) -> list[Stop]:
    log = folder / "leg.bytes"
    marks: list[tuple[int, int]] = []
    with Leg(folder, BAUD, "--byte-log", log) as leg, Served(folder, leg) as served:
        for _ in range(repeats):
            served.run()  # which arms
            time.sleep(0.3)
            begun_ns = time.monotonic_ns()
            done = subprocess.run(
                _nuc(),
                cwd=ROOT,
                env={**os.environ, "XDG_RUNTIME_DIR": str(folder)},
                capture_output=True,
                text=True,
                check=False,
            )
            marks.append((begun_ns, time.monotonic_ns()))
            if done.returncode:
                raise Broken(f"nuc ctl off: {done.stderr}")
    releases = [frame.end_ns for frame in read(log).frames if any(frame.releases(servo) for servo in range(4))]
    found = [
        Stop((min(at for at in releases if at > begun) - begun) / 1e9, (end - begun) / 1e9) for begun, end in marks
    ]
    if any(stop.wire_s > stop.end_s for stop in found):
        raise Broken("nuc ctl off ended before there was a torque-off on the wire")
    return found


def _requests(folder: Path, repeats: int) -> tuple[list[float], list[float]]:
    """Return how long it takes until the request is there: of `nuc ctl off`, and of the bare thing, in turn."""
    context: zmq.Context[Any] = zmq.Context()
    router: Any = context.socket(zmq.ROUTER)
    address = f"ipc://{folder}/bare"
    router.bind(address)
    try:
        both = [(_request(router, _nuc("-a", address)), _request(router, _bare(address))) for _ in range(repeats)]
    finally:
        router.close(0)
        context.term()
    return [one for one, _ in both], [other for _, other in both]


def _bare(address: str) -> list[str]:
    return [sys.executable, "-c", _BARE, address]


def _request(router: Any, words: list[str]) -> float:
    begun_ns = time.monotonic_ns()
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        while router.poll(_TIMEOUT_MS):
            sender, payload = router.recv_multipart()
            took_s = (time.monotonic_ns() - begun_ns) / 1e9
            request: Any = msgpack.unpackb(payload)
            if request["method"] == "off":
                router.send_multipart([sender, msgpack.packb({"id": request["id"], "ok": True, "result": {}})])
                process.wait()
                return took_s
        process.kill()
    raise Broken("no request has come")
