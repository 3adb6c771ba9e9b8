"""Signals: sensors that blocks compute (D 9.2.2.8; docs/chapter9.md), by their equations."""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nuc_engine.verify.servos import Unverifiable
from nuc_engine.verify.store import Cell, Store

LIMITS: Mapping[str, tuple[tuple[float, float], ...]] = {
    **dict.fromkeys(("derivative", "integral", "lowpass", "highpass"), ((0.0, math.inf),)),
    "ratelimit": ((0.0, math.inf), (0.0, math.inf)),
    "noise": ((0.0, math.inf), (0.0, math.inf)),
    "delay": ((0.0, 60.0), (0.0, 60.0)),
    "decay": ((0.0, math.inf), (0.0, math.inf)),
    "switching": ((0.0, math.inf),),
}
"""What the parameters of blocks may be, whatever their ranges say."""
SMOOTHING = ((0.0, 1.0),)
"""The same of a low-pass that counts samples."""
LONGEST_NS = 60_000_000_000


@dataclass(frozen=True, slots=True)
class Described:
    """A signal as its element has it; `motors` are those whose sensors it takes, by index, none for every one."""

    number: int
    name: str
    kind: str
    inputs: tuple[int, ...]
    parameters: tuple[tuple[Cell, ...], ...]
    per_sample: bool

    @property
    def limits(self) -> tuple[tuple[float, float], ...]:
        """Return what its parameters may be."""
        return SMOOTHING if self.kind == "lowpass" and self.per_sample else LIMITS.get(self.kind, ())


def ordered(signals: Sequence[Described]) -> list[Described]:
    """Return signals so that each comes after those that it takes; which way does not matter to what they are."""
    numbers, found = {signal.number for signal in signals}, list[Described]()
    while len(found) < len(signals):
        there = {signal.number for signal in found}
        more = [s for s in signals if s.number not in there and not (set(s.inputs) & numbers) - there]
        if not more:
            raise Unverifiable("sensors.xml: signals that depend on themselves")
        found += more
    return found


class Signals:
    """All signals of a leg. `motors` has the motor of each sensor of one; `feel` takes what is computed."""

    def __init__(
        self,
        described: Sequence[Described],
        motors: Mapping[int, int],
        sensors: set[int],
        store: Store,
        feel: Callable[[int, float], None],
        seed: int,
    ) -> None:
        self.store, self.feel = store, feel
        self.all = [_Signal(each, seed) for each in ordered(described)]
        self.motors, self.sensors = motors, sensors

    def compute(self, stamps: Sequence[int], unfiltered: Sequence[float]) -> None:
        """Compute every signal that has a new sample; `unfiltered` are the motors' loads before their filter."""
        times: dict[int, int] = {number: stamps[motor] for number, motor in self.motors.items()}
        for signal in self.all:
            own = signal.described
            # A sensor that neither a motor nor a block gives its value may change with any exchange.
            when = [times.get(number, max(stamps)) for number in own.inputs if number in self.sensors]
            time_ns = times[own.number] = max(when, default=max(stamps))
            if time_ns == signal.time_ns:
                continue
            x = [float(self.store.held[number][0]) for number in own.inputs]
            if own.kind == "rawload":
                x = [unfiltered[self.motors[own.inputs[0]]]]
            p = [[float(self.store.held[n][k]) for n, k in cells] for cells in own.parameters]
            try:
                value = signal.output(time_ns, x, p)
            except (ArithmeticError, ValueError):
                value = math.nan
            signal.time_ns = time_ns
            self.feel(own.number, value)


