"""Dynamixel X servos (XL330, XL430, XM430 on Protocol 2.0) as a family of buses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drivers.dynamixel.layout import INSTRUCTIONS, LAYOUT
from drivers.dynamixel.table import DEFAULT_BAUD, DEFAULT_TIMEOUT_NS, DEFAULT_TURNAROUND_NS, V_MAX_DEG_S
from drivers.family import BusFamily
from drivers.framed.family import FramedFamily

if TYPE_CHECKING:
    from drivers.framed.emulation.from_url import Emulation


def _emulation() -> Emulation:
    # Loaded when asked for: it needs numpy, which a bus on a port does without.
    from drivers.dynamixel.emulator import EMULATION

    return EMULATION


FAMILY: Final[BusFamily] = FramedFamily(
    LAYOUT,
    INSTRUCTIONS,
    baud=DEFAULT_BAUD,
    timeout_ns=DEFAULT_TIMEOUT_NS,
    turnaround_ns=DEFAULT_TURNAROUND_NS,
    v_max_deg_s=V_MAX_DEG_S,
    emulation=_emulation,
)
