"""Round trips of commands through the whole daemon beside a bare ZeroMQ echo, while the tasks run at full rate.

All in alternating windows of one run. Each request waits for its answer; a little pause in between lets every one
find the daemon at another place of its work.
"""

from __future__ import annotations

import tempfile
import time  # noqa: TID251  benchmarks are about real time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import msgpack
import zmq

from benchmarks.realtime.children import Broken, Child, python, until
from benchmarks.realtime.report import ended, median, table, verdict
from benchmarks.realtime.served import Leg, Served
from benchmarks.realtime.wakeup import BAUD, BUSY

MOST_RATIO = 3.0
PAUSE_S = 0.0013
GET = {"names": ["TC1_angle", "CTr_current"]}
_EDITED = "motor_speed"
_TIMEOUT_MS = 5000

Ask = Callable[[], object]


class Dealer:
    """A client of a page: one request, one answer, nothing besides."""

    def __init__(self, context: zmq.Context[Any], address: str) -> None:
        self._socket = context.socket(zmq.DEALER)
        self._socket.linger = 0
        self._socket.connect(address)

    def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Return the answer to a request."""
        self._socket.send(msgpack.packb({"id": 1, "method": method, "params": params}))
        if not self._socket.poll(_TIMEOUT_MS):
            raise Broken(f"no answer to {method}")
        return msgpack.unpackb(self._socket.recv())

    def must(self, method: str, params: Mapping[str, Any]) -> None:
        """Ask, and see that it was done."""
        answer = self.ask(method, params)
        if not answer.get("ok"):
            raise Broken(f"{method}: {answer}")

    def close(self) -> None:
        self._socket.close()


def roundtrip(windows: int, requests: int) -> list[str]:
    """Measure and return the section of the report."""
    head = [f"## Command round trip beside a ZeroMQ echo: {windows} alternating windows of {requests} requests", ""]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        echo = f"ipc://{folder}/echo"
        with (
            Leg(folder, BAUD) as leg,
            Served(folder, leg) as served,
            Child(python("benchmarks.realtime.bare_echo", echo), folder / "echo.out") as child,
        ):
            until(lambda: "here" in child.said(), "echo", 10, child)
            served.run(BUSY)
            with _askers(served, echo) as (direct, asks):
                times: dict[str, list[list[float]]] = {what: [] for what in asks}

                def window() -> None:
                    direct.must("take_control", {"force": True})
                    found = {what: _window(ask, requests) for what, ask in asks.items()}
                    for what, one in found.items():
                        times[what].append(one)

                served.in_windows(windows, window, BUSY)
            interrupted = served.interrupted
    return [*head, *_words(), *_rows(times), *ended(interrupted)]


@contextmanager
def _askers(served: Served, echo: str) -> Iterator[tuple[Dealer, dict[str, Ask]]]:
    levels = cycle((2, 3))
    with zmq.Context() as context:
        bare, direct = Dealer(context, echo), Dealer(context, served.commands)
        direct.must("hello", {"name": "round trip"})
        asks: dict[str, Ask] = {
            "echo": lambda: bare.ask("get", GET),
            "get": lambda: direct.must("get", GET),
            "set": lambda: direct.must("set", {"changes": [[_EDITED, next(levels)]]}),
            "status": lambda: direct.must("status", {}),
            "get, by the Python client": lambda: served.client.get(GET["names"]),
        }
        yield direct, asks
        bare.close()
        direct.close()


def _window(ask: Ask, requests: int) -> list[float]:
    found: list[float] = []
    for _ in range(requests):
        begun = time.perf_counter_ns()
        ask()
        found.append((time.perf_counter_ns() - begun) / 1000)
        time.sleep(PAUSE_S)
    return sorted(found)


def _quantile(times: list[float], share: float) -> float:
    return times[min(int(share * len(times)), len(times) - 1)]


def _words() -> list[str]:
    return [
        f"Same task mix as above ({BAUD:,} baud, state transition at 1 kHz, all logs on); clients on ipc sockets, "
        "normal priority. `get` is answered by the service from the last whole cycle; `set` goes through the core, is "
        "in effect when it is answered, and is logged. Medians of the windows' quantiles, in microseconds; the ratio "
        "is the median of the windows' ratios.",
        "",
    ]


def _rows(times: Mapping[str, list[list[float]]]) -> list[str]:
    rows: list[list[object]] = []
    for what, found in times.items():
        (p50, ratio50), (p99, ratio99) = (_against(found, times["echo"], share) for share in (0.5, 0.99))
        judged = verdict(ratio50 <= MOST_RATIO) if what in ("get", "set") else ""
        rows.append([what, f"{p50:.0f}", f"{p99:.0f}", f"{ratio50:.1f}", f"{ratio99:.1f}", judged])
    return table(["", "p50", "p99", "p50 / echo", "p99 / echo", f"p50 at most {MOST_RATIO:g} x"], rows)


def _against(found: list[list[float]], echo: list[list[float]], share: float) -> tuple[float, float]:
    """Return the median of the windows' quantiles, and of their ratios to the echo's."""
    ours, theirs = ([_quantile(window, share) for window in windows] for windows in (found, echo))
    return median(ours, float), median(zip(ours, theirs, strict=True), lambda pair: pair[0] / pair[1])
