"""Entry rules: their text, the code a boolstring HDSO holds, and their truth (readings B7 and B8)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

SYMBOLS = "()<>&|"
"""Operators and parentheses in the order of their codes, from 1."""
DEEPEST, MOST_TERMS = 8, 1024
"""Levels of rules inside a rule; terms of a rule with those of all rules inside it."""

_TOKEN = re.compile(r"\s*(?:([()<>&|])|(?:(\d+)|([^\W\d][\w.\-\u00b7]*))(?:@(\d*\.?\d*))?)")

Tree = int | tuple[str, tuple["Tree", ...]]
"""An HDSO's number, or an operator with its terms; `@` has a number and how many microseconds ago it is meant."""
Token = str | int | tuple[int, int]
"""A symbol, a number, or a number with microseconds."""
LONGEST_US = 60_000_000


class RuleFault(Exception):
    """What is no rule, or cannot be put in force."""


def tokens_of(text: str, ids: Mapping[str, int]) -> list[Token]:
    """Return the tokens of a rule's text: symbols, and numbers of HDSOs."""
    found: list[Token] = []
    text, at = text.strip(), 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise RuleFault(f"{text!r} is no rule")
        symbol, number, name, delay = token.groups()
        hdso = 0 if symbol else int(number) if number else ids[name]
        late = int(Decimal(delay).scaleb(6)) if delay else 0
        found.append(symbol or ((hdso, late) if late else hdso))
        at = token.end()
    return found


def code_of(tokens: Sequence[Token], width: int) -> tuple[int, ...]:
    """Return the two rows of integers of a rule, one after the other: flags, then values."""
    flags: list[int] = []
    values: list[int] = []
    for token in tokens:
        number = token[0] if isinstance(token, tuple) else token
        flags.append(1 if isinstance(number, str) else 0)
        values.append(SYMBOLS.index(number) + 1 if isinstance(number, str) else number)
        if isinstance(token, tuple):
            flags.append(2)
            values.append(token[1])
    rest = width - len(flags)
    if rest < 0:
        raise RuleFault(f"a rule of {len(flags)} tokens does not fit {width} columns")
    return (*flags, *[-1] * rest, *values, *[0] * rest)


