"""What can go wrong before a plant runs; a plant that fails while it runs raises `drivers.servo.PlantFault`."""

from __future__ import annotations


class PlantUnavailableError(ImportError):
    """The plant needs a package that is not installed; the message says how to install it."""


class PlantWithoutWorldError(Exception):
    """Something is to happen to a plant that has no world for it to happen in."""
