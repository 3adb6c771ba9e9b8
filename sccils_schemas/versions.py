"""Versions of SCCILS: what came after 0.1 stands only in a document that says so on its root.

SCCILS 0.2 is 0.1 and what chapter 9 of the dissertation wishes for. `elements` says of each element and attribute since
when there is one, and `mapping` looks there as it reads. Delays of operands are in texts: they are looked for here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from sccils_schemas.mapping import ELEMENTS, ElementToWrite, newer
from sccils_schemas.reader import FIRST_VERSION, Reader
from sccils_schemas.rules import is_delayed
from sccils_schemas.xmlread import Node

_Branch = TypeVar("_Branch", Node, ElementToWrite)
DELAYS = "0.2"
"""Since when operands can have a delay."""


def check_delays(reader: Reader, root: Node) -> None:
    """Report every delay in a document of a version that has none. Worth calling where there is an @ in it."""
    for node in _delayed(root, FIRST_VERSION):
        reader.newer(node, "@", DELAYS)


def find_newer(root: ElementToWrite, *, delays: bool) -> Iterator[tuple[str, str, str]]:
    """Yield (name of an element, attribute or nothing, since when there is such a one) of what is newer than said.

    A script inside a command may say its version itself. `delays` are worth looking for where there is an @ in it.
    """
    if delays:
        yield from ((element.tag, "@", DELAYS) for element in _delayed(root, FIRST_VERSION))
    yield from _newer_parts(root, FIRST_VERSION)


def _newer_parts(root: ElementToWrite, version: str) -> Iterator[tuple[str, str, str]]:
    if "version" in root.attributes:
        version = root.attributes["version"]
    element = ELEMENTS.get(root.tag)
    if element is not None and element.newest > version:
        yield from ((root.tag, name, since) for name, since in newer(element, root.attributes, version))
    for child in root.children:
        yield from _newer_parts(child, version)


def _delayed(root: _Branch, version: str) -> Iterator[_Branch]:
    version = root.attributes.get("version", version).strip()
    if version < DELAYS and any(map(is_delayed, _rule_texts(root))):
        yield root
    for child in root.children:
        yield from _delayed(child, version)  # pyright: ignore[reportArgumentType]  # children are of their parent's type


def _rule_texts(element: Node | ElementToWrite) -> list[str]:
    """Return the texts of an element in which operands stand."""
    found = [element.attributes[name] for name in ("boolstring", "activation_sensors") if name in element.attributes]
    written = element.tag == "initial_data" or element.attributes.get("datatype") == "char"
    return [*found, element.text] if written else found