def tree_of(code: Sequence[float]) -> Tree:
    """Return the tree of a rule's code. Raises RuleFault for what is none."""
    whole = [int(value) for value in code]
    flags, values = whole[: len(whole) // 2], whole[len(whole) // 2 :]
    used = flags.index(-1) if -1 in flags else len(flags)
    if any(flag != -1 for flag in flags[used:]) or any(values[used:]):
        raise RuleFault("something stands behind the end of the rule")
    tokens: list[Token] = []
    for flag, value in zip(flags[:used], values[:used], strict=True):
        if flag == 2:
            before = tokens.pop() if tokens else ""
            if not isinstance(before, int) or not 0 < value <= LONGEST_US:
                raise RuleFault(f"a delay of {value} us behind {before}")
            tokens.append((before, value))
            continue
        if value < 0 or flag not in (0, 1) or (flag and not 0 < value <= len(SYMBOLS)):
            raise RuleFault(f"flag {flag} with value {value} is no token")
        tokens.append(SYMBOLS[value - 1] if flag else value)
    tokens.reverse()  # they are taken off the end
    tree = _any(tokens)
    if tokens:
        raise RuleFault(f"{tokens[-1]} follows a whole rule")
    return tree


def _any(tokens: list[Token]) -> Tree:
    return _joined(tokens, "|", lambda rest: _joined(rest, "&", _comparison))


def _joined(tokens: list[Token], symbol: str, part: Callable[[list[Token]], Tree]) -> Tree:
    terms = [part(tokens)]
    while tokens[-1:] == [symbol]:
        tokens.pop()
        terms.append(part(tokens))
    return terms[0] if len(terms) == 1 else (symbol, tuple(terms))


def _comparison(tokens: list[Token]) -> Tree:
    left = _operand(tokens)
    if tokens[-1:] not in (["<"], [">"]):
        return left
    symbol = str(tokens.pop())
    right = _operand(tokens)
    if not _single(left) or not _single(right) or tokens[-1:] in (["<"], [">"]):
        raise RuleFault("a comparison is of two single HDSOs")
    return symbol, (left, right)


def _operand(tokens: list[Token]) -> Tree:
    first = tokens.pop() if tokens else "the end"
    if isinstance(first, int):
        return first
    if isinstance(first, tuple):
        return "@", first
    if first != "(":
        raise RuleFault(f"{first} stands where an HDSO belongs")
    inner = _any(tokens)
    if not tokens or tokens.pop() != ")":
        raise RuleFault("a parenthesis is not closed")
    return inner


def _single(tree: Tree) -> bool:
    return isinstance(tree, int) or tree[0] == "@"


def late_of(tree: Tree) -> tuple[int, int]:
    """Return number and microseconds of a single operand."""
    number, late = (tree, 0) if isinstance(tree, int) else tree[1]
    assert isinstance(number, int)
    assert isinstance(late, int)
    return number, late


def text_of(tree: Tree) -> str:
    """Return a rule as the logs write it: every term that is more than an HDSO in parentheses."""
    if isinstance(tree, int):
        return str(tree)
    symbol, terms = tree
    if symbol == "@":
        number, late = late_of(tree)
        return f"{number}@{Decimal(late).scaleb(-6):f}".rstrip("0").rstrip(".")
    return f" {symbol} ".join(text_of(term) if _single(term) else f"({text_of(term)})" for term in terms)


def leaves(tree: Tree) -> list[Tree]:
    """Return the terms of a rule: comparisons, and HDSOs that stand alone."""
    if isinstance(tree, int) or tree[0] in "<>@":
        return [tree]
    return [leaf for term in tree[1] for leaf in leaves(term)]


def operands(tree: Tree) -> list[int]:
    """Return the HDSOs a rule reads, as often as it does."""
    if _single(tree):
        return [late_of(tree)[0]]
    assert not isinstance(tree, int)
    return [number for term in tree[1] for number in operands(term)]


def past_of(tree: Tree, rules: Mapping[int, Tree], late: int = 0) -> set[int]:
    """Return the HDSOs of which a rule, and the rules in it, read what they were."""
    if not _single(tree):
        assert not isinstance(tree, int)
        return {number for term in tree[1] for number in past_of(term, rules, late)}
    number, own = late_of(tree)
    if number in rules:
        return past_of(rules[number], rules, late + own) if late + own else set()
    return {number} if late + own else set()


def holds(tree: Tree, value: Callable[[int, int], float], rules: Mapping[int, Tree], late: int = 0) -> bool:
    """Return a rule's truth so many microseconds ago; an HDSO that is a rule stands for that rule's (reading B7)."""
    if _single(tree):
        number, own = late_of(tree)
        if number in rules:
            return holds(rules[number], value, rules, late + own)
        return value(number, late + own) != 0
    assert not isinstance(tree, int)
    symbol, terms = tree
    if symbol == "&":
        return all(holds(term, value, rules, late) for term in terms)
    if symbol == "|":
        return any(holds(term, value, rules, late) for term in terms)
    left, right = (value(number, late + own) for number, own in map(late_of, terms))
    return left < right if symbol == "<" else left > right


def unfit(rules: Mapping[int, Tree], new: set[int]) -> set[int]:
    """Return which of the new rules depend on themselves, or make some rule reach too far (readings, limits)."""
    inside = {number: _inside(number, rules) for number in rules}
    circles = {number for number in rules if number in inside[number]}
    sound = [number for number in rules if not inside[number] & circles]
    far = {number for number in sound if (reach := _reach(number, rules))[0] > DEEPEST or reach[1] > MOST_TERMS}
    first = [number for number in far if not inside[number] & far]
    return new & circles.union(first, *(inside[number] for number in first))


def _used(number: int, rules: Mapping[int, Tree]) -> list[int]:
    alone = [late_of(leaf)[0] for leaf in leaves(rules[number]) if _single(leaf)]
    return [used for used in alone if used in rules]


def _inside(number: int, rules: Mapping[int, Tree]) -> set[int]:
    found, ahead = set[int](), [number]
    while ahead:
        more = [used for used in _used(ahead.pop(), rules) if used not in found]
        found.update(more)
        ahead += more
    return found


def _reach(number: int, rules: Mapping[int, Tree]) -> tuple[int, int]:
    """Return levels of rules inside a rule, and its terms with theirs, counted as far as it takes to be too many."""
    used = _used(number, rules)
    levels, terms = 0, len(leaves(rules[number])) - len(used)
    for inner in used:
        deeper, more = _reach(inner, rules)
        levels, terms = max(levels, deeper + 1), terms + more
        if levels > DEEPEST or terms > MOST_TERMS:
            break
    return levels, terms
