"""`nuc serve` itself beside an emulated leg, with a client: what a person at the bench has.

served = Served(leg, folder)
served.run_bout()
leg.tell("supply", on=False)
served.await_fault("motor_silent")
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import time  # noqa: TID251  real processes live on the real clock
import tty
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from nuc_engine.client import Client, ClientError, Refused
from nuc_engine.recording.inputs import read_inputs
from tests.realtime.daemon import LIMP_NS, MS, TIMEOUT_S, Daemon, Leg, Stalls, wait_for

GAP_NS = 40 * MS
"""Longest silence on the bus while a bout goes on: a cycle in which nobody answers lasts half as long."""

TERMINAL_NS = 3 * MS
"""A byte that takes longer through a terminal may cost a reply: the bus waits for 4 ms."""


class Served(Daemon):
    """A daemon started by its command line. `odd` is what `tests.realtime.odd_serve` should make worse."""

    def __init__(
        self,
        leg: Leg,
        folder: Path,
        *words: str,
        config: str = "lin_roach",
        buses: Sequence[str] = (),
        data: Path | None = None,
        odd: Any = None,
        command: str = "",
    ) -> None:
        self.leg, self.data = leg, data if data is not None else folder / "data"
        self.sockets = folder / "nuc" / Path(config).name
        self.command = command or f"ipc://{folder}/command"
        self.telemetry = f"ipc://{folder}/telemetry"
        module = ("nuc_engine.cli",) if odd is None else ("tests.realtime.odd_serve", json.dumps(odd))
        serve = [*module, "serve", config, "--data", str(self.data)]
        for bus in buses or [leg.url]:
            serve += ["--bus", bus]
        if "--command" not in words:
            serve += ["--command", self.command]
        super().__init__([*serve, "--telemetry", self.telemetry, *words], folder, "served")
        self.client = Client(self.command, name="bench", timeout_s=TIMEOUT_S / 2, telemetry=self.telemetry)

    def await_ready(self) -> None:
        wait_for(lambda: (status := self.status()) is not None and status["ready"], "a core", self)

    def status(self) -> dict[str, Any] | None:
        """Ask how it is; None while there is nobody to ask."""
        try:
            return dict(self.client.status().data)
        except ClientError:
            return None

    def words(self) -> dict[str, Any]:
        status = self.status()
        assert status is not None, self.said()
        return status

    def value(self, name: str) -> Any:
        """Return what is in force of a parameter."""
        return self.client.get([name]).values[name]

    def run_bout(self, seconds: float = 0.3) -> int:
        """Begin a bout, armed if need be, and let it drive for a while; return its number."""
        self.await_ready()
        if self.words()["mode"] == "RUNNING":
            self.client.stop()
        if self.words()["latched"]:
            self.insist(self.client.arm)
        bout = self.insist(self.client.run).bout
        wait_for(lambda: self.words()["bout"] == bout and self.words()["torque"], "a bout", self)
        time.sleep(seconds)
        return bout

    def insist(self, ask: Any) -> Any:
        """Ask until it is granted: a core that has just begun has not heard of every servo yet."""
        until = time.monotonic() + TIMEOUT_S
        while True:
            try:
                return ask()
            except Refused:
                if time.monotonic() > until:
                    raise
                time.sleep(0.02)

    def await_fault(self, reason: str) -> None:
        wait_for(lambda: self.words()["latch_reason"] == reason, f"the fault {reason}", self)

    def await_limp(self) -> None:
        wait_for(lambda: not self.words()["torque"], "every servo's confirmation", self)

    def refusal(self, ask: Any) -> str:
        """Ask for something that is to be refused; return why it was."""
        try:
            ask()
        except Refused as refused:
            return str(refused)
        raise AssertionError("it was not refused")

    def logged(self, event: str = "") -> list[dict[str, Any]]:
        """Return the events on stderr, of one name or all."""
        found = []
        for line in self.said().splitlines():
            with contextlib.suppress(ValueError):
                told = json.loads(line)
                if not event or told.get("event") == event:
                    found.append(told)
        return found

    def await_logged(self, event: str) -> dict[str, Any]:
        wait_for(lambda: self.logged(event), f"the event {event}", self)
        return self.logged(event)[-1]

    def bouts(self) -> list[Path]:
        return sorted(path.parent for path in self.data.glob("*/manifest.json"))

    def finish_bout(self) -> Path:
        """Stop the bout; return its data directory once it is whole."""
        self.client.stop()
        return self.await_whole(self.bouts()[-1])

    def await_whole(self, folder: Path) -> Path:
        wait_for(lambda: manifest(folder).get("state") != "running", f"the end of {folder.name}", self)
        return folder

    def close(self) -> None:
        """End it at once, and everything it started."""
        children = self.pids()
        self.client.close()
        self.end(signal.SIGKILL)
        for pid in children.values():
            wait_for(lambda pid=pid: not alive(pid), "the end of the daemon's processes")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "manifest.json").read_text())


class TerminalStalls(Stalls):
    """Beside a test: a byte through a pseudo-terminal again and again, noted when it took long.

    The kernel carries it with a thread of ordinary priority, which an adapter's driver does not, so that on a machine
    whose CPUs are all taken bytes are late however urgent those at both ends are.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "terminal"
        self.pid = os.fork()
        if self.pid == 0:
            try:
                _bounce(self.path)
            finally:
                os._exit(0)


