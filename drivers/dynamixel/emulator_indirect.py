"""Indirect addresses of an emulated servo: registers that name other addresses, and the bytes those have.

A servo has a row of two-byte indirect addresses, and as many bytes of indirect data: what is read or written there is
what lies at the addresses. Source: the maker's control tables (the first row; servos with a second one refuse it here).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

# First indirect address, how many there are, first byte of the data; by model number.
_ROWS: Final = {1200: (168, 20, 208), 1060: (168, 28, 224), 1020: (168, 28, 224)}


class Indirect:
    """The row of a model; each indirect address is that of its own data at first, behind which there is nothing."""

    __slots__ = ("_count", "_data", "_first", "_pointers", "end")

    def __init__(self, model_number: int) -> None:
        """Start as after power-up; `end` is the first address behind all of it."""
        self._first, self._count, self._data = _ROWS[model_number]
        self.end = max(self._first + 2 * self._count, self._data + self._count)
        self._pointers = bytearray()
        self.power_up()

    def power_up(self) -> None:
        """Forget what was written."""
        self._pointers = bytearray(b"".join((self._data + k).to_bytes(2, "little") for k in range(self._count)))

    def write(self, address: int, data: bytes) -> bool:
        """Take a write of whole indirect addresses; False for any other."""
        at = address - self._first
        if at < 0 or at + len(data) > len(self._pointers) or at % 2 or len(data) % 2:
            return False
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
