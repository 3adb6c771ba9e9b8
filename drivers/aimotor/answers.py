"""What the two bytes say that come back for requests other than send and read. Pure.

Which request an answer is for only its sender knows: the bytes do not tell. All of it raises `FrameError` for bytes
that cannot be the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from drivers.aimotor.codec import HEADER, MAX_RAW, REPLY_BYTES
from drivers.aimotor.table import MOST_10BIT, SetCommand
from drivers.errors import FrameError

_WHOLE_BYTE: Final = ("A/D",)
"""Fields that may be 255."""


def decode_10bit(data: bytes) -> int:
    """Return the position, 0 to 1023, of the answer to a ten-bit move or read.

    Whether a move is answered with the present position or with its target is not established.
    """
    if len(data) != REPLY_BYTES or data[0] > MOST_10BIT >> 7 or data[1] > 0x7F:
        raise FrameError(f"{_hex(data)} is no ten-bit position: expected 0 to 7, then 0 to 127")
    return data[0] << 7 | data[1]


def encode_10bit(position: int) -> bytes:
    """Return the two bytes that say a ten-bit position, 0 to 1023."""
    if not 0 <= position <= MOST_10BIT:
        raise FrameError(f"position {position} does not fit the wire: expected 0 to {MOST_10BIT}")
    return bytes((position >> 7, position & 0x7F))


def decode_set(row: SetCommand, data: bytes) -> Mapping[str, int]:
    """Return what the answer to a set or read command says, by the names of `row.fields`.

    The two bytes of one value must agree. Nothing may be decoded of a command that is not answered.
    """
    if not row.answered:
        raise FrameError(f"{row.name} ({row.code:#04x}) is not answered: {_hex(data)} belongs to something else")
    if len(data) != REPLY_BYTES:
        raise FrameError(f"{_hex(data)} is no answer to {row.name}: expected two bytes")
    values: dict[str, int] = {}
    for field, value in zip(row.fields, data, strict=True):
        if value == HEADER and field not in _WHOLE_BYTE:
            raise FrameError(f"{_hex(data)} is no answer to {row.name}: expected {field} of 0 to {MAX_RAW}")
        if values.setdefault(field, value) != value:
            raise FrameError(f"{_hex(data)} is no answer to {row.name}: expected the same {field} twice")
    return values


def confirm_set(row: SetCommand, d3: int, d4: int, data: bytes) -> None:
    """See that the answer to a set command repeats what was set."""
    decode_set(row, data)
    if data != bytes((d3, d4)):
        raise FrameError(f"{row.name}: set to {d3} and {d4}, but the servo answered {data[0]} and {data[1]}")


def _hex(data: bytes) -> str:
    return data.hex(" ") or "nothing"
