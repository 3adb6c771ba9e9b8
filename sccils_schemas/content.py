"""Content models as regular expressions over element names, matched by derivatives.

The derivative of a model by a name is the model of what may follow once an element of that name has been seen
(Brzozowski 1964). It never backtracks, and its first names are what a message can say was expected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class One:
    """Matches one element."""

    name: str


@dataclass(frozen=True, slots=True)
class Group:
    """Matches `first`, then `second`."""

    first: Pattern
    second: Pattern


@dataclass(frozen=True, slots=True)
class Choice:
    """Matches `first` or `second`."""

    first: Pattern
    second: Pattern


@dataclass(frozen=True, slots=True)
class Repeat:
    """Matches `inner` any number of times, also none."""

    inner: Pattern


class End(Enum):
    """Matches no children at all, or nothing, not even no children."""

    EMPTY = 0
    NOTHING = 1


Pattern = End | One | Group | Choice | Repeat
EMPTY, NOTHING = End.EMPTY, End.NOTHING


def group(first: Pattern, second: Pattern) -> Pattern:
    """Return the model of one model after another, in its simplest form."""
    if first is NOTHING or second is NOTHING:
        return NOTHING
    if first is EMPTY:
        return second
    return first if second is EMPTY else Group(first, second)


def choice(first: Pattern, second: Pattern) -> Pattern:
    """Return the model of either model, in its simplest form."""
    if first is NOTHING or first == second:
        return second
    return first if second is NOTHING else Choice(first, second)


def repeat(inner: Pattern) -> Pattern:
    """Return the model of any number of repetitions, in its simplest form."""
    return inner if isinstance(inner, End | Repeat) else Repeat(inner)


def may_end(pattern: Pattern) -> bool:
    """Whether no further children are needed."""
    match pattern:
        case End.EMPTY | Repeat():
            return True
        case Group(first, second):
            return may_end(first) and may_end(second)
        case Choice(first, second):
            return may_end(first) or may_end(second)
        case _:
            return False


def derivative(pattern: Pattern, name: str) -> Pattern:
    """Return the model of what may follow an element of this name; NOTHING when the element cannot come now."""
    match pattern:
        case One(wanted):
            return EMPTY if name == wanted else NOTHING
        case Group(first, second):
            after = group(derivative(first, name), second)
            return choice(after, derivative(second, name)) if may_end(first) else after
        case Choice(first, second):
            return choice(derivative(first, name), derivative(second, name))
        case Repeat(inner):
            return group(derivative(inner, name), pattern)
        case _:
            return NOTHING


def expected_next(pattern: Pattern, *, everything: bool = False) -> tuple[str, ...]:
    """Return the names that may come next, or, with `everything`, all names of the model in its order."""
    return tuple(dict.fromkeys(_names(pattern, everything)))


def _names(pattern: Pattern, everything: bool) -> Iterator[str]:
    match pattern:
        case One(name):
            yield name
        case Group(first, second):
            yield from _names(first, everything)
            if everything or may_end(first):
                yield from _names(second, everything)
        case Choice(first, second):
            yield from _names(first, everything)
            yield from _names(second, everything)
        case Repeat(inner):
            yield from _names(inner, everything)
        case _:
            return


def optional_end(pattern: Pattern) -> tuple[str, ...]:
    """Return the names one of which is still needed; empty when the children may end here."""
    if may_end(pattern):
        return ()
    following = expected_next(pattern)
    return tuple(name for name in following if may_end(derivative(pattern, name))) or following
