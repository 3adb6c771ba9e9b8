"""Where the leg is: forward kinematics from A-matrices and Denavit-Hartenberg lines.

Source: SCCILS `geometry` comments (appendix 10.2, section 2.1) and the printed configurations. A joint's A-matrix
stands before its own rotation; then T = Rz(theta) Tz(d) Tx(a) Rx(alpha). Lengths are centimetres, joint angles
degrees (a DH line's fourth number turns them into radians); x forward, y left, z up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def dh_transform(dh_line: Sequence[float], theta_deg: float) -> Matrix:
    """Return the 4 x 4 transform of one link; `dh_line` is (a cm, d cm, alpha rad, rad per unit of theta)."""
    a, d, alpha, scale = dh_line
    theta = theta_deg * scale
    ct, st, ca, sa = math.cos(theta), math.sin(theta), math.cos(alpha), math.sin(alpha)
    return np.array(
        [
            [ct, -st * ca, st * sa, a * ct],
            [st, ct * ca, -ct * sa, a * st],
            [0.0, sa, ca, d],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def joint_origins(
    amatrices: Sequence[Matrix | None], dh_lines: Sequence[Sequence[float] | None], angles_deg: Sequence[float]
) -> Matrix:
    """Return the positions of all joints and of the chain's end, shape (joints + 1, 3), in cm.

    The three sequences hold one entry per joint, from the body outwards; None stands for "nothing given".
    """
    frame = np.eye(4)
    points: list[Matrix] = []
    for amatrix, dh_line, angle in zip(amatrices, dh_lines, angles_deg, strict=True):
        if amatrix is not None:
            frame = frame @ amatrix
        points.append(frame[:3, 3])
        if dh_line is not None:
            frame = frame @ dh_transform(dh_line, angle)
    points.append(frame[:3, 3])
    return np.array(points)
