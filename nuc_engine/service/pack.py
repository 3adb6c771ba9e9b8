"""MessagePack of answers and telemetry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgpack


def pack_map(values: Mapping[str, Any]) -> bytes:
    """Return a map as MessagePack; mappings become maps, and what MessagePack does not know becomes text."""
    packed: Any = msgpack.packb(dict(values), default=_plain, unicode_errors="replace")
    return packed


def _plain(value: Any) -> Any:
    return dict(cast(Mapping[Any, Any], value)) if isinstance(value, Mapping) else str(value)
