"""Modules that switch, signals about actions, and what follows controls (D 4.4.1, 9.4.1, 9.5.2.6; docs/acting.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from nuc_engine.verify.store import INTEGERS, Cell, Store

OF_ACTIONS = frozenset({"state", "action", "time_in_action", "decay", "switching", "weight"})
"""Types of the signals that are about actions."""


@dataclass(frozen=True, slots=True)
class ActionDescribed:
    """A signal about the actions of a joint or module, or (`state` not -1) about one state, as its element has it.

    `switch` counts modules after all joints, `state` all states; `rate` is what lets a decay's time pass.
    """

    number: int
    kind: str
    switch: int
    state: int
    shape: str
    sensory: bool
    rate: int | None
    parameters: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class ControlDescribed:
    """A control, and its maps: of each the element that follows, and places and values in turn."""

    number: int
    maps: tuple[tuple[Cell, tuple[float, ...]], ...]

    def lead(self, store: Store) -> None:
        """Let what follows be where the control is; nothing where that has no value."""
        if self.number not in store.given:
            return
        at = float(store.held[self.number][0])
        for (number, element), points in self.maps:
            hdso, value = store.hdsos[number], _on_lines(points, at)
            values = store.held[number][:]
            values[element] = round(value) if hdso.datatype in INTEGERS else value
            store.write(number, values)


def _on_lines(points: Sequence[float], at: float) -> float:
    places, values = points[::2], points[1::2]
    if at >= places[-1]:
        return values[-1]
    for (a, b), (low, high) in zip(pairwise(places), pairwise(values), strict=True):
        if at < b:
            return low if at <= a else low + (at - a) / (b - a) * (high - low)
    return values[-1]


@dataclass(slots=True)
class Switching:
    """A joint or a module, and its states by their places among all; `forced`: it was entered by a central rule.

    `weights` say how much of each state is done: of all but the current one nothing, unless it switches softly.
    """

    name: str
    states: tuple[int, ...]
    current: int
    entered_ns: int = 0
    forced: bool = False
    switches: int = 0
    weights: dict[int, float] = field(init=False)

    def __post_init__(self) -> None:
        self.give(self.current)

    def give(self, whole: int) -> None:
        """Let one state have everything."""
        self.weights = {state: float(state == whole) for state in self.states}

    def enter(self, state: int, now_ns: int, *, forced: bool) -> None:
        """Let another state be the current one."""
        self.current, self.entered_ns, self.forced = state, now_ns, forced
        self.switches += 1


class OfActions:
    """All signals about actions; `feel` takes what is computed, `numbers` are the idNums of states."""

    def __init__(
        self,
        described: Sequence[ActionDescribed],
        switches: Sequence[Switching],
        numbers: Sequence[int],
        store: Store,
        feel: Callable[[int, float], None],
    ) -> None:
        self.store, self.feel, self.numbers = store, feel, numbers
        self.all = [_OfAction(each, switches[each.switch]) for each in _ordered(described)]

    def compute(self, now_ns: int) -> None:
        """Compute all of an evaluation: of the actions as the one before it left them."""
        for signal in self.all:
            own, held = signal.described, self.store.held
            p = [float(held[number][k]) for number, k in own.parameters]
            rate = None if own.rate is None else float(held[own.rate][0])
            self.feel(own.number, signal.value(now_ns, p, rate, self.numbers))


def _ordered(described: Sequence[ActionDescribed]) -> list[ActionDescribed]:
    """Return signals so that a decay comes after the signal that lets its time pass."""
    left, found = list(described), list[ActionDescribed]()
    while left:
        waiting = {each.number for each in left}
        ready = [each for each in left if each.rate not in waiting] or left
        found += ready
        left = [each for each in left if each not in ready]
    return found


class _OfAction:
    """One signal with what it remembers: how far its time has come, or how much it counts."""

    def __init__(self, described: ActionDescribed, switch: Switching) -> None:
        self.described, self.switch = described, switch
        self.time_ns = 0
        self.passed = self.pace = self.level = 0.0
        self.seen = 0

    def value(self, now_ns: int, p: Sequence[float], rate: float | None, numbers: Sequence[int]) -> float:
        """Return what it is at an evaluation."""
        kind, switch = self.described.kind, self.switch
        if kind == "state":
            return float(switch.current == self.described.state)
        if kind == "weight":
            return switch.weights[self.described.state]
        if kind == "action":
            return float(numbers[switch.current])
        if kind == "time_in_action":
            return (now_ns - switch.entered_ns) * 1e-9
        past = (now_ns - self.time_ns) * 1e-9
        self.time_ns = now_ns
        anew, self.seen = switch.switches != self.seen, switch.switches
        return self._decay(now_ns, past, p, rate, anew=anew) if kind == "decay" else self._rate(past, p[0], anew=anew)

    def _decay(self, now_ns: int, past: float, p: Sequence[float], rate: float | None, *, anew: bool) -> float:
        # What was entered was so at the evaluation before: all that has passed since counts.
        self.passed = (0.0 if anew else self.passed) + self.pace * past
        self.pace = max(0.0, rate or 0.0)
        t = self.passed if rate is not None else (now_ns - self.switch.entered_ns) * 1e-9
        if not p[0] > 0.0:
            return 0.0
        if self.described.shape == "linear":
            return max(0.0, 1.0 - t / p[0])
        return math.exp(-t / p[0]) if self.described.shape == "exponential" else (1.0 + t / p[0]) ** -p[1]

    def _rate(self, past: float, tau: float, *, anew: bool) -> float:
        """Return switches per second: each adds 1/tau when it is made, and all of it leaks."""
        if not tau > 0.0:
            self.level = 0.0
            return 0.0
        counts = anew and not (self.described.sensory and self.switch.forced)
        self.level = (self.level + counts / tau) * math.exp(-past / tau)
        return self.level
