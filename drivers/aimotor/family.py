"""AI motor and wCK as a family of buses: URLs, a bus on an open port. What emulates them is loaded when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from drivers.aimotor.bus import AiMotorBus
from drivers.aimotor.codec import MAX_ID
from drivers.aimotor.models import FAMILY_NAME, MODELS, check_models, check_scale, check_servos
from drivers.aimotor.sniffer import AiMotorSniffer
from drivers.aimotor.table import (
    BAUD_CODES,
    DEFAULT_BAUD,
    DEFAULT_TIMEOUT_NS,
    DEFAULT_TURNAROUND_NS,
    LOW_RESOLUTION_TICK_DEG,
    TICK_DEG,
    V_MAX_DEG_S,
)
from drivers.bench.settings import Settings
from drivers.bus import Bus
from drivers.clock import WaitingClock
from drivers.family import BusFamily, Emulator
from drivers.port import Port
from drivers.serial.lineoptions import LINE_OPTIONS as ANY_LINE_OPTIONS
from drivers.serial.lineoptions import check_common, check_switches, late_ns_of, timeout_ns_of
from drivers.servo import ServoAddress, ServoModel, ServoPlant
from drivers.url import LineSpec, device_path, parse_url

NAME: Final = FAMILY_NAME

FORMS: Final = ("sync", "ten_bit")
"""Options that choose how servos are exchanged with; arguments of the bus by the same names."""

SWITCHES: Final = (*FORMS, "low_resolution", "wck")
"""Options that are 0 or 1. `low_resolution`: the servos count ticks of 1.307 degrees, as delivered. `wck`: servos
without a model are wCKs."""

LINE_OPTIONS: Final[Mapping[str, float]] = {
    "baud": float(DEFAULT_BAUD),
    "timeout_us": DEFAULT_TIMEOUT_NS / 1000,
    "v_max_deg_s": V_MAX_DEG_S,
    **dict.fromkeys(SWITCHES, 0.0),
    **ANY_LINE_OPTIONS,
}
EMULATOR_OPTIONS: Final[Mapping[str, float]] = {
    "turnaround_us": DEFAULT_TURNAROUND_NS / 1000,
    "jitter_us": 0.0,
}


class AiMotorFamily:
    """AI-601, 701, 1001 and wCK (a `drivers.family.BusFamily`)."""

    name: str = NAME
    bauds: tuple[int, ...] = tuple(sorted(BAUD_CODES.values()))
    models: Mapping[str, ServoModel] = MODELS
    line_options: Mapping[str, float] = LINE_OPTIONS
    emulator_options: Mapping[str, float] = EMULATOR_OPTIONS

    def parse_line(self, url: str) -> LineSpec:
        """Read `aimotor:///dev/...[?options]`; the options are `line_options`."""
        options = parse_url(url, tuple(LINE_OPTIONS)).options
        check_options(LINE_OPTIONS | options)
        return LineSpec(NAME, device_path(url), int(options.pop("baud", DEFAULT_BAUD)), options)

    def bus_on_port(self, spec: LineSpec, port: Port, servos: Sequence[ServoAddress]) -> AiMotorBus:
        """Build the bus; a timeout that was not given is lengthened by what the port holds back."""
        return build_bus(port, servos, spec.baud, spec.options)

    def any_servo(self) -> ServoAddress:
        """Return id 0."""
        return _servo(0)

    def every_servo(self) -> tuple[ServoAddress, ...]:
        """Return ids 0 to 30. Higher ones, which wCKs may have, can not be told to take their torque off singly."""
        return tuple(_servo(bus_id) for bus_id in range(MAX_ID + 1))

    def emulator(self, url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> Emulator:
        """Power emulated servos up."""
        from drivers.aimotor.emulation.from_url import make_emulator

        return make_emulator(url, servos, plant, seed)

    def sniffer(self) -> AiMotorSniffer:
        """Return an ear for what hosts say."""
        return AiMotorSniffer()

    def write_id(self, port: Port, pace: WaitingClock, bus_id: int, new_id: int) -> None:
        """Give a wCK another id, 0 to 30, and see that it answers to it; on an AI motor nothing is written."""
        from drivers.aimotor.eeprom import write_id

        write_id(port, pace, bus_id, new_id)

    def write_baud(self, port: Port, pace: WaitingClock, bus_id: int, baud: int) -> None:
        """Set a wCK to another rate and see that it left the old one; on an AI motor nothing is written."""
        from drivers.aimotor.eeprom import write_baud

        write_baud(port, pace, bus_id, baud)

    def settings(
        self, port: Port, pace: WaitingClock, options: Mapping[str, float], bus_id: int, *, model: str, assumed: bool
    ) -> Settings:
        """Return the settings of a wCK, or with `assumed` those an AI motor probably has (`WithSettings`)."""
        from drivers.aimotor.settings import AiMotorSettings

        return AiMotorSettings(port, pace, bus_id, wck=are_wcks(options), assumed=assumed)

    def open_emulated(self, url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> Bus:
        """Open a bus with emulated servos."""
        from drivers.aimotor.emulation.from_url import open_emulated

        return open_emulated(url, servos, plant, seed)


FAMILY: Final[BusFamily] = AiMotorFamily()


def build_bus(port: Port, servos: Sequence[ServoAddress], baud: int, options: Mapping[str, float]) -> AiMotorBus:
    """Build the bus on a port; `options` are those of `LINE_OPTIONS` that were given. Raises `BusUrlError`."""
    more: dict[str, bool] = {name: True for name in FORMS if options.get(name)}
    check_models(servos, wck=are_wcks(options))
    check_scale(servos, ten_bit=bool(options.get("ten_bit")))
    return AiMotorBus(
        port,
        check_servos(servos),
        baud=baud,
        timeout_ns=timeout_ns_of(options, port, DEFAULT_TIMEOUT_NS),
        late_ns=late_ns_of(options, port),
        v_max_deg_s=options.get("v_max_deg_s", V_MAX_DEG_S),
        tick_deg=LOW_RESOLUTION_TICK_DEG if options.get("low_resolution") else TICK_DEG,
        **more,
    )


def are_wcks(options: Mapping[str, float]) -> bool:
    """Whether options say that servos are wCKs: outright, or by the ten-bit form, which only wCKs have."""
    return bool(options.get("wck") or options.get("ten_bit"))


def check_options(values: Mapping[str, float]) -> None:
    """Check rate, times, speed and switches. Raises `BusUrlError` saying what was expected."""
    check_common(values, FAMILY.bauds)
    check_switches(values, SWITCHES)


def _servo(bus_id: int) -> ServoAddress:
    return ServoAddress(bus_id, f"id {bus_id}")
