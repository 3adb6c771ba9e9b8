"""Values of HDSOs as people read them: what a model starts with, numbers without binary noise, rules by name."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from nuc_engine.model.decimals import number_text, plain_number
from nuc_engine.model.plan import HdsoPlan, Plan
from nuc_engine.model.store import Store
from sccils_schemas.names import printable
from sccils_schemas.rules import Token, decode_tokens, format_tokens, parse_tokens

Values = tuple[int | float, ...]

UNSET = "no value"


def initial_values(plan: Plan) -> tuple[Values | None, ...]:
    """Return the value of every HDSO at the start of a bout, in the plan's order; None where it has none yet."""
    store = Store(plan)
    for write in plan.initial:
        store.write(write.hdso, write.values)
    return tuple(store.values(hdso.index) for hdso in plan.hdsos)


def rule_tokens(hdso: HdsoPlan, values: Sequence[int | float]) -> tuple[Token, ...]:
    """Return the tokens of a rule from its integer code."""
    width = hdso.dims[1]
    code = [int(value) for value in values]
    return decode_tokens(code[:width], code[width:])


def same_value(hdso: HdsoPlan, a: Values | None, b: Values | None) -> bool:
    """Say whether two values of an HDSO mean the same: numbers as the store holds them, rules by what they say."""
    if a is None or b is None:
        return a is b
    if hdso.kind == "boolstring":
        return a == b or parse_tokens(rule_tokens(hdso, a)) == parse_tokens(rule_tokens(hdso, b))
    if hdso.datatype == "float":
        return [struct.pack("f", value) for value in a] == [struct.pack("f", value) for value in b]
    return a == b


def value_text(hdso: HdsoPlan, values: Values | None, names: Mapping[int, str] | None = None) -> str:
    """Return a value as text: a rule as an expression (by name where `names` has one), char data as what it says."""
    if values is None:
        return UNSET
    if hdso.kind == "boolstring":
        return format_tokens(rule_tokens(hdso, values), names)
    if hdso.datatype == "char":
        return printable(bytes(int(value) for value in values).rstrip(b"\0").decode(errors="replace"))
    return " ".join(number_text(value, hdso.datatype) for value in values)


def plain_value(
    hdso: HdsoPlan, values: Values | None, names: Mapping[int, str] | None = None
) -> str | int | float | list[int | float] | None:
    """Return a value in JSON's own types: a number, a list in row-major order, a rule or char data as text, or None."""
    if values is None:
        return None
    if hdso.kind == "boolstring" or hdso.datatype == "char":
        return value_text(hdso, values, names)
    numbers = [plain_number(value, hdso.datatype) for value in values]
    return numbers[0] if hdso.count == 1 else numbers


def current_rule_text(plan: Plan, hdso: HdsoPlan, values: Sequence[Values | None]) -> str:
    """Return a rule with sensors and rules by name, and parameters and constants as the numbers they are now."""
    shown: dict[int, str] = {}
    for other in plan.hdsos:
        known = values[other.index]
        as_number = other.kind in ("parameter", "constant") and known is not None and other.count == 1
        shown[other.id_num] = value_text(other, known) if as_number else other.name
    return value_text(hdso, values[hdso.index], shown)
