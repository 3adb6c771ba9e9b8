"""The AI motor as a family of buses: its URLs, and a bus on an open port. What emulates it is loaded when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from drivers.aimotor.addresses import check_models, check_servos
from drivers.aimotor.bus import AiMotorBus
from drivers.aimotor.codec import MAX_ID
from drivers.aimotor.table import BAUD_CODES, DEFAULT_BAUD, DEFAULT_TIMEOUT_NS, V_MAX_DEG_S
from drivers.errors import BusUrlError
from drivers.family import BusFamily, Emulator
from drivers.port import Port
from drivers.servo import ServoAddress, ServoPlant
from drivers.url import LineSpec, device_path, parse_url

NAME: Final = "aimotor"

LINE_OPTIONS: Final[Mapping[str, float]] = {
    "baud": float(DEFAULT_BAUD),
    "timeout_us": DEFAULT_TIMEOUT_NS / 1000,
    "v_max_deg_s": V_MAX_DEG_S,
}
LONGEST_US: Final = 1e6


class AiMotorFamily:
    """AI-601, 701, 1001 and wCK in their common form (a `drivers.family.BusFamily`)."""

    name: str = NAME
    bauds: tuple[int, ...] = tuple(sorted(BAUD_CODES.values()))

    def parse_line(self, url: str) -> LineSpec:
        """Read `aimotor:///dev/...[?baud=&timeout_us=&v_max_deg_s=]`."""
        options = parse_url(url, tuple(LINE_OPTIONS)).options
        check_options(LINE_OPTIONS | options)
        return LineSpec(NAME, device_path(url), int(options.pop("baud", DEFAULT_BAUD)), options)

    def bus_on_port(self, spec: LineSpec, port: Port, servos: Sequence[ServoAddress]) -> AiMotorBus:
        """Build the bus; a timeout that was not given is lengthened by what the port holds back."""
        timeout_us = spec.options.get("timeout_us")
        return AiMotorBus(
            port,
            check_servos(check_models(servos)),
            baud=spec.baud,
            timeout_ns=DEFAULT_TIMEOUT_NS + port.hold_ns if timeout_us is None else round(timeout_us * 1000),
            v_max_deg_s=spec.options.get("v_max_deg_s", V_MAX_DEG_S),
        )

    def any_servo(self) -> ServoAddress:
        """Return id 0."""
        return _servo(0)

    def every_servo(self) -> tuple[ServoAddress, ...]:
        """Return ids 0 to 30."""
        return tuple(_servo(bus_id) for bus_id in range(MAX_ID + 1))

    def emulator(self, url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> Emulator:
        """Power emulated AI motors up."""
        from drivers.aimotor.emulated import make_emulator

        return make_emulator(url, servos, plant, seed)

    def open_emulated(self, url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> AiMotorBus:
        """Open a bus with emulated AI motors."""
        from drivers.aimotor.emulated import open_emulated

        return open_emulated(url, servos, plant, seed)


FAMILY: Final[BusFamily] = AiMotorFamily()


def check_options(values: Mapping[str, float]) -> None:
    """Check rate, times and speed. Raises `BusUrlError` saying what was expected."""
    if values["baud"] not in BAUD_CODES.values():
        rates = ", ".join(map(str, sorted(BAUD_CODES.values())))
        raise BusUrlError(f"baud={values['baud']:g}: expected one of {rates}")
    for name in ("turnaround_us", "jitter_us", "timeout_us"):
        if not 0.0 <= values.get(name, 0.0) <= LONGEST_US:
            raise BusUrlError(f"{name}={values[name]:g}: expected 0 to {LONGEST_US:g} microseconds")
    if not values["v_max_deg_s"] > 0.0:
        raise BusUrlError(f"v_max_deg_s={values['v_max_deg_s']:g}: expected more than 0")


def _servo(bus_id: int) -> ServoAddress:
    return ServoAddress(bus_id, f"id {bus_id}")
