"""Between elements and dataclasses, both ways: a table of elements says which part of one is which field of the other.

The table is `sccils_schemas.elements`. Parts stand in it in the order they are written in.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field
from typing import Any, Final

from sccils_schemas.numbers import SPACE
from sccils_schemas.reader import Reader
from sccils_schemas.values import Given, ValueKind
from sccils_schemas.xmlread import Node

Fields = dict[str, Any]
"""Fields of a dataclass by name."""

_UNSAID: Final = object()
_REQUIRED: Final = object()


@dataclass(slots=True)
class ElementToWrite:
    """An element to be written; its text keeps children on the same line."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    children: list[ElementToWrite] = field(default_factory=list["ElementToWrite"])
    text: str = ""


class ElementPart:
    """What an element has, one or several of its attributes and children, and the fields that stand for it."""

    def read(self, reader: Reader, node: Node) -> Fields:
        """Return the fields; what is left out here has the default of its dataclass."""
        raise NotImplementedError

    def write(self, document: Any, out: ElementToWrite) -> None:
        """Add the part to an element, unless it is to be left out."""
        raise NotImplementedError


@dataclass(frozen=True)
class Attribute(ElementPart):
    """One attribute, one field. It may be left out where the dataclass has a default, or the table gives one.

    `always`: it is written even if it has its default. `since`: the version of SCCILS that brought it, if that was not
    the first.
    """

    name: str
    field: str
    kind: ValueKind
    default: object = _UNSAID
    always: bool = False
    since: str = ""

    @property
    def required(self) -> bool:
        """Whether it must be there."""
        return self.default is _REQUIRED

    def read(self, reader: Reader, node: Node) -> Fields:
        """Return the field; in place of a required value that is not there one that stands in for it."""
        text = node.attributes.get(self.name)
        if text is not None:
            return {self.field: self.kind.read(Given(reader, node, self.name, text))}
        return {self.field: self.kind.stand_in(reader, node) if self.required else self.default}

    def write(self, document: Any, out: ElementToWrite) -> None:
        """Add the attribute."""
        value = getattr(document, self.field)
        if value is not None and (self.always or value != self.default):
            out.attributes[self.name] = self.kind.write(value)


def required(name: str, field: str, kind: ValueKind) -> Attribute:
    """Return an attribute that must be there although its field has a default."""
    return Attribute(name, field, kind, _REQUIRED)


def attributes(kind: ValueKind, **fields: str) -> tuple[Attribute, ...]:
    """Return several attributes of a kind, each with its field."""
    return tuple(Attribute(name, field, kind) for name, field in fields.items())


@dataclass(frozen=True)
class WrittenBy(ElementPart):
    """What is written by a function; the `fields` of its element read it."""

    put: Callable[[Any, ElementToWrite], None]

    def read(self, reader: Reader, node: Node) -> Fields:
        """Leave it."""
        return {}

    def write(self, document: Any, out: ElementToWrite) -> None:
        """Add it."""
        self.put(document, out)


@dataclass(frozen=True)
class TextPart(ElementPart):
    """The element's own text without the white space around it."""

    field: str = "text"

    def read(self, reader: Reader, node: Node) -> Fields:
        """Return the field."""
        return {self.field: node.text.strip(SPACE)}

    def write(self, document: Any, out: ElementToWrite) -> None:
        """Add the text."""
        out.text = getattr(document, self.field)


@dataclass(frozen=True)
class TextChild(ElementPart):
    """A child that has nothing but a text; with `several`, each is one of a tuple."""

    tag: str
    field: str
    several: bool = False

    def read(self, reader: Reader, node: Node) -> Fields:
        """Return the field."""
        texts = tuple(child.text.strip(SPACE) for child in node.children if child.tag == self.tag)
        return {self.field: texts} if self.several else {self.field: next(iter(texts), None)}

    def write(self, document: Any, out: ElementToWrite) -> None:
        """Add the children."""
        value = getattr(document, self.field)
        texts = value if self.several else () if value is None else (value,)
        out.children += [ElementToWrite(self.tag, text=text) for text in texts]


