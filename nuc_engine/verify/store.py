"""HDSOs: what they hold, by their types, and what may be written to them (D 10.2, 2.2; readings B15 to B18, B21)."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nuc_engine.verify.servos import Unverifiable

Number = int | float
Values = tuple[Number, ...]
Cell = tuple[int, int]
"""An element of an HDSO: its number, and which element."""

INTEGERS: Mapping[str, tuple[int, int]] = {
    "int": (-(2**31), 2**31 - 1),
    "lint": (-(2**31), 2**31 - 1),
    "llint": (-(2**63), 2**63 - 1),
    "char": (0, 255),
    "uchar": (0, 255),
}
WIDTHS = {"float": 4, "double": 8, "int": 4, "lint": 4, "llint": 8, "char": 1, "uchar": 1}
ENGINE_LEAST = {"motor_speed": 0, "motor_control_delay_ns": 0, "statetrans_period_ns": 100_000}
ENGINE_MOST = {"motor_speed": 4}

_FLOAT = struct.Struct("f")


def single(value: float) -> float:
    """Return a number as IEEE single precision holds it (reading B18). Raises OverflowError."""
    return _FLOAT.unpack(_FLOAT.pack(value))[0]


@dataclass(frozen=True, slots=True)
class Hdso:
    """One HDSO: what it holds, and what may be written to it (readings B15, B18, B21)."""

    number: int
    name: str
    kind: str
    datatype: str
    count: int
    width: int
    valid: tuple[float, float]
    invalid: tuple[tuple[float, float], ...]
    turn: int
    """Raw units after which a reading that wraps begins anew; 0: it does not wrap."""
    initial: str | None
    owned: bool = False
    """Whether a control or a module writes it, so that nobody else does."""

    def refusal(self, values: Sequence[Number]) -> bool:
        """Say whether a write from outside must be refused."""
        if self.owned or self.kind in ("sensor", "constant") or not 0 < len(values) <= self.count:
            return True
        low, high = INTEGERS.get(self.datatype, (0, 0))
        for value in values:
            if self.datatype in INTEGERS:
                wrong = not isinstance(value, int) or not low <= value <= high
            else:
                wrong = not math.isfinite(value) or (self.datatype == "float" and not _fits(value))
            if wrong or not self.valid[0] <= value <= self.valid[1]:
                return True
            if any(bottom <= value <= top for bottom, top in self.invalid):
                return True
        return False


def _fits(value: float) -> bool:
    try:
        single(value)
    except OverflowError:
        return False
    return True


class Store:
    """What every HDSO holds, by number; `given` are those that have a value."""

    def __init__(self, hdsos: Mapping[int, Hdso]) -> None:
        self.hdsos = hdsos
        self.held: dict[int, list[Number]] = {number: [0] * hdso.count for number, hdso in hdsos.items()}
        self.given: set[int] = set()

    def write(self, number: int, values: Sequence[Number]) -> None:
        """Write from the first element on (reading B17)."""
        if self.hdsos[number].datatype == "float":
            values = [single(value) for value in values]
        self.held[number][: len(values)] = values
        self.given.add(number)

    def values(self, number: int) -> Values:
        """Return all elements, none where there is no value."""
        return tuple(self.held[number]) if number in self.given else ()

    def load(self, block: bytes) -> None:
        """Take over a dumped store: a flag for each HDSO, then all data, each HDSO at a multiple of its width."""
        at = start = (len(self.hdsos) + 7) // 8 * 8
        for (number, hdso), flag in zip(self.hdsos.items(), block, strict=False):
            width = WIDTHS[hdso.datatype]
            at = start + (at - start + width - 1) // width * width
            code = {"float": "f", "double": "d", "llint": "q"}.get(hdso.datatype, "i" if width == 4 else "B")
            self.held[number] = list(struct.unpack_from(f"={hdso.count}{code}", block, at))
            at += width * hdso.count
            if flag:
                self.given.add(number)
        if (at - start + 7) // 8 * 8 + start != len(block):
            raise Unverifiable(f"the dumped store has {len(block)} bytes, and the documents' HDSOs do not fill them")
