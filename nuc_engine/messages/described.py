"""The table of methods in docs/channel.md, and all messages as a JSON Schema.

`python -m nuc_engine.messages.described` prints the schema, with `--table` the table.
"""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec.structs import FieldInfo, fields

from nuc_engine.messages.answers import Acknowledgement, Status
from nuc_engine.messages.requests import REQUESTS, Request

_BELOW = {Status: "see below", Acknowledgement: "an acknowledgement"}
"""What has a paragraph of its own on the page."""


def table() -> str:
    """Return the table: a row for each method."""
    head = ["| method | parameters | role | result | |", "|---|---|---|---|---|"]
    return "\n".join(head + [_row(kind) for kind in REQUESTS.values()])


def schema() -> dict[str, Any]:
    """Return the JSON Schema of every request's parameters and every answer's result, by the method's name."""
    types = [part for kind in REQUESTS.values() for part in (kind, kind.answer)]
    found, defined = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    pairs = zip(found[::2], found[1::2], strict=True)
    methods = {name: {"params": asked, "result": told} for name, (asked, told) in zip(REQUESTS, pairs, strict=True)}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "methods": methods, "$defs": defined}


def _row(kind: type[Request[Any]]) -> str:
    role = f"**{kind.needs}**" if kind.method == "off" else kind.needs
    cells = (f"`{kind.method}`", ", ".join(map(_parameter, fields(kind))), role + " C" * kind.control)
    return f"| {' | '.join(cells)} | {_result(kind.answer)} | {' '.join((inspect.getdoc(kind) or '').split())} |"


def _parameter(field: FieldInfo) -> str:
    parts = [field.type, *get_args(field.type)]
    words = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
    choice = f" ({', '.join(f'`{word}`' for word in words)})" if words else ""
    return f"`{field.encode_name}`{'' if field.required else '?'}{choice}"


def _result(answer: Any) -> str:
    if get_origin(answer) is tuple:
        return f"list of {_result(get_args(answer)[0])}"
    for meta in getattr(answer, "__metadata__", ()):
        return meta.description
    if answer in _BELOW:
        return _BELOW[answer]
    names = answer.__struct_encode_fields__ if issubclass(answer, msgspec.Struct) else answer.__annotations__
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    sys.stdout.write((table() if "--table" in sys.argv else json.dumps(schema(), indent=2)) + "\n")
