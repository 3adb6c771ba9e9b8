"""Things that happen to an emulated leg from outside, on the plant's own clock: pushes, and changes of the ground."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kick:
    """A constant force (N; x forward, y left, z up) on the last segment's centre of mass, from `at_ns`, for a while."""

    at_ns: int
    force_n: tuple[float, float, float]
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Ground:
    """The ground is taken away, or put back."""

    at_ns: int
    present: bool


@dataclass(frozen=True, slots=True)
class BaseHeight:
    """The first joint is `height_cm` above the ground from now on."""

    at_ns: int
    height_cm: float


PlantEvent = Kick | Ground | BaseHeight
