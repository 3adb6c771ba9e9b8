"""Kicks that are left to the seed: what a hand does that disturbs a leg, drawn anew for each kick.

Section 7.4.5.2 says of the robot's kicks only that they were "some disturbance of system state". docs/plants.md says
how the numbers here were chosen.
"""

from __future__ import annotations

import math

import numpy as np

from nuc_engine.plants.events import Kick

STREAM = 4
"""Number of the random stream among those of a plant's seed; `variation` has 0 to 3."""

FORCE_N = (8.0, 12.0)
DURATION_S = (0.1, 0.2)
HAND_M_S = 1.0
"""Speed at which a segment runs away from the hand: the force falls in proportion and is 0 there."""
LOWEST_SINE, HIGHEST_SINE = 0.0, 0.9
"""Sine of the force's elevation: a hand pushes and lifts; it does not press into the ground or pull straight up."""


def draw_kick(kick: Kick, seed: int, number: int) -> Kick:
    """Return the kick with what is missing drawn; `number` counts the kicks of one bout from 0.

    The force's size, its direction to the side and the duration are uniform, and so is the sine of its elevation, which
    spreads directions evenly over that part of the sphere.
    """
    stream = np.random.SeedSequence(seed, spawn_key=(STREAM, number))
    size, azimuth, sine, duration = np.random.Generator(np.random.PCG64(stream)).uniform(
        (FORCE_N[0], 0.0, LOWEST_SINE, DURATION_S[0]), (FORCE_N[1], math.tau, HIGHEST_SINE, DURATION_S[1])
    )
    level = size * math.sqrt(1.0 - sine * sine)
    # Rounded, so that what is drawn can be written into a script and is the same force when it is read back.
    force = (
        round(float(level * math.cos(azimuth)), 3),
        round(float(level * math.sin(azimuth)), 3),
        round(float(size * sine), 3),
    )
    drawn_ns = round(float(duration), 3) * 1e9
    return Kick(
        kick.at_ns,
        force if kick.force_n is None else kick.force_n,
        round(drawn_ns) if kick.duration_ns is None else kick.duration_ns,
    )
