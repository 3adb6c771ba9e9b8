"""The numbers of docs/stepping.md and docs/outcomes.md, in one place: change them there and here together.

Tests compare them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Behaviour = Literal["FWD", "ITF", "ITB", "stick", "sideways", "backward"]
VerdictKind = Literal[
    "stepping",
    "wrong direction",
    "cyclic",
    "irregular",
    "dragging",
    "air stepping",
    "chatter",
    "dead",
]
OutcomeKind = Literal[
    "FWD",
    "ITF",
    "ITB",
    "stick",
    "sideways",
    "backward",
    "unnamed cycle",
    "dragging cycle",
    "air stepping",
    "chattering",
    "stuck",
    "irregular",
]
"""What a leg was seen to do; docs/outcomes.md says when it is called so."""


@dataclass(frozen=True, slots=True)
class Criteria:
    """Bounds of step detector, verdict and outcome; docs/stepping.md and docs/outcomes.md give the reasons."""

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
    short_window_s: float = 10.0
    """Outcome: in a steady part shorter than this, proportionally fewer than `min_steps` are asked for."""
    fewest_steps: int = 2
    max_gap_share: float = 0.35
    """Outcome: longest stretch without a lift-off, as a share of the steady part ..."""
    min_gap_periods: float = 1.5
    """... unless that is less than so many median periods."""
    still_share: float = 0.5
    """Outcome: the end that is looked at for standing still is at most this share of the steady part."""
    max_switch_rate_hz: float = 3.0
    """Outcome: changes of action per second and action of the module, above which a leg without cycles chatters."""
    idle_switches: int = 2
    """Action changes of one module at the window's end that show that it goes on cycling in the air."""
    max_unrecorded_s: float = 0.2
    """Outcome: time without a record above which a reason says so."""


DEFAULT_CRITERIA = Criteria()
