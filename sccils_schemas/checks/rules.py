"""Checking entry rules against the HDSOs they name: grammar, operands, length, circles."""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from sccils_schemas.checks.hdso_table import HdsoEntry, HdsoTable, SourcePlace, all_states
from sccils_schemas.documents import JointList, Ref
from sccils_schemas.names import shorten
from sccils_schemas.nesting import MAX_RULE_TERMS, RuleParts, knots, parts_of, terms_of
from sccils_schemas.problems import Problems
from sccils_schemas.reader import STAND_IN
from sccils_schemas.rules import Inequality, Rule, RuleError, Token, Variable, operands, parse_tokens, tokenise

PlaceOf = Callable[[int], SourcePlace]
"""Tells where a character of a rule's text stands."""


def check_rule(
    text: str,
    holder: HdsoEntry | None,
    table: HdsoTable,
    where: PlaceOf,
    problems: Problems,
    known: Sequence[str] = (),
) -> None:
    """Report everything wrong with a rule's text. `holder` is the boolstring HDSO that is to hold it.

    Names that are `known` need not be those of HDSOs.
    """
    try:
        tokens = tokenise(text)
        tree = parse_tokens(tokens)
    except RuleError as error:
        place = where(max(error.column - 1, 0))
        column = f", column {error.column}" if error.column else ""
        problems.error(place.file, place.line, f"rule '{shorten(text)}'{column}: {error.what}", hint=error.hint)
        return
    if holder is not None and holder.kind == "boolstring" and len(holder.hdso.dims) == 2:
        _check_length(tokens, holder, where, problems)
    columns: dict[Ref, int] = {}
    for token in tokens:
        if token.ref is not None:
            columns.setdefault(token.ref, token.column - 1)
    for ref, at in columns.items():
        if ref in known and table.get(ref) is None:
            continue
        entry = table.find(ref, where(at), problems)
        if entry is not None:
            _check_operand(entry, table, where(at), problems)
    for side in _compared(tree):
        entry = table.get(side.ref)
        if entry is not None and entry.kind == "boolstring":
            place, hint = where(columns[side.ref]), "join rules with & or |"
            problems.error(place.file, place.line, f"{entry} is a rule and stands in a comparison", "a number", hint)


def _check_length(tokens: Sequence[Token], holder: HdsoEntry, where: PlaceOf, problems: Problems) -> None:
    width = holder.hdso.dims[1]
    ends = list(accumulate(token.columns for token in tokens))
    if ends[-1] > width:
        place = where(tokens[bisect_right(ends, width)].column - 1)
        hint = "each id and each of < > & | ( ) counts; leave out parentheses that are not needed"
        what = f"the rule has {ends[-1]} tokens"
        problems.error(place.file, place.line, what, f"at most {width}, what {holder} holds", hint)


def _check_operand(entry: HdsoEntry, table: HdsoTable, place: SourcePlace, problems: Problems) -> None:
    if entry.kind != "boolstring" and entry.count != 1:
        what = f"{entry} has {entry.count} elements and stands in a rule"
        problems.error(place.file, place.line, what, "an HDSO with a single value")
    if table.is_unfed(entry):
        hint = "a motor's sensors stand in its sensorspec; without one, two by two in the order of sensors.xml"
        what = f"{entry} is a sensor that no motor feeds, and stands in a rule"
        problems.error(place.file, place.line, what, "angle or current of a motor", hint)


def _compared(tree: Rule) -> Iterator[Variable]:
    for term in terms_of(tree):
        if isinstance(term, Inequality):
            yield from (term.left, term.right)


@functools.lru_cache(maxsize=1024)
def read_rule(text: object) -> Rule | None:
    """Return the tree of a rule's text, or None for anything that cannot be read as one."""
    try:
        return parse_tokens(tokenise(text)) if isinstance(text, str) else None
    except RuleError:
        return None


def rule_parts(text: object, table: HdsoTable) -> RuleParts:
    """Return what a rule's text is made of, the rules it uses by id; nothing for a text that cannot be read."""

    def number(ref: Ref) -> int | None:
        entry = table.get(ref)
        return entry.hdso.id_num if entry is not None and entry.kind == "boolstring" else None

    tree = read_rule(text)
    return RuleParts(0) if tree is None else parts_of(tree, number)


def all_rule_parts(table: HdsoTable) -> dict[int, RuleParts]:
    """Return what each rule is made of, by id."""
    return {
        number: rule_parts(text, table)
        for number, text in table.values.items()
        if isinstance(text, str) and number > STAND_IN and table.entries[number].kind == "boolstring"
    }


def unset_operands(number: int, table: HdsoTable) -> list[HdsoEntry]:
    """Return what a rule, or a rule inside it, reads although it has no value; sensors get theirs by measuring.

    A rule with more rules inside it than any may have is not looked at to its end.
    """
    return unset_in(table.values.get(number), table)


def unset_in(text: object, table: HdsoTable) -> list[HdsoEntry]:
    """Return the same of a rule's text."""
    found: dict[int, HdsoEntry] = {}
    seen: set[int] = set()
    ahead = [text]
    while ahead and len(seen) < MAX_RULE_TERMS:
        tree = read_rule(ahead.pop())
        for entry in filter(None, map(table.get, () if tree is None else operands(tree))):
            inner = entry.hdso.id_num
            if entry.kind != "sensor" and inner not in table.values:
                found[inner] = entry
            elif entry.kind == "boolstring" and inner not in seen:
                seen.add(inner)
                ahead.append(table.values.get(inner))
    return list(found.values())


def check_start(
    jointlist: JointList, table: HdsoTable, file: str, problems: Problems, script: str | None = None
) -> None:
    """Report what rules of states read although nothing gives it a value by the time they are first evaluated.

    `table` holds the values of that moment; `script` is the file that had the last word on them, if there is one.
    """
    told: set[int] = set()
    used = [
        (mods[0].ref, state.rule.line, f"the rule of {state.name}")
        for state in all_states(jointlist)
        if (mods := state.rule.mods)
    ]
    used += [
        (state.central.rule, state.central.line, f"the central rule of {state.name}")
        for state in all_states(jointlist)
        if state.central is not None
    ]
    for ref, line, whose in used:
        holder = table.get(ref)
        for entry in () if holder is None else unset_operands(holder.hdso.id_num, table):
            if entry.hdso.id_num not in told:
                told.add(entry.hdso.id_num)
                what = f"{entry}, used by {whose}, has no value when rules are first evaluated"
                place = (file, line) if script is None else (script, 0)
                problems.error(*place, what, "initial_data for it, or a write by a script at time 0")


def find_circles(
    rules: Mapping[int, RuleParts], starts: Iterable[int]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return circles of rules that use one another, the shortest of each knot that can be reached from `starts`.

    With each comes the whole knot.
    """
    found = [(_circle(rules, knot), knot) for knot in knots(rules, starts)]
    return sorted(found)


def _circle(rules: Mapping[int, RuleParts], knot: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shortest way from the first rule of a knot back to itself."""
    start, members = knot[0], frozenset(knot)
    came_from = {start: start}
    ahead = [start]
    for number in ahead:
        for follower in rules[number].rules:
            if follower == start:
                way = [number]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return tuple(reversed(way))
            if follower in members and follower not in came_from:
                came_from[follower] = number
                ahead.append(follower)
    return knot


def describe_circle(circle: Sequence[int], table: HdsoTable) -> str:
    """Return the circle in words."""
    names = [str(table.entries[number]) for number in circle[:12]]
    return " uses ".join([*names, *(["..."] if len(circle) > 12 else []), str(table.entries[circle[0]])])
