"""Emulated AI motors on a line of bytes.

damage       how many of the faults of a line a bus could notice, and how many it did
emulator     AI motors and wCKs on one wire, to the byte
from_url     emulated AI motors and wCKs from a URL
injection    what can be wrong with the servos on an emulated line, as state
memory       what an emulated servo keeps in its registers, and what of it survives a loss of supply
servos       the servos of one emulated line
wheels       emulated servos that were told to turn like a wheel
"""
