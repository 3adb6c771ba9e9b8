"""Between a servo's own scale and the joint it turns.

A motor's calibration gives raw = cal1 + cal2 * angle (ticks, degrees of the joint); the servo calls raw 0 zero degrees
and one tick `tick_deg` degrees of its own. Both are affine, so a shaft is four numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from nuc_engine.model.plan import MotorPlan


@dataclass(frozen=True, slots=True)
class ShaftConversion:
    """joint [rad] = `joint_per_shaft` * shaft [deg] + `joint_offset`, and back again."""

    joint_per_shaft: float
    joint_offset: float
    shaft_per_joint: float
    shaft_offset: float

    @classmethod
    def of_motor(cls, motor: MotorPlan) -> ShaftConversion:
        """Work the numbers out from a motor's calibration. Raises ValueError when its slope, or its tick, is 0."""
        tick_deg = motor.tick_deg
        if motor.cal2 == 0.0 or tick_deg == 0.0:
            raise ValueError(
                f"motor {motor.name}: calibration slope {motor.cal2}, {tick_deg} degrees per tick; expected"
                " anything but 0"
            )
        degree = math.pi / 180.0
        return cls(
            joint_per_shaft=degree / (motor.cal2 * tick_deg),
            joint_offset=-motor.cal1 / motor.cal2 * degree,
            shaft_per_joint=motor.cal2 * tick_deg / degree,
            shaft_offset=motor.cal1 * tick_deg,
        )

    def joint_range(self, motor: MotorPlan) -> tuple[float, float]:
        """Return the joint angles (rad, lower first) at the two ends of the motor's position scale."""
        ends = [self.joint_per_shaft * raw * motor.tick_deg + self.joint_offset for raw in motor.positions]
        return min(ends), max(ends)
