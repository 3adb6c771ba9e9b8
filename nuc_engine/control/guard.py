"""The guard: the last step before the codec. It returns what is really sent."""

from __future__ import annotations

from collections.abc import Sequence

from drivers.bus import READ_ONLY

AI_POSITIONS = (0, 254)
"""Positions an AI motor or wCK accepts in its 8-bit form."""


class Guard:
    """Keeps every command finite, inside what its motor can be sent to, and within a limit of the measured position.

    `limits` holds one number of the motor's own ticks per motor, or None for no limit; `positions` the lowest and
    highest raw position of each, those of AI motors where it is not given. The guard never slews: a large delta is
    normal in servo delta control. `interventions` counts the commands it had to change, per motor.
    """

    def __init__(self, limits: Sequence[int | None], positions: Sequence[tuple[int, int]] | None = None) -> None:
        self._ranges = list(positions) if positions is not None else [AI_POSITIONS] * len(limits)
        self._limits: list[int] = []
        self.set_limits(limits)
        self.interventions = [0] * len(limits)

    def set_limits(self, limits: Sequence[int | None]) -> None:
        """Keep other limits from now on."""
        pairs = zip(limits, self._ranges, strict=True)
        self._limits = [high - low if limit is None else limit for limit, (low, high) in pairs]

    def pass_on(self, motor: int, command: float, measured: int) -> int:
        """Return the position to send for `command` ticks: READ_ONLY when the command is no number."""
        if command - command != 0.0:
            self.interventions[motor] += 1
            return READ_ONLY
        limit = self._limits[motor]
        lowest, highest = self._ranges[motor]
        goal = round(command)
        if lowest <= goal <= highest and -limit <= goal - measured <= limit:
            return goal
        self.interventions[motor] += 1
        low, high = max(measured - limit, lowest), min(measured + limit, highest)
        return low if goal < low else high
