"""Replies on a busy machine, with kernel workers that carry them above ordinary programs and as they are, in pairs."""

from __future__ import annotations

import json
import tempfile
import time  # noqa: TID251  benchmarks are about real time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.realtime.loads import load
from benchmarks.realtime.report import table, verdict
from benchmarks.realtime.served import Leg, Served
from nuc_engine.daemon.block import Word
from nuc_engine.daemon.latch import LATCH_REASONS

BAUD = 115_200
LOADS = 3
"""Of `busy` at once: so many loops per CPU, and as many writers."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One window: how long the bout went on, why it ended ("": it did not), how often replies came late."""

    lasted_s: float
    why: str
    late: int


def workers(pairs: int, seconds: float, seed: int = 1) -> list[str]:
    """Measure and return the section of the report."""
    order = np.random.default_rng(seed)
    found: dict[bool, list[Seen]] = {False: [], True: []}
    for _ in range(pairs):
        for raised in map(bool, order.permutation([0, 1])):
            found[raised].append(_window(seconds, raised=raised))
    rows = [_row(name, found[raised]) for name, raised in (("as they are", False), ("raised below the engine", True))]
    went_on = all(not seen.why for seen in found[True])
    return [
        f"## Kernel workers of the line: {pairs} pairs of {seconds:g} s on a busy machine",
        "",
        f"Exchanges at {BAUD:,} baud over a pseudo-terminal, all logs on; beside them {LOADS} busy loops per CPU and "
        f"{LOADS} writers that call fsync. Which window of a pair comes first is drawn (seed {seed}). `as they are`: "
        "`--no-line-workers`.",
        "",
        *table(["kernel workers", "bouts that went on", "ended as", "least s", "replies late, per minute"], rows),
        f"No bout ends with the workers raised: {verdict(went_on)}.",
        "",
    ]


def _row(name: str, windows: list[Seen]) -> list[object]:
    ends = Counter(seen.why for seen in windows if seen.why)
    minutes = sum(seen.lasted_s for seen in windows) / 60
    late = sum(seen.late for seen in windows) / minutes if minutes else float("nan")
    told = ", ".join(f"{count} x {why}" for why, count in ends.items()) or "-"
    went_on = sum(not seen.why for seen in windows)
    return [name, f"{went_on} of {len(windows)}", told, f"{min(seen.lasted_s for seen in windows):.1f}", f"{late:.0f}"]


def _window(seconds: float, *, raised: bool) -> Seen:
    words = [] if raised else ["--no-line-workers"]
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        leg = stack.enter_context(Leg(folder, BAUD))
        served = stack.enter_context(Served(folder, leg, *words))
        served.run()
        time.sleep(1.5)  # every worker that is there has been seen by then
        for number in range(LOADS):
            (folder / str(number)).mkdir()
            stack.enter_context(load("busy", folder / str(number), seconds + 30))
        begun = time.monotonic()
        while served.alive and time.monotonic() - begun < seconds:
            time.sleep(0.05)
        lasted_s = time.monotonic() - begun
        block = served.block.words
        why = LATCH_REASONS[block[Word.LATCH_REASON]] if block[Word.LATCHED] else "" if served.alive else "unknown"
        return Seen(lasted_s, why, _late(folder / "daemon.out"))


def _late(said: Path) -> int:
    count = 0
    for line in said.read_text().splitlines():
        if line.startswith("{") and (event := json.loads(line)).get("event") == "replies_late":
            count += 1 + event.get("times", 0)
    return count
