"""Several processes of one daemon killed, stopped or crashed within a tenth of a second: what becomes of the leg.

What was stopped goes on after a second. Then the daemon is ended, where it has not ended by itself. Nothing of it may
be left then, its folder neither, and the next one begins in the same place on the same port.

    for outcome in play_all([deeds_of(seed) for seed in range(50)], folder, stalls):
        print(outcome)
"""

from __future__ import annotations

import contextlib
import os
import signal
import time  # noqa: TID251  real processes live on the real clock
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from tests.realtime.daemon import MS, Leg, assert_limp_within, wait_for
from tests.realtime.served import Disturbances, Served, drives, repeat_disturbed

PROCESSES = ("core", "guardian", "service", "supervisor")
SIGNALS = (signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV)
STOPPED_S = 1.0
PLAYS_PER_LEG = 8
SOON_NS, AFTER_STOP_NS = 100 * MS, 1200 * MS
"""How long torque may last behind the last deed, and behind the first where the main process or all were stopped."""

DRIVEN_NS = 50 * MS
"""Before the first deed: within so long a leg in a bout is driven."""

GONE_ON_NS = 1000 * MS
"""A leg that is driven so long after the last deed goes on."""


@dataclass(frozen=True, slots=True)
class Deed:
    """What is done to one process, and when."""

    process: str
    number: signal.Signals
    at_ms: float

    def __str__(self) -> str:
        return f"{self.process} {self.number.name[3:]} at {self.at_ms:.0f}"


def deeds_of(seed: int) -> tuple[Deed, ...]:
    """Return two or three deeds; the first is at 0."""
    chance = np.random.default_rng(seed)
    processes = chance.permutation(PROCESSES)[: chance.integers(2, 4)]
    times = [0.0, *(float(chance.choice([0.0, chance.uniform(0, 100)])) for _ in processes[1:])]
    return tuple(
        Deed(str(process), SIGNALS[chance.integers(len(SIGNALS))], at)
        for process, at in zip(processes, times, strict=True)
    )


def every_pair() -> list[tuple[Deed, ...]]:
    """Return all pairs of processes and signals, at once."""
    pairs = [(a, b) for a, b in product(PROCESSES, PROCESSES) if a < b]
    return [(Deed(a, m, 0.0), Deed(b, n, 0.0)) for (a, b), m, n in product(pairs, SIGNALS, SIGNALS)]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of it: milliseconds from the first deed to torque-off, None where it may go on and did."""

    deeds: tuple[Deed, ...]
    limp_ms: float | None
    ended: bool

    def __str__(self) -> str:
        limp = "goes on" if self.limp_ms is None else f"limp after {self.limp_ms:.0f} ms"
        return f"{', '.join(map(str, self.deeds))}: {limp}, {'ended' if self.ended else 'lives'}"


def play_all(
    cases: Sequence[tuple[Deed, ...]], folder: Path, stalls: Disturbances, side_by_side: int = 3
) -> list[Outcome]:
    """Play all cases. Raises AssertionError that names each that did not hold."""
    outcomes, wrong = play_each(cases, folder, stalls, side_by_side)
    assert not wrong, f"{len(wrong)} of {len(cases)} did not hold:\n" + "\n".join(wrong)
    return outcomes


def play_each(
    cases: Sequence[tuple[Deed, ...]], folder: Path, stalls: Disturbances, side_by_side: int = 3
) -> tuple[list[Outcome], list[str]]:
    """Play all cases, some at a time beside legs of their own: each waits most of its time.

    Those in which the machine stood still are played again. Returns what came of those that held, and what was wrong
    with the others.
    """
    waiting, outcomes, wrong = list(cases), list[Outcome](), list[str]()

    def work(number: int) -> None:
        place = folder / str(number)
        place.mkdir()
        while waiting:
            # Another one now and then: the whole of its byte log is read each time.
            leg = Leg(place)
            try:
                for _ in range(PLAYS_PER_LEG):
                    if waiting:
                        one(leg, place, waiting.pop())
            except IndexError:
                pass  # another one had the last
            finally:
                leg.end(signal.SIGKILL)
                leg.bytes.unlink(missing_ok=True)

    def one(leg: Leg, place: Path, deeds: tuple[Deed, ...]) -> None:
        found: list[Outcome] = []
        try:
            repeat_disturbed(stalls, lambda: found.append(play(leg, place, deeds)))
            outcomes.append(found[-1])
        except Exception as error:  # the others are played all the same
            wrong.append(f"{', '.join(map(str, deeds))}: {type(error).__name__}: {str(error)[:500]}")

    with ThreadPoolExecutor(side_by_side) as pool:
        list(pool.map(work, range(side_by_side)))
    return outcomes, wrong


def play(leg: Leg, folder: Path, deeds: tuple[Deed, ...]) -> Outcome:
    """Run a bout, do it, and check what has to hold. Raises AssertionError with what did not."""
    served = Served(leg, folder)
    try:
        served.await_ready()
        served.run_bout(0.15)
        done = _do(served, deeds)
        return _judge(leg, served, deeds, *done)
    finally:
        for pid in left(served):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        served.close()


def left(served: Served) -> list[int]:
    """Return the processes of a daemon that live, whoever their parent is by now: they have its session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if fields[0] != "Z" and int(fields[3]) == served.pid:
                    found.append(int(entry.name))
    return found


