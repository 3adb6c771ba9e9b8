"""Requests to several servos at once: what is in them, for the servos' side."""

from __future__ import annotations

from typing import Final, NamedTuple

from drivers.framed.packet import SYNC_READ, SYNC_WRITE, Packet

FAST_SYNC_READ: Final = 0x8A
BULK_READ: Final = 0x92
BULK_WRITE: Final = 0x93
FAST_BULK_READ: Final = 0x9A

READS: Final = frozenset((SYNC_READ, FAST_SYNC_READ, BULK_READ, FAST_BULK_READ))
FAST: Final = frozenset((FAST_SYNC_READ, FAST_BULK_READ))
WRITES: Final = frozenset((SYNC_WRITE, BULK_WRITE))


class GroupPart(NamedTuple):
    """What a request to several is for one of them: `length` bytes from `address`, or `data` to there."""

    bus_id: int
    address: int
    length: int
    data: bytes = b""


def group_parts(packet: Packet, width: int) -> tuple[GroupPart, ...]:
    """Return the parts of a request to several, in their order; addresses and counts are `width` bytes.

    Nothing for a packet whose parameters do not come out even: no servo could tell which part is its own.
    """
    params = packet.params
    if packet.instruction in (BULK_READ, FAST_BULK_READ):
        return _bulk_read(params, width)
    if packet.instruction == BULK_WRITE:
        return _bulk_write(params, width)
    if len(params) < 2 * width:
        return ()
    address, count = _number(params[:width]), _number(params[width : 2 * width])
    rest = params[2 * width :]
    if packet.instruction != SYNC_WRITE:
        return tuple(GroupPart(bus_id, address, count) for bus_id in rest)
    if len(rest) % (count + 1):
        return ()
    pieces = (rest[at : at + count + 1] for at in range(0, len(rest), count + 1))
    return tuple(GroupPart(piece[0], address, count, piece[1:]) for piece in pieces)


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _bulk_read(params: bytes, width: int) -> tuple[GroupPart, ...]:
    size = 1 + 2 * width
    if len(params) % size:
        return ()
    pieces = (params[at : at + size] for at in range(0, len(params), size))
    return tuple(GroupPart(piece[0], _number(piece[1 : 1 + width]), _number(piece[1 + width :])) for piece in pieces)


def _bulk_write(params: bytes, width: int) -> tuple[GroupPart, ...]:
    parts: list[GroupPart] = []
    while params:
        head, params = params[: 1 + 2 * width], params[1 + 2 * width :]
        count = _number(head[1 + width :])
        if len(head) < 1 + 2 * width or len(params) < count:
            return ()
        parts.append(GroupPart(head[0], _number(head[1 : 1 + width]), count, params[:count]))
        params = params[count:]
    return tuple(parts)
