"""AI motors (AI-601, 701, 1001) and their successor's framing (wCK): tables, codec, bus, emulator.

    table.py      models, units, times, set commands, as data
    codec.py      bytes <-> requests and replies
    bus.py        the host's side: one exchange per servo and cycle
    readings.py   what is believed of the replies
    addresses.py  which servos there can be
    family.py     URLs, and a bus on an open port
    emulator.py   the servos' side, in front of a plant
    troubles.py   what can be wrong with emulated servos
    damage.py     faults done to a line beside faults noticed
    emulated.py   emulator and bus from a URL

`FAMILY` is what the entry point names. The emulator needs numpy and is loaded only when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drivers.aimotor.bus import AiMotorBus
from drivers.aimotor.family import FAMILY

if TYPE_CHECKING:
    from drivers.aimotor.emulator import AiMotorEmulator

__all__ = ["FAMILY", "AiMotorBus", "AiMotorEmulator"]


def __getattr__(name: str) -> Any:
    if name != "AiMotorEmulator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from drivers.aimotor.emulator import AiMotorEmulator

    return AiMotorEmulator