class _Signal:
    """One signal with what it remembers."""

    def __init__(self, described: Described, seed: int) -> None:
        self.described = described
        self.time_ns = -1
        self.x = self.y = 0.0
        self.past: list[tuple[int, float]] = []
        self.outputs: list[float] = []
        sum_ = int.from_bytes(hashlib.sha256(described.name.encode()).digest()[:16], "little")
        draws: Callable[[], float] = np.random.default_rng(np.random.SeedSequence([seed, sum_])).standard_normal
        self.draw = draws

    def output(self, time_ns: int, x: Sequence[float], p: Sequence[Sequence[float]]) -> float:
        """Return what comes out at this sample."""
        first, passed = self.time_ns < 0, (time_ns - self.time_ns) * 1e-9
        kind, one = self.described.kind, [values[0] for values in p]
        if kind in AT_ONCE:
            return AT_ONCE[kind](x, p)
        if kind == "iir":
            return self._recursive(x[0], p[0], p[1], first=first)
        if kind == "delay":
            return self._late(time_ns, x[0], one, first=first)
        if kind == "noise":
            return self._noise(x, one, passed, first=first)
        if kind == "ratelimit":
            fall = one[1] if len(one) > 1 else one[0]
            low, high = self.y - fall * passed, self.y + one[0] * passed
            self.y = x[0] if first else min(max(x[0], low), high)
            return self.y
        return self._in_time(x[0], one, passed, first=first)

    def _in_time(self, x: float, one: Sequence[float], passed: float, *, first: bool) -> float:
        """Return the exact answer to straight lines from sample to sample."""
        kind, before = self.described.kind, self.x
        self.x = x
        if kind == "lowpass" and self.described.per_sample:
            self.y = x if first else one[0] * x + (1.0 - one[0]) * self.y
            return self.y
        if kind == "lowpass":
            self.y = x if first else _settled(self.y, before, x, passed, one[0])
            return self.y
        if first:
            return 0.0
        if kind == "highpass":
            # The answer to a ramp begins with its slope times what has passed, and dies away.
            r = passed / one[0] if one[0] > 0.0 else math.inf
            gone = -math.expm1(-r)
            self.y = self.y * math.exp(-r) + (x - before) * gone / r if r < math.inf else 0.0
        elif kind == "derivative":
            slope = (x - before) / passed
            kept = math.exp(-passed / one[0]) if one and one[0] > 0.0 else 0.0
            self.y = kept * self.y + (1.0 - kept) * slope
        elif not one:
            self.y += (before + x) / 2.0 * passed
        else:
            self.y = one[0] * _settled(self.y / one[0], before, x, passed, one[0]) if one[0] > 0.0 else 0.0
        return self.y

    def _recursive(self, x: float, b: Sequence[float], a: Sequence[float], *, first: bool) -> float:
        """Return a0 y[n] = sum of b x - sum of a y over what is behind; at rest before the first sample."""
        size = max(len(a), len(b))
        if first:
            rest = math.fsum(a)
            self.past = [(0, x if rest else 0.0)] * size
            self.outputs = [x * math.fsum(b) / rest if rest else 0.0] * size
        self.past = [(0, x), *self.past[: size - 1]]
        total = sum(k * v for k, (_, v) in zip(b, self.past, strict=False))
        y = (total - sum(k * v for k, v in zip(a[1:], self.outputs, strict=False))) / a[0]
        self.outputs = [y, *self.outputs[: size - 1]]
        return y

    def _late(self, time_ns: int, x: float, one: Sequence[float], *, first: bool) -> float:
        """Return what was there so long ago; with jitter each sample has a delay of its own, and none overtakes."""
        if len(one) == 1:
            self.past.append((time_ns, x))
            at = bisect_right(self.past, time_ns - round(1e9 * one[0]), key=lambda item: item[0]) - 1
            return self.past[max(at, 0)][1]
        self.y = x if first else self.y
        late = min(max(round(1e9 * (one[0] + one[1] * self.draw())), 0), LONGEST_NS)
        self.past.append((max(time_ns + late, self.past[-1][0] if self.past else 0), x))
        at = bisect_right(self.past, time_ns, key=lambda item: item[0])
        self.y = self.past[at - 1][1] if at else self.y
        # The last one that has come stays, so that none that follows comes before it.
        self.past = self.past[max(at - 1, 0) :]
        return self.y

    def _noise(self, x: Sequence[float], one: Sequence[float], passed: float, *, first: bool) -> float:
        tau = one[1] if len(one) > 1 else 0.0
        kept = 0.0 if first or not tau > 0.0 else math.exp(-passed / tau)
        self.y = kept * self.y + math.sqrt(1.0 - kept**2) * self.draw()
        return sum(x) + one[0] * self.y


def _settled(y: float, before: float, after: float, passed: float, tau: float) -> float:
    """Return where tau y' = x - y leads while x goes straight from one value to the other."""
    if not tau > 0.0:
        return after
    r = passed / tau
    gone = -math.expm1(-r)
    # Of x = before + slope t: the ramp, late by its time constant, and what is left of the difference to it.
    lag = (after - before) * (1.0 - gone / r)
    return y + (before - y) * gone + lag


def _between(x: float, places: Sequence[float], values: Sequence[float]) -> float:
    if not x > places[0]:
        return values[0]
    for (a, b), (low, high) in zip(pairwise(places), pairwise(values), strict=True):
        if x < b:
            return low + (x - a) / (b - a) * (high - low)
    return values[-1]


AT_ONCE: Mapping[str, Callable[[Sequence[float], Sequence[Sequence[float]]], float]] = {
    "sum": lambda x, p: sum((a * b for a, b in zip(x, p[0], strict=True)), 0.0) if p else sum(x, 0.0),
    "product": lambda x, _: math.prod(x),
    "gain": lambda x, p: p[0][0] * x[0] + (p[1][0] if len(p) > 1 else 0.0),
    "threshold": lambda x, p: float(x[0] > p[0][0]),
    "abs": lambda x, _: abs(x[0]),
    "min": lambda x, _: min(x),
    "max": lambda x, _: max(x),
    "rawload": lambda x, _: x[0],
    "table": lambda x, p: _between(x[0], p[0], p[1]),
}
"""Blocks that remember nothing."""
