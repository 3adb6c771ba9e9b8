"""Blocks of signal processing (section 9.2.2.8): what each computes of its inputs, at each of their samples.

A block is computed when one of its inputs has a new sample, at the time of the newest. Continuous blocks take the time
that has passed since the one before; between two samples the input is taken to have gone straight from one to the
other (first-order hold), and for that input their outputs are exact, whatever the intervals. Blocks that are
declared `per_sample` count samples. The first sample finds a block at rest, as if the input had always been that.
"""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from nuc_engine.control.delay_line import LONGEST_NS, DelayLine
from nuc_engine.model.extensions import find_extension
from nuc_engine.model.plan import SignalPlan
from nuc_engine.model.store import BufferView, Store

LIVE_SEED = 0
"""What noise is drawn from beside a real leg, where bouts have no seed."""

Cells = Sequence[tuple[BufferView, int]]


class SignalBlock:
    """One block with the cells of what it takes: `view` is of its first input, `held` of its first parameter."""

    def __init__(self, plan: SignalPlan, store: Store, seed: int) -> None:
        self.inputs: Cells = [store.locate(slot) for slot in plan.inputs]
        self.parameters: Sequence[Cells] = [[store.locate(slot) for slot in slots] for slots in plan.parameters]
        self.name, self.seed = plan.name, seed
        self.view, self.place = self.inputs[0] if self.inputs else store.locate(plan.output)
        self.held, self.held_at = self.parameters[0][0] if self.parameters else (self.view, self.place)
        self.x = self.y = 0.0
        self.prepare()

    def prepare(self) -> None:
        """Find what is used at every sample."""

    def number(self, which: int, otherwise: float = 0.0) -> float:
        """Return a parameter's value now, or what it is where the block has no such parameter."""
        if which >= len(self.parameters):
            return otherwise
        view, at = self.parameters[which][0]
        return float(view[at])

    def numbers(self, which: int) -> list[float]:
        """Return all values of a parameter now."""
        return [float(view[at]) for view, at in self.parameters[which]]

    def begin(self, time_ns: int) -> float:
        """Take the first sample; return the output."""
        return self.step(time_ns, 0)

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Take a sample, so long after the one before; return the output."""
        raise NotImplementedError


class Sum(SignalBlock):
    """The sum of the inputs, each times its weight where there are weights."""

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return it."""
        if self.parameters:
            total = 0.0
            for (view, at), (weights, place) in zip(self.inputs, self.parameters[0], strict=True):
                total += view[at] * weights[place]
            return total
        total = 0.0
        for view, at in self.inputs:
            total += view[at]
        return total


class Product(SignalBlock):
    """The product of the inputs."""

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return it."""
        product = 1.0
        for view, at in self.inputs:
            product *= view[at]
        return product


class Gain(SignalBlock):
    """gain x input + offset."""

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return it."""
        gain, x = self.held[self.held_at], self.view[self.place]
        return gain * x + self.number(1) if len(self.parameters) > 1 else gain * x


class Threshold(SignalBlock):
    """1 while the input is above the threshold, else 0."""

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return it."""
        return 1.0 if self.view[self.place] > self.held[self.held_at] else 0.0


class Magnitude(SignalBlock):
    """The input without its sign."""

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return it."""
        return abs(self.view[self.place])


class Least(SignalBlock):
    """The smallest of the inputs."""

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return it."""
        return min([float(view[at]) for view, at in self.inputs])


class Greatest(SignalBlock):
    """The largest of the inputs."""

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return it."""
        return max([float(view[at]) for view, at in self.inputs])


