"""An entry rule taken apart: its comparisons, and what each of them is now.

The engine compares 32-bit floats; a value printed in decimals is rounded back to one before it is compared here, so
that what the screen calls true is what the engine finds true.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sccils_schemas.problems import SccilsError
from sccils_schemas.rules import And, Inequality, Or, Rule, Variable, parse_rule


@dataclass(frozen=True, slots=True)
class Term:
    """One comparison of a rule, or (`op` empty, `right` empty) an operand that stands alone.

    What an operand with a delay was is known to the engine alone: the truth of its term is not.
    """

    left: str
    op: str = ""
    right: str = ""


def terms(text: str) -> tuple[Term, ...]:
    """Return the terms of a rule that is written with names, in order, each once; none for a text that is no rule."""
    try:
        return tuple(dict.fromkeys(_terms(parse_rule(text))))
    except SccilsError:
        return ()


def _terms(rule: Rule) -> list[Term]:
    if isinstance(rule, Inequality):
        return [Term(str(rule.left), rule.op, str(rule.right))]
    if isinstance(rule, Variable):
        return [Term(str(rule))]
    return [term for part in rule.terms for term in _terms(part)]


def term_truth(term: Term, values: Mapping[str, Any], datatypes: Mapping[str, str]) -> bool | None:
    """Say whether a term is true; None where an operand has no value. A rule inside a rule counts as its own truth."""
    left = _operand(term.left, values, datatypes)
    if not term.op:
        return None if left is None else left != 0
    right = _operand(term.right, values, datatypes)
    if left is None or right is None:
        return None
    return left < right if term.op == "<" else left > right


def rule_truth(text: str, values: Mapping[str, Any], datatypes: Mapping[str, str]) -> bool | None:
    """Say whether a whole rule is true; None where that cannot be told."""
    try:
        return _truth(parse_rule(text), values, datatypes)
    except SccilsError:
        return None


def _truth(rule: Rule, values: Mapping[str, Any], datatypes: Mapping[str, str]) -> bool | None:
    if isinstance(rule, And | Or):
        truths = [_truth(term, values, datatypes) for term in rule.terms]
        decided = isinstance(rule, Or)
        if decided in truths:
            return decided
        return None if None in truths else not decided
    return term_truth(_terms(rule)[0], values, datatypes)


def _operand(name: str, values: Mapping[str, Any], datatypes: Mapping[str, str]) -> float | None:
    value = values.get(f"rule.{name}", values.get(name))
    if not isinstance(value, int | float):
        return None
    if datatypes.get(name) == "float":
        try:
            return struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            return None
    return value
