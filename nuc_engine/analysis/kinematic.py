"""Where the joints and the foot of a recorded leg were, computed from its joint angles.

A flexible leg bends between the angle sensors and the foot, so the path is that of a stiff leg (section 7.1.2), and of
the geometry the configuration gives: where a simulated plant overrides it, the true foot is elsewhere.

The same as `nuc_engine.model.kinematics`, over many poses at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def foot_path(
    amatrices: Sequence[FloatArray | None], dh_lines: Sequence[Sequence[float] | None], angles_deg: FloatArray
) -> FloatArray:
    """Return the positions of the chain's end, shape (n, 3) in cm, for `angles_deg` of shape (n, joints).

    Joints run from the body outwards, as in `nuc_engine.model.kinematics.joint_origins`.
    """
    return joint_paths(amatrices, dh_lines, angles_deg)[:, -1, :]


def joint_paths(
    amatrices: Sequence[FloatArray | None], dh_lines: Sequence[Sequence[float] | None], angles_deg: FloatArray
) -> FloatArray:
    """Return the positions of all joints and of the chain's end, shape (n, joints + 1, 3), in cm."""
    frame = np.broadcast_to(np.eye(4), (len(angles_deg), 4, 4))
    points: list[FloatArray] = []
    for amatrix, dh_line, theta in zip(amatrices, dh_lines, angles_deg.T, strict=True):
        if amatrix is not None:
            frame = frame @ amatrix
        points.append(frame[:, :3, 3])
        if dh_line is not None:
            frame = frame @ _links(dh_line, theta)
    points.append(frame[:, :3, 3])
    return np.stack(points, axis=1)


def _links(dh_line: Sequence[float], theta_deg: FloatArray) -> FloatArray:
    """Return the transforms of one link, shape (n, 4, 4); `dh_line` is (a cm, d cm, alpha rad, rad per degree)."""
    a, d, alpha, scale = dh_line
    ct, st = np.cos(theta_deg * scale), np.sin(theta_deg * scale)
    ca, sa = np.cos(alpha), np.sin(alpha)
    zero, one = np.zeros_like(ct), np.ones_like(ct)
    rows = (
        (ct, -st * ca, st * sa, a * ct),
        (st, ct * ca, -ct * sa, a * st),
        (zero, sa * one, ca * one, d * one),
        (zero, zero, zero, one),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=1)
