"""Many minutes under load: is any record lost, is any period skipped that the machine did not steal, does memory grow.

Beside the daemon cyclictest notes each of its own late wake-ups on each CPU, at the engine's priority. A period that
was skipped shows as a gap in StateData.txt; it is excused when cyclictest was late too while it lasted.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time  # noqa: TID251  benchmarks are about real time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.realtime import cyclictest
from benchmarks.realtime.children import resident_kib, until
from benchmarks.realtime.loads import load
from benchmarks.realtime.report import table, verdict
from benchmarks.realtime.served import Interrupted, Leg, Served
from nuc_engine.client import Client
from nuc_engine.daemon.block import Word
from nuc_engine.daemon.latch import LATCH_REASONS
from nuc_engine.daemon.wire import RecordKind

BAUD = 115_200
PERIOD_NS = 5_000_000
SPIKE_US = 1_000
"""cyclictest this late: the machine stood still."""
MOST_GROWN = 0.02
_WARM_S = 120.0
_MOST_LISTED = 20
_PUT_AWAY_S = 600
_TELEMETRY_HZ = 30.0


@dataclass(frozen=True, slots=True)
class Gap:
    """Periods that were skipped: CLOCK_MONOTONIC ns of the state transitions before and after."""

    from_ns: int
    to_ns: int

    @property
    def skipped(self) -> int:
        return round((self.to_ns - self.from_ns) / PERIOD_NS) - 1


def gaps(times_ns: Sequence[int]) -> list[Gap]:
    """Return where state transitions are missing between these."""
    return [Gap(a, b) for a, b in pairwise(times_ns) if b - a > 1.75 * PERIOD_NS]


def stalled(gap: Gap, spikes: Sequence[tuple[int, int]]) -> float:
    """Return by how many milliseconds cyclictest was late within a gap, at most; 0 when it was not."""
    within = [late for at, late in spikes if at > gap.from_ns and at - late < gap.to_ns]
    return max(within, default=0) / 1e6


class _Listener:
    """A subscriber of the telemetry that every client gets; counts samples."""

    def __init__(self, served: Served) -> None:
        self.samples = 0
        self._ended = threading.Event()
        self._served = served
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        served = self._served
        with Client(served.commands, name="listener", role="watch", telemetry=served.telemetry) as client:
            stream = client.listen("nuc")
            while not self._ended.is_set():
                self.samples += stream.receive(0.5) is not None

    def end(self) -> None:
        self._ended.set()
        self._thread.join(5)


def endurance(minutes: float) -> list[str]:
    """Measure and return the section of the report."""
    head = [f"## Endurance: {minutes:g} min at {BAUD:,} baud under load", ""]
    seconds = minutes * 60
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Leg(folder, BAUD) as leg, Served(folder, leg) as served:
            found = _run(served, seconds)
        return [*head, *_report(found, seconds)]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was seen of a run, and what its data directory says."""

    why: str
    delay_ns: int
    start_ns: int
    since_ns: int
    until_ns: int
    lasted_s: float
    cycles: int
    samples: int
    lost: Mapping[str, int]
    manifest: Mapping[str, Any]
    times_ns: Sequence[int]
    spikes: Sequence[tuple[int, int]] | None
    early: Mapping[str, tuple[int, int]]
    late: Mapping[str, tuple[int, int]]


def _run(served: Served, seconds: float) -> Outcome:
    served.run({"statetrans_period_ns": PERIOD_NS, "motor_control_delay_ns": 0})
    delay_ns = _pace(served)
    words = served.block.words
    start_ns, first, begun = words[Word.BOUT_START], words[Word.CYCLE], time.monotonic()
    cycles, lasted_s = first, 0.0
    listener = _Listener(served)
    spikes_out = served.folder / "spikes.out"
    why = ""
    early: dict[str, tuple[int, int]] = {}
    with (
        load("busy", served.folder, seconds + 60),
        cyclictest.spikes(seconds + 120, SPIKE_US, spikes_out) if cyclictest.there() else nullcontext(),
    ):
        # cyclictest is under way by then; what came before the rates were set is not judged.
        since_ns = until_ns = time.monotonic_ns() + 1_000_000_000
        try:
            while time.monotonic() - begun < seconds:
                time.sleep(1)
                served.check()
                cycles, until_ns = words[Word.CYCLE], time.monotonic_ns()
                lasted_s = until_ns / 1e9 - begun
                if not early and time.monotonic() - begun >= min(_WARM_S, seconds / 5):
                    early = _memory(served)
        except Interrupted:
            why = LATCH_REASONS[words[Word.LATCH_REASON]] if words[Word.LATCHED] else "no fault is latched"
        late = _memory(served)
        folder = _stop(served, ended=bool(why))
    listener.end()
    lost = {kind.name: count for kind in RecordKind if (count := words[Word.LOST + kind])}
    lost |= {f"ring {name}": ring.lost for name, ring in served.block.rings.items() if ring.lost}
    return Outcome(
        why=why,
        delay_ns=delay_ns,
        start_ns=start_ns,
        since_ns=since_ns,
        until_ns=until_ns,
        lasted_s=lasted_s,
        cycles=cycles - first,
        samples=listener.samples,
        lost=lost,
        manifest=json.loads((folder / "manifest.json").read_text()),
        times_ns=_times(folder / "StateData.txt"),
        spikes=cyclictest.read_spikes(spikes_out.read_text()) if cyclictest.there() else None,
        early=early,
        late=late,
    )


