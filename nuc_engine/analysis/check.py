"""One condition of a verdict: a name, whether it holds, and a sentence with the number and its bound."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One condition. `name` is short and stable; `text` says what was measured and what was expected."""

    name: str
    ok: bool
    text: str


def at_least(name: str, value: float, bound: float, unit: str, what: str) -> Check:
    """Check value >= bound; a value that could not be measured (nan) fails."""
    return Check(name, value >= bound, _text(what, value, unit, "at least", bound))


def at_most(name: str, value: float, bound: float, unit: str, what: str) -> Check:
    """Check value <= bound; a value or bound that could not be measured (nan) fails."""
    return Check(name, value <= bound, _text(what, value, unit, "at most", bound))


def below(name: str, value: float, bound: float, unit: str, what: str) -> Check:
    """Check value < bound; a value that could not be measured (nan) fails."""
    return Check(name, value < bound, _text(what, value, unit, "below", bound))


def _text(what: str, value: float, unit: str, sense: str, bound: float) -> str:
    space = f" {unit}" if unit else ""
    measured = "not measurable" if math.isnan(value) else f"{value:.3g}{space}"
    needed = "a bound that only steps can give" if math.isnan(bound) else f"{bound:.3g}{space}"
    return f"{what}: {measured}, expected {sense} {needed}"
