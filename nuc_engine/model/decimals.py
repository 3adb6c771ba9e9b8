"""Numbers as people read them: the shortest decimal that gives the same number back."""

from __future__ import annotations

import struct
from bisect import bisect_left


def number_text(value: int | float, datatype: str) -> str:
    """Return the shortest decimal that gives the same number of this type back."""
    if isinstance(value, int):
        return str(value)
    if datatype != "float":
        return repr(value).removesuffix(".0")
    single = struct.pack("f", value)
    # What is written with more digits is never further off: where one number of digits does, so does each larger one.
    digits = bisect_left(range(1, 9), True, key=lambda some: _single(f"{value:.{some}g}") == single) + 1
    shortest = f"{value:.{digits}g}"
    return shortest if abs(value) >= 1e6 or "e" not in shortest else f"{float(shortest):.12g}"


def _single(text: str) -> bytes:
    return struct.pack("f", float(text))


def plain_number(value: int | float, datatype: str) -> int | float:
    """Return a number without the binary noise of a 32-bit float."""
    return value if isinstance(value, int) else float(number_text(value, datatype))
