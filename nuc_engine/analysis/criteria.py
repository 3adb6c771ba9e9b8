"""The numbers of docs/stepping.md, in one place. Change them there and here together; a test compares them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Behaviour = Literal["FWD", "ITF", "ITB", "stick"]
Kind = Literal[
    "stepping",
    "wrong direction",
    "cyclic",
    "irregular",
    "dragging",
    "air stepping",
    "chatter",
    "dead",
]


@dataclass(frozen=True, slots=True)
class Criteria:
    """Bounds of the step detector and of the verdict; docs/stepping.md says why each is what it is."""

    contact_n: float = 0.05
    """Normal force above which the foot touches the ground."""
    min_swing_s: float = 0.10
    min_clearance_legs: float = 0.01
    """Least height of a swing, as a fraction of the leg length."""
    min_stance_s: float = 0.05
    min_load_n: float = 0.1
    """Least mean normal force of a stance while in contact."""
    min_rise_deg: float = 3.0
    """Least rise of the thorax-coxa angle between two minima."""
    min_rise_range: float = 0.25
    """The same, as a fraction of the angle's range."""
    settle_s: float = 3.0
    """Beginning of every window that is not judged."""
    min_steps: int = 5
    max_gap_periods: float = 3.0
    share_of_steps: float = 0.8
    """Share of the steps in which modules must alternate and movements must have the right sign."""
    max_switches_per_action: float = 3.0
    min_period_s: float = 0.3
    min_excursion_deg: float = 5.0
    min_phase_share: float = 0.1
    """Least share of the steady part for swing, for stance and for contact."""
    min_action_contact: float = 0.2
    """Least difference between the contact fractions of the stance action and of the others."""
    max_cycle_mismatch: float = 0.25
    max_cycle_mismatch_count: int = 2
    max_period_cv: float = 0.25
    max_period_s: float = 5.0
    min_angle_change_deg: float = 5.0
    min_stride_legs: float = 0.05
    """Least foot movement in stance, as a fraction of the leg length."""
    still_s: float = 3.0
    """End of the window that is looked at to see whether the leg stands still."""
    chatter_switches: int = 6
    """Action changes of one module in that time that make standing still chatter."""


DEFAULT_CRITERIA = Criteria()
