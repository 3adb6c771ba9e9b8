"""What every document builder needs: attributes and text of a checked tree as typed values, faults noted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import TypeVar

from sccils_schemas.documents import DataType, HdsoMod, HdsoSpec, PlotStyle, Ref
from sccils_schemas.grammar import SPACE, Grammar
from sccils_schemas.lines import Spread, attribute_line, line_at, picked, shifted, with_data
from sccils_schemas.names import NAME, counted, did_you_mean, shorten
from sccils_schemas.numbers import NumberError, read_number, read_whole, split_words, word_starts
from sccils_schemas.problems import Problems
from sccils_schemas.xmlread import Node

Word = TypeVar("Word", bound=str)

DATATYPES: tuple[DataType, ...] = ("float", "double", "int", "lint", "llint", "char", "uchar")
MAX_HDSO_ELEMENTS = 65536
"""Most elements of one HDSO, and most numbers in one list."""
MAX_REFS = 64
"""Most HDSOs in one list of sensors or parameters; ten are needed at most."""
MAX_SECONDS = 9_000_000_000
"""Latest time of a script or command, in seconds: what 64 bit nanoseconds hold, rounded down."""
FINEST_SECOND = Decimal("1e-9")
MAX_ID = 2**31 - 1
STAND_IN = -1000
"""Numbers from here down stand in for ids that are missing or bad; checks pass over them."""


class Reader:
    """Reads one document's tree, which `grammar.check` has been over.

    Values the grammar refused are gone from the tree; here they become stand-ins without a second report.
    """

    def __init__(self, grammar: Grammar, file: str, problems: Problems) -> None:
        self._grammar = grammar
        self._file = file
        self._problems = problems
        self._stand_in = STAND_IN

    def error(self, node: Node, what: str, expected: str = "", hint: str = "") -> None:
        """Note an error at an element."""
        self._problems.error(self._file, node.line, what, expected, hint)

    def attribute_error(self, node: Node, name: str, what: str, expected: str = "", hint: str = "") -> None:
        """Note an error at the value of an attribute."""
        self._problems.error(self._file, attribute_line(node.line, name), what, expected, hint)

    def text_error(self, node: Node, what: str, expected: str = "", hint: str = "") -> None:
        """Note an error at an element's text."""
        self._problems.error(self._file, node.text_line, what, expected, hint)

    def warning(self, node: Node, what: str, expected: str = "", hint: str = "") -> None:
        """Note a warning at an element."""
        self._problems.warning(self._file, node.line, what, expected, hint)

    def guess(self, word: str, known: Sequence[str]) -> str:
        """Return what was probably meant, as long as guessing is worth its time."""
        return did_you_mean(word, known) if self._problems.guessing else ""

    def optional(self, node: Node, name: str) -> str | None:
        """Return an attribute as it stands, or None."""
        return node.attributes.get(name)

    def word(self, node: Node, name: str, values: Sequence[Word]) -> Word:
        """Return an enumerated attribute, or its default; the grammar has checked it, the first value stands in."""
        default = self._grammar.elements[node.tag].attributes[name].default
        given = (node.attributes.get(name) or default or "").strip(SPACE)
        return next((value for value in values if value == given), values[0])

    def integer(self, node: Node, name: str, stand_in: int = 0) -> int:
        """Return a whole number attribute, or its default; `stand_in` where the grammar has refused it."""
        rule = self._grammar.elements[node.tag].attributes[name]
        text = node.attributes.get(name) or rule.default
        value = stand_in if text is None else read_whole(text)
        if abs(value) > MAX_ID or (value <= STAND_IN and text is not None):
            least = STAND_IN + 1 if rule.value.allows("-1") else 0
            what = f"{name}='{shorten((text or '').strip(SPACE), 30)}' is out of range"
            self.attribute_error(node, name, what, f"{least} to {MAX_ID}")
            return stand_in
        return value

    def stand_in(self) -> int:
        """Return a number that stands in for a missing id and is like no other."""
        self._stand_in -= 1
        return self._stand_in

    def id_num(self, node: Node, *, least: int = 0) -> int:
        """Return idNum; where it is missing or bad, a number that means nothing else."""
        if "idNum" not in node.attributes:
            return self.stand_in()
        value = self.integer(node, "idNum", self.stand_in())
        if STAND_IN < value < least:
            self.attribute_error(node, "idNum", f"idNum {value} of <{node.tag}> is too small", f"{least} or more")
            return self.stand_in()
        return value

    def number(self, node: Node, name: str, stand_in: float = 1.0) -> float:
        """Return a finite number attribute."""
        text = node.attributes.get(name)
        return stand_in if text is None else self.finite(attribute_line(node.line, name), text, name, stand_in)

    def finite(self, line: int, text: str, what: str, stand_in: float = 1.0) -> float:
        """Return a finite number whose form the grammar has checked; it stands on this line."""
        value = float(text)
        if not math.isfinite(value):
            what = f"{what} {shorten(text.strip(SPACE), 30)} is too large"
            self._problems.error(self._file, line, what, "a finite number")
            return stand_in
        return value

    def seconds(self, node: Node, name: str) -> Decimal:
        """Return a time in seconds, or its default; its sign is for the checks."""
        default = self._grammar.elements[node.tag].attributes[name].default
        value = Decimal((node.attributes.get(name, default) or "0").strip(SPACE))
        if abs(value) > MAX_SECONDS:
            what = f"{name}='{shorten(str(value), 30)}' is too large"
            self.attribute_error(node, name, what, f"at most {MAX_SECONDS} seconds")
            return Decimal(0)
        if value % FINEST_SECOND:
            what = f"{name}='{value}' is finer than a nanosecond"
            line = attribute_line(node.line, name)
            self._problems.warning(self._file, line, what, hint="what is finer is cut off")
        return value

    def text(self, node: Node) -> str:
        """Return an element's text without the white space around it."""
        return node.text.strip(SPACE)

    def child(self, node: Node, tag: str) -> Node | None:
        """Return the first child of a name, or None."""
        return next((child for child in node.children if child.tag == tag), None)

    def children(self, node: Node, tag: str) -> list[Node]:
        """Return the children of a name."""
        return [child for child in node.children if child.tag == tag]

    def description(self, node: Node) -> str | None:
        """Return the text of the description child, or None."""
        child = self.child(node, "description")
        return None if child is None else self.text(child)

    def refs(self, node: Node, name: str) -> tuple[Ref, ...]:
        """Return a list of HDSO ids or names, separated by white space or commas."""
        found: list[Ref] = []
        text = node.attributes.get(name, "")
        words, starts = split_words(text), word_starts(text)
        if len(words) > MAX_REFS:
            self.attribute_error(node, name, f"{name} names {len(words)} HDSOs", f"at most {MAX_REFS}")
        for word, start in zip(words[:MAX_REFS], starts, strict=False):
            if word.isascii() and word.isdigit() and len(word) <= 10:
                found.append(int(word))
            elif NAME.fullmatch(word):
                found.append(word)
            else:
                hint = "ids are separated by white space or commas"
                line = attribute_line(node.line, name, start)
                what = f"{name} holds '{shorten(word, 30)}'"
                self._problems.error(self._file, line, what, "an HDSO id or name", hint)
        return tuple(found)

    def numbers(self, node: Node, datatype: DataType, what: str) -> tuple[int | float, ...] | None:
        """Return an element's text as numbers of a data type, or None when any can not be read."""
        words = split_words(node.words)
        if len(words) > MAX_HDSO_ELEMENTS:
            self.text_error(node, f"{what} has {counted(len(words), 'number')}", f"at most {MAX_HDSO_ELEMENTS}")
            return None
        values: list[int | float] = []
        bad: list[tuple[int, NumberError]] = []
        for at, word in enumerate(words):
            try:
                values.append(read_number(word, datatype))
            except NumberError as error:
                bad.append((at, error))
        spread = self.number_spread(node) if bad else ()
        for at, error in bad:
            line = line_at(spread, at, node.line)
            self._problems.error(self._file, line, f"{what}: {error.what}", error.expected, error.hint)
        return None if bad else tuple(values)

    def number_spread(self, node: Node) -> Spread:
        """Return where the numbers of an element's text stand."""
        return picked(node.spread(apart=True), word_starts(node.words))

    def character_spread(self, node: Node, data: str) -> Spread:
        """Return where the characters of an element's text stand, as far as they are data."""
        return shifted(node.spread(), max(node.text.find(data), 0))

    def mods(self, node: Node) -> tuple[HdsoMod, ...]:
        """Return the hdsoMod children."""
        return tuple(self.mod(child) for child in self.children(node, "hdsoMod"))

    def only_mod(self, parent: Node, tag: str) -> HdsoMod | None:
        """Return the hdsoMod inside the one child of a name, or None."""
        holder = self.child(parent, tag)
        inner = None if holder is None else self.child(holder, "hdsoMod")
        return None if inner is None else self.mod(inner)

    def mod(self, node: Node) -> HdsoMod:
        """Return an hdsoMod; the count of its data is checked against NumElts."""
        datatype = self.word(node, "datatype", DATATYPES)
        count = self.integer(node, "NumElts", -1)
        data: tuple[int | float, ...] | str
        if datatype == "char" and count != 0:
            data = self._characters(node, count)
            spread = self.character_spread(node, data)
        else:
            data = self._values(node, datatype, count)
            spread = self.number_spread(node) if data else ()
        by_name = self._by_name(node)
        return HdsoMod(
            id_num=self._referenced(node),
            num_elts=len(data),
            data=data,
            name=self.optional(node, "name"),
            id_by_name=by_name,
            datatype=datatype,
            time_s=self.seconds(node, "time"),
            line=with_data(node.line, spread),
        )

    def spec(self, node: Node) -> HdsoSpec:
        """Return an hdsoSpec."""
        by_name = self._by_name(node)
        return HdsoSpec(
            id_num=self._referenced(node),
            num_elts=self.integer(node, "NumElts"),
            name=self.optional(node, "name"),
            id_by_name=by_name,
            datatype=self.word(node, "datatype", DATATYPES),
            time_s=self.seconds(node, "time"),
            line=node.line,
        )

    def _by_name(self, node: Node) -> bool:
        by_name = self.word(node, "idByName", ("n", "y")) == "y"
        if by_name and not node.attributes.get("name"):
            what = f"idByName='y' of <{node.tag}> without a name"
            self.attribute_error(node, "idByName", what, "the HDSO's name in the attribute name")
            node.attributes.pop("idNum", None)
        return by_name

    def _referenced(self, node: Node) -> int:
        return self.id_num(node, least=-4)

    def _characters(self, node: Node, count: int) -> str:
        # White space around the text belongs to it only where NumElts counts it.
        text = node.text if len(node.text) == count else self.text(node)
        if count >= 0 and len(text) != count:
            hint = "NumElts of char data is the number of characters"
            what = f"hdsoMod has {counted(len(text), 'character')} but NumElts='{count}'"
            self.attribute_error(node, "NumElts", what, counted(count, "character"), hint)
        return text

    def _values(self, node: Node, datatype: DataType, count: int) -> tuple[int | float, ...]:
        if count == 0 and node.text.strip(SPACE):
            hint = "NumElts='0' only names an HDSO; set it to the number of values to write them"
            what = f"hdsoMod has data '{shorten(self.text(node), 30)}' but NumElts='0'"
            self.text_error(node, what, "no data", hint)
            return ()
        values = self.numbers(node, datatype, "hdsoMod")
        if values is not None and count >= 0 and len(values) != count:
            what = f"hdsoMod has {counted(len(values), 'value')} but NumElts='{count}'"
            self.attribute_error(node, "NumElts", what, counted(count, "value"))
        return (values or ())[: count if count >= 0 else None]

    def plotstyle(self, node: Node) -> PlotStyle | None:
        """Return the plotstyle child, or None."""
        child = self.child(node, "plotstyle")
        if child is None:
            return None
        return PlotStyle(self.optional(child, "linespec"), self._colour(child), line=child.line)

    def _colour(self, node: Node) -> tuple[float, float, float] | None:
        text = node.attributes.get("colorspec")
        if text is None:
            return None
        try:
            red, green, blue = (float(read_number(word, "double")) for word in split_words(text))
        except ValueError:
            what = f"colorspec '{shorten(text, 30)}' is not a colour"
            self.attribute_error(node, "colorspec", what, "three numbers from 0 to 1")
            return None
        if not all(0 <= part <= 1 for part in (red, green, blue)):
            what = f"colorspec '{shorten(text, 30)}' is out of range"
            self.attribute_error(node, "colorspec", what, "three numbers from 0 to 1")
        return red, green, blue
