"""Soft switching: degrees of truth of rules, and the weights of a joint's actions (D 4.2.2.2; docs/acting.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from nuc_engine.verify.rules import Tree, late_of


def degree(
    tree: Tree,
    value: Callable[[int, int], float],
    rules: Mapping[int, Tree],
    widths: Mapping[int, float],
    late: int = 0,
) -> float:
    """Return how true a rule is, 0 to 1, so many microseconds ago; `widths` are those of comparisons, by HDSO."""
    if isinstance(tree, int) or tree[0] == "@":
        number, own = late_of(tree)
        if number in rules:
            return degree(rules[number], value, rules, widths, late + own)
        return float(value(number, late + own) != 0)
    symbol, terms = tree
    if symbol in "&|":
        degrees = [degree(term, value, rules, widths, late) for term in terms]
        return min(degrees) if symbol == "&" else max(degrees)
    operands = [late_of(term) for term in terms]
    left, right = (value(number, late + own) for number, own in operands)
    above = right - left if symbol == "<" else left - right
    width = next((widths[number] for number, _ in operands if number in widths), 0.0)
    if not width > 0.0:
        return float(left < right if symbol == "<" else left > right)
    # What is no number is true of nothing.
    return min(max(0.5 + above / width, 0.0), 1.0) if not math.isnan(above) else 0.0


def moved(weights: Mapping[int, float], degrees: Mapping[int, float], current: int, *, kept: bool) -> dict[int, float]:
    """Return the weights that follow: as far as claims want, from what is above its claim.

    The current one loses nothing where it is `kept`; of rules that are wholly true one has everything. Which of two
    weights that are equal leads is decided by the last bit, so that the order of arithmetic is part of the law.
    """
    true = [state for state, value in degrees.items() if value == 1.0]
    if len(true) > 1:
        first = next(state for state in true if state != current)
        degrees = {state: float(state == first) for state in degrees}
    total = max(math.fsum(degrees.values()), 1.0)
    claims = {state: value / total for state, value in degrees.items()}
    if kept:
        own = max(claims.pop(current), weights[current])
        fit = min(1.0, (1.0 - own) / (math.fsum([*claims.values(), own]) - own or 1.0))
        claims = {state: own if state == current else claims[state] * fit for state in weights}
    most = {state: max(weight, claims[state]) for state, weight in weights.items()}
    too_much = math.fsum(most.values()) - 1.0
    if not too_much > 0.0:
        return dict(weights)
    spare = math.fsum(most.values()) - math.fsum(claims.values())
    if not spare > too_much:
        return claims
    return {state: most[state] - too_much / spare * (most[state] - claims[state]) for state in weights}
