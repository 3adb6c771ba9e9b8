"""Real processes for tests: an emulated leg on a pseudo-terminal, a daemon beside it, and what the byte log says.

with leg(tmp_path) as emulated, plain_daemon(tmp_path, emulated) as daemon:
    daemon.order("RUN", 0, -1, 1)
    at = daemon.kill("core")
    assert_limp_within(emulated, at)

A virtual machine may stand still for tens of milliseconds. `Stalls` sits beside a test and notes when it did; a
window in which it did is repeated (`undisturbed`), and the repetition is counted.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import time  # noqa: TID251  real processes live on the real clock
from collections.abc import Callable
from pathlib import Path

from nuc_engine.emulation.bytelog import ByteLog, read
from nuc_engine.emulation.client import EmulatorClient
from tests.realtime.mortal import mortal

ROOT = Path(__file__).resolve().parents[2]
MS = 1_000_000
LIMP_NS = 50 * MS
"""How long after a fault torque may still be on: what the daemon promises."""

TIMEOUT_S = 30.0
"""How long is waited for what has to come: a machine may be busy. What is judged is judged by stamps."""

STALL_NS = 8 * MS
"""A wake-up later than this and the machine stood still."""


class Process:
    """A child of the test, its output in a file: a module with its words, as after `python -m`."""

    def __init__(self, words: list[str], folder: Path, name: str, environment: dict[str, str] | None = None) -> None:
        self.output = folder / f"{name}.out"
        foreign = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "RUNTIME_DIRECTORY")
        clean = {key: value for key, value in os.environ.items() if key not in foreign}
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                mortal(*words),
                cwd=ROOT,
                env={**clean, "XDG_RUNTIME_DIR": str(folder), **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def said(self) -> str:
        return self.output.read_text(errors="replace")

    def end(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Wait for its end; return its status. One that does not end is killed, and an error."""
        try:
            return self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


class Leg(Process):
    """`nuc emulate`, with byte log and control socket."""

    def __init__(self, folder: Path, config: str = "lin_roach", *words: str, plant: str = "loopback") -> None:
        self.pty, self.control, self.bytes = folder / "leg", folder / "leg.control", folder / "leg.bytes"
        super().__init__(
            [
                *("nuc_engine.cli", "emulate", config, "--pty", str(self.pty), "--plant", plant, "--json"),
                *("--control", str(self.control), "--byte-log", str(self.bytes), *words),
            ],
            folder,
            "leg",
        )
        try:
            wait_for(lambda: self.control.exists() and self.pty.exists(), "the emulator", self)
        except BaseException:
            self.end(signal.SIGKILL)
            raise

    line = ""
    """Options of the bus on it."""

    @property
    def url(self) -> str:
        return f"aimotor://{self.pty}{self.line}"

    def tell(self, command: str, **parameters):
        with EmulatorClient(self.control, TIMEOUT_S) as client:
            return client.request(command, **parameters)

    def log(self) -> ByteLog:
        return read(self.bytes)


