"""How far rules reach into one another, and how far they may.

A rule may use other rules, these again others. Without a bound a few short rules could stand for more terms than a
computer can look at: eight rules of fifteen operands each, one inside the other, for two and a half thousand million.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from sccils_schemas.documents import Ref
from sccils_schemas.rules import Inequality, Rule, Variable

MAX_RULE_LEVELS = 8
"""Most levels of rules inside a rule; one that uses no other has none."""
MAX_RULE_TERMS = 1024
"""Most terms, comparisons and single HDSOs, of a rule with those of all rules inside it."""


@dataclass(frozen=True, slots=True)
class RuleParts:
    """What a rule is made of: how many of its terms are no rules, and the rules it uses, each as often as it does."""

    terms: int
    rules: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleExtent:
    """Levels of rules inside a rule, and its terms with those of all of them; terms are counted a little too far."""

    levels: int
    terms: int

    @property
    def fault(self) -> tuple[str, str] | None:
        """What is too much and what is allowed, or None."""
        if self.levels > MAX_RULE_LEVELS:
            return f"has {self.levels} levels of rules inside it", f"at most {MAX_RULE_LEVELS}"
        if self.terms > MAX_RULE_TERMS:
            what = f"has more than {MAX_RULE_TERMS} terms with those of the rules inside it"
            return what, f"at most {MAX_RULE_TERMS}"
        return None


def terms_of(rule: Rule) -> Iterator[Variable | Inequality]:
    """Return the terms of a rule, as often as they stand in it."""
    if isinstance(rule, Variable | Inequality):
        yield rule
        return
    for term in rule.terms:
        yield from terms_of(term)


def parts_of(rule: Rule, number: Callable[[Ref], int | None]) -> RuleParts:
    """Return the parts of a rule; `number` tells which rule a reference means, or None for what is no rule."""
    alone = [number(term.ref) if isinstance(term, Variable) else None for term in terms_of(rule)]
    used = tuple(rule for rule in alone if rule is not None)
    return RuleParts(len(alone) - len(used), used)


def reaches(rules: Mapping[int, RuleParts]) -> dict[int, RuleExtent]:
    """Return how far each rule reaches, except those that lead into a circle. A rule that is not there is one term."""
    users: dict[int, list[int]] = {}
    waiting: dict[int, int] = {}
    for number, parts in rules.items():
        used = {rule for rule in parts.rules if rule in rules}
        waiting[number] = len(used)
        for rule in used:
            users.setdefault(rule, []).append(number)
    found: dict[int, RuleExtent] = {}
    ready = [number for number, count in waiting.items() if not count]
    for number in ready:
        inner = [found.get(rule, RuleExtent(-1, 1)) for rule in rules[number].rules]
        terms = rules[number].terms + sum(reach.terms for reach in inner)
        levels = 1 + max((reach.levels for reach in inner), default=-1)
        found[number] = RuleExtent(levels, min(terms, MAX_RULE_TERMS + 1))
        for user in users.get(number, ()):
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    return found


def knots(rules: Mapping[int, RuleParts], starts: Iterable[int]) -> list[tuple[int, ...]]:
    """Return the knots that can be reached from some rules: rules that need one another's result, or their own.

    Every circle of rules lies within one knot. Each rule is walked over once (Tarjan 1972).
    """
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    way: list[int] = []
    closed: set[int] = set()
    found: list[tuple[int, ...]] = []
    for start in starts:
        ahead = [start]
        while ahead:
            number = ahead[-1]
            used = rules[number].rules if number in rules else ()
            if number not in order:
                order[number] = low[number] = len(order)
                way.append(number)
                ahead += [other for other in used if other not in order]
                continue
            ahead.pop()
            if number in closed:
                continue
            low[number] = min([low[number], *(low[other] for other in used if other not in closed)])
            if low[number] == order[number]:
                at = len(way) - 1
                while way[at] != number:
                    at -= 1
                knot = way[at:]
                del way[at:]
                closed.update(knot)
                if len(knot) > 1 or number in used:
                    found.append(tuple(sorted(knot)))
    return found


def first_faults(rules: Mapping[int, RuleParts]) -> dict[int, tuple[str, str]]:
    """Return the rules that reach too far although none of those they use does: what is too much, what is allowed."""
    found = reaches(rules)
    faults = {number: fault for number, reach in found.items() if (fault := reach.fault) is not None}
    return {number: fault for number, fault in faults.items() if faults.keys().isdisjoint(rules[number].rules)}
