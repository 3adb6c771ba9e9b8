"""What can go wrong before a plant runs; a plant that fails while it runs raises `drivers.servo.PlantFault`."""

from __future__ import annotations


class PlantWithoutWorldError(Exception):
    """Something is to happen to a plant that has no world for it to happen in."""