def _pace(served: Served) -> int:
    """Let exchanges begin 200 times a second; return the pause between them that makes it so, in ns."""
    words = served.block.words
    time.sleep(0.5)
    cycles, begun = words[Word.CYCLE], time.monotonic_ns()
    time.sleep(2)
    took_ns = (time.monotonic_ns() - begun) / (words[Word.CYCLE] - cycles)
    delay_ns = max(0, round(PERIOD_NS - took_ns))
    served.client.set({"motor_control_delay_ns": delay_ns})
    return delay_ns


def _memory(served: Served) -> dict[str, tuple[int, int]]:
    return {name: resident_kib(pid) for name, pid in served.processes().items()}


def _stop(served: Served, *, ended: bool) -> Path:
    """End the bout; return its data directory once it is complete."""
    folder = Path(served.client.status().logging["folder"] or "")
    if not ended:
        served.client.stop()
    if not folder.name:
        folder = max((served.folder / "data").glob("*_*"))
    # Where others have the processors, what was recorded is put away long after.
    manifest = folder / "manifest.json"
    until(lambda: "stopped" in json.loads(manifest.read_text()), "finished data directory", _PUT_AWAY_S, served)
    return folder


def _times(path: Path) -> list[int]:
    with path.open() as file:
        return [int(line.partition(" ")[0]) for line in file]


def _report(found: Outcome, seconds: float) -> list[str]:
    times_ns = [found.start_ns + time_ns for time_ns in found.times_ns]
    missing = gaps([time_ns for time_ns in times_ns if found.since_ns < time_ns < found.until_ns])
    spikes = found.spikes or ()
    excused = [gap for gap in missing if stalled(gap, spikes)]
    lost = {**found.lost, **found.manifest["losses"]["records"]}
    runs = found.manifest["counts"].get("tasks", {}).get("state_transition", {}).get("runs")
    grown = max((_growth(found, name) for name in found.early), default=float("nan"))
    judged = verdict(grown <= MOST_GROWN) if found.early else ""
    whole = not found.why and found.lasted_s > seconds - 2
    rows: list[list[object]] = [
        ["bout", f"{found.lasted_s / 60:.1f} min{'' if whole else ', ended by itself'}", verdict(whole)],
        ["lost records (block, rings, manifest)", lost or 0, verdict(not lost)],
        ["state transitions run / logged", f"{runs} / {len(found.times_ns)}", verdict(runs == len(found.times_ns))],
        ["exchanges", f"{found.cycles / (found.lasted_s or 1):.1f} Hz (pause {found.delay_ns / 1e6:.2f} ms)", ""],
        ["telemetry samples", f"{found.samples / (found.lasted_s or 1):.1f} Hz", ""],
        ["skipped periods", f"{sum(gap.skipped for gap in missing)} in {len(missing)} gaps", ""],
        *_beside(len(missing) - len(excused), found.spikes),
        ["own memory since it was warm", f"{grown:+.1%} at most" if found.early else "not long enough", judged],
    ]
    return [
        "State transition and motor action at 200 Hz, all logs on, telemetry at 30 Hz with a subscriber; beside it a "
        "busy loop per CPU and a writer that calls fsync, and cyclictest on each CPU at the engine's priority.",
        "",
        *table(["", "found", ""], rows),
        *([f"It ended: {found.why}.", ""] if found.why else []),
        *_gap_table(missing, found),
        *_memory_table(found),
    ]


def _beside(unexcused: int, spikes: Sequence[tuple[int, int]] | None) -> list[list[object]]:
    """Return what cyclictest says of the gaps."""
    if spikes is None:
        return [["gaps while cyclictest was not late", f"not judged: {cyclictest.HOW_TO_GET}", ""]]
    return [
        ["gaps while cyclictest was not late", unexcused, verdict(not unexcused)],
        [f"cyclictest later than {SPIKE_US / 1000:g} ms", f"{len(spikes)} times", ""],
    ]


def _growth(found: Outcome, name: str) -> float:
    # Of its own: resident are also the pages of the shared rings it has come by, which were there from the start.
    return found.late[name][1] / found.early[name][1] - 1 if name in found.late else float("nan")


def _gap_table(missing: Sequence[Gap], found: Outcome) -> list[str]:
    rows = [
        [f"{(gap.from_ns - found.start_ns) / 1e9:.3f}", gap.skipped, f"{stalled(gap, found.spikes or ()):.1f}"]
        for gap in sorted(missing, key=lambda gap: -gap.skipped)[:_MOST_LISTED]
    ]
    head = ["engine time s", "periods skipped", "cyclictest late by ms meanwhile"]
    return [f"The longest gaps (of {len(missing)}):", "", *table(head, rows)] if rows else []


def _memory_table(found: Outcome) -> list[str]:
    rows = [
        [
            name,
            *(f"{one[k] / 1024:.1f}" for one in (early, found.late[name]) for k in (0, 1)),
            f"{_growth(found, name):+.1%}",
        ]
        for name, early in found.early.items()
        if name in found.late
    ]
    return [] if not rows else table(["MiB", "warm: resident", "own", "end: resident", "own", "own grown"], rows)