def _bounce(path: Path) -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(98))
    near, far = os.openpty()
    tty.setraw(far)
    with path.open("a", buffering=1) as out:
        while True:
            before = time.monotonic_ns()
            os.write(near, b"x")
            os.read(far, 1)
            after = time.monotonic_ns()
            if after - before > TERMINAL_NS:
                out.write(f"{before} {after}\n")
            time.sleep(0.003)


class Disturbances:
    """`Stalls` on each CPU, of which one alone may stand still on a virtual machine, and of terminals."""

    def __init__(self, folder: Path) -> None:
        allowed = os.sched_getaffinity(0)
        self.beside: list[Stalls] = [TerminalStalls(folder)]
        try:
            for cpu in allowed:
                (folder / str(cpu)).mkdir()
                os.sched_setaffinity(0, {cpu})
                self.beside.append(Stalls(folder / str(cpu)))
        finally:
            os.sched_setaffinity(0, allowed)

    def between(self, start_ns: int, end_ns: int) -> list[tuple[int, int]]:
        return sorted(stall for beside in self.beside for stall in beside.between(start_ns, end_ns))

    def end(self) -> None:
        for beside in self.beside:
            beside.end()


def repeat_disturbed(stalls: Disturbances, trial: Callable[[], object], attempts: int = 6) -> int:
    """Run a trial until it holds; one that does not counts, unless a CPU or a terminal stood still meanwhile.

    Returns how often it was repeated.
    """
    before: list[str] = []
    for attempt in range(attempts):
        begun = time.monotonic_ns()
        try:
            trial()
        except (AssertionError, ClientError) as error:
            seen = stalls.between(begun, time.monotonic_ns())
            before.append(f"attempt {attempt + 1} ({len(seen)} disturbances): {str(error)[:300]}")
            if attempt == attempts - 1 or not seen:
                error.add_note("\n".join(before))
                raise
        else:
            return attempt
    return attempts


def no_error_of_its_own(said: str) -> None:
    """Check that nothing of what a daemon said is an error nobody had thought of."""
    for sign in ("Traceback", "engine_error", "service_error", "log_error"):
        assert sign not in said, said


def drives(leg: Leg, since_ns: int, until_ns: int = 1 << 62) -> int:
    """Return how many commands drove a servo between two instants."""
    return sum(1 for frame in leg.log().frames if frame.goals() and since_ns < frame.end_ns <= until_ns)


def assert_limp_from(leg: Leg, since_ns: int, within_ns: int = LIMP_NS) -> int:
    """Check that every servo was told to be limp, and answered, in time after an instant, and not driven since.

    Unlike `assert_limp_within`, what a servo did not answer does not count: nobody may have heard it. Returns how many
    nanoseconds after that instant the last one answered; 0 when all had before.
    """
    log = leg.log()
    received = [since_ns]
    for bus_id in log.header.ids:
        driven = max((f.end_ns for f in log.frames if bus_id in f.goals()), default=0)
        ends = [f.end_ns for f in log.frames if f.releases(bus_id) and f.end_ns > driven and f.position_raw >= 0]
        assert ends, f"servo {bus_id} was not released, or driven afterwards"
        received.append(min(ends))
    took = max(received) - since_ns
    assert took <= within_ns, f"the last was released {took / 1e6:.1f} ms after"
    return took


def longest_gap_ns(leg: Leg, since_ns: int, until_ns: int) -> int:
    """Return the longest time between two instants in which nothing was asked on the bus."""
    ends = [since_ns, *(f.end_ns for f in leg.log().frames if since_ns < f.end_ns < until_ns), until_ns]
    return max(b - a for a, b in pairwise(ends))


def cycles_logged(folder: Path) -> list[list[Any]]:
    """Return the cycles of a bout's input record: [..., number, time, positions, currents, status, stamps]."""
    return [record for record in read_inputs(folder / "InputRecord.msgpack") if record[0] == "cycle"]
