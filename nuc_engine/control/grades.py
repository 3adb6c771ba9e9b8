"""Degrees of truth of entry rules, for modules whose actions are blended (section 4.2.2.2, figure 4-9).

A comparison goes from 0 to 1 on a straight line as wide as its width, and is 1/2 where both sides are equal; of width 0
it is 0 or 1. `&` is the least of its terms, `|` the greatest; a rule inside a rule has its own degree.
"""

from __future__ import annotations

from collections.abc import Callable

from nuc_engine.control.rulebook import Rulebook
from nuc_engine.model.plan import Slot, SoftPlan
from nuc_engine.model.store import BufferView, Store
from sccils_schemas.rules import And, Inequality, Rule, Variable, shifted

Grade = Callable[[], float]


class Grades:
    """How true the rules in force are to one module, by its widths. Rules and widths may change at any time."""

    def __init__(self, store: Store, rulebook: Rulebook, soft: SoftPlan) -> None:
        self._rulebook = rulebook
        self._widths: dict[int, tuple[BufferView, int]] = {index: store.locate(slot) for index, slot in soft.widths}
        self._bound: dict[tuple[int, int], Grade] = {}
        self._swaps = -1

    def degree(self, rule: int, delay_us: int = 0) -> float:
        """Return how true a rule's HDSO is now, or was so long ago: 0 to 1; 0 of one that has no rule."""
        if self._swaps != self._rulebook.swaps:
            # What operands with a delay are read from goes with the rules that are in force.
            self._swaps = self._rulebook.swaps
            self._bound.clear()
        key = (rule, delay_us)
        grade = self._bound.get(key)
        if grade is None:
            tree = self._rulebook.trees.get(rule)
            grade = _never if tree is None else self._bind(shifted(tree, delay_us) if delay_us else tree)
            self._bound[key] = grade
        return grade()

    def _bind(self, rule: Rule) -> Grade:
        if isinstance(rule, Inequality):
            return self._comparison(rule)
        if isinstance(rule, Variable):
            return self._variable(rule)
        terms = [self._bind(term) for term in rule.terms]
        if isinstance(rule, And):
            return lambda: min([term() for term in terms])
        return lambda: max([term() for term in terms])

    def _comparison(self, rule: Inequality) -> Grade:
        less, more = (rule.left, rule.right) if rule.op == "<" else (rule.right, rule.left)
        a, i = self._locate(less)
        b, j = self._locate(more)
        sides = [self._index(rule.left), self._index(rule.right)]
        widths = [self._widths[index] for index in sides if index in self._widths]
        if not widths:
            return lambda: 1.0 if a[i] < b[j] else 0.0
        width, k = widths[0]
        return lambda: _ramp(b[j] - a[i], width[k])

    def _variable(self, rule: Variable) -> Grade:
        index, delay_us = self._index(rule), rule.delay_us
        if self._rulebook.hdso(rule.ref).kind == "boolstring":
            return lambda: self.degree(index, delay_us)
        view, at = self._locate(rule)
        return lambda: 1.0 if view[at] != 0 else 0.0

    def _index(self, operand: Variable) -> int:
        return self._rulebook.hdso(operand.ref).index

    def _locate(self, operand: Variable) -> tuple[BufferView, int]:
        return self._rulebook.delays.locate(Slot(self._index(operand), delay_us=operand.delay_us))


def _ramp(above: float, width: float) -> float:
    """Return how true it is that something is above 0 by this much; what is no number is above nothing."""
    if not width > 0.0:
        return 1.0 if above > 0.0 else 0.0
    degree = above / width + 0.5
    if not degree > 0.0:
        return 0.0
    return min(degree, 1.0)


def _never() -> float:
    return 0.0
