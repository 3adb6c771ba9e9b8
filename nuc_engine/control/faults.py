"""Faults of a running engine, as data: what each one does, and what a person can do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType


class Effect(Enum):
    """What a fault does to the bout: it is reported and the bout goes on, it ends the bout, or torque goes off too."""

    WARN = "warn"
    STOP = "stop"
    TORQUE_OFF = "torque-off"


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault: its effect, the remedy a person is told, and how many times in a row make it one."""

    effect: Effect
    hint: str
    after: int = 1


FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        "motor_silent": Fault(Effect.TORQUE_OFF, "check the servo's power, cable and id", after=5),
        "bus_silent": Fault(
            Effect.TORQUE_OFF,
            "it looks as if their supply had failed for a moment, and left them limp: check it; then arm",
        ),
        "bus_held_up": Fault(
            Effect.TORQUE_OFF,
            "the servos answer, but too late to be driven: see what holds adapter or computer up (`nuc bus latency` "
            "measures it), then arm",
        ),
        "servo_refused": Fault(
            Effect.TORQUE_OFF,
            "a servo is not what the configuration says, or can not be set up: nothing is driven until that is mended",
        ),
        "plant_diverged": Fault(Effect.STOP, "the physics broke down: lower the timestep or the forces in plant.toml"),
        "bad_command": Fault(Effect.WARN, "a servo delta was no number: look at the muscle functions' parameters"),
        "overrun": Fault(Effect.WARN, "a task takes longer than its period: lengthen the period"),
        "rule_overlap": Fault(
            Effect.WARN, "two entry rules of a joint were true together: move their thresholds apart"
        ),
        "logging_failed": Fault(Effect.STOP, "the data could not be written: free space, or choose another place"),
        "engine_error": Fault(
            Effect.TORQUE_OFF, "an error of the engine itself; please report it with the data directory"
        ),
        "write_refused": Fault(Effect.WARN, "a script's write could not be made; Scriptlog.xml says which and why"),
        "core_stalled": Fault(
            Effect.TORQUE_OFF, "the control process stood still; `nuc doctor` tells what the machine lacks; then arm"
        ),
        "core_dead": Fault(Effect.TORQUE_OFF, "the control process ended; the log says how; another one runs: arm it"),
        "stood_still": Fault(
            Effect.TORQUE_OFF,
            "the whole computer was held up, or all of the daemon: nobody knows what the leg did meanwhile; then arm",
        ),
        "guardian_lost": Fault(
            Effect.TORQUE_OFF, "nothing watched over the engine; another guardian is started by itself; then arm"
        ),
        "supervisor_lost": Fault(Effect.TORQUE_OFF, "the main process was ended from outside: start `nuc serve` again"),
        "bus_lost": Fault(Effect.TORQUE_OFF, "the adapter of a bus is gone: plug it in; it is found again by itself"),
        "suspended": Fault(Effect.TORQUE_OFF, "the computer slept while a bout ran: keep it awake, then arm"),
        "service_lost": Fault(
            Effect.STOP, "the service ended and --on-service-loss asks for a stop; another one is started by itself"
        ),
    }
)


OFF = "off"
"""Torque off because somebody asked for it: latched like a fault, and none."""

OFF_HINT = "see that the leg may move, then arm"


class EngineFault(Exception):
    """A fault that ends the bout: `name` is its key in FAULTS."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name
