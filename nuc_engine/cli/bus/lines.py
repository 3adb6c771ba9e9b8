"""The buses that `nuc bus` works on: a serial port in real time, or emulated servos on the virtual clock."""

from __future__ import annotations

import re
import select
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from drivers.bench.plant import BenchPlant
    from drivers.bus import Bus
    from drivers.clock import WaitingClock
    from drivers.family import BusFamily, Emulator
    from drivers.port import Port
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


class BenchLine:
    """One bus at the bench: real or emulated, at one rate. `servos` are those that were named, perhaps none.

    `plant` is what emulated servos turn, None for real ones; `told` which models servos said they are, by id.
    """

    def __init__(self, url: str, servos: tuple[ServoAddress, ...], baud: int | None = None) -> None:
        from drivers.clock import VirtualPace
        from drivers.factory import find_family, is_emulated, parse_line

        self.url = url
        self.servos = servos
        self.emulated = is_emulated(url)
        self.pace: WaitingClock = VirtualPace() if self.emulated else RealPace()
        self.plant: BenchPlant | None = None
        self.remark = ""
        self.told: Mapping[int, str] = {}
        if self.emulated:
            self.spec, self.family, self.plant, self._emulator = _emulated(url, servos)
        else:
            self.spec, self._emulator = parse_line(url), None
            self.family = find_family(self.spec.family)
        self._port: Port = self._open(self.spec.baud if baud is None else baud)

    def bus(self, servos: Sequence[ServoAddress]) -> Bus:
        """Return a bus of these servos; of any one servo where there are none yet."""
        return self.family.bus_on_port(self.spec, self._port, servos or (self.family.any_servo(),))

    def reopen(self, baud: int) -> None:
        """Speak at another rate from now on. Raises `PortError`."""
        self._port.close()
        self._port = self._open(baud)

    @property
    def port(self) -> Port:
        """The open port."""
        return self._port

    @property
    def models(self) -> Mapping[str, ServoModel]:
        """What is known of the family's models, in the raw positions that this line speaks of."""
        return _spoken(self.family, self.spec.options)

    def named(self, ids: Sequence[int]) -> tuple[ServoAddress, ...]:
        """Return addresses of the family for ids that were found."""
        return tuple(servo for servo in self.family.every_servo() if servo.bus_id in ids)

    def close(self) -> None:
        """Give the port back."""
        self._port.close()

    def _open(self, baud: int) -> Port:
        from drivers.factory import open_port
        from drivers.serial.lineoptions import emulated_port, host_port

        self.spec = replace(self.spec, baud=baud)
        if self._emulator is not None:
            self._emulator.baud = baud
            return emulated_port(self._emulator, self.spec.options)
        port = open_port(self.spec.path, baud)
        self.remark = port.latency.remark
        return host_port(port, self.spec.options)


def _emulated(url: str, servos: tuple[ServoAddress, ...]) -> tuple[LineSpec, BusFamily, BenchPlant, Emulator]:
    from drivers.bench.plant import BenchPlant
    from drivers.factory import DEFAULT_FAMILY, find_family
    from drivers.serial.lineoptions import given_options
    from drivers.url import LineSpec, split_url

    if not servos:
        raise click.UsageError(f"{url}: which emulated servos are there? name them with --ids or --config")
    name = split_url(url)[1] or DEFAULT_FAMILY
    family = find_family(name)
    given = given_options(family, url)
    models = _spoken(family, given)
    plant = BenchPlant([_emulated_model(family.name, models, servo) for servo in servos])
    emulator = family.emulator(url, servos, plant, 0)
    for_line = {key: value for key, value in given.items() if key in family.line_options and key != "baud"}
    return LineSpec(name, "", emulator.baud, for_line), family, plant, emulator


def _spoken(family: BusFamily, options: Mapping[str, float]) -> dict[str, ServoModel]:
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


