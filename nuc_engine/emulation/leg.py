"""The leg behind the terminal: a configuration's plant and servos, as a bout with the same seed has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from drivers.aimotor.addresses import check_models, check_servos
from drivers.aimotor.emulator import DEFAULT_TURNAROUND_NS, AiMotorEmulator
from drivers.aimotor.table import BAUD_CODES, DEFAULT_BAUD
from drivers.faults import FaultLayer, LineFaults
from drivers.servo import ServoAddress
from nuc_engine.bout import PLANT_SPEC_FILE, prepare_bout
from nuc_engine.emulation.errors import EmulationError
from nuc_engine.emulation.line import ReplyLine
from nuc_engine.locations import find_configuration
from nuc_engine.plan import Plan
from nuc_engine.plants import Plant, PlantKind, open_plant
from nuc_engine.plants.events import PlantEvent

BAUD_RATES: Final = tuple(sorted(BAUD_CODES.values()))


@dataclass(frozen=True, slots=True)
class LegSpec:
    """Everything that decides an emulated leg. Times in ns."""

    config: str
    baud: int = DEFAULT_BAUD
    seed: int = 0
    plant: PlantKind = "mujoco"
    turnaround_ns: int = DEFAULT_TURNAROUND_NS
    jitter_ns: int = 0
    faults: LineFaults = field(default_factory=LineFaults)
    bytewise: bool = False


class WatchedPlant:
    """A plant that also tells which servos are driven: `driven` holds the level, -1 for a servo without torque."""

    __slots__ = ("_plant", "advance", "driven", "sample", "take_records")

    def __init__(self, plant: Plant, servos: int) -> None:
        self._plant = plant
        self.driven = [-1] * servos
        # These pass through: the fewer calls on the way of every exchange the better.
        self.advance = plant.advance
        self.sample = plant.sample
        self.take_records = plant.take_records

    def command(self, servo: int, goal_deg: float, level: int) -> None:
        """Drive a servo, see `drivers.servo.ServoPlant`."""
        self.driven[servo] = level
        self._plant.command(servo, goal_deg, level)

    def release(self, servo: int) -> None:
        """Take a servo's torque off."""
        self.driven[servo] = -1
        self._plant.release(servo)

    def schedule(self, event: PlantEvent) -> None:
        """Let something happen to the leg. Raises `EmulationError` for a plant without a world."""
        schedule = getattr(self._plant, "schedule", None)
        if schedule is None:
            raise EmulationError("this plant has no world: kicks, ground and height need --plant mujoco")
        schedule(event)


class Leg:
    """Plant, servos and their direction of the line, ready for an `EmulatorLoop`.

    Plant time 0 is at `start_ns` of the real clock, to be set by `begin`.
    """

    def __init__(self, spec: LegSpec) -> None:
        """Load the configuration and power the servos up.

        Raises `NotFound`, `BoutRefused`, `PlantSpecError`, `BusError`, or `EmulationError` for a wrong baud rate.
        """
        if spec.baud not in BAUD_RATES:
            raise EmulationError(f"baud {spec.baud}: expected one of {', '.join(map(str, BAUD_RATES))}")
        plan = prepare_bout(spec.config, None).plan
        self.name = plan.name
        self.baud = spec.baud
        self.start_ns = 0
        servos = [ServoAddress(motor.bus_id, motor.name, motor.model) for motor in plan.motors]
        self.servos = check_servos(check_models(servos))
        plant_seed, bus_seed, _ = np.random.SeedSequence(spec.seed).spawn(3)
        plant = _plant(plan, find_configuration(spec.config), spec.plant, int(plant_seed.generate_state(1)[0]))
        self.plant = WatchedPlant(plant, len(self.servos))
        jitter_seed, fault_seed = np.random.SeedSequence(int(bus_seed.generate_state(1)[0])).spawn(2)
        self._babbling: set[int] = set()
        self._layer = FaultLayer(spec.faults, np.random.default_rng(fault_seed))
        self.line = ReplyLine(spec.baud, bytewise=spec.bytewise)
        self.emulator = AiMotorEmulator(
            self.servos,
            self.plant,
            baud=spec.baud,
            turnaround_ns=spec.turnaround_ns,
            jitter_ns=spec.jitter_ns,
            rng=np.random.default_rng(jitter_seed),
            faults=self._layer,
        )
        self.emulator.connect(self.line)

    def begin(self, start_ns: int) -> None:
        """Let plant time 0 be at this instant of the real clock."""
        self.start_ns = self.line.start_ns = start_ns

    def set_faults(self, faults: LineFaults) -> None:
        """Let the line fail like this from now on."""
        self._layer.faults = faults

    def babble(self, servo: int, *, talking: bool) -> None:
        """Let a servo talk without end, or stop it."""
        self.emulator.babble(servo, talking=talking)
        if talking:
            self._babbling.add(servo)
        else:
            self._babbling.discard(servo)
        self.line.noise = bool(self._babbling)

    def counts(self) -> dict[str, Any]:
        """Return what the line's faults did, and what the servos heard that was no request for them."""
        emulator, record = self.emulator, self.emulator.record
        return {
            "bad_checksums": emulator.bad_checksums,
            "stray_bytes": emulator.stray_bytes,
            "refused": emulator.refused,
            "collisions": emulator.collisions,
            "injected": dict(emulator.injected),
            "record": {
                "exchanges": record.exchanges,
                "visible": record.visible,
                "current": record.current,
                "command": record.command,
                "late": dict(record.late),
                "position": dict(record.position),
            },
        }


def _plant(plan: Plan, folder: Path, kind: PlantKind, seed: int) -> Plant:
    return open_plant(plan, folder / PLANT_SPEC_FILE if kind == "mujoco" else None, kind, seed)
