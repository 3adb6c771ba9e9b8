"""The buses that `nuc bus` works on: a serial port in real time, or emulated servos on the virtual clock."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from drivers.bench import Pace
    from drivers.bus import Bus
    from drivers.family import BusFamily
    from drivers.servo import ServoAddress
    from drivers.url import LineSpec


class RealPace:
    """CLOCK_MONOTONIC, and `select` on the descriptors."""

    @property
    def now_ns(self) -> int:
        """The time now."""
        return time.monotonic_ns()

    def wait(self, until_ns: int, filenos: Sequence[int]) -> None:
        """Wait in the kernel."""
        select.select(filenos, (), (), max(0, until_ns - time.monotonic_ns()) * 1e-9)


class BenchLine:
    """One bus at the bench: real or emulated, at one rate. `servos` are those that were named, perhaps none."""

    def __init__(self, url: str, servos: tuple[ServoAddress, ...], baud: int | None = None) -> None:
        from dataclasses import replace

        from drivers.bench import VirtualPace
        from drivers.factory import find_family, is_emulated, parse_line
        from drivers.serialport import open_port

        self.servos = servos
        self._url = url
        self._emulated = is_emulated(url)
        self.pace: Pace = VirtualPace() if self._emulated else RealPace()
        self.remark = ""
        if self._emulated:
            self.spec, self._family, self._bus = _emulated(url, servos)
            return
        spec = parse_line(url)
        self.spec = spec if baud is None else replace(spec, baud=baud)
        self._family = find_family(spec.family)
        self._port = open_port(spec.path, self.spec.baud)
        self.remark = self._port.latency.remark

    def bus(self, servos: Sequence[ServoAddress]) -> Bus:
        """Return a bus of these servos; of any one servo where there are none yet."""
        if self._emulated:
            return self._bus
        return self._family.bus_on_port(self.spec, self._port, servos or (self._family.any_servo(),))

    def named(self, ids: Sequence[int]) -> tuple[ServoAddress, ...]:
        """Return addresses of the family for ids that were found."""
        return tuple(servo for servo in self._family.every_servo() if servo.bus_id in ids)

    def close(self) -> None:
        """Give the port back."""
        if not self._emulated:
            self._port.close()


def _emulated(url: str, servos: tuple[ServoAddress, ...]) -> tuple[LineSpec, BusFamily, Bus]:
    from drivers.factory import DEFAULT_FAMILY, find_family
    from drivers.url import LineSpec, split_url

    if not servos:
        raise click.UsageError(f"{url}: which emulated servos are there? name them with --ids or --config")
    name = split_url(url)[1] or DEFAULT_FAMILY
    family = find_family(name)
    emulator = family.emulator(url, servos, _StillPlant(), 0)
    bus = family.open_emulated(url, servos, _StillPlant(), 0)
    return LineSpec(name, "", emulator.baud, {}), family, bus


class _StillPlant:
    """Shafts at mid-scale that nothing moves."""

    def advance(self, now_ns: int) -> None:
        """Nothing moves."""

    def command(self, servo: int, goal_deg: float, level: int) -> None:
        """Nothing moves."""

    def release(self, servo: int) -> None:
        """Nothing moves."""

    def sample(self, servo: int) -> tuple[float, float]:
        """Return 83 degrees and no current."""
        return 83.0, 0.0


def bench_lines(
    url: str, *, ids: tuple[int, ...] | None, config: str | None, all_rates: bool = False
) -> Iterator[BenchLine]:
    """Yield the bus at the rate of its URL, or one after the other at every rate of its family."""
    from drivers.factory import find_family, is_emulated, parse_line
    from drivers.servo import ServoAddress

    servos = tuple(ServoAddress(bus_id, f"id {bus_id}") for bus_id in ids or ())
    if config is not None:
        servos = tuple(servos_of(config))
    if not all_rates or is_emulated(url):
        yield BenchLine(url, servos)
        return
    for baud in find_family(parse_line(url).family).bauds:
        yield BenchLine(url, servos, baud)


def servos_of(config: str) -> dict[ServoAddress, str]:
    """Return the servos of a configuration, each with its bus's name or nothing. Raises `NotFound`, `Refused`."""
    from drivers.servo import ServoAddress
    from nuc_engine.cli.errors import Refused
    from nuc_engine.locations import find_configuration
    from sccils_schemas.model import load_model

    folder = find_configuration(config)
    model, _ = load_model(folder)
    if model is None:
        raise Refused(f"{folder}: has errors; `nuc validate {config}` lists them")
    motors = [joint.motor for joint in model.jointlist.joints if joint.motor is not None]
    return {ServoAddress(motor.serial_id, motor.name, motor.modelnum or ""): motor.bus or "" for motor in motors}
