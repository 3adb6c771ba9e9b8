"""Emulated servos with registers, on a line of bytes.

emulator    servos with registers on one half-duplex wire, to the byte
from_url    emulated servos of a family with registers, powered up, alone or from a URL
groups      requests to several servos at once
memory      the registers of one emulated servo
servo       one emulated servo with registers
wire        the servos' end of a half-duplex wire
"""
