"""Kinds of attribute values: how each is read, what stands in for one that is missing or refused, how it is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, get_args

from sccils_schemas.documents import Delayed, Operand, Range, Ref
from sccils_schemas.lines import attribute_line
from sccils_schemas.names import MAX_NAME_BYTES, NAME, shorten
from sccils_schemas.numbers import SPACE, read_number, read_whole, split_words, word_starts, write_number
from sccils_schemas.reader import STAND_IN, Reader
from sccils_schemas.rules import DELAY_TEXT, RuleError, read_delay
from sccils_schemas.xmlread import Node

MAX_REFS = 64
"""Most HDSOs in one list of sensors or parameters; ten are needed at most."""
MAX_SECONDS = 9_000_000_000
"""Latest time of a script or command, in seconds: what 64 bit nanoseconds hold, rounded down."""
FINEST_SECOND = Decimal("1e-9")
MAX_ID = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Given:
    """An attribute as it stands in a document; the grammar allows its text."""

    reader: Reader
    node: Node
    name: str
    text: str

    def error(self, what: str, expected: str = "", hint: str = "", at: int = 0) -> None:
        """Note an error at a character of it."""
        self.reader.attribute_error(self.node, self.name, what, expected, hint, at)

    def line(self) -> int:
        """Return the line its value begins on."""
        return attribute_line(self.node.line, self.name)


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A kind of value. `stand_in` is for attributes that must be there and are not, or not as the grammar has them."""

    read: Callable[[Given], Any]
    write: Callable[[Any], str]
    stand_in: Callable[[Reader, Node], Any]


def kind(read: Callable[[Given], Any], write: Callable[[Any], str] = str, stand_in: object = None) -> ValueKind:
    """Return a kind whose stand-in is always the same."""
    return ValueKind(read, write, lambda _reader, _node: stand_in)


def words(literal: object, stand_in: str = "", of: Callable[[str], Any] = str) -> ValueKind:
    """Return the kind of the words of a `Literal`; `of` makes its members out of texts."""
    return kind(lambda given: of(given.text.strip(SPACE)), str, of(stand_in or str(get_args(literal)[0])))


def _name(given: Given) -> str:
    if len(given.text.encode()) > MAX_NAME_BYTES:
        given.error(f"name '{shorten(given.text, 24)}' is too long", f"at most {MAX_NAME_BYTES} bytes")
    return given.text


def whole(stand_in: int | None = None, *, least: int = STAND_IN + 1, smallest: int = STAND_IN + 1) -> ValueKind:
    """Return the kind of whole numbers of 32 bits. Without a `stand_in` it is a number that means nothing else.

    `least` is what the grammar allows, `smallest` what an element may be known by.
    """

    def otherwise(reader: Reader, _: Node | None = None) -> int:
        return reader.stand_in() if stand_in is None else stand_in

    def read(given: Given) -> int:
        value = read_whole(given.text)
        if abs(value) > MAX_ID or value <= STAND_IN:
            what = f"{given.name}='{shorten(given.text.strip(SPACE), 30)}' is out of range"
            given.error(what, f"{least} to {MAX_ID}")
        elif value < smallest:
            given.error(f"{given.name} {value} of <{given.node.tag}> is too small", f"{smallest} or more")
        else:
            return value
        return otherwise(given.reader)

    return ValueKind(read, str, otherwise)


def _number(given: Given) -> float:
    return given.reader.finite(given.text, given.name, given.line)


def _positive(given: Given) -> float:
    value = _number(given)
    if value > 0:
        return value
    given.error(f"{given.name}='{shorten(given.text, 30)}'", "a number above 0")
    return 1.0


def _seconds(given: Given) -> Decimal:
    value = Decimal(given.text.strip(SPACE))
    if abs(value) > MAX_SECONDS:
        what = f"{given.name}='{shorten(str(value), 30)}' is too large"
        given.error(what, f"at most {MAX_SECONDS} seconds")
        return Decimal(0)
    if value % FINEST_SECOND:
        what = f"{given.name}='{value}' is finer than a nanosecond"
        given.reader.attribute_warning(given.node, given.name, what, hint="what is finer is cut off")
    return value


