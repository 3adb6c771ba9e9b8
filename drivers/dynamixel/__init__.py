"""Dynamixel X servos (Protocol 2.0): tables, codec, emulator; the bus is that of `drivers.framed`.

    table.py      registers, models, rates, as data
    codec.py      packets to bytes and back
    layout.py     what the bus does with the registers
    family.py     the family, of all this
    emulator.py   what an emulated servo does with its registers
    emulator_*.py its indirect addresses, and what it is told beside reading and writing

`FAMILY` is what the entry point names. The emulator needs numpy and is loaded only when it is asked for.
"""

from drivers.dynamixel.family import FAMILY

__all__ = ["FAMILY"]