def bench_lines(
    url: str, *, ids: tuple[int, ...] | None, config: str | None, all_rates: bool = False, model: str | None = None
) -> Iterator[BenchLine]:
    """Yield the bus at the rate of its URL, or one after the other at every rate of its family.

    In front of the URL may stand the name that motors of the configuration call the bus by: NAME=URL.
    """
    from drivers.factory import find_family, is_emulated, parse_line
    from drivers.servo import ServoAddress

    name, url = split_name(url)
    servos = tuple(ServoAddress(bus_id, f"id {bus_id}", model or "") for bus_id in ids or ())
    if config is not None:
        known = planned_servos(config, family_of(url), name)
        servos = tuple(servo for servo in known if ids is None or servo.bus_id in ids)
        if ids is not None and (unknown := set(ids) - {servo.bus_id for servo in servos}):
            raise click.UsageError(f"{config} has no servo of id {', '.join(map(str, sorted(unknown)))}")
    if not all_rates or is_emulated(url):
        yield BenchLine(url, servos)
        return
    for baud in find_family(parse_line(url).family).bauds:
        yield BenchLine(url, servos, baud)


def open_line(
    url: str, *, ids: tuple[int, ...] | None, config: str | None = None, model: str | None = None
) -> BenchLine:
    """Return the bus at the rate of its URL."""
    return next(bench_lines(url, ids=ids, config=config, model=model))


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
    from nuc_engine.cli.terminal.errors import Refused

    folder, model = _load(config)
    found: dict[ServoAddress, str] = {}
    for joint in model.jointlist.joints:
        if family == DEFAULT_FAMILY and (motor := joint.motor) is not None:
            found[ServoAddress(motor.serial_id, motor.name, motor.modelnum or "")] = motor.bus or ""
        for other in joint.motors:
            if other.model in find_family(family).models:
                found[_address(other)] = other.bus or ""
    if not found:
        raise Refused(f"{folder.name}: no joint has a motor of the family {family}; `nuc bus adapt` writes them")
    return found


def _load(config: str) -> tuple[Path, Model]:
    """Return folder and documents of a configuration. Raises `NotFound`, `Refused`."""
    from nuc_engine.cli.terminal.errors import Refused
    from nuc_engine.machine.locations import find_configuration
    from sccils_schemas.model import load_model

    folder = find_configuration(config)
    model, _ = load_model(folder)
    if model is None:
        raise Refused(f"{folder}: has errors; `nuc validate {config}` lists them")
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
    from nuc_engine.cli.terminal.errors import Refused
    from nuc_engine.model.plan import PlanError
    from nuc_engine.model.planning import build_plan

    folder, model = _load(config)
    names = {motor.bus or "" for joint in model.jointlist.joints for motor in joint.servos}
    try:
        return build_plan(model, dict.fromkeys({"", *names}, family))
    except PlanError as error:
        raise Refused(f"{folder.name}: {error}") from error


def _address(motor: Motor) -> ServoAddress:
    from drivers.servo import ServoAddress

    stiffness, limit = motor.stiffness_n_m_deg or 0.0, motor.torque_limit_n_m or 0.0
    return ServoAddress(motor.serial_id, motor.name, motor.model, stiffness, limit)


class Stop:
    """Whether somebody wants it to end: Ctrl-C, a terminal that is closed, a request to terminate.

    A context in which these only set a flag, so that whatever is under way ends between two exchanges and the torque
    can be taken off.
    """

    _SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK if sys.platform == "win32" else signal.SIGHUP)

    def __init__(self) -> None:
        self.asked = False
        self._prompting = False

    def __call__(self) -> bool:
        """Say whether it was asked for."""
        return self.asked

    def __enter__(self) -> Stop:
        self._before = [signal.signal(number, self._note) for number in self._SIGNALS]
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in zip(self._SIGNALS, self._before, strict=True):
            signal.signal(number, handler)

    def prompt(self, text: str, **how: Any) -> Any:
        """Ask somebody something; Ctrl-C ends that at once."""
        self._prompting = True
        try:
            return click.prompt(text, err=True, **how)
        finally:
            self._prompting = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        if self._prompting:
            raise KeyboardInterrupt
