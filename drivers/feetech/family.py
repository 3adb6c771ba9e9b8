"""Feetech's STS3215 as a family of buses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drivers.family import BusFamily
from drivers.feetech.codec import INSTRUCTIONS
from drivers.feetech.layout import LAYOUT
from drivers.feetech.table import DEFAULT_BAUD, DEFAULT_TIMEOUT_NS, DEFAULT_TURNAROUND_NS, V_MAX_DEG_S
from drivers.framed.family import FramedFamily

if TYPE_CHECKING:
    from drivers.framed.emulation.from_url import Emulation


def _emulation() -> Emulation:
    # Loaded when asked for: it needs numpy, which a bus on a port does without.
    from drivers.feetech.emulator import EMULATION

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
