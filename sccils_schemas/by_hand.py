"""What is done to a leg by hand, as entries of a script: added to SCCILS 0.1.

Every class mirrors one element. Times are seconds since engine start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal


def _line() -> int:
    return field(default=0, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class KickEntry:
    """`kick`: a push on the leg (N; x forward, y left, z up). What is not given is drawn from the bout's seed."""

    time_s: Decimal
    force_n: tuple[float, float, float] | None = None
    duration_s: Decimal | None = None
    line: int = _line()


@dataclass(frozen=True, slots=True)
class GroundEntry:
    """`ground`: the ground is taken away from under the leg, or put back."""

    time_s: Decimal
    present: bool
    line: int = _line()


@dataclass(frozen=True, slots=True)
class HeightEntry:
    """`height`: the first joint is this far above the ground from now on."""

    time_s: Decimal
    cm: float
    line: int = _line()


@dataclass(frozen=True, slots=True)
class LoadEntry:
    """`load`: a vertical force on the foot for a while; positive presses it down, negative unloads it."""

    time_s: Decimal
    newton: float
    duration_s: Decimal
    line: int = _line()


@dataclass(frozen=True, slots=True)
class DisconnectEntry:
    """`disconnect`: the leg below the motor of a joint is taken off by hand, which takes a while."""

    time_s: Decimal
    joint: str
    duration_s: Decimal
    line: int = _line()


@dataclass(frozen=True, slots=True)
class ReconnectEntry:
    """`reconnect`: what was taken off is put back, which takes a while."""

    time_s: Decimal
    duration_s: Decimal
    line: int = _line()


PlantEntry = KickEntry | GroundEntry | HeightEntry | LoadEntry | DisconnectEntry | ReconnectEntry
"""What is done to the leg by hand: it concerns the plant, and the engine never sees it."""
