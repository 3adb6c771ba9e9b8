"""What differs from one bout to the next: start pose, ground friction, noise of the servos' meters.

The seed decides, and nothing else: every quantity has its own random stream, spawned in a fixed order, so that adding
noise to one leaves the others as they were. There is no nominal seed; 0 is a bout like any other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nuc_engine.plants.spec import VariationSpec

NOISE_SAMPLES = 8191
"""Length of a noise table, after which it repeats; a prime, so that taking turns does not fall into step with it."""


@dataclass(frozen=True, slots=True, eq=False)
class Variation:
    """One bout's draw. Noise tables hold standard normal deviates times the meters' noise, in ticks."""

    start_pose_deg: tuple[float, ...]
    friction_factor: float
    position_noise_ticks: NDArray[np.float64]
    current_noise_ticks: NDArray[np.float64]


def draw(spec: VariationSpec, joints: int, seed: int) -> Variation:
    """Draw a bout's variation for a leg of so many joints. Raises ValueError when the seed is negative."""
    pose, friction, position, current = (
        np.random.Generator(np.random.PCG64(stream)) for stream in np.random.SeedSequence(seed).spawn(4)
    )
    return Variation(
        start_pose_deg=tuple((pose.uniform(-1.0, 1.0, joints) * spec.start_pose_deg).tolist()),
        friction_factor=1.0 + float(friction.uniform(-1.0, 1.0)) * spec.friction_fraction,
        position_noise_ticks=position.standard_normal(NOISE_SAMPLES) * spec.position_noise_ticks,
        current_noise_ticks=current.standard_normal(NOISE_SAMPLES) * spec.current_noise_ticks,
    )
