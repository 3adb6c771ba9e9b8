"""Asks about a leg that loses the ground: whether it searches, unlike walking, until it has ground again (9.3.2.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from nuc_engine.analysis.tracks import FloatArray, JointRole
from nuc_engine.experiments.catalogue.asks import Found, Question, Starts, judged_span, windows_of
from nuc_engine.experiments.protocol import Observation, Observations

_RATE_HZ = 100.0
_FASTEST_HZ = 5.0
_CYCLES = 3
"""Fewer in a stretch of time are no rhythm."""
_SAME_RATE = 0.1
_ROLES: tuple[JointRole, ...] = ("ThC", "CTr", "FTi")


class StepsBefore(Starts, kw_only=True, tag="steps before"):
    """Whether the leg steps, in whatever cycle, in all windows before; else it is a failed start."""

    kind: str = ""

    def look(self, seen: Observations) -> Found:
        """Return a reason for every window before in which it does not."""
        return Found(
            tuple(
                f"{name}: {one.outcomes[name].kind}, expected a stepping cycle"
                for one in self.of(seen)
                for name in windows_of(one.plan, "before")
                if not one.outcomes[name].cyclic
            )
        )


class StepsAgain(Question, kw_only=True, tag="steps again"):
    """Whether a window is called what the windows before are."""

    def look(self, seen: Observations) -> Found:
        """Return a reason where it is not."""
        return Found(
            tuple(
                f"{name}: {one.outcomes[name].kind}, expected {', '.join(sorted(before))} as before"
                for one, name in self.places(seen)
                for before in [{one.outcomes[own].kind for own in windows_of(one.plan, "before")}]
                if one.outcomes[name].kind not in before
            )
        )


@dataclass(frozen=True, slots=True)
class Swinging:
    """What a joint does in a stretch of time: how far it moves (deg), how often, and how much of it is that rhythm."""

    range_deg: float
    rate_hz: float
    purity: float
    wave: complex


class Searches(Question, kw_only=True, tag="searches"):
    """Whether a leg searches in a window: at least two joints swing widely, and not as in walking, which `walking` is.

    A joint swings where it covers `range_deg`, and what is near its commonest rate, of at least three cycles, holds
    `purity` of its variance or more. Not as in walking: that rate is another by `rate_share`, and the phase between the
    first two joints that swing at one rate, in both windows, is another by `phase` of a cycle.
    """

    walking: str
    range_deg: float = 10.0
    purity: float = 0.3
    rate_share: float = 0.2
    phase: float = 0.2

    def look(self, seen: Observations) -> Found:
        """Return how each joint moves, and what speaks against a search."""
        one = self.one(seen)
        (air,) = self.windows
        there = _joints(one, *judged_span(one.plan, air))
        walk = _joints(one, *judged_span(one.plan, self.walking))
        numbers = {f"{role}: range in the air (deg)": own.range_deg for role, own in there.items()}
        swing: list[JointRole] = [
            role for role, own in there.items() if own.range_deg >= self.range_deg and own.purity >= self.purity
        ]
        pairs = [pair for pair in combinations(swing, 2) if _together(there, pair) and _together(walk, pair)]
        if not pairs:
            found = " and ".join(swing) or "no joint"
            return Found((f"in the air {found} swings by {self.range_deg:g} degrees, expected two together",), numbers)
        first, second = pairs[0]
        rate = there[first].rate_hz / walk[first].rate_hz
        shift = abs(_phase(there[second], there[first]) - _phase(walk[second], walk[first])) % 1.0
        shift = min(shift, 1.0 - shift)
        numbers |= {"rate in the air beside walking": rate, "phase in the air beside walking (cycles)": shift}
        reasons: list[str] = []
        if abs(math.log(rate)) < math.log1p(self.rate_share):
            reasons.append(f"in the air {rate:.2f} of the rate of walking, expected another by {self.rate_share:.0%}")
        if shift < self.phase:
            reasons.append(
                f"{second} to {first} {shift:.2f} cycles from where it is in walking, expected {self.phase:g} or more"
            )
        return Found(tuple(reasons), numbers)


def _joints(one: Observation, begin_s: float, end_s: float) -> dict[JointRole, Swinging]:
    return {role: swinging(one, role, begin_s, end_s) for role in _ROLES}


def _together(joints: Mapping[JointRole, Swinging], pair: Sequence[JointRole]) -> bool:
    """Say whether two joints swing at one rate."""
    one, other = (joints[role].rate_hz for role in pair)
    return abs(math.log(one / other)) < math.log1p(_SAME_RATE)


def swinging(one: Observation, role: JointRole, begin_s: float, end_s: float) -> Swinging:
    """Return what a joint does in [begin_s, end_s]."""
    times_s = np.arange(begin_s, end_s, 1 / _RATE_HZ)
    angle = np.interp(times_s, one.leg.t_sensor_s, one.leg.module(role).angle_deg)
    low, high = np.percentile(angle, [5, 95])
    rates_hz: FloatArray = np.arange(_CYCLES / (end_s - begin_s), _FASTEST_HZ, 0.01)
    drift = np.polynomial.Polynomial.fit(times_s, angle, 1)(times_s)
    around = (angle - drift) * np.hanning(len(angle))
    waves = np.exp(-2j * math.pi * np.outer(rates_hz, times_s)) @ around
    power = np.abs(waves) ** 2
    top = int(np.argmax(power))
    total = float(power.sum())
    near = power[np.abs(rates_hz - rates_hz[top]) <= 1 / (end_s - begin_s)].sum()
    return Swinging(float(high - low), float(rates_hz[top]), float(near / total) if total else 0.0, complex(waves[top]))


def _phase(one: Swinging, other: Swinging) -> float:
    """Return by how much of a cycle one joint is before another."""
    return float(np.angle(one.wave) - np.angle(other.wave)) / (2 * math.pi)
