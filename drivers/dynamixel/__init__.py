"""Dynamixel X servos (Protocol 2.0): tables, codec, emulator; the bus is that of `drivers.framed`.

    codec                packets of the Dynamixel Protocol 2.0
    emulator             emulated Dynamixel X servos
    emulator_indirect    indirect addresses of an emulated servo
    emulator_orders      what an emulated Dynamixel is told beside reading and writing
    family               Dynamixel X servos (XL330, XL430, XM430 on Protocol 2.0) as a family of buses
    layout               Dynamixel X servos as the bus uses them
    table                what is known of the XL330-M288, XL430-W250 and XM430-W350 as data

`FAMILY` is what the entry point names. The emulator needs numpy and is loaded only when it is asked for.
"""

from drivers.dynamixel.family import FAMILY

__all__ = ["FAMILY"]
