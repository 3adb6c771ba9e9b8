"""The ground as a stage below the leg: it can be pulled away at once, and comes back slowly.

A stage that came back at once would stand inside a foot that had sunk, and throw the leg.
"""

from __future__ import annotations

RISES_M_S = 0.2
"""How fast the ground comes up. Assumed: a stage driven by a motor or a hand."""

_FAR_BELOW_M = 1000.0


class MovingGround:
    """The ground: `place_m` is the height (m) of its surface, `base_z_m` that of the leg's first joint."""

    def __init__(self, base_z_m: float, below_m: float) -> None:
        self._base_z_m, self._below_m, self._present = base_z_m, below_m, True
        self.place_m = self._goal_m

    @property
    def _goal_m(self) -> float:
        return self._base_z_m - (self._below_m if self._present else _FAR_BELOW_M)

    @property
    def rises(self) -> bool:
        """Whether it is still on its way up."""
        return self.place_m < self._goal_m

    def go(self, *, below_m: float | None = None, present: bool | None = None, foot_m: float) -> None:
        """Set out for another height below the first joint, away, or back: down at once, and up from below the foot.

        `foot_m` is the height of the foot's lowest point: from where the ground is far below, it comes up to there in
        no time.
        """
        self._below_m = self._below_m if below_m is None else below_m
        self._present = self._present if present is None else present
        if self._goal_m <= self.place_m:
            self.place_m = self._goal_m
        else:
            self.place_m = min(self._goal_m, max(self.place_m, foot_m))

    def rise(self, seconds: float) -> None:
        """Come up for so long."""
        self.place_m = min(self._goal_m, self.place_m + RISES_M_S * seconds)