def _refs(given: Given) -> tuple[Ref, ...]:
    """Return a list of HDSO ids or names, separated by white space or commas."""
    found: list[Ref] = []
    listed = split_words(given.text)
    if len(listed) > MAX_REFS:
        given.error(f"{given.name} names {len(listed)} HDSOs", f"at most {MAX_REFS}")
    for word, start in zip(listed[:MAX_REFS], word_starts(given.text), strict=False):
        if word.isascii() and word.isdigit() and len(word) <= 10:
            found.append(int(word))
        elif NAME.fullmatch(word):
            found.append(word)
        else:
            hint = "ids are separated by white space or commas"
            given.error(f"{given.name} holds '{shorten(word, 30)}'", "an HDSO id or name", hint, start)
    return tuple(found)


def _operands(given: Given) -> tuple[Operand, ...]:
    """Return a list of HDSOs, some of them perhaps with a delay."""
    found: list[Operand] = []
    plain: list[str] = []
    delays: dict[int, int] = {}
    for at, (word, start) in enumerate(zip(split_words(given.text), word_starts(given.text), strict=True)):
        name, marked, delay = word.partition("@")
        plain.append(name)
        if marked:
            delays[at] = _delay(given, word, delay, start)
    refs = _refs(Given(given.reader, given.node, given.name, " ".join(plain))) if delays else _refs(given)
    for at, ref in enumerate(refs):
        found.append(Delayed(ref, delays[at]) if delays.get(at) else ref)
    return tuple(found)


def _one_ref(given: Given) -> Ref:
    found = _refs(given)
    if len(found) != 1:
        given.error(f"{given.name}='{shorten(given.text, 30)}'", "one HDSO id or name")
    return found[0] if len(found) == 1 else given.reader.stand_in()


def _delay(given: Given, word: str, delay: str, start: int) -> int:
    hint = "seconds follow the @: TC1_current@0.03"
    try:
        return read_delay(delay) if DELAY_TEXT.fullmatch(delay) else _no_delay(given, word, "a delay in s", hint, start)
    except RuleError as error:
        return _no_delay(given, word, error.what, error.hint, start)


def _no_delay(given: Given, word: str, why: str, hint: str, start: int) -> int:
    given.error(f"{given.name} holds '{shorten(word, 30)}'", why, hint, start)
    return 0


def _colour(given: Given) -> tuple[float, float, float] | None:
    expected = "three numbers from 0 to 1"
    try:
        red, green, blue = (float(read_number(word, "double")) for word in split_words(given.text))
    except ValueError:
        given.error(f"colorspec '{shorten(given.text, 30)}' is not a colour", expected)
        return None
    if not all(0 <= part <= 1 for part in (red, green, blue)):
        given.error(f"colorspec '{shorten(given.text, 30)}' is out of range", expected)
    return red, green, blue


def _force(given: Given) -> tuple[float, ...]:
    return tuple(given.reader.finite(word, given.name, given.line) for word in split_words(given.text))


def _span(given: Given) -> tuple[Range]:
    lower, upper = _force(given)
    return (Range("valid", lower, upper, line=given.line()),)


def _one_number(given: Given) -> tuple[float, ...]:
    return (_number(given),)


def write_data(data: tuple[int | float, ...] | str) -> str:
    """Return numbers one after another; text as it is."""
    return data if isinstance(data, str) else " ".join(map(write_number, data))


TEXT = kind(lambda given: given.text, stand_in="")
STRIPPED = kind(lambda given: given.text.strip(SPACE), stand_in="")
LABEL = kind(_name, stand_in="")
"""A name; its form is for the grammar, its length is not."""
FLAG = kind(lambda given: given.text.strip(SPACE) == "y", lambda value: "y" if value else "n", stand_in=True)
NUMBER = kind(_number, write_number, 1.0)
POSITIVE = kind(_positive, write_number, 1.0)
SECONDS = kind(_seconds, str, Decimal(0))
REFS = kind(_refs, lambda refs: " ".join(map(str, refs)))
REF = ValueKind(_one_ref, str, lambda reader, _: reader.stand_in())
OPERANDS = kind(_operands, lambda operands: " ".join(map(str, operands)))
SPAN = kind(_span, lambda ranges: write_data((ranges[0].lower, ranges[0].upper)), (Range("valid", 0.0, 1.0),))
ONE_NUMBER = kind(_one_number, write_data)
COLOUR = kind(_colour, write_data)
FORCE = kind(_force, write_data)
