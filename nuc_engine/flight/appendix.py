"""002 appendix A: a cascaded position controller, a first-order attitude response, and a point mass with drag.

State      x, y, z (m), their velocities (m/s), roll, pitch, yaw (rad); z points up
Reference  x, y, z, their velocities, yaw
Control    roll and pitch that are wanted (rad), thrust (N), yaw rate (rad/s)
"""

from __future__ import annotations

from math import cos, remainder, sin, tau
from typing import NamedTuple

STATE = ("x_m", "y_m", "z_m", "vx_m_s", "vy_m_s", "vz_m_s", "roll_rad", "pitch_rad", "yaw_rad")
REFERENCE = ("x_m", "y_m", "z_m", "vx_m_s", "vy_m_s", "vz_m_s", "yaw_rad")
CONTROL = ("roll_cmd_rad", "pitch_cmd_rad", "thrust_n", "yaw_rate_rad_s")

G_M_S2 = 9.81
"""A.5."""

Numbers = tuple[float, ...]
Three = tuple[float, float, float]


class Gains(NamedTuple):
    """What the controller knows: the diagonals of K_p (1/s2) and K_d (1/s), its yaw gain (1/s), the mass it expects."""

    kp_per_s2: Three
    kd_per_s: Three
    k_yaw_per_s: float
    mass_kg: float


class Body(NamedTuple):
    """What flies: mass, time constants of the attitude response, and drag per mass (N4)."""

    mass_kg: float
    tau_roll_s: float
    tau_pitch_s: float
    drag_per_s: float


def control(state: Numbers, reference: Numbers, gains: Gains) -> Numbers:
    """Return the control (A.3 to A.6)."""
    x, y, z, vx, vy, vz, _roll, _pitch, yaw = state
    xr, yr, zr, vxr, vyr, vzr, yaw_r = reference
    (kpx, kpy, kpz), (kdx, kdy, kdz), k_yaw, mass = gains
    ax = kpx * (xr - x) + kdx * (vxr - vx)
    ay = kpy * (yr - y) + kdy * (vyr - vy)
    az = kpz * (zr - z) + kdz * (vzr - vz) + G_M_S2
    s, c = sin(yaw), cos(yaw)  # N3: the actual yaw, as drawn in appendix B
    return (
        (ax * s - ay * c) / G_M_S2,  # N1: the sign as printed
        (ax * c + ay * s) / G_M_S2,
        mass * az,  # N5: negative thrust is passed on
        k_yaw * remainder(yaw_r - yaw, tau),  # N2: the shorter way round
    )


def advance(state: Numbers, control: Numbers, dt_s: float, body: Body) -> Numbers:
    """Return the state one step of explicit Euler later (A.7 to A.9); every derivative is taken at the old state."""
    x, y, z, vx, vy, vz, roll, pitch, yaw = state
    roll_cmd, pitch_cmd, thrust, yaw_rate = control
    mass, tau_roll, tau_pitch, drag = body
    sr, cr, sp, cp, sy, cy = sin(roll), cos(roll), sin(pitch), cos(pitch), sin(yaw), cos(yaw)
    # N6, N7: thrust along the third axis of Rz(yaw) Ry(pitch) Rx(roll), with the attitude that is there, not wanted.
    push = thrust / mass
    return (
        x + dt_s * vx,
        y + dt_s * vy,
        z + dt_s * vz,
        vx + dt_s * (push * (cy * sp * cr + sy * sr) - drag * vx),
        vy + dt_s * (push * (sy * sp * cr - cy * sr) - drag * vy),
        vz + dt_s * (push * (cp * cr) - G_M_S2 - drag * vz),
        roll + dt_s * ((roll_cmd - roll) / tau_roll),
        pitch + dt_s * ((pitch_cmd - pitch) / tau_pitch),
        yaw + dt_s * yaw_rate,
    )
