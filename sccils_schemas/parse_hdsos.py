"""Building HDSO lists from a checked tree: dimensions, ranges, initial data."""

from __future__ import annotations

import math

from sccils_schemas.documents import DataType, Hdso, HdsoList, Range, RangeType
from sccils_schemas.names import counted
from sccils_schemas.reader import DATATYPES, MAX_HDSO_ELEMENTS, Reader
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
    )


def _hdso(node: Node, reader: Reader) -> Hdso:
    datatype = reader.word(node, "datatype", DATATYPES)
    xmltype = reader.word(node, "xmltype", DATATYPES)
    abstract_type = reader.optional(node, "abstractType")
    dims = _dims(node, reader)
    initial = reader.child(node, "initial_data")
    data: tuple[int | float, ...] | str | None = None
    if initial is not None:
        as_text = xmltype == "char" or abstract_type == "boolstring"
        data = reader.text(initial) if as_text else _initial_numbers(initial, reader, datatype, dims)
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
        line=node.line,
    )


def _initial_numbers(
    node: Node, reader: Reader, datatype: DataType, dims: tuple[int, ...]
) -> tuple[int | float, ...] | None:
    values = reader.numbers(node, datatype, "initial_data")
    count = math.prod(dims)
    if values is not None and len(values) != count:
        reader.error(
            node, f"initial_data has {counted(len(values), 'value')}", f"{count}, the product of the dimension sizes"
        )
    return values


def _dims(node: Node, reader: Reader) -> tuple[int, ...]:
    sizes = [child for child in reader.children(node, "dimsize") if "dimNr" in child.attributes]
    numbered = {int(child.attributes["dimNr"]): int(child.text or "1") for child in sizes}
    wanted = reader.integer(node, "numdims", len(sizes))
    if not 1 <= wanted <= MAX_DIMENSIONS:
        reader.error(node, f"numdims='{wanted}'", f"1 to {MAX_DIMENSIONS}", "a single value has numdims='1'")
    elif sorted(numbered) != list(range(1, wanted + 1)) or len(sizes) != len(numbered):
        have = ", ".join(child.attributes["dimNr"] for child in sizes) or "none"
        expected = f"one dimsize for each dimNr from 1 to {wanted}"
        reader.error(node, f"numdims='{wanted}' but dimsize is given for {have}", expected)
    dims = tuple(numbered[number] for number in sorted(numbered)) or (1,)
    if 0 in dims:
        reader.error(node, "a dimension has size 0", "1 or more")
    if math.prod(dims) > MAX_HDSO_ELEMENTS:
        reader.error(node, f"HDSO of {math.prod(dims)} elements", f"at most {MAX_HDSO_ELEMENTS}")
        return (1,)
    return dims


def _range(node: Node, reader: Reader) -> Range:
    bounds: dict[str, float] = {}
    for child in reader.children(node, "bound"):
        side = child.attributes.get("type", "").strip()
        if side in bounds:
            reader.error(child, f"a second {side} bound in one range", "one upper and one lower bound")
        if child.text:
            bounds[side] = reader.finite(child, child.text, "bound")
    quantum = reader.child(node, "quantum")
    lower, upper = bounds.get("lower"), bounds.get("upper")
    if lower is not None and upper is not None and lower > upper:
        reader.error(node, f"lower bound {lower:g} is above upper bound {upper:g}", "lower <= upper")
    return Range(
        type=reader.word(node, "type", RANGE_TYPES),
        lower=lower,
        upper=upper,
        quantum=reader.finite(quantum, quantum.text, "quantum") if quantum and quantum.text else None,
        line=node.line,
    )
