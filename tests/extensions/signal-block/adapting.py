"""A block of signal processing: a receptor that adapts, so that what stays is felt less and less."""

from collections.abc import Sequence
from math import exp


class Adapting:
    """One for each signal of this block."""

    def __init__(self) -> None:
        self._used_to = 0.0

    def __call__(self, inputs: Sequence[float], parameters: Sequence[Sequence[float]], elapsed_s: float) -> float:
        """Return how far the input is from what the receptor has got used to; at the first sample that is 0."""
        ((x,), ((tau_s,),)) = inputs, parameters
        self._used_to = x + (self._used_to - x) * exp(-elapsed_s / tau_s)
        return x - self._used_to
