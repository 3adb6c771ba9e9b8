"""What a family of servos brings with it: its bus on a real line, its bus without a device, its emulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from drivers.bus import Bus
from drivers.inprocess import WireEnd
from drivers.port import Port
from drivers.servo import ServoAddress, ServoPlant
from drivers.url import LineSpec


class Emulator(WireEnd, Protocol):
    """Emulated servos behind one line, for whoever carries the bytes; families add what can go wrong with them."""

    baud: int


class BusFamily(Protocol):
    """One family of servos. What the entry-point group `nuc_engine.buses` names under the family's name.

    All of it raises `BusUrlError` for a URL, an option or a servo that the family does not have.
    """

    name: str
    bauds: tuple[int, ...]
    """The rates its servos can be set to, bit/s, in rising order."""

    def parse_line(self, url: str) -> LineSpec:
        """Read `NAME:///dev/...[?options]`."""
        ...

    def bus_on_port(self, spec: LineSpec, port: Port, servos: Sequence[ServoAddress]) -> Bus:
        """Build the bus on a port that is open at the rate of `spec`, with what the port holds back allowed for."""
        ...

    def any_servo(self) -> ServoAddress:
        """Return an address a bus can be built with when it is not known yet who is there."""
        ...

    def every_servo(self) -> tuple[ServoAddress, ...]:
        """Return every address of the family, for requests that must reach whoever is there."""
        ...

    def emulator(self, url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> Emulator:
        """Power emulated servos up in front of `plant`, as `emulated:[NAME][?options]` says; `seed` decides chance."""
        ...

    def open_emulated(self, url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> Bus:
        """Open a bus on the virtual clock with that emulator at its other end."""
        ...