def _do(served: Served, deeds: tuple[Deed, ...]) -> tuple[int, int]:
    """Do it; return when it began and when the last was done."""
    pids = served.pids()
    handles = {deed.process: os.pidfd_open(pids[deed.process]) for deed in deeds}
    # Above what is watched, or a loaded machine decides when it is done.
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(95))
    begun = time.monotonic_ns()
    try:
        for deed in sorted(deeds, key=lambda deed: deed.at_ms):
            time.sleep(max(0.0, (begun - time.monotonic_ns()) * 1e-9 + deed.at_ms * 1e-3))
            _send(handles[deed.process], deed.number)
        last = time.monotonic_ns()
    finally:
        os.sched_setscheduler(0, *before)
    time.sleep(STOPPED_S)
    for deed in deeds:
        _send(handles[deed.process], signal.SIGCONT)
        os.close(handles[deed.process])
    time.sleep(0.3)
    return begun, last


def _send(handle: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, number)


def _judge(leg: Leg, served: Served, deeds: tuple[Deed, ...], begun_ns: int, last_ns: int) -> Outcome:
    done = {deed.process: deed.number for deed in deeds}
    dead = {name for name, number in done.items() if number is not signal.SIGSTOP}
    stopped = set(done) - dead
    assert drives(leg, begun_ns - DRIVEN_NS, begun_ns), "the leg was not driven before"
    limp_ms = None
    if {"core", "guardian", "supervisor"} <= dead:
        # Nobody is left who could: servos hold their last goal, until a daemon begins beside them.
        wait_for(lambda: not left(served), "the end of every process")
    elif "core" in done or "supervisor" in done or "guardian" in stopped:
        late = "supervisor" in stopped or {"core", "guardian"} <= set(done)
        within = AFTER_STOP_NS if late else SOON_NS + last_ns - begun_ns
        limp_ms = assert_limp_within(leg, begun_ns, within) / MS
    elif not drives(leg, last_ns + GONE_ON_NS):
        assert "guardian" in dead, "the leg does not go on"
        limp_ms = assert_limp_within(leg, begun_ns, SOON_NS + last_ns - begun_ns) / MS
    ended = "supervisor" in dead
    if not ended:
        served.end()
    wait_for(lambda: not left(served), f"the end of every process: {served.pids()}")
    assert not served.sockets.exists(), f"left behind: {list(served.sockets.iterdir())}"
    if not {"core", "guardian", "supervisor"} <= dead:
        assert [servo["driven"] for servo in leg.tell("status")["servos"]] == [-1] * 4, "torque is on at the end"
    return Outcome(deeds, limp_ms, ended)
