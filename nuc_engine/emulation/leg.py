"""The leg behind the terminal: a configuration's plant and servos, as a bout with the same seed has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from drivers.factory import DEFAULT_FAMILY, EMULATED, find_family
from drivers.injection import LineFaults
from drivers.serial.echo import EchoingLine
from drivers.serial.lineoptions import check_line, given_options, latency_ns, option_text
from drivers.servo import Motion
from nuc_engine.bout.prepare import prepare_bout
from nuc_engine.emulation.errors import EmulationError
from nuc_engine.emulation.line import HeldReplyLine, ReplyLine
from nuc_engine.machine.locations import PLANT_SPEC_FILE, find_configuration
from nuc_engine.model.motors import addresses_of
from nuc_engine.model.plan import MotorPlan, Plan
from nuc_engine.plants import Plant, PlantKind, PlantWithoutWorldError, open_plant
from nuc_engine.plants.events import PlantEvent


@dataclass(frozen=True, slots=True)
class LegSpec:
    """Everything that decides an emulated leg.

    `options` are those of the URL of an emulated bus of the family: rate, times, line faults, echo. With `bytewise`
    replies are handed over byte by byte. `bus` means only the motors that name it; None for all.
    """

    config: str
    family: str = DEFAULT_FAMILY
    options: Mapping[str, float] = field(default_factory=dict[str, float])
    seed: int = 0
    plant: PlantKind = "mujoco"
    bytewise: bool = False
    bus: str | None = None

    @property
    def url(self) -> str:
        """What the servos' side of the line is."""
        query = option_text(self.options)
        return f"{EMULATED}:{self.family}?{query}" if query else f"{EMULATED}:{self.family}"


class WatchedPlant:
    """A plant's servos, those in `motors`, and which of them are driven.

    `driven` holds the level, -1 for a servo without torque, 0 for one that says itself how it is driven. For the rest
    see `drivers.servo.ServoPlant`.
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

        Raises `NotFound`, `BoutRefused`, `PlantSpecError`, `BusError`, or `EmulationError` for what one bus cannot
        have.
        """
        self.family = find_family(spec.family)
        given = given_options(self.family, spec.url)
        check_line(given)
        plan = _plan(spec)
        self.name = plan.name
        self.start_ns = 0
        motors = _motors_on(plan, spec)
        self.servos = addresses_of(motors)
        plant_seed, bus_seed, _ = np.random.SeedSequence(spec.seed).spawn(3)
        plant = _plant(plan, find_configuration(spec.config), spec.plant, int(plant_seed.generate_state(1)[0]))
        self.plant = WatchedPlant(plant, [motor.index for motor in motors])
        self.emulator = self.family.emulator(spec.url, self.servos, self.plant, int(bus_seed.generate_state(1)[0]))
        self.baud = self.emulator.baud
        self._echoing = EchoingLine(self.emulator) if given.get("echo") else None
        self.end = self._echoing or self.emulator
        """What receives what the host sends: the emulator, or the line it shares with the host."""
        self._babbling: set[int] = set()
        period_ns = latency_ns(given)
        self.line = HeldReplyLine(self.baud, period_ns) if period_ns else ReplyLine(self.baud, bytewise=spec.bytewise)
        self.end.connect(self.line)

    def begin(self, start_ns: int) -> None:
        """Let plant time 0 be at this instant of the real clock."""
        self.start_ns = self.line.start_ns = start_ns

    def set_faults(self, faults: LineFaults) -> None:
        """Let the line fail like this from now on."""
        self.emulator.set_faults(faults)

    def babble(self, servo: int, *, talking: bool) -> None:
        """Let a servo talk without end, or stop it."""
        self.emulator.babble(servo, talking=talking)
        if talking:
            self._babbling.add(servo)
        else:
            self._babbling.discard(servo)
        self.line.noise = bool(self._babbling)

    def counts(self) -> dict[str, Any]:
        """Return what the line's faults did, and what the servos received that was no request for them."""
        more = {} if self._echoing is None else {"echo_collisions": self._echoing.collisions}
        return {**self.emulator.counts(), **more}


def _plan(spec: LegSpec) -> Plan:
    """Return the plan for a bus of the family; what other buses of the model are of, its motors say."""
    families = {"": spec.family}
    if spec.bus is not None:
        shown = prepare_bout(spec.config, None).plan
        families |= {motor.bus: motor.family for motor in shown.motors if motor.bus} | {spec.bus: spec.family}
    return prepare_bout(spec.config, None, families=families).plan


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
