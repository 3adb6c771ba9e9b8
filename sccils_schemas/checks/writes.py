"""Checking one write against the HDSO it goes to: count, types, ranges, rules, and what the engine needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sccils_schemas.checks.hdso_table import SHORTEST_PERIOD_NS, HdsoEntry, HdsoTable, SourcePlace
from sccils_schemas.checks.rules import check_rule
from sccils_schemas.documents import HdsoMod
from sccils_schemas.names import counted
from sccils_schemas.numbers import misfit, write_number
from sccils_schemas.problems import Problems
from sccils_schemas.ranges import inverted

ENGINE_BOUNDS: Mapping[str, tuple[int, int | None]] = MappingProxyType(
    {"motor_speed": (0, 4), "motor_control_delay_ns": (0, None), "statetrans_period_ns": (SHORTEST_PERIOD_NS, None)}
)
"""Parameters every configuration must have (reading B26), and what they may be whatever their ranges say."""


def check_write(mod: HdsoMod, entry: HdsoEntry, table: HdsoTable, file: str, problems: Problems) -> None:
    """Report everything that keeps a write from being done, its permission apart."""
    place = SourcePlace(file, mod.line)
    if entry.kind == "boolstring":
        _check_rule_write(mod, entry, table, place, problems)
    elif isinstance(mod.data, str):
        check_characters(mod.data, entry, place, problems)
    elif len(mod.data) > entry.count:
        what = f"{counted(len(mod.data), 'value')} for {entry}"
        problems.error(file, place.data(entry.count).line, what, f"at most {entry.count}, what it holds")
    else:
        wrong = misfit(mod.data, mod.datatype, entry.hdso.datatype)
        if wrong is not None:
            at, expected = wrong
            value = write_number(mod.data[at])
            what = f"{value} as {mod.datatype} for {entry}, which is of type {entry.hdso.datatype}"
            problems.error(file, place.data(at).line, what, expected)
        check_values(mod.data, entry, place, problems)


def _check_rule_write(mod: HdsoMod, entry: HdsoEntry, table: HdsoTable, place: SourcePlace, problems: Problems) -> None:
    if isinstance(mod.data, str):
        check_rule(mod.data, entry, table, place.data, problems)
    elif mod.data:
        hint = "write datatype='char' and the rule as text; the integer form differs from program to program"
        problems.error(place.file, place.data().line, f"{entry} is a rule and is written as numbers", "its text", hint)


def check_characters(text: str, entry: HdsoEntry, place: SourcePlace, problems: Problems) -> None:
    """Report text that goes to an HDSO of numbers, or does not fit."""
    if entry.hdso.datatype not in ("char", "uchar"):
        what = f"text for {entry}, which is of type {entry.hdso.datatype}"
        problems.error(place.file, place.data().line, what, f"numbers of type {entry.hdso.datatype}")
    elif len(text.encode()) > entry.count:
        what = f"{counted(len(text.encode()), 'byte')} of text for {entry}"
        problems.error(place.file, place.data().line, what, f"at most {entry.count}, what it holds")
    else:
        check_values(tuple(text.encode()), entry, place, problems)


def check_values(values: Sequence[int | float], entry: HdsoEntry, place: SourcePlace, problems: Problems) -> None:
    """Report values outside the HDSO's `valid` ranges, inside its `invalid` ones, or of no use to the engine."""
    for check in (_refused_by_ranges, _refused_by_engine):
        for at, value in enumerate(values):
            if expected := check(value, entry):
                what = f"{write_number(value)} is no value for {entry}"
                problems.error(place.file, place.data(at).line, what, expected)
                return


def _refused_by_ranges(value: int | float, entry: HdsoEntry) -> str:
    """Return why the ranges of an HDSO refuse a value, as what is expected instead; empty when they do not.

    Bounds are inclusive (reading B15). `suggested` and `normal` refuse nothing; what is inverted is an error itself.
    """
    for span in entry.ranges:
        low = span.lower is None or value >= span.lower
        high = span.upper is None or value <= span.upper
        if inverted(span):
            continue
        if span.type == "valid" and not (low and high):
            return f"{_span(span.lower, span.upper)}, its valid range"
        if span.type == "invalid" and low and high and span.bounded:
            return f"a value outside {_span(span.lower, span.upper)}, its invalid range"
    return ""


def _refused_by_engine(value: int | float, entry: HdsoEntry) -> str:
    for low, high in (ENGINE_BOUNDS.get(entry.hdso.name, (None, None)), entry.bounds):
        if (low is not None and value < low) or (high is not None and value > high):
            return _span(low, high)
    return ""


def _span(lower: float | None, upper: float | None) -> str:
    if lower is None and upper is None:
        return "any value"
    if lower is None or upper is None:
        return f"at least {write_number(lower)}" if lower is not None else f"at most {write_number(upper or 0)}"
    return f"{write_number(lower)} to {write_number(upper)}"
