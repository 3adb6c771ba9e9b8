"""All messages as TypeScript types, for programs in JavaScript that are checked before they run.

`python -m nuc_engine.messages.typescript` prints them: `Params` and `Results` by the method's name, and what they are
made of. They are made of the same JSON Schema as `nuc_engine.messages.described` prints.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Any

from nuc_engine.messages.described import schema

Node = Mapping[str, Any]

_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_HEAD = """\
// Messages of the channel. Made by `python -m nuc_engine.messages.typescript` from the classes in nuc_engine/messages:
// change those, not this.
"""


def declarations() -> str:
    """Return the text of a `.d.ts` file."""
    found = schema()
    parts = [_HEAD]
    parts += [_declaration(name, node) for name, node in sorted(found["$defs"].items())]
    for title, key in (("Params", "params"), ("Results", "result")):
        lines = [f"  {method}: {_type(pair[key])};" for method, pair in found["methods"].items()]
        parts.append("\n".join([f"export interface {title} {{", *lines, "}\n"]))
    return "\n".join(parts)


def _declaration(name: str, node: Node) -> str:
    if "properties" not in node and node.get("type") != "object":
        return f"{_comment(node)}export type {name} = {_type(node)};\n"
    required = set(node.get("required", ()))
    lines = [
        f"  {_key(field)}{'' if field in required else '?'}: {_type(kind)};"
        for field, kind in node.get("properties", {}).items()
    ]
    return "\n".join([f"{_comment(node)}export interface {name} {{", *lines, "}\n"])


def _comment(node: Node) -> str:
    text = " ".join(str(node.get("description", "")).split()).replace("*/", "* /")
    return f"/** {text} */\n" if text else ""


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else json.dumps(name)


def _type(node: Node) -> str:
    if "$ref" in node:
        return str(node["$ref"]).rpartition("/")[2]
    if "enum" in node:
        return " | ".join(map(json.dumps, node["enum"]))
    if "anyOf" in node:
        return " | ".join(dict.fromkeys(map(_type, node["anyOf"])))
    kind = node.get("type")
    if kind == "array":
        return _array(node)
    if kind == "object":
        return _object(node)
    return "any" if kind is None else _PLAIN[kind]


def _array(node: Node) -> str:
    if "prefixItems" in node:
        return f"[{', '.join(map(_type, node['prefixItems']))}]"
    items = node.get("items")
    inner = _type(items) if isinstance(items, Mapping) else "any"
    return f"({inner})[]" if " | " in inner else f"{inner}[]"


def _object(node: Node) -> str:
    held = node.get("additionalProperties", {})
    return f"Record<string, {_type(held) if isinstance(held, Mapping) else 'any'}>"


if __name__ == "__main__":
    sys.stdout.write(declarations())
