"""The guard: the last step before the codec. It returns what is really sent."""

from __future__ import annotations

from collections.abc import Sequence

from drivers.bus import READ_ONLY

LOWEST, HIGHEST = 0, 254
"""Positions an AI motor or wCK accepts in its 8-bit form."""


class Guard:
    """Keeps every command finite, inside 0..254 and within its motor's limit of the measured position.

    `limits` holds one number of ticks per motor, or None for no limit. The guard never slews: a large delta is normal
    in servo delta control. `interventions` counts the commands it had to change, per motor.
    """

    def __init__(self, limits: Sequence[int | None]) -> None:
        self._limits: list[int] = []
        self.set_limits(limits)
        self.interventions = [0] * len(limits)

    def set_limits(self, limits: Sequence[int | None]) -> None:
        """Keep other limits from now on."""
        self._limits = [HIGHEST if limit is None else limit for limit in limits]

    def pass_on(self, motor: int, command: float, measured: int) -> int:
        """Return the position to send for `command` ticks: READ_ONLY when the command is no number."""
        if command - command != 0.0:
            self.interventions[motor] += 1
            return READ_ONLY
        limit = self._limits[motor]
        low = measured - limit
        high = measured + limit
        low = max(low, LOWEST)
        high = min(high, HIGHEST)
        goal = round(command)
        if low <= goal <= high:
            return goal
        self.interventions[motor] += 1
        return low if goal < low else high