@dataclass(frozen=True)
class Children(ElementPart):
    """Children of any of these names, in the order of the document."""

    field: str
    tags: tuple[str, ...]

    def read(self, reader: Reader, node: Node) -> Fields:
        """Return the field."""
        return {self.field: tuple(read(reader, child) for child in node.children if child.tag in self.tags)}

    def write(self, document: Any, out: ElementToWrite) -> None:
        """Add the children."""
        out.children += map(write_element, getattr(document, self.field))


@dataclass(frozen=True)
class OneChild(ElementPart):
    """One child, perhaps inside an element that holds nothing else.

    `stand_in` is for one that must be there; `more` is what is said of a second one where the grammar allows it.
    """

    field: str
    tag: str
    holder: str = ""
    stand_in: object = None
    more: tuple[str, ...] = ()

    def read(self, reader: Reader, node: Node) -> Fields:
        """Return the field."""
        outer = [child for child in node.children if child.tag == (self.holder or self.tag)]
        inner = [child for holder in outer[:1] for child in holder.children] if self.holder else outer
        if not inner:
            return {} if self.stand_in is None else {self.field: self.stand_in}
        first, *others = inner
        found = read(reader, first)
        for extra in others if self.more else ():
            reader.error(extra, *self.more)
            read(reader, extra)
        return {self.field: found}

    def write(self, document: Any, out: ElementToWrite) -> None:
        """Add the child."""
        value = getattr(document, self.field)
        if value is not None:
            child = write_element(value)
            out.children.append(ElementToWrite(self.holder, children=[child]) if self.holder else child)


class Element:
    """One element and its dataclass. `since`: the version of SCCILS that brought it, if not the first."""

    def __init__(self, tag: str, type: Callable[..., Any], *parts: ElementPart, since: str = "") -> None:  # noqa: A002
        self.tag, self.type, self.since = tag, type, since
        declared: Mapping[str, Any] = {item.name: item.default for item in dataclasses.fields(type)}  # type: ignore
        self._has_line, self._has_source = "line" in declared, "source" in declared
        self.parts = tuple(
            dataclasses.replace(part, default=_REQUIRED if declared[part.field] is MISSING else declared[part.field])
            if isinstance(part, Attribute) and part.default is _UNSAID
            else part
            for part in parts
        )
        self.attributes_since = {part.name: part.since for part in parts if isinstance(part, Attribute) and part.since}
        self.newest = max([since, *self.attributes_since.values()])
        ELEMENTS[tag] = _OF_TYPE[type] = self

    def fields(self, reader: Reader, node: Node) -> Fields:
        """Return the fields of the dataclass."""
        found: Fields = {"line": node.line} if self._has_line else {}
        if self._has_source:
            found["source"] = reader.file
        for part in self.parts:
            found |= part.read(reader, node)
        return found

    def write(self, document: Any) -> ElementToWrite:
        """Return the element to be written."""
        out = ElementToWrite(self.tag)
        for part in self.parts:
            part.write(document, out)
        return out


ELEMENTS: dict[str, Element] = {}
_OF_TYPE: dict[Callable[..., Any], Element] = {}


def read(reader: Reader, node: Node) -> Any:
    """Return the document, or the part of one, that an element stands for."""
    element = ELEMENTS[node.tag]
    around = reader.version
    if "version" in node.attributes:
        reader.version = node.attributes["version"].strip(SPACE)
    if element.newest > reader.version:
        for attribute, since in newer(element, node.attributes, reader.version):
            reader.newer(node, attribute, since)
    found = element.type(**element.fields(reader, node))
    reader.version = around
    return found


def newer(element: Element, attributes: Mapping[str, str], version: str) -> list[tuple[str, str]]:
    """Return what is newer than a version, each with the one that brought it: the element, as "", or its attributes."""
    if element.since > version:
        return [("", element.since)]
    since = element.attributes_since
    return [(name, since[name]) for name in attributes if since.get(name, "") > version]


def write_element(document: Any) -> ElementToWrite:
    """Return the element that stands for a document, or for a part of one. Raises ValueError for infinities."""
    return _OF_TYPE[type(document)].write(document)


def tag_of(part: object) -> str:
    """Return the name of the element that stands for a part of a document."""
    return _OF_TYPE[type(part)].tag