class Daemon(Process):
    """A daemon and its processes, found below the main one by their names."""

    def pids(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for pid in _children(self.pid):
            with contextlib.suppress(OSError):
                state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
                name = Path(f"/proc/{pid}/comm").read_text().strip()
                if name.startswith("nuc-") and state != "Z":
                    found[name.removeprefix("nuc-")] = pid
        return {**found, "supervisor": self.pid}

    def kill(self, name: str, number: int = signal.SIGKILL) -> int:
        """Send a signal to a process by its name; return when."""
        there = self.pids()
        assert name in there, f"no {name}: there are {', '.join(there)}"
        pid = there[name]
        now = time.monotonic_ns()
        os.kill(pid, number)
        return now


class PlainDaemon(Daemon):
    """The daemon with the service of `plain_service`, which does what it is told here."""

    def __init__(self, folder: Path, url: str, *, environment: dict[str, str] | None = None, **options) -> None:
        self.folder, self.bouts = folder, 0
        options = {"configuration": "lin_roach", **options}
        words = ["tests.realtime.plain_service", str(folder), json.dumps(options), f"@{url}"]
        super().__init__(words, folder, "daemon", environment)

    def await_ready(self) -> dict[str, int]:
        def ready() -> bool:
            words = self.words()
            return bool(words) and words["CORE_PID"] != 0 and words["CORE_READY"] == words["CORE_GENERATION"]

        wait_for(ready, "a core that is ready", self)
        return self.words()

    def ask(self, what: str, *items):
        """Ask the plain service; None while there is none."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.bind("")
            end.settimeout(TIMEOUT_S / 6)
            try:
                end.sendto(json.dumps([what, *items]).encode(), str(self.folder / "service"))
                return json.loads(end.recv(1 << 20))
            except OSError:
                return None

    def words(self) -> dict[str, int]:
        """Return the block's words, once there is a service that tells them; nothing when the daemon has ended."""
        found: dict[str, int] = {}

        def told() -> bool:
            found.update(self.ask("words") or {})
            return bool(found) or self.process.poll() is not None

        wait_for(told, "an answer of the service")
        return found

    def events(self) -> list[list]:
        return self.ask("events") or []

    def names(self) -> list[str]:
        """Return the names of events so far."""
        return [event[2] for event in self.events() if event[0] == "EVENT"]

    def order(self, command: str, *items):
        """Give a command to the core and wait for its acknowledgement; return (ok, detail).

        As of the service: only of a core that is ready, and a core that was replaced meanwhile answers nothing.
        """
        generation = self.await_ready()["CORE_GENERATION"]
        number = self.ask(command, *items)
        acknowledged = []

        def over() -> bool:
            acknowledged[:] = [event for event in self.events() if event[0] == "ACK" and event[1] == number]
            return bool(acknowledged) or self.words()["CORE_GENERATION"] != generation

        wait_for(over, f"an acknowledgement of {command}", self)
        return (acknowledged[0][2], acknowledged[0][5]) if acknowledged else (False, "the core was replaced")

    def insist(self, command: str, *items) -> None:
        """Give a command until it is obeyed: a core that has just begun has not heard of every servo yet."""
        until = time.monotonic() + TIMEOUT_S
        ok, detail = self.order(command, *items)
        while not ok and time.monotonic() < until:
            ok, detail = self.order(command, *items)
        assert ok, detail

    def run_bout(self, seconds: float = 0.3) -> int:
        """Begin a bout, armed if need be, and let it drive for a while; return its number."""
        if self.await_ready()["LATCHED"]:
            self.insist("ARM")
        self.bouts += 1
        self.insist("RUN", 0, -1, self.bouts)
        wait_for(lambda: (w := self.words()).get("BOUT") == self.bouts and w["TORQUE"], "a bout", self)
        time.sleep(seconds)
        return self.bouts


class Stalls:
    """Beside a test: a process of the highest priority that notes when it was woken late."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "stalls"
        self.path.unlink(missing_ok=True)
        self.pid = os.fork()
        if self.pid == 0:
            _note_stalls(self.path)

    def between(self, start_ns: int, end_ns: int) -> list[tuple[int, int]]:
        """Return (from, to) of every stall that touches the window."""
        if not self.path.exists():
            return []
        whole = self.path.read_text().rpartition("\n")[0].splitlines()
        lines = [tuple(map(int, line.split())) for line in whole]
        return [(a, b) for a, b in lines if a < end_ns and b > start_ns]

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def _note_stalls(path: Path) -> None:
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
        with path.open("a", buffering=1) as out:
            while True:
                before = time.monotonic_ns()
                time.sleep(0.002)
                after = time.monotonic_ns()
                if after - before - 2 * MS > STALL_NS:
                    out.write(f"{before} {after}\n")
    finally:
        os._exit(0)


def undisturbed(stalls: Stalls, trial: Callable[[], tuple[int, int]], attempts: int = 3) -> int:
    """Run `trial` until its window (start, end) saw no stall of the machine; return how often it was repeated.

    A trial raises AssertionError when a promise was broken; that counts unless the machine stood still meanwhile.
    """
    for attempt in range(attempts):
        begun = time.monotonic_ns()
        try:
            trial()
            return attempt
        except AssertionError:
            if attempt == attempts - 1 or not stalls.between(begun, time.monotonic_ns()):
                raise
    return attempts


def assert_limp_within(leg: Leg, since_ns: int, within_ns: int = LIMP_NS) -> int:
    """Check that nothing drove after `since_ns + within_ns` and that every servo was released by then.

    Returns how many nanoseconds after `since_ns` the last servo was released.
    """
    log = leg.log()
    until = since_ns + within_ns
    late = [frame for frame in log.frames if frame.goals() and frame.end_ns > until]
    assert not late, f"driven {(late[0].end_ns - since_ns) / 1e6:.1f} ms after, {len(late)} times"
    released = []
    for bus_id in log.header.ids:
        drives = [f.end_ns for f in log.frames if bus_id in f.goals()]
        last = max(drives, default=since_ns)
        offs = [f.end_ns for f in log.frames if f.releases(bus_id) and f.end_ns >= min(last, since_ns)]
        assert offs, f"servo {bus_id} was never released"
        released.append(min(offs))
    took = max(released) - since_ns
    assert took <= within_ns, f"the last servo was released {took / 1e6:.1f} ms after"
    return took


def wait_for(condition: Callable[[], object], what: str, process: Process | None = None) -> None:
    """Wait until a condition holds; fail with what the process said."""
    until = time.monotonic() + TIMEOUT_S
    while not condition():
        said = process.said() if process is not None else ""
        assert process is None or process.process.poll() is None, f"ended while waiting for {what}:\n{said}"
        assert time.monotonic() < until, f"no {what} within {TIMEOUT_S:g} s:\n{said}"
        time.sleep(0.01)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(entry.name))
    return found
