"""Clients that want much: `python -m benchmarks.realtime.audience COMMANDS TELEMETRY SECONDS`.

Three subscriptions of every sensor, state, force and raw reply at 100 Hz, the telemetry that every client gets, and a
client that asks for status and values 50 times a second.
"""

from __future__ import annotations

import sys
import threading
import time  # noqa: TID251  benchmarks are about real time
from types import TracebackType
from typing import Any

from benchmarks.realtime.children import Child, python, until
from benchmarks.realtime.served import Served
from nuc_engine.client import Client

_MOST_S = 3600
_RATE_HZ = 100.0


class Audience:
    """The audience of a daemon as a process; nobody where not `present`."""

    def __init__(self, served: Served, *, present: bool) -> None:
        self._child: Child | None = None
        if present:
            words = python("benchmarks.realtime.audience", served.commands, served.telemetry, str(_MOST_S))
            self._child = child = Child(words, served.folder / "audience.out")
            until(lambda: "here" in child.said(), "audience", 10, child)

    def __enter__(self) -> Audience:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child is not None:
            self._child.end()


def main(commands: str, telemetry: str, seconds: str) -> None:
    """Listen and ask until the time is over."""
    until_s = time.monotonic() + float(seconds)
    threads = [threading.Thread(target=_listen, args=(commands, telemetry, until_s), daemon=True) for _ in range(3)]
    with Client(commands, name="audience", role="watch", telemetry=telemetry) as client:
        names = _names(client.model())
        for thread in threads:
            thread.start()
        sys.stdout.write("here\n")
        sys.stdout.flush()
        while time.monotonic() < until_s:
            client.status()
            client.get(names[:8])
            time.sleep(0.02)


def _listen(commands: str, telemetry: str, until_s: float) -> None:
    with Client(commands, name="listener", role="watch", telemetry=telemetry) as client:
        stream = client.subscribe(_names(client.model()), _RATE_HZ)
        while time.monotonic() < until_s:
            stream.receive(1.0)


def _names(model: Any) -> list[str]:
    joints = [f"joint.{joint['name']}.{what}" for joint in model["joints"] for what in ("state", "action")]
    motors = [joint["motor"]["name"] for joint in model["joints"] if joint["motor"]]
    raw = [f"motor.{name}.{what}" for name in motors for what in ("position_raw", "age_ms")]
    return [*(sensor["name"] for sensor in model["sensors"]), *joints, *raw]


if __name__ == "__main__":
    main(*sys.argv[1:])
