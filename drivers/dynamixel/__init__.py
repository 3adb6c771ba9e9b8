"""Dynamixel servos (Protocol 2.0): tables, codec, and the family on top of the framed bus.

    codec.py      packets to bytes and back
"""