class Derivative(SignalBlock):
    """The rate of change in 1/s, through a low-pass where there is a time constant: tau y' + y = x'."""

    def begin(self, time_ns: int) -> float:
        """Take the first sample: nothing changes."""
        self.x, self.y = float(self.view[self.place]), 0.0
        return 0.0

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return it."""
        x: float = self.view[self.place]
        rate = (x - self.x) * 1e9 / elapsed_ns
        tau: float = self.held[self.held_at] if self.parameters else 0.0
        self.x = x
        self.y = rate + (self.y - rate) * math.exp(-1e-9 * elapsed_ns / tau) if tau > 0.0 else rate
        return self.y


class Integral(SignalBlock):
    """The integral over time in s since the first sample; with a time constant it leaks: y' = x - y / tau."""

    def begin(self, time_ns: int) -> float:
        """Take the first sample: nothing has come together."""
        self.x, self.y = float(self.view[self.place]), 0.0
        return 0.0

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return it."""
        x: float = self.view[self.place]
        elapsed = 1e-9 * elapsed_ns
        if len(self.parameters) == 0:
            self.y += 0.5 * (self.x + x) * elapsed
        else:
            tau: float = self.held[self.held_at]
            # Without any memory there is nothing: the limit of ever shorter time constants.
            self.y = tau * followed(self.y / tau, self.x, x, elapsed, tau) if tau > 0.0 else 0.0
        self.x = x
        return self.y


class LowPass(SignalBlock):
    """The input through a low-pass: tau y' + y = x."""

    def begin(self, time_ns: int) -> float:
        """Take the first sample."""
        self.x = self.y = float(self.view[self.place])
        return self.y

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return it."""
        x: float = self.view[self.place]
        self.y = followed(self.y, self.x, x, 1e-9 * elapsed_ns, self.held[self.held_at])
        self.x = x
        return self.y


class HighPass(SignalBlock):
    """The input less its low-pass: y' = x' - y / tau."""

    def begin(self, time_ns: int) -> float:
        """Take the first sample."""
        self.x, self.y = float(self.view[self.place]), 0.0
        return 0.0

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return it."""
        x: float = self.view[self.place]
        tau: float = self.held[self.held_at]
        # By itself, not as a difference, which would have lost its digits where little is left of it.
        if tau > 0.0:
            ratio = 1e-9 * elapsed_ns / tau
            self.y = math.exp(-ratio) * self.y - math.expm1(-ratio) / ratio * (x - self.x)
        else:
            self.y = 0.0
        self.x = x
        return self.y


class Smoothing(SignalBlock):
    """A low-pass that counts samples: weight x new + (1 - weight) x old, as equation 6-4 has it for loads."""

    def begin(self, time_ns: int) -> float:
        """Take the first sample."""
        self.y = float(self.view[self.place])
        return self.y

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return it."""
        weight: float = self.held[self.held_at]
        self.y = weight * self.view[self.place] + (1.0 - weight) * self.y
        return self.y


class Recursive(SignalBlock):
    """A general filter that counts samples: a0 y[n] = sum of b x - sum of a y, transposed direct form II.

    It begins as if the first sample had always been there; where such a filter is never at rest (a pole at 1), from 0.
    """

    def prepare(self) -> None:
        """Make room for what is remembered."""
        self.memory = [0.0] * max(len(self.parameters[0]), len(self.parameters[1]))

    def begin(self, time_ns: int) -> float:
        """Take the first sample."""
        b, a = self.coefficients()
        x, rest = float(self.view[self.place]), math.fsum(a)
        if rest != 0.0:
            y = x * math.fsum(b) / rest
            # At rest each memory is what its coefficients leave of the constant input and output, the last one first.
            for k in range(len(self.memory) - 2, -1, -1):
                self.memory[k] = self.memory[k + 1] + b[k + 1] * x - a[k + 1] * y
        return self.step(time_ns, 0)

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return the output."""
        b, a = self.coefficients()
        x, memory = float(self.view[self.place]), self.memory
        y = b[0] * x + memory[0]
        for k in range(len(memory) - 1):
            memory[k] = memory[k + 1] + b[k + 1] * x - a[k + 1] * y
        return y

    def coefficients(self) -> tuple[list[float], list[float]]:
        """Return numerator and denominator, equally long, by the first of the denominator."""
        b, a, size = self.numbers(0), self.numbers(1), len(self.memory)
        first = a[0]
        return (
            [item / first for item in b] + [0.0] * (size - len(b)),
            [item / first for item in a] + [0.0] * (size - len(a)),
        )


class RateLimit(SignalBlock):
    """Follows the input no faster than so much per second upwards, and so much downwards."""

    def begin(self, time_ns: int) -> float:
        """Take the first sample."""
        self.y = float(self.view[self.place])
        return self.y

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return it."""
        x, elapsed, rise = float(self.view[self.place]), 1e-9 * elapsed_ns, self.number(0)
        fall = self.number(1, rise)
        self.y = min(max(x, self.y - fall * elapsed), self.y + rise * elapsed)
        return self.y


class Noise(SignalBlock):
    """The input, if there is one, and noise: a draw a sample, or an Ornstein-Uhlenbeck process with a time constant.

    The draws are from the seed of the bout and the block's name, so that no other block changes them.
    """

    def prepare(self) -> None:
        """Seed it."""
        self.draw = draws_of(self.seed, self.name)

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return it."""
        deviation, tau, drawn = self.number(0), self.number(1), self.draw()
        kept = math.exp(-1e-9 * elapsed_ns / tau) if tau > 0.0 and elapsed_ns else 0.0
        # A process of this deviation for ever: what it keeps and what is new make up its variance.
        self.y = kept * self.y + math.sqrt(1.0 - kept * kept) * drawn
        noise = deviation * self.y
        return (self.view[self.place] if self.inputs else 0.0) + noise


