"""Floods beside a stepping leg: what others wait for an answer, what `off` takes, how late the core is.

Windows with a flood and without, in turn. Each flood is a program of its own that wants as much as it can get.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time  # noqa: TID251  benchmarks are about real time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.realtime.children import Broken, Child, python, until
from benchmarks.realtime.edits import interval
from benchmarks.realtime.flood import FLOODS
from benchmarks.realtime.histogram import Histogram, lateness
from benchmarks.realtime.report import ended, median, table, verdict
from benchmarks.realtime.served import Leg, Served
from benchmarks.realtime.wakeup import BAUD, _engine
from nuc_engine.client import Client
from nuc_engine.client.offpath import take_torque_off_in

MOST_ANSWER_MS, MOST_OFF_MS = 50.0, 100.0
_ASK_S = 0.01


@dataclass(slots=True)
class Found:
    """What was measured of one flood: pairs of windows, without it and with it."""

    answers_ms: list[float] = field(default_factory=list)
    offs_ms: list[float] = field(default_factory=list)
    late: list[tuple[Histogram, Histogram]] = field(default_factory=list)
    lost: int = 0
    deaths: int = 0


def floods(windows: int, seconds: float) -> list[str]:
    """Measure and return the section of the report."""
    found = {name: Found() for name in FLOODS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Leg(folder, BAUD) as leg, Served(folder, leg) as served:
            served.run()
            for flood, each in found.items():
                before = served.status().data["deaths"]["service"]

                def window(flood: str = flood, each: Found = each) -> None:
                    without = _window(served, seconds, None)
                    with _flooding(served, flood):
                        with_ = _window(served, seconds, each.answers_ms)
                        served.check()
                        each.offs_ms.append(_off(served))
                    each.late.append((without, with_))
                    served.client.take_control(force=True)  # a flood of edits took it
                    served.client.arm()  # it was asked for: the bout has not ended by itself
                    served.run()

                served.in_windows(windows, window)
                each.lost = sum(ring["lost"] for ring in served.status().data["rings"].values())
                each.deaths = served.status().data["deaths"]["service"] - before
            interrupted = served.interrupted
            served.client.stop()
            time.sleep(2.0)
        unread = _losses(folder)
    head = ["flood", "answers p99, ms", "off, most, ms", "core p99 late, us: without", "with", "difference, 95 %"]
    return [
        f"## Floods beside a stepping leg: {windows} pairs of windows of {seconds:g} s, with it and without",
        "",
        f"Another client asks for the status every {1000 * _ASK_S:g} ms; `off` through its own socket ends each pair, "
        "until the last servo has confirmed. Lateness of the state transition (200 Hz). All logs on.",
        "",
        *table(
            [*head, "records lost", f"answers < {MOST_ANSWER_MS:g}", f"off < {MOST_OFF_MS:g}", "none later"],
            [_row(flood, each) for flood, each in found.items()],
        ),
        f"Records lost in the manifests of all bouts: {unread}, {verdict(unread == 0)}.",
        "",
        *ended(interrupted),
    ]


def _row(flood: str, found: Found) -> list[object]:
    p99 = float(np.percentile(found.answers_ms, 99))
    both = [[pair[k].quantile_us(0.99) for pair in found.late] for k in (0, 1)]
    low, high = interval([b - a for a, b in zip(*both, strict=True)])
    died = f" ({found.deaths} restarts of the service)" if found.deaths else ""
    return [
        flood + died,
        f"{p99:.1f}",
        f"{max(found.offs_ms):.0f}",
        *(f"{median(values, float):.0f}" for values in both),
        f"{low:+.0f} to {high:+.0f}",
        found.lost,
        verdict(p99 < MOST_ANSWER_MS),
        verdict(max(found.offs_ms) < MOST_OFF_MS),
        verdict(low <= 0),
    ]


def _window(served: Served, seconds: float, answers_ms: list[float] | None) -> Histogram:
    ending = threading.Event()
    asking = threading.Thread(target=_ask, args=(served.commands, ending, answers_ms if answers_ms is not None else []))
    asking.start()
    try:
        return lateness(*_engine(served, seconds)["state_transition"])
    finally:
        ending.set()
        asking.join()


def _ask(address: str, ending: threading.Event, answers_ms: list[float]) -> None:
    with Client(address, name="other", role="watch", timeout_s=5.0) as client:
        client.status()
        while not ending.wait(_ASK_S):
            begun = time.monotonic()
            client.status()
            answers_ms.append(1000 * (time.monotonic() - begun))


def _off(served: Served) -> float:
    own = served.folder / "nuc"
    folder = next(path.parent for path in own.glob("*/off"))
    answer = take_torque_off_in([folder], "benchmark")[folder]
    if isinstance(answer, str) or answer["unconfirmed"]:
        raise Broken(f"off: {answer}")
    return max(int(at) for at in answer["confirmed_ns"].values()) / 1e6


def _losses(folder: Path) -> int:
    manifests = [json.loads(path.read_text()) for path in (folder / "data").glob("*/manifest.json")]
    return sum(sum(manifest["losses"]["records"].values()) for manifest in manifests)


# --- the floods, each a process ---


class _flooding:  # noqa: N801  reads as what it does
    def __init__(self, served: Served, flood: str) -> None:
        words = python("benchmarks.realtime.flood", flood, served.commands)
        self._child = child = Child(words, served.folder / "flood.out")
        until(lambda: "begun" in child.said(), f"flood of {flood}", 30, child)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._child.end()
