"""Feetech STS3215: tables, codec, emulator; the bus is that of `drivers.framed`.

    codec.py      bytes <-> packets
    table.py      registers, models, rates, as data
    emulator.py   what one servo does with its registers
"""