class Delay(SignalBlock):
    """What the input was so long ago."""

    def prepare(self) -> None:
        """Make its line."""
        self.line = DelayLine()

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return it."""
        self.line.put(time_ns, self.view[self.place])
        return self.line.at(time_ns - round(1e9 * self.held[self.held_at]))


class Jitter(SignalBlock):
    """A delay that is drawn for each sample: none overtakes the one before it."""

    def prepare(self) -> None:
        """Seed it."""
        self.draw = draws_of(self.seed, self.name)
        self.ahead: deque[tuple[int, float]] = deque()
        self.latest_ns = 0

    def begin(self, time_ns: int) -> float:
        """Take the first sample: what comes before it has always been that."""
        self.y = float(self.view[self.place])
        return self.step(time_ns, 0)

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return what has arrived last."""
        delay_ns = round(1e9 * (self.number(0) + self.number(1) * self.draw()))
        self.latest_ns = max(self.latest_ns, time_ns + min(max(delay_ns, 0), LONGEST_NS))
        self.ahead.append((self.latest_ns, float(self.view[self.place])))
        while self.ahead and self.ahead[0][0] <= time_ns:
            self.y = self.ahead.popleft()[1]
        return self.y


class LookupTable(SignalBlock):
    """A table of places and values, straight lines in between; beyond its ends it stays as there."""

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return it."""
        x, places, values = float(self.view[self.place]), self.numbers(0), self.numbers(1)
        if not x > places[0]:
            return values[0]
        for k in range(1, len(places)):
            if x < places[k]:
                share = (x - places[k - 1]) / (places[k] - places[k - 1])
                return values[k - 1] + share * (values[k] - values[k - 1])
        return values[-1]


class Added(SignalBlock):
    """A block that was added to the engine: called with inputs, parameters, and the seconds since the last sample."""

    def __init__(self, plan: SignalPlan, store: Store, seed: int) -> None:
        super().__init__(plan, store, seed)
        found = find_extension("signals", plan.added)
        # A class has one for each signal: it may remember.
        self.call: Callable[..., float] = found() if isinstance(found, type) else found

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        """Return what it says."""
        inputs = [float(view[at]) for view, at in self.inputs]
        return float(self.call(inputs, [self.numbers(k) for k in range(len(self.parameters))], 1e-9 * elapsed_ns))


def draws_of(seed: int, name: str) -> Callable[[], float]:
    """Return what draws normal numbers for one block: none of another's, whatever blocks there are."""
    import numpy as np

    own = int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "little")
    drawn: Callable[[], float] = np.random.Generator(
        np.random.PCG64(np.random.SeedSequence([seed, own]))
    ).standard_normal
    return drawn


def followed(y: float, before: float, after: float, elapsed: float, tau: float) -> float:
    """Return what tau y' + y = x leads to while x goes straight from one value to the other in this time, exactly."""
    if not tau > 0.0:
        return after
    ratio = elapsed / tau
    kept = math.exp(-ratio)
    # (1 - e^-r) / r, the share of the way that is behind by the slope; expm1 keeps its digits for short intervals.
    share = -math.expm1(-ratio) / ratio if ratio > 0.0 else 1.0
    return kept * y + (share - kept) * before + (1.0 - share) * after


BLOCKS: Mapping[str, type[SignalBlock]] = MappingProxyType(
    {
        "sum": Sum,
        "product": Product,
        "gain": Gain,
        "threshold": Threshold,
        "abs": Magnitude,
        "min": Least,
        "max": Greatest,
        "derivative": Derivative,
        "integral": Integral,
        "lowpass": LowPass,
        "highpass": HighPass,
        "iir": Recursive,
        "ratelimit": RateLimit,
        "noise": Noise,
        "delay": Delay,
        "table": LookupTable,
        "other": Added,
    }
)
"""The blocks by their types. The load of a motor before its filter is not one: motor conversion has it."""


def make_block(plan: SignalPlan, store: Store, seed: int) -> SignalBlock:
    """Return the block of a signal. Raises PlanError where it was added and is not installed."""
    made: Any = Smoothing if plan.type == "lowpass" and plan.per_sample else BLOCKS[plan.type]
    if plan.type == "delay" and len(plan.parameters) > 1:
        made = Jitter
    return made(plan, store, seed)
