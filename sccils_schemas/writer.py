"""From typed documents to bytes: UTF-8, a DOCTYPE, two spaces per level, the same bytes for the same document.

`parse(write(document))` gives the document back. Numbers are written in their shortest exact form.
"""

from __future__ import annotations

import re

from sccils_schemas import elements
from sccils_schemas.documents import Document, ScriptEntry
from sccils_schemas.mapping import ElementToWrite
from sccils_schemas.names import shorten
from sccils_schemas.problems import SccilsError
from sccils_schemas.versions import find_newer
from sccils_schemas.xmlread import DTD_OF_ROOT

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_IN_ATTRIBUTE = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)


def write(document: Document) -> bytes:
    """Return a document as bytes.

    Raises SccilsError for values XML cannot hold (control characters, infinities), and for what is newer than the
    version that the document says it is of.
    """
    root = _element(document)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<!DOCTYPE {root.tag} SYSTEM "{DTD_OF_ROOT[root.tag]}">']
    _lay_out(root, 0, lines)
    text = "\n".join(lines) + "\n"
    for tag, attribute, since in find_newer(root, delays="@" in text):
        what = f"{attribute} of <{tag}>" if attribute else f"<{tag}>"
        raise SccilsError(f"{what} is of SCCILS {since}: make the document one of that version")
    return text.encode()


def write_entry(entry: ScriptEntry) -> str:
    """Return one entry of a script as a line of XML. Raises SccilsError for values XML cannot hold."""
    lines: list[str] = []
    _lay_out(_element(entry), 0, lines)
    return "".join(lines)


def _element(document: Document | ScriptEntry) -> ElementToWrite:
    try:
        return elements.write_element(document)
    except ValueError as error:
        raise SccilsError(str(error)) from error


def _lay_out(element: ElementToWrite, depth: int, lines: list[str]) -> None:
    indent = "  " * depth
    attributes = "".join(
        f' {name}="{_legal(value).translate(_IN_ATTRIBUTE)}"' for name, value in element.attributes.items()
    )
    text = _legal(element.text).translate(_IN_TEXT) if element.text else ""
    if not element.children:
        end = f">{text}</{element.tag}>" if text else "/>"
        lines.append(f"{indent}<{element.tag}{attributes}{end}")
        return
    lines.append(f"{indent}<{element.tag}{attributes}>{text}")
    for child in element.children:
        _lay_out(child, depth + 1, lines)
    lines.append(f"{indent}</{element.tag}>")


def _legal(text: str) -> str:
    wrong = _ILLEGAL.search(text)
    if wrong:
        raise SccilsError(f"{wrong.group()!r} in '{shorten(text, 30)}' cannot stand in XML")
    return text
