"""Saturations, rate limits and delay behind a controller, in this order. 002 5.2 wants them, appendix A has none.

What is before the first control, for rate limits and delay, is hovering: level, the thrust that carries the mass the
controller expects, no yaw rate (N12).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from nuc_engine.flight.appendix import G_M_S2, Gains, Numbers, control


@dataclass(frozen=True, slots=True)
class Limits:
    """Lowest and highest value of each control, how fast each may change (per s), and steps until it acts."""

    low: Sequence[float] = (-inf,) * 4
    high: Sequence[float] = (inf,) * 4
    rate_per_s: Sequence[float] = (inf,) * 4
    delay_steps: int = 0


class LimitedController:
    """The controller with what limits it: its memory is that of one episode.

    `limited` says whether the control that was computed last was saturated or held back by a rate limit; with a delay,
    it is not yet the one that acts.
    """

    def __init__(self, gains: Gains, limits: Limits, dt_s: float) -> None:
        self._gains = gains
        self._bounds = (limits.low, limits.high, [rate * dt_s for rate in limits.rate_per_s])
        self._last: Numbers = (0.0, 0.0, gains.mass_kg * G_M_S2, 0.0)
        self._under_way = deque[Numbers]([self._last] * limits.delay_steps)
        self._limited = False

    def __call__(self, state: Numbers, reference: Numbers) -> Numbers:
        """Return the control that acts now."""
        wanted = control(state, reference, self._gains)
        allowed = tuple(map(_hold, wanted, self._last, *self._bounds))
        self._last, self._limited = allowed, allowed != wanted
        self._under_way.append(allowed)
        return self._under_way.popleft()

    def limited(self) -> bool:
        """Say whether the last control was limited."""
        return self._limited


def _hold(wanted: float, last: float, low: float, high: float, most: float) -> float:
    """Return what is allowed: within the bounds, then no further from the last one than the rate lets it."""
    within = low if wanted < low else high if wanted > high else wanted
    if within < last - most:
        return last - most
    return last + most if within > last + most else within
