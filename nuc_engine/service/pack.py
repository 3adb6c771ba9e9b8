"""MessagePack of answers and telemetry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgpack
import msgspec


def pack_map(values: Mapping[str, Any]) -> bytes:
    """Return a map as MessagePack; mappings become maps, and what MessagePack does not know becomes text."""
    packed: Any = msgpack.packb(dict(values), default=_plain, unicode_errors="replace")
    return packed


def pack_answer(answer: Mapping[str, Any]) -> bytes:
    """Return an answer as MessagePack; mappings become maps, and what MessagePack does not know becomes text."""
    try:
        return msgspec.msgpack.encode(answer, enc_hook=_plain)
    except UnicodeError:  # the name of a file that is no text
        return pack_map(msgspec.to_builtins(answer, enc_hook=_plain))


def _plain(value: Any) -> Any:
    return dict(cast(Mapping[Any, Any], value)) if isinstance(value, Mapping) else str(value)
