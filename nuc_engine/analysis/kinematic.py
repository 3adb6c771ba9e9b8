"""Where the foot of a recorded leg was, computed from its joint angles.

A flexible leg bends between the angle sensors and the foot, so the path is that of a stiff leg (section 7.1.2), and of
the geometry the configuration gives: where a simulated plant overrides it, the true foot is elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nuc_engine.kinematics import joint_origins

FloatArray = NDArray[np.float64]


def foot_path(
    amatrices: Sequence[FloatArray | None], dh_lines: Sequence[Sequence[float] | None], angles_deg: FloatArray
) -> FloatArray:
    """Return the positions of the chain's end, shape (n, 3) in cm, for `angles_deg` of shape (n, joints).

    Joints run from the body outwards, as in `nuc_engine.kinematics.joint_origins`.
    """
    return joint_paths(amatrices, dh_lines, angles_deg)[:, -1, :]


def joint_paths(
    amatrices: Sequence[FloatArray | None], dh_lines: Sequence[Sequence[float] | None], angles_deg: FloatArray
) -> FloatArray:
    """Return the positions of all joints and of the chain's end, shape (n, joints + 1, 3), in cm."""
    poses = [joint_origins(amatrices, dh_lines, row) for row in angles_deg.tolist()]
    return np.array(poses).reshape(len(poses), len(amatrices) + 1, 3)
