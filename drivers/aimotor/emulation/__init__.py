"""Emulated AI motors on a line of bytes.

emulator     AI motors and wCKs on one wire, to the byte
from_url     emulated AI motors and wCKs from a URL
injection    what can be wrong with the servos on an emulated line, and what its faults did to exchanges
memory       what an emulated servo keeps in its registers, and what of it survives a loss of supply
servos       the servos of one emulated line, wheels among them
"""
