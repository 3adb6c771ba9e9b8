"""The verdict on a document, which is lxml's: whether it is well-formed, and whether its RELAX NG grammar allows it."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from sccils_schemas.lines import ElementLine
from sccils_schemas.xmlread import GRAMMAR_OF_ROOT, Node, SourceText

SchemaFault = tuple[int, str]
"""A line, and what lxml has against the document there."""


def judge(source: SourceText) -> Node | SchemaFault:
    """Return the root element of a document that its grammar allows, or the first fault that is found in another."""
    etree = _lxml()
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False)
    try:
        root = etree.fromstring(source.text.encode(), parser)
    except etree.XMLSyntaxError as error:
        return error.lineno or 0, f"not well-formed XML: {error.msg}"
    if root.tag not in GRAMMAR_OF_ROOT:
        return 1, f"the root element is <{root.tag}>"
    grammar = _grammar(GRAMMAR_OF_ROOT[root.tag])
    if not grammar.validate(root):
        first = grammar.error_log[0]
        return first.line, f"not allowed by the grammar: {first.message}"
    return _Copy(source).of(root)


def _lxml() -> Any:
    """Return lxml's etree, which has no types of its own; where no document is read it is not loaded."""
    from lxml import etree  # type: ignore[attr-defined]

    return etree  # pyright: ignore[reportUnknownVariableType]


@functools.cache
def _grammar(name: str) -> Any:
    return _lxml().RelaxNG(file=str(Path(__file__).with_name("rng") / f"{name}.rng"))


class _Copy:
    """The tree of a document, which goes no deeper than its grammar, taken over from lxml's."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._starts = source.starts()
        self._number = -1

    def of(self, element: Any) -> Node:
        # lxml knows the line a start tag ends on.
        line: int = element.sourceline
        self._number += 1
        start = ElementLine(self._starts.pop(line, line), self._source, self._number)
        node = Node(element.tag, dict(element.attrib), start, pieces=[element.text or ""])
        for child in element:
            if isinstance(child.tag, str):
                node.children.append(self.of(child))
            if child.tail:
                node.pieces.append(child.tail)
        return node
