"""A flood: `python -m benchmarks.realtime.flood WHICH COMMANDS`, until it is killed."""

from __future__ import annotations

import socket as sockets
import sys
import time  # noqa: TID251  benchmarks are about real time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgpack
import zmq

_EDITED = "CTr_lev_TC1_load"
_SPEC = '<hdsoSpec idNum="101" time="{}"/>'


def _messages(socket: Any, payload: Callable[[int], bytes]) -> None:
    for number in range(1 << 60):
        socket.send(payload(number))
        while socket.poll(0):
            socket.recv()


def _request(method: str, **params: Any) -> Callable[[int], bytes]:
    payload: Any = msgpack.packb({"id": 1, "method": method, "params": params})
    return lambda _: payload


def _edits(socket: Any) -> None:
    socket.send(_request("take_control", force=True)(0))
    _messages(socket, _request("set", changes=[[_EDITED, -0.2]]))


def _connections(address: str) -> None:
    opened: list[sockets.socket] = []
    while True:
        end = sockets.socket(sockets.AF_UNIX)
        with suppress(OSError):
            end.connect(address.removeprefix("ipc://"))
        opened = [*opened[-1000:], end]
        time.sleep(0.001)


def _endless(address: str) -> None:
    greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(16) + b"\x00" + bytes(31)
    ready = b"\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"
    frame = b"\x03" + (1 << 20).to_bytes(8, "big") + bytes(1 << 20)
    while True:
        with suppress(OSError), sockets.socket(sockets.AF_UNIX) as end:
            end.connect(address.removeprefix("ipc://"))
            end.sendall(greeting + ready)
            while True:
                end.sendall(frame)


def _busy(until_s: float) -> None:
    while time.monotonic() < until_s:
        pass


FLOODS: dict[str, Callable[[Any, str], None]] = {
    "none": lambda _, __: time.sleep(3600),
    "none, but a busy program": lambda _, __: _busy(time.monotonic() + 3600),
    "requests for the status": lambda socket, _: _messages(socket, _request("status")),
    "rubbish": lambda socket, _: _messages(socket, lambda _: b"\xc1" * 40),
    "edits": lambda socket, _: _edits(socket),
    "documents of 1000 timed requests": lambda socket, _: _messages(
        socket,
        lambda n: f"<hdsoscript>{''.join(_SPEC.format(10**6 + n) for _ in range(1000))}</hdsoscript>".encode(),
    ),
    "documents of 2 MB": lambda socket, _: _messages(
        socket, lambda _: b"<hdsoscript " + b" ".join(b'a%d="1"' % k for k in range(200_000)) + b"/>"
    ),
    "silent connections": lambda _, address: _connections(address),
    "messages without end": lambda _, address: _endless(address),
}


def main(flood: str, commands: str) -> None:
    """Flood until killed."""
    socket: Any = zmq.Context().socket(zmq.DEALER)
    socket.sndhwm = 1000
    if not flood.startswith(("silent connections", "messages without end", "none")):
        socket.connect(commands)
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    FLOODS[flood](socket, commands)


if __name__ == "__main__":
    main(*sys.argv[1:])
