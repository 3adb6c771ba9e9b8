"""From muscle output to a servo's own ticks and back, where a unit is not simply a tick.

On an AI motor a unit of muscle output is a tick, and nothing of this is used. On others a unit stands for a torque:
so many ticks of goal minus position give it, as a factor or as a measured table.
"""

from __future__ import annotations

from typing import Protocol

from nuc_engine.model.plan import MotorPlan
from nuc_engine.model.torque_table import Inverse


class DriveScale(Protocol):
    """Turns muscle output into ticks. `beyond` counts how often a table had no such torque, and its end was used."""

    beyond: int

    def ticks(self, delta: float) -> float:
        """Return whole ticks for so much muscle output; NaN stays NaN."""
        ...

    def units(self, ticks: int) -> float:
        """Return how much muscle output so many ticks are."""
        ...


class Straight:
    """A unit is so many ticks."""

    __slots__ = ("_ticks", "beyond")

    def __init__(self, delta_ticks: float) -> None:
        self._ticks = delta_ticks
        self.beyond = 0

    def ticks(self, delta: float) -> float:
        """Return whole ticks."""
        scaled = delta * self._ticks
        return round(scaled) if scaled - scaled == 0.0 else scaled

    def units(self, ticks: int) -> float:
        """Return muscle output."""
        return ticks / self._ticks


class Measured:
    """A unit is a torque, and a table says how many ticks give it."""

    __slots__ = ("_table", "_unit_n_m", "beyond")

    def __init__(self, motor: MotorPlan) -> None:
        self._table, self._unit_n_m = Inverse(motor.torque_table), motor.delta_torque_n_m
        self.beyond = 0

    def ticks(self, delta: float) -> float:
        """Return whole ticks."""
        torque = delta * self._unit_n_m
        if torque - torque != 0.0:
            return torque
        if not self._table.reaches(torque):
            self.beyond += 1
        return round(self._table.ticks(torque))

    def units(self, ticks: int) -> float:
        """Return muscle output."""
        return self._table.torque(ticks) / self._unit_n_m


def scale_of(motor: MotorPlan) -> DriveScale | None:
    """Return a motor's scale, None where a unit is a tick."""
    if motor.torque_table:
        return Measured(motor)
    return None if motor.delta_ticks == 1.0 else Straight(motor.delta_ticks)
