"""Indirect addresses of an emulated servo: registers that name other addresses, and the bytes those have.

A servo has a row of two-byte indirect addresses, and as many bytes of indirect data: what is read or written there is
what lies at the addresses. Source: the maker's control tables (the first row; servos with a second one refuse it here),
and what an address may be: none of the settings, and nothing behind the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

# By model number: first indirect address, how many there are, first byte of the data, highest address they may name.
_ROWS: Final = {1200: (168, 20, 208, 227), 1060: (168, 28, 224, 661), 1020: (168, 28, 224, 661)}
_LOWEST: Final = 64


class Indirect:
    """The row of a model; each indirect address is that of its own data at first, behind which there is nothing."""

    __slots__ = ("_count", "_data", "_first", "_highest", "_pointers", "end")

    def __init__(self, model_number: int) -> None:
        """Start as after power-up; `end` is the first address behind all of it."""
        self._first, self._count, self._data, self._highest = _ROWS[model_number]
        self.end = max(self._first + 2 * self._count, self._data + self._count)
        self._pointers = bytearray()
        self.power_up()

    def power_up(self) -> None:
        """Forget what was written."""
        self._pointers = bytearray(b"".join((self._data + k).to_bytes(2, "little") for k in range(self._count)))

    def holds(self, address: int, data: bytes) -> bool:
        """Whether a write is one of whole indirect addresses."""
        at = address - self._first
        return 0 <= at <= at + len(data) <= len(self._pointers) and not at % 2 and not len(data) % 2

    def write(self, address: int, data: bytes) -> bool:
        """Take a write of whole indirect addresses; False, and nothing is changed, where one is out of range."""
        named = (int.from_bytes(data[at : at + 2], "little") for at in range(0, len(data), 2))
        if not all(_LOWEST <= place <= self._highest for place in named):
            return False
        at = address - self._first
        self._pointers[at : at + len(data)] = data
        return True

    def read(self, address: int, count: int) -> bytes | None:
        """Return bytes of the indirect addresses, None for a stretch that begins elsewhere."""
        at = address - self._first
        if not 0 <= at < len(self._pointers):
            return None
        return bytes(self._pointers[at : at + count]).ljust(count, b"\0")

    def runs(self, address: int, count: int) -> Sequence[tuple[int, int]]:
        """Return where `count` bytes from `address` on really are: stretches of first address and length."""
        if address + count <= self._data or address >= self._data + self._count:
            return [(address, count)] if count else []
        runs: list[tuple[int, int]] = []
        for at in range(address, address + count):
            k = at - self._data
            place = int.from_bytes(self._pointers[2 * k : 2 * k + 2], "little") if 0 <= k < self._count else at
            if runs and sum(runs[-1]) == place:
                runs[-1] = (runs[-1][0], runs[-1][1] + 1)
            else:
                runs.append((place, 1))
        return runs
