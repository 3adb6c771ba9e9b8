"""Gravity compensation as part of muscle conversion: what carries the leg's weight is added to what muscles say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from nuc_engine.model.plan import GravityPlan, LinkPlan, Slot
from nuc_engine.model.store import BufferView, Store

STANDARD_GRAVITY_M_S2: Final = 9.81
"""As the emulated legs have it."""


class Weight:
    """Adds the share of the weight's torque to servo deltas, in their units."""

    def __init__(self, gravity: GravityPlan, store: Store) -> None:
        self._links = gravity.links
        self._angles = [store.locate(Slot(link.angle)) for link in gravity.links]
        self._units = [
            (joint, link.motor, gravity.share / link.unit_n_m)
            for joint, link in enumerate(gravity.links)
            if link.motor >= 0
        ]

    def measure(self, index: int, view: BufferView, at: int) -> None:
        """Take what is measured of this sensor from this cell from now on."""
        for k, link in enumerate(self._links):
            if link.angle == index:
                self._angles[k] = (view, at)

    def add(self, deltas: list[float]) -> None:
        """Add to the deltas, in the order of the plan's motors, at the measured angles; each must have a value."""
        torques = holding_torques(self._links, [view[at] for view, at in self._angles])
        for joint, motor, units in self._units:
            deltas[motor] += torques[joint] * units


def holding_torques(links: Sequence[LinkPlan], angles_deg: Sequence[float]) -> list[float]:
    """Return the torque at each joint (N m, towards rising angles) that holds the links still at these angles."""
    axes: list[tuple[float, float, float, float]] = []
    moments: list[tuple[float, float, float]] = []
    # Rotation, row-major, and origin of the last link; the world's z points up.
    a, b, c, d, e, f, g, h, i = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0
    x = y = z = 0.0
    for link, angle in zip(links, angles_deg, strict=True):
        p, q, r, px, s, t, u, py, v, w, m, pz = link.frame
        x, y, z = x + a * px + b * py + c * pz, y + d * px + e * py + f * pz, z + g * px + h * py + i * pz
        a, b, c, d, e, f, g, h, i = (
            a * p + b * s + c * v,
            a * q + b * t + c * w,
            a * r + b * u + c * m,
            d * p + e * s + f * v,
            d * q + e * t + f * w,
            d * r + e * u + f * m,
            g * p + h * s + i * v,
            g * q + h * t + i * w,
            g * r + h * u + i * m,
        )
        sine, cosine = math.sin(math.radians(angle)), math.cos(math.radians(angle))
        a, b = a * cosine + b * sine, b * cosine - a * sine
        d, e = d * cosine + e * sine, e * cosine - d * sine
        g, h = g * cosine + h * sine, h * cosine - g * sine
        cx, cy, cz = link.centre_m
        axes.append((c, f, x, y))
        moments.append((link.mass_kg, x + a * cx + b * cy + c * cz, y + d * cx + e * cy + f * cz))
    torques: list[float] = []
    mass = mass_x = mass_y = 0.0
    for (axis_x, axis_y, at_x, at_y), (own, own_x, own_y) in zip(reversed(axes), reversed(moments), strict=True):
        mass += own
        mass_x += own * own_x
        mass_y += own * own_y
        # Weight pulls down, so that only what lies beside the axis turns it.
        lever_x, lever_y = mass_x - mass * at_x, mass_y - mass * at_y
        torques.append(STANDARD_GRAVITY_M_S2 * (axis_x * lever_y - axis_y * lever_x))
    return torques[::-1]
