"""The emulator process put together: leg, terminal, logs and control socket around one loop."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from nuc_engine.daemon.cyclering import BYTES, CycleRing
from nuc_engine.emulation.commands import EmulatorCommands
from nuc_engine.emulation.control import ControlSocket
from nuc_engine.emulation.errors import EmulationError
from nuc_engine.emulation.leg import Leg
from nuc_engine.emulation.loop import EmulatorLoop, WaitCall
from nuc_engine.emulation.pseudo_terminal import PseudoTerminal
from nuc_engine.emulation.rawlog import LogHeader, RawLog
from nuc_engine.recording.logs import NUMBER, TextLog

LIVE_COLUMNS: Final = (
    ("time", "ns, CLOCK_MONOTONIC", "i8"),
    ("foot_x", "cm", "f8"),
    ("foot_y", "cm", "f8"),
    ("foot_z", "cm", "f8"),
    ("contact", "N", "f8"),
)
"""Of the records of what really happens to a leg."""

_REPORT_NS: Final = 1_000_000_000
_MOST_KEPT: Final = 6000
_ROW: Final = "%d" + f" {NUMBER}" * 4 + "\n"


@dataclass(frozen=True, slots=True)
class EmulatorPaths:
    """Where things are in the file system: the terminal's name, and what else is wanted."""

    pty: Path
    byte_log: Path | None = None
    control: Path | None = None
    record: Path | None = None
    live: Path | None = None
    """A file made by `daemon.cyclering.make_file`."""


@dataclass(frozen=True, slots=True)
class LoopStatistics:
    """What the last second or so was like."""

    exchanges_per_s: float
    reply_p99_us: float
    reply_max_us: float
    late: int
    lost: int
    plant_behind_ms: float


class EmulatorProcess:
    """Everything `nuc emulate` runs. Use as a context: the terminal's name and the socket go when it ends."""

    def __init__(
        self,
        leg: Leg,
        places: EmulatorPaths,
        now: Callable[[], int],
        wait: WaitCall,
        report: Callable[[LoopStatistics], None] | None = None,
    ) -> None:
        """Open everything and let plant time begin; nothing is served before `run`, which should follow at once.

        `report` is called once a second, in between exchanges; it must not wait. Raises `EmulationError`, `OSError`.
        """
        self.alive: Callable[[], object] = _nobody
        """Called some forty times a second as long as the loop turns."""
        self._report = report
        self._now = now
        self._reported_ns = self._reported = 0
        with ExitStack() as opened:
            self.leg = leg
            self.terminal = PseudoTerminal(places.pty)
            opened.callback(self.terminal.unplug)
            leg.begin(now())
            self._log = self._open_log(opened, places.byte_log)
            self._record = None if places.record is None else opened.enter_context(_Record(places.record))
            self._live = None if places.live is None else _open_live(opened, places.live, leg.name)
            self.loop = EmulatorLoop(
                leg.end,
                leg.plant,
                self.terminal,
                leg.line,
                baud=leg.baud,
                start_ns=leg.start_ns,
                now=now,
                wait=wait,
                sniffer=leg.family.sniffer(),
                log=self._log,
            )
            self.commands = EmulatorCommands(leg, self.loop, self.terminal, now, self.losses)
            self.loop.chores = self._do_chores
            if places.control is not None:
                self.loop.visitor = visitor = ControlSocket(places.control, self.commands.obey)
                opened.callback(visitor.close)
            self._opened = opened.pop_all()

    def __enter__(self) -> EmulatorProcess:
        """Return the process."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close everything, log files last."""
        self._opened.close()

    def run(self) -> None:
        """Serve until told to stop. Raises `PlantFault` when the physics diverges, `OSError` of a log's disk."""
        self._reported_ns = self._now()
        self.loop.run()
        self._keep_records()

    def describe(self) -> dict[str, Any]:
        """Return what the first line says."""
        leg = self.leg
        return {
            "pty": str(self.terminal.link),
            "terminal": self.terminal.name,
            "family": leg.family.name,
            "baud": leg.baud,
            "leg": leg.name,
            "ids": [servo.bus_id for servo in leg.servos],
            "start_ns": leg.start_ns,
        }

    def _open_log(self, opened: ExitStack, path: Path | None) -> RawLog | None:
        if path is None:
            return None
        leg = self.leg
        ids = tuple(servo.bus_id for servo in leg.servos)
        log = RawLog(path, LogHeader(leg.name, leg.baud, leg.start_ns, ids, leg.family.name))
        opened.callback(log.close)
        return log

    def _do_chores(self, now_ns: int) -> None:
        self.alive()
        self.terminal.free_if_abandoned()
        self._keep_records()
        if self._report is not None and now_ns - self._reported_ns >= _REPORT_NS:
            self._report(self._sight(now_ns))

    def _keep_records(self) -> None:
        records = self.leg.plant.take_records()
        if self._record is not None:
            self._record.append(records)
        if self._live is not None:
            for time_ns, *numbers in records:
                self._live.put((self.leg.start_ns + round(time_ns), *numbers))

    def losses(self) -> dict[str, int]:
        """Return how many records the disk did not take, by file."""
        lost = {} if self._log is None else {"byte_log": self._log.lost}
        return lost if self._record is None else {**lost, "record": self._record.lost}

    def _sight(self, now_ns: int) -> LoopStatistics:
        loop = self.loop
        rate = (loop.replies.count - self._reported) / ((now_ns - self._reported_ns) * 1e-9)
        self._reported_ns, self._reported = now_ns, loop.replies.count
        return LoopStatistics(
            exchanges_per_s=rate,
            reply_p99_us=loop.replies.quantiles_ns(0.99)[0] / 1000,
            reply_max_us=loop.replies.max_ns / 1000,
            late=loop.replies.late,
            lost=loop.lost,
            plant_behind_ms=loop.plant_behind.max_ns / 1e6,
        )


def _nobody() -> None:
    """Nobody wants to know."""


def _open_live(opened: ExitStack, path: Path, name: str) -> CycleRing:
    """Return the ring in a file in memory, for programs on this machine that want to see what really happens."""
    if path.stat().st_size != BYTES:
        raise EmulationError(f"{path}: not a file that `nuc serve` made for this; expected {BYTES} bytes")
    with path.open("r+b") as file:
        memory = opened.enter_context(mmap.mmap(file.fileno(), 0))
    ring = CycleRing(memory)
    opened.callback(ring.close)
    ring.begin(name, LIVE_COLUMNS)
    return ring


class _Record:
    """The plant's own truth as text: plant time in ns, foot x, y, z in cm, contact force in N (PlantData.txt).

    A disk that takes nothing is tried again for a while; then the record ends, and `lost` counts what is missing.
    """

    def __init__(self, path: Path) -> None:
        self.lost = 0
        self._log = TextLog(path)
        self._kept = 0

    def __enter__(self) -> _Record:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._log.close()
        except OSError:
            self.lost += self._kept

    def append(self, records: list[tuple[float, ...]]) -> None:
        if self._log.closed:
            self.lost += len(records)
            return
        for record in records:
            self._log.append(_ROW % record)
        self._kept += len(records)
        try:
            self._log.flush()
            self._kept = 0
        except OSError:
            if self._kept > _MOST_KEPT:
                self._log.abandon()
                self.lost, self._kept = self._kept, 0
