"""What the words of `nuc bus` name: families, emulated servos, and the servos of a configuration."""

from __future__ import annotations

import re
import select
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from drivers.bench.plant import BenchPlant
    from drivers.family import BusFamily, Emulator
    from drivers.servo import ServoAddress, ServoModel
    from drivers.url import LineSpec
    from nuc_engine.model.plan import Plan
    from sccils_schemas.documents import Motor
    from sccils_schemas.model import Model


_NAMED = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9_-]*)=(?P<url>[a-z][a-z0-9]*:.*)")
_EMULATED_MODEL = "1001"
"""What emulated AI motors are when nobody says otherwise: the leg's proximal ones."""


class RealPace:
    """CLOCK_MONOTONIC, and `select` on the descriptors."""

    @property
    def now_ns(self) -> int:
        """The time now."""
        return time.monotonic_ns()

    def wait(self, until_ns: int, filenos: Sequence[int]) -> Sequence[int]:
        """Wait in the kernel."""
        return select.select(filenos, (), (), max(0, until_ns - time.monotonic_ns()) * 1e-9)[0]


def emulate(url: str, servos: tuple[ServoAddress, ...]) -> tuple[LineSpec, BenchPlant, Emulator]:
    """Return line, plant and emulator of emulated servos. Raises UsageError where none is named."""
    from drivers.bench.plant import BenchPlant
    from drivers.factory import DEFAULT_FAMILY, find_family
    from drivers.serial.lineoptions import given_options
    from drivers.url import LineSpec, split_url

    if not servos:
        raise click.UsageError(f"{url}: which emulated servos are there? name them with --ids or --config")
    name = split_url(url)[1] or DEFAULT_FAMILY
    family = find_family(name)
    given = given_options(family, url)
    models = spoken(family, given)
    plant = BenchPlant([_emulated_model(family.name, models, servo) for servo in servos])
    emulator = family.emulator(url, servos, plant, 0)
    for_line = {key: value for key, value in given.items() if key in family.line_options and key != "baud"}
    return LineSpec(name, "", emulator.baud, for_line), plant, emulator


def spoken(family: BusFamily, options: Mapping[str, float]) -> dict[str, ServoModel]:
    """Return a family's models that a line with these options speaks to, in the positions it speaks of."""
    from drivers.factory import DEFAULT_FAMILY

    if family.name != DEFAULT_FAMILY:
        return dict(family.models)
    from drivers.aimotor.models import IN_10_BITS
    from drivers.aimotor.table import LOW_RESOLUTION_TICK_DEG, TICK_DEG

    fine = bool(options.get("ten_bit"))
    coarse = LOW_RESOLUTION_TICK_DEG / TICK_DEG if options.get("low_resolution") else 1.0
    return {
        name: replace(model, tick_deg=model.tick_deg * coarse, gain_unit=model.gain_unit * coarse)
        for name, model in family.models.items()
        if name.endswith(IN_10_BITS) == fine
    }


def _emulated_model(family: str, models: Mapping[str, ServoModel], servo: ServoAddress) -> ServoModel:
    if servo.model and servo.model not in models:
        raise click.UsageError(f"{family} has no model {servo.model!r} on such a line: expected {', '.join(models)}")
    return models.get(servo.model or _EMULATED_MODEL) or next(iter(models.values()))


def split_name(text: str) -> tuple[str, str]:
    """Return name and URL of `NAME=URL`, an empty name for a URL alone."""
    found = _NAMED.fullmatch(text)
    return ("", text) if found is None else (found["name"], found["url"])


def family_of(url: str) -> str:
    """Return the name of the family of a URL, or of NAME=URL. Raises `BusUrlError`."""
    from drivers.factory import DEFAULT_FAMILY, EMULATED
    from drivers.url import split_url

    scheme, rest, _ = split_url(split_name(url)[1])
    return (rest or DEFAULT_FAMILY) if scheme == EMULATED else scheme


def servos_of(config: str, family: str) -> dict[ServoAddress, str]:
    """Return a configuration's servos of a family, each with its bus's name or nothing.

    Raises `NotFound`, `Refused`.
    """
    from drivers.factory import DEFAULT_FAMILY, find_family
    from drivers.servo import ServoAddress
    from nuc_engine.cli.terminal.errors import CommandFailed

    folder, model = _load(config)
    found: dict[ServoAddress, str] = {}
    for joint in model.jointlist.joints:
        if family == DEFAULT_FAMILY and (motor := joint.motor) is not None:
            found[ServoAddress(motor.serial_id, motor.name, motor.modelnum or "")] = motor.bus or ""
        for other in joint.motors:
            if other.model in find_family(family).models:
                found[_address(other)] = other.bus or ""
    if not found:
        raise CommandFailed(f"{folder.name}: no joint has a motor of the family {family}; `nuc bus adapt` writes them")
    return found


def _load(config: str) -> tuple[Path, Model]:
    """Return folder and documents of a configuration. Raises `NotFound`, `Refused`."""
    from nuc_engine.cli.terminal.errors import CommandFailed
    from nuc_engine.machine.locations import find_configuration
    from sccils_schemas.model import load_model

    folder = find_configuration(config)
    model, _ = load_model(folder)
    if model is None:
        raise CommandFailed(f"{folder}: has errors; `nuc validate {config}` lists them")
    return folder, model


def planned_servos(config: str, family: str, bus: str = "") -> tuple[ServoAddress, ...]:
    """Return a configuration's servos of a family, set up as the engine sets them up.

    With `bus`, those that call their bus so. Raises `NotFound`, `Refused`, UsageError where nobody does.
    """
    from nuc_engine.model.motors import addresses_of

    motors = plan_for(config, family).motors
    found = [motor for motor in motors if not bus or motor.bus == bus]
    if not found:
        names = ", ".join(sorted({motor.bus for motor in motors}))
        raise click.UsageError(f"{config}: no motor names the bus {bus!r}; there are {names}")
    return addresses_of(found)


def plan_for(config: str, family: str) -> Plan:
    """Return a configuration's plan on a bus of a family. Raises `NotFound`, `Refused`."""
    from nuc_engine.cli.terminal.errors import CommandFailed
    from nuc_engine.model.plan import PlanError
    from nuc_engine.model.planning import build_plan

    folder, model = _load(config)
    names = {motor.bus or "" for joint in model.jointlist.joints for motor in joint.servos}
    try:
        return build_plan(model, dict.fromkeys({"", *names}, family))
    except PlanError as error:
        raise CommandFailed(f"{folder.name}: {error}") from error


def _address(motor: Motor) -> ServoAddress:
    from drivers.servo import ServoAddress

    stiffness, limit = motor.stiffness_n_m_deg or 0.0, motor.torque_limit_n_m or 0.0
    return ServoAddress(motor.serial_id, motor.name, motor.model, stiffness, limit)
