"""Building HDSO lists from a checked tree: dimensions, ranges, initial data."""

from __future__ import annotations

import math

from sccils_schemas.documents import Hdso, HdsoList, Range, RangeType
from sccils_schemas.lines import Spread, with_data, with_parts
from sccils_schemas.names import counted, shorten
from sccils_schemas.numbers import read_whole
from sccils_schemas.reader import DATATYPES, MAX_HDSO_ELEMENTS, Reader
from sccils_schemas.rules import DEFAULT_WIDTH
from sccils_schemas.xmlread import Node

MAX_DIMENSIONS = 8
"""Most dimensions of one HDSO."""
RANGE_TYPES: tuple[RangeType, ...] = ("suggested", "valid", "normal", "invalid")


def build_hdsolist(node: Node, reader: Reader, file: str) -> HdsoList:
    """Return an HDSO list."""
    return HdsoList(
        hdsos=tuple(_hdso(child, reader) for child in reader.children(node, "hdso")),
        name=reader.optional(node, "name"),
        fullname=reader.optional(node, "fullname"),
        description=reader.description(node),
        data_set_type=reader.optional(node, "DataSetType"),
        source=file,
        line=node.line,
    )


def _hdso(node: Node, reader: Reader) -> Hdso:
    datatype = reader.word(node, "datatype", DATATYPES)
    xmltype = reader.word(node, "xmltype", DATATYPES)
    abstract_type = reader.optional(node, "abstractType")
    dims, sound = _dims(node, reader)
    initial = reader.child(node, "initial_data")
    data: tuple[int | float, ...] | str | None = None
    spread: Spread = ()
    if initial is not None and (xmltype == "char" or abstract_type == "boolstring"):
        data = reader.text(initial)
        spread = reader.character_spread(initial, data)
    elif initial is not None:
        data = reader.numbers(initial, datatype, "initial_data")
        spread = reader.number_spread(initial)
        if data is not None and sound and len(data) != math.prod(dims):
            what = f"initial_data has {counted(len(data), 'value')}"
            reader.text_error(initial, what, f"{math.prod(dims)}, the product of the dimension sizes")
    if not sound:
        dims = (2, DEFAULT_WIDTH) if abstract_type == "boolstring" else (max(len(data or ""), 1),)
    return Hdso(
        id_num=reader.id_num(node),
        name=node.attributes.get("name", ""),
        dims=dims,
        fullname=reader.optional(node, "fullname"),
        description=reader.description(node),
        abstract_type=abstract_type,
        units=reader.optional(node, "units"),
        datatype=datatype,
        xmltype=xmltype,
        overflow_correction=reader.integer(node, "overflowCorrection"),
        ranges=tuple(_range(child, reader) for child in reader.children(node, "range")),
        initial_data=data,
        line=with_data(node.line, spread),
    )


def _dims(node: Node, reader: Reader) -> tuple[tuple[int, ...], bool]:
    """Return the sizes of an HDSO, and whether they are as the document means them, or stand in for bad ones."""
    sizes = [child for child in reader.children(node, "dimsize") if "dimNr" in child.attributes]
    numbered = {read_whole(child.attributes["dimNr"]): read_whole(child.text or "1") for child in sizes}
    wanted = read_whole(node.attributes.get("numdims") or str(len(sizes)))
    checked = [_check_size(child, reader) for child in sizes]
    sound = all(checked)
    if not 1 <= wanted <= MAX_DIMENSIONS:
        what = f"numdims='{shorten(node.attributes['numdims'].strip(), 30)}'"
        reader.attribute_error(node, "numdims", what, f"1 to {MAX_DIMENSIONS}", "a single value has numdims='1'")
    elif sorted(numbered) != list(range(1, wanted + 1)) or len(sizes) != len(numbered):
        have = shorten(", ".join(child.attributes["dimNr"] for child in sizes)) or "none"
        expected = f"one dimsize for each dimNr from 1 to {wanted}"
        reader.attribute_error(node, "numdims", f"numdims='{wanted}' but dimsize is given for {have}", expected)
    dims = tuple(numbered[number] for number in sorted(numbered)) or (1,)
    if sound and math.prod(dims) > MAX_HDSO_ELEMENTS:
        sound = False
        shown = " x ".join(map(str, dims))
        reader.error(node, f"{shown} is {math.prod(dims)} elements", f"at most {MAX_HDSO_ELEMENTS} in one HDSO")
    return (dims, True) if sound else ((1,), False)


def _check_size(node: Node, reader: Reader) -> bool:
    """Report a size of a dimension that none can have."""
    text = node.text.strip()
    size = read_whole(text or "1")
    if 1 <= size <= MAX_HDSO_ELEMENTS:
        return True
    expected = f"at most {MAX_HDSO_ELEMENTS} elements in one HDSO" if size else "1 or more"
    reader.text_error(node, f"a dimension of size {shorten(text, 30)}", expected)
    return False


def _range(node: Node, reader: Reader) -> Range:
    bounds: dict[str, float] = {}
    lines: dict[str, int] = {}
    for child in reader.children(node, "bound"):
        side = child.attributes.get("type", "").strip()
        if side in bounds:
            reader.error(child, f"a second {side} bound in one range", "one upper and one lower bound")
        if child.text:
            bounds[side] = reader.finite(child.text_line, child.text, "bound")
            lines[side] = child.text_line
    quantum = reader.child(node, "quantum")
    if quantum is not None and quantum.text:
        lines["quantum"] = quantum.text_line
    return Range(
        type=reader.word(node, "type", RANGE_TYPES),
        lower=bounds.get("lower"),
        upper=bounds.get("upper"),
        quantum=reader.finite(quantum.text_line, quantum.text, "quantum") if quantum and quantum.text else None,
        line=with_parts(node.line, lines),
    )
