"""A bus from its URL; families are found through the entry-point group `nuc_engine.buses`.

A family's factory is a callable `(url, servos, plant, seed) -> Bus`, registered under the family's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Final, TypeAlias

from drivers import aimotor
from drivers.bus import Bus
from drivers.errors import BusUrlError
from drivers.servo import ServoAddress, ServoPlant
from drivers.url import split_url

ENTRY_POINT_GROUP: Final = "nuc_engine.buses"
DEFAULT_FAMILY: Final = "aimotor"

BusFactory: TypeAlias = Callable[[str, Sequence[ServoAddress], ServoPlant | None, int], Bus]


def open_bus(url: str, servos: Sequence[ServoAddress], plant: ServoPlant | None, *, seed: int) -> Bus:
    """Open the bus `url` describes: `emulated:[FAMILY][?options]`, the AI motor where no family is named.

    `plant` is what the emulated servos move; `seed` decides whatever the emulator draws. Raises `BusUrlError`.
    """
    scheme, family, _ = split_url(url)
    if scheme != "emulated":
        raise BusUrlError(f"{url!r}: cannot open a bus of kind {scheme!r}; expected emulated:[FAMILY][?options]")
    return find_family(family or DEFAULT_FAMILY)(url, servos, plant, seed)


def find_family(family: str) -> BusFactory:
    """Return the factory of a servo family. Raises `BusUrlError` naming the families there are."""
    if family == DEFAULT_FAMILY:
        # Part of this package, so that it is there in a source tree too, where no entry point is installed.
        return aimotor.open_bus
    points = entry_points(group=ENTRY_POINT_GROUP)
    if family not in points.names:
        names = sorted({DEFAULT_FAMILY, *points.names})
        raise BusUrlError(f"unknown servo family {family!r}: expected {', '.join(names)}")
    return points[family].load()
