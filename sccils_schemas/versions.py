"""Versions of SCCILS: what came after 0.1 stands only in a document that says so on its root.

SCCILS 0.2 is 0.1 and what chapter 9 of the dissertation wishes for. `elements` says of each element and attribute since
when there is one. A document without the attribute `version` is of 0.1, and is written without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from sccils_schemas.lines import attribute_line
from sccils_schemas.mapping import ELEMENTS, ElementToWrite
from sccils_schemas.problems import Problems
from sccils_schemas.rules import is_delayed
from sccils_schemas.xmlread import Node

_Branch = TypeVar("_Branch", Node, ElementToWrite)
FIRST = "0.1"
RULES_DELAYED = "0.2"
"""Since when operands can have a delay."""
_WITH_RULES = frozenset({"transition_rule", "muscle_activation", "initial_data", "hdsoMod"})
HINT = 'write version="0.2" on its root'


def check_version(root: Node, file: str, problems: Problems) -> None:
    """Report every element and attribute that is newer than its document says that it is."""
    for node, attribute, since in newer(root):
        line, what = (attribute_line(node.line, attribute), f"{attribute} of ") if attribute else (node.line, "")
        problems.error(file, line, f"{what}<{node.tag}> is of SCCILS {since}", "a document of that version", HINT)


def newer(root: _Branch, version: str = FIRST) -> Iterator[tuple[_Branch, str, str]]:
    """Yield (element, attribute or nothing, since when there is such a one) of what is newer than its document says.

    A script inside a command may say its version itself.
    """
    version = root.attributes.get("version", version).strip()
    element = ELEMENTS.get(root.tag)
    if element is not None and element.since > version:
        yield root, "", element.since
    elif element is not None:
        since = element.attributes_since
        yield from ((root, name, since[name]) for name in root.attributes if since.get(name, "") > version)
    if root.tag in _WITH_RULES and version < RULES_DELAYED and any(map(is_delayed, _rule_texts(root))):
        yield root, "@", RULES_DELAYED
    for child in root.children:
        yield from newer(child, version)  # pyright: ignore[reportArgumentType]  # children are of their parent's type


def _rule_texts(element: Node | ElementToWrite) -> list[str]:
    """Return the texts of an element in which operands stand."""
    found = [element.attributes[name] for name in ("boolstring", "activation_sensors") if name in element.attributes]
    written = element.tag == "initial_data" or element.attributes.get("datatype") == "char"
    return [*found, element.text] if written else found
