"""How long it takes from the start of `nuc serve` until it says it is ready, and until the first motor is commanded.

The first command is read from the emulator's byte log. The client asks for a bout from the moment there is a socket.
"""

from __future__ import annotations

import socket
import tempfile
import threading
import time  # noqa: TID251  benchmarks are about real time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.realtime.children import Broken, until
from benchmarks.realtime.report import ended, median, table, verdict
from benchmarks.realtime.served import Leg, Served
from benchmarks.realtime.wakeup import BAUD
from nuc_engine.emulation.bytelog import read

MOST_S = 1.5
_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds from the start of the process."""

    answers_s: float
    ready_s: float
    run_s: float
    first_s: float


class _Ready:
    """Listens where systemd would, and notes when the daemon says that it is ready."""

    def __init__(self, path: Path) -> None:
        self.at_ns = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._socket.settimeout(_TIMEOUT_S)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        try:
            while b"READY=1" not in self._socket.recv(4096):
                pass
            self.at_ns = time.monotonic_ns()
        except OSError:
            return

    def end(self) -> None:
        self._socket.close()
        self._thread.join(_TIMEOUT_S)


def startup(repeats: int) -> list[str]:
    """Measure and return the section of the report."""
    starts: list[Start] = []
    interrupted: list[str] = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as name:
            starts.append(_start(Path(name), interrupted))
    parts = (
        ("the daemon answers clients", [start.answers_s for start in starts]),
        ("READY=1 to systemd", [start.ready_s for start in starts]),
        ("`run` is accepted", [start.run_s for start in starts]),
        ("first motor command on the wire", [start.first_s for start in starts]),
    )
    rows = [[what, f"{median(found, float):.2f}", f"{min(found):.2f}", f"{max(found):.2f}"] for what, found in parts]
    rows[-1].append(verdict(median(parts[-1][1], float) < MOST_S))
    return [
        f"## From the start of `nuc serve` to the first motor command: {repeats} starts",
        "",
        "Seconds from the start of the process; leg running already, all logs on.",
        "",
        *table(["", "median", "least", "most", f"median under {MOST_S} s"], rows),
        *ended(interrupted),
    ]


def _start(folder: Path, interrupted: list[str]) -> Start:
    notify, log = folder / "notify", folder / "leg.bytes"
    ready = _Ready(notify)
    try:
        with Leg(folder, BAUD, "--byte-log", log) as leg, Served(folder, leg, notify=str(notify)) as served:
            served.await_client()
            answers_ns = time.monotonic_ns()
            served.run()
            run_ns = time.monotonic_ns()
            until(lambda: ready.at_ns, "READY=1", _TIMEOUT_S, served)
            time.sleep(0.3)
            begun_ns = served.begun_ns
            interrupted += served.interrupted
        commands = [frame.end_ns for frame in read(log).frames if frame.goals() and frame.end_ns > begun_ns]
        if not commands:
            raise Broken("no motor was commanded")
        return Start(*((at - begun_ns) / 1e9 for at in (answers_ns, ready.at_ns, run_ns, min(commands))))
    finally:
        ready.end()
