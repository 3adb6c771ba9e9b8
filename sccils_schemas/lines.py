"""Where the parts of an element stand: its attributes and its data may be on other lines than its start.

A document's elements carry the line they start on. As read from a document it is a `Line`, which looks the others up
in the document when a message is to name the line of the very value that is wrong.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Protocol

from sccils_schemas.numbers import word_starts

Spread = tuple[tuple[int, int], ...]
"""Where a sequence stands: from this place in it on, on this line. The first begins at place 0."""

_REFERENCE = re.compile("&[^;]*;")


@dataclass(slots=True)
class ElementLayout:
    """Where the parts of one element stand: its attributes by character, and the pieces of its text.

    The text is cut wherever a comment, a processing instruction or a child stands between.
    """

    attributes: Mapping[str, Spread]
    pieces: list[str] = field(default_factory=lambda: [""])
    lines: list[int] = field(default_factory=lambda: [0])

    def spread(self, *, apart: bool = False) -> Spread:
        """Return where the characters of the text stand; with its pieces `apart`, one place lies between them."""
        found: list[tuple[int, int]] = []
        begin = 0
        for text, line in zip(self.pieces, self.lines, strict=True):
            found.append((begin, line))
            found += [(begin + match.end(), line + at) for at, match in enumerate(re.finditer("\n", text), 1)]
            begin += len(text) + apart
        return tuple(found)


class Laid(Protocol):
    """A document that knows the layout of its elements, in document order."""

    @property
    def layouts(self) -> Sequence[ElementLayout]:
        """Return the layouts; the first call finds them."""
        ...


class ElementLine(int):
    """The line an element starts on: the `number`th of its document."""

    document: Laid
    number: int
    holder: ElementLine | None = None
    characters: str | None = None
    parts: Mapping[str, ElementLine] = MappingProxyType({})

    def __new__(cls, line: int, document: Laid, number: int) -> ElementLine:
        """Return a number that knows more than itself."""
        made = super().__new__(cls, line)
        made.document, made.number = document, number
        return made

    def __getnewargs__(self) -> tuple[int, Laid, int]:  # type: ignore[override]
        """Return what a copy is made from."""
        return int(self), self.document, self.number

    @property
    def layout(self) -> ElementLayout:
        """Where the parts of its element stand."""
        return self.document.layouts[self.number]

    @cached_property
    def data(self) -> Spread:
        """Where its element's data stand: by character where they are text, else by number."""
        if self.holder is None:
            return ()
        layout = self.holder.layout
        if self.characters is None:
            return _picked(layout.spread(apart=True), word_starts(" ".join(layout.pieces)))
        return _shifted(layout.spread(), max("".join(layout.pieces).find(self.characters), 0))


def attribute_line(line: int, name: str, place: int = 0) -> int:
    """Return the line of a character of an attribute, or of the text of a part; else that of the element."""
    if isinstance(line, ElementLine) and name in line.parts:
        return text_line(line.parts[name])
    return line_at(line.layout.attributes.get(name, ()), place, int(line)) if isinstance(line, ElementLine) else line


def data_line(line: int, place: int = 0) -> int:
    """Return the line of a number, or of a character, of an element's data; that of the element likewise."""
    return line_at(line.data, place, int(line)) if isinstance(line, ElementLine) else line


def text_line(line: ElementLine) -> int:
    """Return the line of the first character of an element's text that is no white space; else that of the element."""
    text = "".join(line.layout.pieces)
    return line_at(line.layout.spread(), len(text) - len(text.lstrip()), int(line)) if text.strip() else int(line)


def line_at(spread: Spread, place: int, otherwise: int) -> int:
    """Return the line of a place."""
    at = bisect_right(spread, place, key=_first) - 1
    return spread[at][1] if at >= 0 else otherwise


def with_data(line: ElementLine, holder: ElementLine, data: object = None) -> ElementLine:
    """Return a line that knows where data stand: in the text of `holder`, which is numbers unless `data` is text."""
    made = ElementLine(line, line.document, line.number)
    made.holder, made.characters = holder, data if isinstance(data, str) else None
    return made


def with_parts(line: ElementLine, parts: Mapping[str, ElementLine]) -> ElementLine:
    """Return a line that also knows where parts of an element stand that are elements themselves, by name."""
    made = ElementLine(line, line.document, line.number)
    made.parts = parts
    return made


def attribute_spread(raw: str, line: int) -> Spread:
    """Return the spread by character of an attribute as it stands in the file, its references not yet resolved."""
    found, begin = [(0, line)], 0
    for at, part in enumerate(raw.split("\n")[:-1], 1):
        begin += len(_REFERENCE.sub("x", part)) + 1
        found.append((begin, line + at))
    return tuple(found)


def _picked(spread: Spread, places: Iterable[int]) -> Spread:
    """Return the spread of items that begin at these characters, in rising order."""
    found: list[tuple[int, int]] = []
    at = 0
    for item, place in enumerate(places):
        while at + 1 < len(spread) and spread[at + 1][0] <= place:
            at += 1
        if not found or found[-1][1] != spread[at][1]:
            found.append((item, spread[at][1]))
    return tuple(found)


def _shifted(spread: Spread, by: int) -> Spread:
    """Return the spread of a sequence without its first items."""
    kept = tuple((place - by, line) for place, line in spread if place > by)
    first = max((pair for pair in spread if pair[0] <= by), default=None)
    return kept if first is None else ((0, first[1]), *kept)


def _first(pair: tuple[int, int]) -> int:
    return pair[0]
