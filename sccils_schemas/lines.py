"""Where the parts of an element stand: its attributes and its data may be on other lines than its start.

A document's elements carry the line they start on. Where a tag or its data go over several lines it is a `Line`, which
knows these too, so that a message can name the line of the very value that is wrong.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

Spread = tuple[tuple[int, int], ...]
"""Where a sequence stands: from this place in it on, on this line. The first begins at place 0."""

_NOTHING: Mapping[str, Spread] = {}
_REFERENCE = re.compile("&[^;]*;")


class Line(int):
    """The line an element starts on. `attributes` are spread by character, `data` by character or by number."""

    attributes: Mapping[str, Spread]
    data: Spread

    def __new__(cls, line: int, attributes: Mapping[str, Spread] = _NOTHING, data: Spread = ()) -> Line:
        """Return a number that knows more than itself."""
        made = super().__new__(cls, line)
        made.attributes, made.data = attributes, data
        return made


def attribute_line(line: int, name: str, place: int = 0) -> int:
    """Return the line of a character of an attribute; that of the element where nothing else is known."""
    return line_at(line.attributes.get(name, ()), place, int(line)) if isinstance(line, Line) else line


def data_line(line: int, place: int = 0) -> int:
    """Return the line of a number, or of a character, of an element's data; that of the element likewise."""
    return line_at(line.data, place, int(line)) if isinstance(line, Line) else line


def line_at(spread: Spread, place: int, otherwise: int) -> int:
    """Return the line of a place."""
    at = bisect_right(spread, place, key=_first) - 1
    return spread[at][1] if at >= 0 else otherwise


def with_data(line: int, spread: Spread) -> int:
    """Return a line that knows where data stand."""
    if all(there == line for _, there in spread):
        return line
    return Line(line, line.attributes if isinstance(line, Line) else _NOTHING, spread)


def with_parts(line: int, parts: Mapping[str, int]) -> int:
    """Return a line that also knows where parts of an element stand that are elements themselves, by name."""
    known = line.attributes if isinstance(line, Line) else _NOTHING
    return Line(line, {**known, **{name: ((0, at),) for name, at in parts.items()}})


def text_spread(pieces: Iterable[tuple[str, int]], gap: int = 0) -> Spread:
    """Return the spread by character of pieces of text, each with the line it begins on, `gap` characters apart."""
    found: list[tuple[int, int]] = []
    begin = 0
    for text, line in pieces:
        found.append((begin, line))
        for at, match in enumerate(re.finditer("\n", text), 1):
            found.append((begin + match.end(), line + at))
        begin += len(text) + gap
    return tuple(found)


def attribute_spread(raw: str, line: int) -> Spread:
    """Return the spread by character of an attribute as it stands in the file, its references not yet resolved."""
    found, begin = [(0, line)], 0
    for at, part in enumerate(raw.split("\n")[:-1], 1):
        begin += len(_REFERENCE.sub("x", part)) + 1
        found.append((begin, line + at))
    return tuple(found)


def picked(spread: Spread, places: Sequence[int]) -> Spread:
    """Return the spread of items that begin at these characters, in rising order."""
    found: list[tuple[int, int]] = []
    at = 0
    for item, place in enumerate(places):
        while at + 1 < len(spread) and spread[at + 1][0] <= place:
            at += 1
        if not found or found[-1][1] != spread[at][1]:
            found.append((item, spread[at][1]))
    return tuple(found)


def shifted(spread: Spread, by: int) -> Spread:
    """Return the spread of a sequence without its first items."""
    kept = tuple((place - by, line) for place, line in spread if place > by)
    first = max((pair for pair in spread if pair[0] <= by), default=None)
    return kept if first is None else ((0, first[1]), *kept)


def _first(pair: tuple[int, int]) -> int:
    return pair[0]
