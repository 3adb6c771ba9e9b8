"""One tree's daemon, measured for a window whenever a line comes in: what `benchmarks.realtime.before` runs of each.

Run with the tree to be measured on PYTHONPATH; uses only what trees of different age have in common.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time  # noqa: TID251  benchmarks are about real time
from contextlib import suppress
from itertools import cycle
from pathlib import Path

import zmq

from benchmarks.realtime.children import Broken
from benchmarks.realtime.histogram import execution, lateness
from benchmarks.realtime.roundtrip import GET, Dealer
from benchmarks.realtime.roundtrip import _quantile as quantile
from benchmarks.realtime.roundtrip import _window as asked
from benchmarks.realtime.served import Interrupted, Leg, Served
from benchmarks.realtime.wakeup import BAUD, BUSY
from benchmarks.realtime.wakeup import _engine as engine

REQUESTS = 150
TICK = {"rules": "state_transition", "muscles": "muscle_conversion", "begin of an exchange": "motor_action"}
"""Tasks whose work is told, and what it is called."""
SETTLE_S = 1.0
"""Whether the bout went on or another one was begun, its files are open by then."""


def _measure(served: Served, seconds: float) -> dict[str, float]:
    """Return microseconds: wake-up and work of the tasks beside nothing else, then round trips."""
    tasks = engine(served, seconds)
    late, begun = lateness(*tasks["state_transition"]), execution(*tasks["motor_action"])
    found = {"wake-up, p50": late.quantile_us(0.5), "wake-up, p99": late.quantile_us(0.99)}
    # The task that begins an exchange ends with the first request on the wire.
    found["wake-up to the first byte on the wire, medians"] = late.quantile_us(0.5) + begun.quantile_us(0.5)
    for what, task in TICK.items():
        took = execution(*tasks[task])
        found |= {f"{what}, p50": took.quantile_us(0.5), f"{what}, p99": took.quantile_us(0.99)}
    levels = cycle((2, 3))
    with zmq.Context() as context:
        direct = Dealer(context, served.commands)
        direct.must("hello", {"name": "round trip"})
        direct.must("take_control", {"force": True})
        asks = {
            "get": lambda: direct.must("get", GET),
            "set": lambda: direct.must("set", {"changes": [["motor_speed", next(levels)]]}),
            "status": lambda: direct.must("status", {}),
        }
        for what, ask in asks.items():
            times = asked(ask, REQUESTS)
            found |= {f"{what}, p50": quantile(times, 0.5), f"{what}, p99": quantile(times, 0.99)}
        direct.close()
    served.check()
    return found


def main() -> None:
    """Answer each line with what was measured."""
    seconds = float(sys.argv[1])
    with tempfile.TemporaryDirectory() as name, Leg(Path(name), BAUD) as leg, Served(Path(name), leg) as served:
        served.run(BUSY)
        served.halt(leg=True)
        print("here", flush=True)
        for _ in sys.stdin:
            found: dict[str, float] = {}
            with suppress(Interrupted):
                served.go_on(leg=True)
            while not found:
                try:
                    if not served.alive:
                        # Since half a second of standing still ends a bout.
                        served.run(BUSY)
                    time.sleep(SETTLE_S)
                    served.check()
                    found = _measure(served, seconds)
                except (Interrupted, Broken):
                    continue
            served.halt(leg=True)
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
