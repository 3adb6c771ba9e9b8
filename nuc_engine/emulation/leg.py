"""The leg behind the terminal: a configuration's plant and servos, as a bout with the same seed has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from drivers.aimotor.addresses import check_models, check_servos
from drivers.aimotor.emulator import DEFAULT_TURNAROUND_NS, AiMotorEmulator
from drivers.aimotor.table import BAUD_CODES, DEFAULT_BAUD
from drivers.faults import FaultLayer, LineFaults
from drivers.servo import Motion, ServoAddress
from nuc_engine.bout import PLANT_SPEC_FILE, prepare_bout
from nuc_engine.emulation.errors import EmulationError
from nuc_engine.emulation.line import ReplyLine
from nuc_engine.locations import find_configuration
from nuc_engine.plan import MotorPlan, Plan
from nuc_engine.plants import Plant, PlantKind, PlantWithoutWorldError, open_plant
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
    bus: str | None = None
    """Only the motors that name this bus; None for all."""


class WatchedPlant:
    """A plant's servos, those in `motors`, and which of them are driven.

    `driven` holds the level, -1 for a servo without torque, 0 for one that says itself how it is driven. For the rest see
    `drivers.servo.ServoPlant`.
    """

    __slots__ = ("_motors", "_plant", "advance", "driven", "take_records")

    def __init__(self, plant: Plant, motors: Sequence[int]) -> None:
        self._plant = plant
        self._motors = tuple(motors)
        self.driven = [-1] * len(self._motors)
        # These pass through: the fewer calls on the way of every exchange the better.
        self.advance = plant.advance
        self.take_records = plant.take_records

    def sample(self, servo: int) -> tuple[float, float]:
        """Return shaft angle and current of a servo."""
        return self._plant.sample(self._motors[servo])

    def command(self, servo: int, goal_deg: float, level: int) -> None:
        """Drive a servo."""
        self.driven[servo] = level
        self._plant.command(self._motors[servo], goal_deg, level)

    def drive(self, servo: int, goal_deg: float, stiffness_n_m_deg: float, limit_n_m: float) -> None:
        """Drive a servo that says itself how stiff and how strong it is."""
        self.driven[servo] = 0
        self._plant.drive(self._motors[servo], goal_deg, stiffness_n_m_deg, limit_n_m)

    def motion(self, servo: int) -> Motion:
        """Return all that a servo sees of its shaft."""
        return self._plant.motion(self._motors[servo])

    def release(self, servo: int) -> None:
        """Take a servo's torque off."""
        self.driven[servo] = -1
        self._plant.release(self._motors[servo])

    def schedule(self, event: PlantEvent) -> PlantEvent:
        """Let something happen to the leg; return it with what the seed decides. Raises `EmulationError`."""
        try:
            return self._plant.schedule(event)
        except PlantWithoutWorldError as error:
            raise EmulationError(
                "this plant has no world: what is done to a leg by hand needs --plant mujoco"
            ) from error
        except ValueError as error:
            raise EmulationError(str(error)) from error


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
        motors = _motors_on(plan, spec)
        servos = [ServoAddress(motor.bus_id, motor.name, motor.model) for motor in motors]
        self.servos = check_servos(check_models(servos))
        plant_seed, bus_seed, _ = np.random.SeedSequence(spec.seed).spawn(3)
        plant = _plant(plan, find_configuration(spec.config), spec.plant, int(plant_seed.generate_state(1)[0]))
        self.plant = WatchedPlant(plant, [motor.index for motor in motors])
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


def _motors_on(plan: Plan, spec: LegSpec) -> Sequence[MotorPlan]:
    """Return the motors to be served. Raises `EmulationError` when that is not what one bus can have."""
    if spec.bus is None:
        return plan.motors
    motors = [motor for motor in plan.motors if motor.bus == spec.bus]
    if not motors:
        known = ", ".join(sorted({motor.bus for motor in plan.motors if motor.bus})) or "none by name"
        raise EmulationError(f"no motor of {plan.name} is on bus {spec.bus!r}: there are {known}")
    if len(motors) < len(plan.motors) and spec.plant != "loopback":
        raise EmulationError(
            f"bus {spec.bus!r} has {len(motors)} of the {len(plan.motors)} motors of {plan.name}: a leg can only be"
            " emulated whole; use --plant loopback, where each servo is for itself"
        )
    return motors


def _plant(plan: Plan, folder: Path, kind: PlantKind, seed: int) -> Plant:
    return open_plant(plan, folder / PLANT_SPEC_FILE if kind == "mujoco" else None, kind, seed)
