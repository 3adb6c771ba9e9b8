"""What every reader of a tree needs: where problems go, what stands in for ids, numbers that stand as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sccils_schemas.documents import DataType
from sccils_schemas.lines import attribute_line, data_line, text_line, with_data
from sccils_schemas.names import counted, did_you_mean, shorten
from sccils_schemas.numbers import SPACE, NumberError, read_number, split_words
from sccils_schemas.problems import Problems
from sccils_schemas.xmlread import Node

MAX_HDSO_ELEMENTS = 65536
"""Most elements of one HDSO, and most numbers in one list."""
FIRST_VERSION = "0.1"
"""What a document is of that does not say its version."""
STAND_IN = -1000
"""Numbers from here down stand in for ids that are missing or bad; checks pass over them."""


class Reader:
    """Reads one document's tree, of which everything that the grammar does not allow has been reported and taken out.

    What is missing then becomes a stand-in without a second report. `version` is that of SCCILS which the document says
    it is of; a script inside a command may say its own.
    """

    def __init__(self, file: str, problems: Problems) -> None:
        self.file = file
        self.version = FIRST_VERSION
        self._problems = problems
        self._stand_in = STAND_IN

    def error(self, node: Node, what: str, expected: str = "", hint: str = "") -> None:
        """Note an error at an element."""
        self._problems.error(self.file, node.line, what, expected, hint)

    def attribute_error(
        self, node: Node, name: str, what: str, expected: str = "", hint: str = "", at: int = 0
    ) -> None:
        """Note an error at a character of an attribute."""
        self._problems.error(self.file, attribute_line(node.line, name, at), what, expected, hint)

    def attribute_warning(self, node: Node, name: str, what: str, expected: str = "", hint: str = "") -> None:
        """Note a warning at the value of an attribute."""
        self._problems.warning(self.file, attribute_line(node.line, name), what, expected, hint)

    def text_error(self, node: Node, what: str, expected: str = "", hint: str = "") -> None:
        """Note an error at an element's text."""
        self._problems.error(self.file, text_line(node.line), what, expected, hint)

    def newer(self, node: Node, attribute: str, since: str) -> None:
        """Note that an element, or an attribute of one, is not of the document's version."""
        line, what = (attribute_line(node.line, attribute), f"{attribute} of ") if attribute else (node.line, "")
        hint = f'write version="{since}" on its root'
        self._problems.error(
            self.file, line, f"{what}<{node.tag}> is of SCCILS {since}", "a document of that version", hint
        )

    def guess(self, word: str, known: Sequence[str]) -> str:
        """Return what was probably meant, as long as guessing is worth its time."""
        return did_you_mean(word, known) if self._problems.guessing else ""

    def stand_in(self) -> int:
        """Return a number that stands in for a missing id and is like no other."""
        self._stand_in -= 1
        return self._stand_in

    def finite(self, text: str, what: str, line: Callable[[], int]) -> float:
        """Return a finite number whose form the grammar has checked; `line` tells where it stands."""
        value = float(text)
        if not math.isfinite(value):
            what = f"{what} {shorten(text.strip(SPACE), 30)} is too large"
            self._problems.error(self.file, line(), what, "a finite number")
            return 1.0
        return value

    def number_in(self, node: Node, what: str) -> float:
        """Return the finite number that is an element's text."""
        return self.finite(node.text, what, lambda: text_line(node.line))

    def numbers(self, node: Node, datatype: DataType, what: str) -> tuple[int | float, ...] | None:
        """Return an element's text as numbers of a data type, or None when any cannot be read."""
        words = split_words(node.words)
        if len(words) > MAX_HDSO_ELEMENTS:
            self.text_error(node, f"{what} has {counted(len(words), 'number')}", f"at most {MAX_HDSO_ELEMENTS}")
            return None
        values: list[int | float] = []
        bad = False
        place = with_data(node.line, node.line)
        for at, word in enumerate(words):
            try:
                values.append(read_number(word, datatype))
            except NumberError as error:
                bad = True
                line = data_line(place, at)
                self._problems.error(self.file, line, f"{what}: {error.what}", error.expected, error.hint)
        return None if bad else tuple(values)
