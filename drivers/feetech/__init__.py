"""Feetech STS3215: tables, codec, emulator; the bus is that of `drivers.framed`.

    codec       packets of Feetech's bus protocol
    emulator    an emulated STS3215
    family      Feetech's STS3215 as a family of buses
    layout      the STS3215 as the bus uses it
    table       what is known of Feetech's STS3215 as data

`FAMILY` is what the entry point names. The emulator needs numpy and is loaded only when it is asked for.
"""

from drivers.feetech.family import FAMILY

__all__ = ["FAMILY"]
