"""What the supervisor hands to the processes it forks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from nuc_engine.daemon.block import Block

StopPolicy = Literal["off", "hold", "park"]
"""What a commanded stop does: take the torque off, hold the pose it finds, or move slowly to the park pose."""

Logging = Literal["always", "command"]
"""Whether every bout is logged from its start, or only what `log` asks for."""


STALL_LIMIT_MS, SLOW_STALL_LIMIT_MS = 20, 250
"""How long the core may stand still, with real-time priority and without: there every process waits for its turn."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Everything `nuc serve` was told, checked. Empty `configuration`: a client chooses one.

    `commands` and `telemetry` (empty: none) are listened at beside the sockets of the daemon's own folder.

    `stall_limit_ms` None: STALL_LIMIT_MS, or, where the machine grants no real-time priority, SLOW_STALL_LIMIT_MS.
    """

    configuration: str = ""
    data: Path = Path("data")
    commands: tuple[str, ...] = ()
    telemetry: str = ""
    telemetry_rate_hz: float = 30.0
    udp: str = ""
    logging: Logging = "always"
    mcap: bool = False
    on_stop: StopPolicy = "off"
    on_service_loss: Literal["continue", "stop"] = "continue"
    park_deg: Mapping[str, float] = field(default_factory=dict[str, float])
    approach_deg_s: float = 60.0
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    gravity_compensation: float = 0.0
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    priority: int = 50
    line_workers: bool = True
    cpu: int | None = None
    spin_us: int = 0
    stall_limit_ms: int | None = None
    silent_cycles: int = 2
    control_timeout_s: float = 60.0
    keys: Path | None = None


@dataclass(frozen=True, slots=True)
class BusLine:
    """One open bus: what motors call it (empty: the only one), its URL, and the descriptor of its port."""

    name: str
    url: str
    fd: int


@dataclass(frozen=True, slots=True)
class Launch:
    """The block, three eventfds, a pidfd of the main process, the open buses and the options.

    `run_dir` is the folder of the daemon's sockets, which is there before all else, and `off` the socket in it that
    takes the torque off, `probe` the one that says whether it would; `cycles` is the file in it that the core writes
    every cycle to.
    `to_core`, `to_service` and `to_supervisor` are written to wake a process up; what to do stands in the block. With
    `to_journal` stderr is read by the system's journal.
    """

    block: Block
    to_core: int
    to_service: int
    to_supervisor: int
    supervisor: int
    buses: tuple[BusLine, ...]
    options: ServeOptions
    run_dir: Path = Path()
    off: int = -1
    probe: int = -1
    cycles: int = -1
    to_journal: bool = False

    def without_descriptors(self) -> tuple[Launch, list[int]]:
        """Return the same without buses and sockets for torque off, and the descriptors that a child so closes."""
        held = [fd for fd in (self.off, self.probe, *(bus.fd for bus in self.buses)) if fd >= 0]
        return replace(self, buses=tuple(replace(bus, fd=-1) for bus in self.buses), off=-1, probe=-1), held
