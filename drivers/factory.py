"""A bus from its URL; families are found through the entry-point group `nuc_engine.buses`.

    emulated:[FAMILY][?options]        servos in this process, on the virtual clock, in front of a plant
    FAMILY:///dev/...[?options]        servos on a serial port of this machine

What the line itself may be like is the same for all: see `drivers.serial.lineoptions`.

An entry point names a `drivers.family.BusFamily`. Where one process opens the port and another builds the bus, the
first takes `parse_line` and `open_port`, the second `bus_on_port`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final

from drivers.bus import Bus
from drivers.errors import BusUrlError, PortError
from drivers.family import BusFamily
from drivers.port import Port
from drivers.serial.lineoptions import host_port
from drivers.servo import ServoAddress, ServoPlant
from drivers.url import LineSpec, split_url

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

    from drivers.serial.port import SerialPort

ENTRY_POINT_GROUP: Final = "nuc_engine.buses"
DEFAULT_FAMILY: Final = "aimotor"
EMULATED: Final = "emulated"

_OWN: Final = ("aimotor", "dynamixel", "feetech")
"""Families that are part of this package: there in a source tree too, where no entry point is installed."""


def open_bus(url: str, servos: Sequence[ServoAddress], plant: ServoPlant | None, *, seed: int) -> Bus:
    """Open the bus `url` describes; the AI motor where an emulated one names no family.

    `plant` is what emulated servos move, `seed` decides whatever their emulator draws; a bus on a port needs neither.
    Raises `BusUrlError`, `PortError`.
    """
    if is_emulated(url):
        if plant is None:
            raise BusUrlError(f"{url!r}: an emulated bus needs a plant behind its servos")
        return find_family(split_url(url)[1] or DEFAULT_FAMILY).open_emulated(url, servos, plant, seed)
    spec = parse_line(url)
    port = open_port(spec.path, spec.baud)
    try:
        return bus_on_port(spec, port, servos)
    except BusUrlError:
        port.close()
        raise


def open_port(path: str, baud: int) -> SerialPort:
    """Open a serial port, as `drivers.serial.port` does. Raises `PortError`, on systems other than Linux always."""
    if sys.platform != "linux":
        raise PortError(f"{path}: a servo bus on a serial port needs Linux (its ttys, epoll and locks)")
    from drivers.serial import port as serialport

    return serialport.open_port(path, baud)


def parse_line(url: str) -> LineSpec:
    """Read the URL of a bus on a serial port; opens nothing. Raises `BusUrlError`."""
    scheme, _, _ = split_url(url)
    if scheme not in _OWN and scheme not in _installed().names:
        kinds = ", ".join(f"{name}:///dev/..." for name in family_names())
        raise BusUrlError(f"{url!r}: no bus of kind {scheme!r}; expected {EMULATED}:[FAMILY][?options] or {kinds}")
    return find_family(scheme).parse_line(url)


def bus_on_port(spec: LineSpec, port: Port, servos: Sequence[ServoAddress]) -> Bus:
    """Build the bus of `spec` on a port that is open already, whatever its adapter does. Raises `BusUrlError`."""
    return find_family(spec.family).bus_on_port(spec, host_port(port, spec.options), servos)


def is_emulated(url: str) -> bool:
    """Say whether the URL describes servos in this process rather than on a port. Raises `BusUrlError`."""
    return split_url(url)[0] == EMULATED


def family_names() -> tuple[str, ...]:
    """Return the names of all families there are."""
    return tuple(sorted({*_OWN, *_installed().names}))


def find_family(family: str) -> BusFamily:
    """Return a servo family by its name. Raises `BusUrlError` naming the families there are."""
    if family in _OWN:
        # Loaded when asked for: one family is enough for most.
        own: BusFamily = import_module(f"drivers.{family}").FAMILY
        return own
    points = _installed()
    if family not in points.names:
        raise BusUrlError(f"unknown servo family {family!r}: expected {', '.join(family_names())}")
    return points[family].load()


def _installed() -> EntryPoints:
    # Imported late: it takes longer than all the rest of a bus, and the AI motor is found without it.
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINT_GROUP)
