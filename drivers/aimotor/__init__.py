"""AI motors (AI-601, 701, 1001) and their successor, the wCK, which shares their framing.

    table.py      units, times, rates, set commands, as data
    models.py     the models, as data
    codec.py      bytes <-> requests and replies
    answers.py    what the answers to other requests than send and read say
    bus.py        the host's side: one exchange per servo and cycle
    exchanges.py  what is sent when, and how replies are told from noise
    forms.py      one send for all; ten bits
    readings.py   what is believed of the replies
    addresses.py  which servos there can be
    family.py     URLs, and a bus on an open port
    burning.py    another id or rate for a wCK, for good
    ear.py        what a host says, for byte logs
    emulator.py   the servos' side of the line, in front of a plant
    crew.py       the servos on it: who hears, obeys, answers
    memory.py     a servo's registers
    wheels.py     servos told to turn like a wheel
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
