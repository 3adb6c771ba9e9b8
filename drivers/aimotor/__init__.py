"""AI motors (AI-601, 701, 1001) and their successor, the wCK, which shares their framing.

    answers       what the two bytes say that come back for requests other than send and read
    bus           the AI motor bus
    codec         frames of the AI motor and the wCK
    eeprom        giving a wCK another id or rate for good
    emulation/    emulated AI motors on a line of bytes
    exchanges     one request after the other, each with its reply
    family        AI motor and wCK as a family of buses
    forms         other forms of the exchange: groups, ten bits, set and read
    lateness      replies that are late
    models        the models of AI motor and wCK as data, and which servos a bus of them can have
    readings      what the servos are believed to have said
    settings      what a wCK keeps in its registers, looked at and set at the bench
    sniffer       what a host says on a line of AI motors, understood from the bytes alone
    table         what is known of the AI motor and the wCK as data

`FAMILY` is what the entry point names. The emulator needs numpy and is loaded only when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drivers.aimotor.bus import AiMotorBus
from drivers.aimotor.family import FAMILY

if TYPE_CHECKING:
    from drivers.aimotor.emulation.emulator import AiMotorEmulator

__all__ = ["FAMILY", "AiMotorBus", "AiMotorEmulator"]


def __getattr__(name: str) -> type[AiMotorEmulator]:
    if name != "AiMotorEmulator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from drivers.aimotor.emulation.emulator import AiMotorEmulator

    return AiMotorEmulator
