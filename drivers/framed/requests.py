"""The requests a bus makes, as they go over the wire in a dialect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drivers.framed.packet import BROADCAST, PING, READ, SYNC_READ, SYNC_WRITE, WRITE, Dialect
from drivers.framed.registers import Register


def ping(dialect: Dialect, bus_id: int) -> bytes:
    """Return the request "are you there"."""
    return dialect.instruction(bus_id, PING)


def read(dialect: Dialect, bus_id: int, address: int, length: int) -> bytes:
    """Return the request for `length` bytes from `address` on."""
    return dialect.instruction(bus_id, READ, _span(dialect, address, length))


def write(dialect: Dialect, bus_id: int, register: Register, value: int) -> bytes:
    """Return the request that sets a register. Raises `FrameError` for a value it cannot hold."""
    return dialect.instruction(
        bus_id, WRITE, register.address.to_bytes(dialect.address_bytes, "little") + register.encode(value)
    )


def sync_read(dialect: Dialect, ids: Sequence[int], address: int, length: int, instruction: int = SYNC_READ) -> bytes:
    """Return the request for the same bytes of several servos, which answer in the order of `ids`."""
    return dialect.instruction(BROADCAST, instruction, _span(dialect, address, length) + bytes(ids))


def sync_write(dialect: Dialect, register: Register, values: Iterable[tuple[int, int]]) -> bytes:
    """Return the request that sets one register of several servos, (id, value) each; no servo answers it."""
    params = bytearray(_span(dialect, register.address, register.size))
    encode = register.encode
    for bus_id, value in values:
        params.append(bus_id)
        params += encode(value)
    return dialect.instruction(BROADCAST, SYNC_WRITE, bytes(params))


def _span(dialect: Dialect, address: int, length: int) -> bytes:
    size = dialect.address_bytes
    return address.to_bytes(size, "little") + length.to_bytes(size, "little")
