"""Feetech's STS3215 as a family of buses: its URLs, and a bus on an open port. What emulates it is loaded late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from drivers.bench import Pace
from drivers.bus import Bus
from drivers.errors import BusUrlError
from drivers.family import BusFamily, Emulator
from drivers.feetech.codec import INSTRUCTIONS, MAX_ID
from drivers.feetech.layout import LAYOUT
from drivers.feetech.table import (
    BAUD_CODES,
    DEFAULT_BAUD,
    DEFAULT_TIMEOUT_NS,
    DEFAULT_TURNAROUND_NS,
    MODELS,
    V_MAX_DEG_S,
)
from drivers.framed.bus import FramedBus
from drivers.framed.ear import FramedEar
from drivers.lineoptions import LINE_OPTIONS as ANY_LINE_OPTIONS
from drivers.lineoptions import check_line
from drivers.port import Port
from drivers.servo import ServoAddress, ServoModel, ServoPlant
from drivers.url import LineSpec, device_path, parse_url

NAME: Final = "feetech"

LINE_OPTIONS: Final[Mapping[str, float]] = {
    "baud": float(DEFAULT_BAUD),
    "timeout_us": DEFAULT_TIMEOUT_NS / 1000,
    "v_max_deg_s": V_MAX_DEG_S,
    "single": 0.0,
    **ANY_LINE_OPTIONS,
}
EMULATOR_OPTIONS: Final[Mapping[str, float]] = {
    "turnaround_us": DEFAULT_TURNAROUND_NS / 1000,
    "jitter_us": 0.0,
}
LONGEST_US: Final = 1e6


class FeetechFamily:
    """STS servos of Feetech (a `drivers.family.BusFamily`)."""

    name: str = NAME
    bauds: tuple[int, ...] = tuple(sorted(BAUD_CODES.values()))
    models: Mapping[str, ServoModel] = MODELS
    line_options: Mapping[str, float] = LINE_OPTIONS
    emulator_options: Mapping[str, float] = EMULATOR_OPTIONS

    def parse_line(self, url: str) -> LineSpec:
        """Read `feetech:///dev/...[?options]`; the options are `line_options`."""
        options = parse_url(url, tuple(LINE_OPTIONS)).options
        check_options(LINE_OPTIONS | options)
        return LineSpec(NAME, device_path(url), int(options.pop("baud", DEFAULT_BAUD)), options)

    def bus_on_port(self, spec: LineSpec, port: Port, servos: Sequence[ServoAddress]) -> FramedBus:
        """Build the bus; a timeout that was not given is lengthened by what the port holds back."""
        timeout_us = spec.options.get("timeout_us")
        return FramedBus(
            port,
            servos,
            LAYOUT,
            baud=spec.baud,
            timeout_ns=DEFAULT_TIMEOUT_NS + port.hold_ns if timeout_us is None else round(timeout_us * 1000),
            v_max_deg_s=spec.options.get("v_max_deg_s", V_MAX_DEG_S),
            single=bool(spec.options.get("single")),
        )

    def any_servo(self) -> ServoAddress:
        """Return id 1, which servos are delivered with."""
        return _servo(1)

    def every_servo(self) -> tuple[ServoAddress, ...]:
        """Return ids 0 to 253."""
        return tuple(_servo(bus_id) for bus_id in range(MAX_ID + 1))

    def emulator(self, url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> Emulator:
        """Power emulated servos up."""
        from drivers.feetech.emulated import make_emulator

        return make_emulator(url, servos, plant, seed)

    def ear(self) -> FramedEar:
        """Return an ear for what hosts say."""
        return FramedEar(LAYOUT, INSTRUCTIONS)

    def burn_id(self, port: Port, pace: Pace, bus_id: int, new_id: int) -> None:
        """Give a servo another id for good, and see that it answers to it."""
        from drivers.framed.burning import burn_id

        burn_id(port, pace, LAYOUT, bus_id, new_id)

    def burn_baud(self, port: Port, pace: Pace, bus_id: int, baud: int) -> None:
        """Set a servo to another rate for good, and see that it left the present one."""
        from drivers.framed.burning import burn_baud

        burn_baud(port, pace, LAYOUT, bus_id, baud)

    def open_emulated(self, url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> Bus:
        """Open a bus with emulated servos."""
        from drivers.feetech.emulated import open_emulated

        return open_emulated(url, servos, plant, seed)


FAMILY: Final[BusFamily] = FeetechFamily()


def check_options(values: Mapping[str, float]) -> None:
    """Check rate, times, speed and switches. Raises `BusUrlError` saying what was expected."""
    if values["baud"] not in BAUD_CODES.values():
        rates = ", ".join(map(str, sorted(BAUD_CODES.values())))
        raise BusUrlError(f"baud={values['baud']:g}: expected one of {rates}")
    for name in ("turnaround_us", "jitter_us", "timeout_us"):
        if not 0.0 <= values.get(name, 0.0) <= LONGEST_US:
            raise BusUrlError(f"{name}={values[name]:g}: expected 0 to {LONGEST_US:g} microseconds")
    if not values["v_max_deg_s"] > 0.0:
        raise BusUrlError(f"v_max_deg_s={values['v_max_deg_s']:g}: expected more than 0")
    if values["single"] not in (0.0, 1.0):
        raise BusUrlError(f"single={values['single']:g}: expected 1 for exchanges with one servo at a time, else 0")
    check_line(values)


def _servo(bus_id: int) -> ServoAddress:
    return ServoAddress(bus_id, f"id {bus_id}")
