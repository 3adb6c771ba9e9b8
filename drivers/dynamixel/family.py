"""Dynamixel X servos as a family of buses: URLs, and a bus on an open port. Their emulator is loaded when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from drivers.bench import Pace
from drivers.bus import Bus
from drivers.dynamixel.codec import MAX_ID
from drivers.dynamixel.layout import INSTRUCTIONS, LAYOUT
from drivers.dynamixel.table import (
    BAUD_CODES,
    DEFAULT_BAUD,
    DEFAULT_TIMEOUT_NS,
    DEFAULT_TURNAROUND_NS,
    MODELS,
    V_MAX_DEG_S,
    WATCHDOG_STEP_NS,
)
from drivers.errors import BusUrlError
from drivers.family import BusFamily, Emulator
from drivers.framed.bus import DEFAULT_WATCHDOG_NS, FramedBus
from drivers.framed.ear import FramedEar
from drivers.lineoptions import LINE_OPTIONS as ANY_LINE_OPTIONS
from drivers.lineoptions import check_line
from drivers.port import Port
from drivers.servo import ServoAddress, ServoModel, ServoPlant
from drivers.url import LineSpec, device_path, parse_url

NAME: Final = "dynamixel"

LINE_OPTIONS: Final[Mapping[str, float]] = {
    "baud": float(DEFAULT_BAUD),
    "timeout_us": DEFAULT_TIMEOUT_NS / 1000,
    "v_max_deg_s": V_MAX_DEG_S,
    "fast": 0.0,
    "single": 0.0,
    "watchdog_ms": DEFAULT_WATCHDOG_NS / 1e6,
    **ANY_LINE_OPTIONS,
}
"""`fast`: all answer in one packet; `single`: each is written to and read by itself; `watchdog_ms`: how long servos go
on without hearing anything (0: for ever; not given: longer on a slow line)."""

EMULATOR_OPTIONS: Final[Mapping[str, float]] = {
    "turnaround_us": DEFAULT_TURNAROUND_NS / 1000,
    "jitter_us": 0.0,
}
LONGEST_US: Final = 1e6
_SWITCHES: Final = ("fast", "single")
_WATCHDOG_STEP_MS: Final = WATCHDOG_STEP_NS / 1e6
_WATCHDOG_STEPS: Final = 127


class DynamixelFamily:
    """XL330, XL430 and XM430 on Protocol 2.0 (a `drivers.family.BusFamily`)."""

    name: str = NAME
    bauds: tuple[int, ...] = tuple(sorted(BAUD_CODES.values()))
    models: Mapping[str, ServoModel] = MODELS
    line_options: Mapping[str, float] = LINE_OPTIONS
    emulator_options: Mapping[str, float] = EMULATOR_OPTIONS

    def parse_line(self, url: str) -> LineSpec:
        """Read `dynamixel:///dev/...[?options]`; the options are `line_options`."""
        options = parse_url(url, tuple(LINE_OPTIONS)).options
        check_options(LINE_OPTIONS | options)
        return LineSpec(NAME, device_path(url), int(options.pop("baud", DEFAULT_BAUD)), options)

    def bus_on_port(self, spec: LineSpec, port: Port, servos: Sequence[ServoAddress]) -> FramedBus:
        """Build the bus; a timeout that was not given is lengthened by what the port holds back."""
        options = spec.options
        timeout_us, watchdog_ms = options.get("timeout_us"), options.get("watchdog_ms")
        return FramedBus(
            port,
            servos,
            LAYOUT,
            baud=spec.baud,
            timeout_ns=DEFAULT_TIMEOUT_NS + port.hold_ns if timeout_us is None else round(timeout_us * 1000),
            v_max_deg_s=options.get("v_max_deg_s", V_MAX_DEG_S),
            single=bool(options.get("single")),
            fast=bool(options.get("fast")),
            watchdog_ns=None if watchdog_ms is None else round(watchdog_ms * 1e6),
        )

    def any_servo(self) -> ServoAddress:
        """Return id 1, which servos are delivered with."""
        return _servo(1)

    def every_servo(self) -> tuple[ServoAddress, ...]:
        """Return ids 0 to 252."""
        return tuple(_servo(bus_id) for bus_id in range(MAX_ID + 1))

    def emulator(self, url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> Emulator:
        """Power emulated servos up."""
        from drivers.dynamixel.emulated import make_emulator

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
        from drivers.dynamixel.emulated import open_emulated

        return open_emulated(url, servos, plant, seed)


FAMILY: Final[BusFamily] = DynamixelFamily()


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
    for name in _SWITCHES:
        if values[name] not in (0.0, 1.0):
            raise BusUrlError(f"{name}={values[name]:g}: expected 1, or 0 for not")
    if values["fast"] and values["single"]:
        raise BusUrlError("fast=1 and single=1: expected one of them, servos answer together or each by itself")
    longest = _WATCHDOG_STEP_MS * _WATCHDOG_STEPS
    if values["watchdog_ms"] and not _WATCHDOG_STEP_MS <= values["watchdog_ms"] <= longest:
        raise BusUrlError(
            f"watchdog_ms={values['watchdog_ms']:g}: expected 0 for none, or {_WATCHDOG_STEP_MS:g} to {longest:g} "
            f"in steps of {_WATCHDOG_STEP_MS:g}"
        )
    check_line(values)


def _servo(bus_id: int) -> ServoAddress:
    return ServoAddress(bus_id, f"id {bus_id}")
