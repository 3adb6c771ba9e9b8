"""Faults of a running engine, as data: what each one does in each process, after how long, and what a person can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from types import MappingProxyType


class Effect(IntEnum):
    """What a fault does, mildest first: it is told and the bout goes on; it ends the bout; torque goes off too."""

    WARN = 1
    STOP = 2
    TORQUE_OFF = 3

    @property
    def told(self) -> str:
        """What it is, in words."""
        return ("told, goes on", "the bout ends", "torque off")[self - 1]


class Process(Enum):
    """Where a fault is found, and dealt with: in a bout on the virtual clock, or in a process of the daemon."""

    BOUT = "nuc run"
    CORE = "core"
    GUARDIAN = "guardian"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault: its effect in every process that can find it, and the remedy a person is told.

    It is one once it was found `after` times in a row, or has lasted for `delay_ns`. One that is told and no more is
    told at most every `again_ns`, and counted each time.
    """

    effects: Mapping[Process, Effect]
    hint: str
    after: int = 1
    delay_ns: int = 0
    again_ns: int = 0

    @property
    def worst(self) -> Effect:
        """What it does where it does most."""
        return max(self.effects.values())

    @property
    def once(self) -> str:
        """When it is one, in words."""
        if self.delay_ns:
            return f"for {time_text(self.delay_ns)}"
        return f"{self.after} in a row" if self.after > 1 else "it is found"


def time_text(ns: int) -> str:
    """Return a time of the table for people."""
    return f"{ns / 1e9:g} s" if ns >= _SECOND // 2 else f"{ns / 1e6:g} ms"


_WARN, _STOP, _OFF = Effect
_BOUT, _CORE, _GUARDIAN, _SERVICE = Process
_MS = 1_000_000
_SECOND = 1000 * _MS

FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        "motor_silent": Fault({_BOUT: _OFF, _CORE: _OFF}, "check the servo's power, cable and id", after=5),
        "bus_silent": Fault(
            {_CORE: _OFF},
            "it looks as if their supply had failed for a moment, and left them limp: check it; then arm",
        ),
        "bus_held_up": Fault(
            {_CORE: _OFF},
            "the servos answer, but too late to be driven: see what holds adapter or computer up (`nuc bus latency` "
            "measures it), then arm",
            # Nothing is driven meanwhile.
            delay_ns=250 * _MS,
        ),
        "servo_refused": Fault(
            {_BOUT: _OFF, _CORE: _OFF},
            "a servo is not what the configuration says, or cannot be set up: nothing is driven until that is mended",
        ),
        "plant_diverged": Fault(
            {_BOUT: _STOP}, "the physics broke down: lower the timestep or the forces in plant.toml"
        ),
        "bad_command": Fault(
            {_BOUT: _WARN, _CORE: _WARN},
            "a servo delta was no number: look at the muscle functions' parameters",
            again_ns=_SECOND,
        ),
        "overrun": Fault(
            {_BOUT: _WARN, _CORE: _WARN}, "a task takes longer than its period: lengthen the period", again_ns=_SECOND
        ),
        "rule_overlap": Fault(
            {_BOUT: _WARN, _CORE: _WARN},
            "two entry rules of a joint were true together: move their thresholds apart",
            again_ns=_SECOND,
        ),
        # Beside a leg its records wait in memory: see nuc_engine.datalogger.writer.
        "logging_failed": Fault(
            {_BOUT: _STOP, _SERVICE: _WARN},
            "the data could not be written: free space, or choose another place",
            again_ns=10 * _SECOND,
        ),
        "engine_error": Fault(
            {_BOUT: _OFF, _CORE: _OFF}, "an error of the engine itself; please report it with the data directory"
        ),
        "write_refused": Fault(
            {_BOUT: _WARN, _CORE: _WARN}, "a script's write could not be made; Scriptlog.xml says which and why"
        ),
        # The delay is that of a block that does not say another (`Word.STALL_LIMIT_MS`).
        "core_stalled": Fault(
            {_GUARDIAN: _OFF},
            "the control process stood still; `nuc doctor` tells what the machine lacks; then arm",
            delay_ns=20 * _MS,
        ),
        "core_dead": Fault({_GUARDIAN: _OFF}, "the control process ended; the log says how; another one runs: arm it"),
        # For so long the core may have stood still with everything else, as with a machine that was paused.
        "stood_still": Fault(
            {_CORE: _OFF},
            "the whole computer was held up, or all of the daemon: nobody knows what the leg did meanwhile; then arm",
            delay_ns=500 * _MS,
        ),
        # Looks in a row, in time, that find the guardian's heartbeat still: about 25 ms, where the core itself may
        # stand still for 20; for longer limits as many more.
        "guardian_lost": Fault(
            {_CORE: _OFF}, "nothing watched over the engine; another guardian is started by itself; then arm", after=6
        ),
        # systemd, which the main process feeds, ends all of the daemon after a second.
        "supervisor_lost": Fault(
            {_GUARDIAN: _OFF},
            "the main process was ended from outside: start `nuc serve` again",
            delay_ns=600 * _MS,
        ),
        "bus_lost": Fault(
            {_CORE: _OFF, _GUARDIAN: _OFF},
            "the adapter of a bus is gone: plug it in; it is found again by itself",
        ),
        "suspended": Fault({_CORE: _OFF}, "the computer slept while a bout ran: keep it awake, then arm"),
        # Longer than its restart takes.
        "service_lost": Fault(
            {_CORE: _STOP},
            "the service ended and --on-service-loss asks for a stop; another one is started by itself",
            delay_ns=3 * _SECOND,
        ),
    }
)


OFF = "off"
"""Torque off because somebody asked for it: latched like a fault, and none."""


def hint_of(reason: str) -> str:
    """Return what a person can do once the torque is off for this reason, a fault or OFF."""
    return "see that the leg may move, then arm" if reason == OFF else FAULTS[reason].hint


class EngineFault(Exception):
    """A fault that does not let the bout go on: `name` is its key in FAULTS."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name
