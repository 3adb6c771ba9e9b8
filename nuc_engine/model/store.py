"""The HDSO store: every value of a model in one block of memory at fixed offsets.

Layout (native byte order), fixed by the plan alone, so that several processes can map one block:

    header   8 x int64: magic, plan size, sequence, published half, layout, three reserved
    live     set flags (one byte per HDSO, padded to 8), then the data area
    half 0   cycle, time_ns, then a copy of live
    half 1   cycle, time_ns, then a copy of live

Only the executive writes. `publish` copies the live area into the half that is not published and then switches
halves, so that a reader always finds one whole cycle; the sequence counter tells it when it was overtaken. `layout`
stands for ids, names, types, sizes and places of all HDSOs: a block of another model is refused.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

from nuc_engine.model.plan import HdsoPlan, Plan, Slot
from sccils_schemas.numbers import INTEGER_RANGE, fits_float
from sccils_schemas.owners import OWNED

TYPES: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "float": ("f", 4),
        "double": ("d", 8),
        "int": ("i", 4),
        "lint": ("i", 4),
        "llint": ("q", 8),
        "char": ("B", 1),
        "uchar": ("B", 1),
    }
)
"""SCCILS data type -> (buffer format, bytes): widths of reading B18."""

BufferView: TypeAlias = "memoryview[Any]"
"""The store's memory as numbers of one type."""

_MAGIC = 0x4E55435F48445330
_HEADER = 64
_SIZE, _SEQUENCE, _HALF, _LAYOUT = 1, 2, 3, 4
_STAMP = 16
_READ_ATTEMPTS = 100


class StoreError(Exception):
    """A store that cannot be laid out or read; the message says why."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One whole cycle: its number, its time, and the bytes of the live area at that moment."""

    cycle: int
    time_ns: int
    data: bytes


class Store:
    """Typed access to one block of memory holding all HDSOs of a plan.

    `buffer` may be any writable buffer of at least `Store.size(plan)` bytes (a shared memory map, say); a fresh one
    is made when none is given. The typed views `f32`, `f64`, `i32`, `i64`, `u8` all start at the data area; `locate`
    gives view and index of one element, which is what tasks keep. `parted` has the
    cells of what was measured where something else is sensed (`nuc_engine.control.clamps`); they are not in the block.
    """

    def __init__(self, plan: Plan, buffer: bytearray | memoryview | None = None) -> None:
        self.plan = plan
        self._flags_size = _padded(len(plan.hdsos))
        self._live_size = self._flags_size + plan.store_size
        size = self.size(plan)
        block = memoryview(buffer if buffer is not None else bytearray(size)).cast("B")
        if block.readonly or len(block) < size:
            raise StoreError(f"{plan.name}: the store needs a writable block of {size} bytes, got {len(block)}")
        self._block = block
        self._header = header = block[:_HEADER].cast("q")
        identity = (size, layout(plan))
        if header[0] not in (0, _MAGIC) or (header[0] == _MAGIC and (header[_SIZE], header[_LAYOUT]) != identity):
            raise StoreError(f"{plan.name}: the block holds another model's store")
        header[_SIZE], header[_LAYOUT] = identity
        header[0] = _MAGIC
        self._live = block[_HEADER : _HEADER + self._live_size]
        self.flags = self._live[: self._flags_size]
        data = self._live[self._flags_size :]
        self.f32, self.f64 = data.cast("f"), data.cast("d")
        self.i32, self.i64, self.u8 = data.cast("i"), data.cast("q"), data
        self.parted: dict[int, tuple[BufferView, int]] = {}
        self._views: dict[str, BufferView] = {"f": self.f32, "d": self.f64, "i": self.i32, "q": self.i64, "B": self.u8}
        halves = [_HEADER + self._live_size + k * (_STAMP + self._live_size) for k in (0, 1)]
        self._stamps = tuple(block[start : start + _STAMP].cast("q") for start in halves)
        self._copies = tuple(block[start + _STAMP : start + _STAMP + self._live_size] for start in halves)

    @staticmethod
    def size(plan: Plan) -> int:
        """Return the bytes a store of this plan needs."""
        live = _padded(len(plan.hdsos)) + plan.store_size
        return _HEADER + live + 2 * (_STAMP + live)

    def measured(self, columns: Sequence[int], sensed: Sequence[float]) -> list[float]:
        """Return what was measured of these single HDSOs, of which this is sensed."""
        found = list(sensed)
        for at, index in enumerate(columns):
            if index in self.parted:
                view, place = self.parted[index]
                found[at] = view[place]
        return found

    def clear(self) -> None:
        """Take every value away: for the start of a bout, in a block that may hold what an earlier one left."""
        self._live[:] = bytes(self._live_size)

    def locate(self, slot: Slot) -> tuple[BufferView, int]:
        """Return (typed view, index) of one element; `view[index]` reads it, whatever its type."""
        hdso = self.plan.hdsos[slot.hdso]
        code, width = TYPES[hdso.datatype]
        return self._views[code], hdso.offset // width + slot.element

    def is_set(self, index: int) -> bool:
        """Say whether this HDSO has ever been given a value."""
        return self.flags[index] != 0

    def values(self, index: int) -> tuple[int | float, ...] | None:
        """Return all elements of one HDSO, or None while it has no value."""
        if not self.flags[index]:
            return None
        return self._elements(self._live, index)

    def write(self, index: int, values: Sequence[int | float]) -> None:
        """Write from the first element on, unchecked: `refusal` is asked before. The HDSO counts as set."""
        hdso = self.plan.hdsos[index]
        code, width = TYPES[hdso.datatype]
        view, at = self._views[code], hdso.offset // width
        for k, value in enumerate(values):
            view[at + k] = value
        self.flags[index] = 1

    def publish(self, cycle: int, time_ns: int) -> None:
        """Let readers see the live area as the whole of this cycle."""
        header = self._header
        half = 1 - header[_HALF]
        stamp = self._stamps[half]
        stamp[0], stamp[1] = cycle, time_ns
        self._copies[half][:] = self._live
        header[_HALF] = half
        header[_SEQUENCE] += 1

    def snapshot(self) -> Snapshot:
        """Return the last published cycle. Raises StoreError when the writer overtakes every attempt."""
        header = self._header
        for _ in range(_READ_ATTEMPTS):
            before, half = header[_SEQUENCE], header[_HALF]
            stamp = self._stamps[half]
            snapshot = Snapshot(stamp[0], stamp[1], bytes(self._copies[half]))
            if header[_SEQUENCE] == before:
                return snapshot
        raise StoreError(f"{self.plan.name}: no whole cycle could be read; the writer is faster than this reader")

    def live_bytes(self) -> bytes:
        """Return flags and data as they are now: what `load_bytes` takes."""
        return bytes(self._live)

    def load_bytes(self, content: bytes) -> None:
        """Take over what `live_bytes` of a store of the same plan gave. Raises StoreError when it cannot be that."""
        if len(content) != self._live_size:
            raise StoreError(f"{self.plan.name}: a store of {len(content)} bytes; expected {self._live_size}")
        self._live[:] = content

    def values_in(self, snapshot: Snapshot, index: int) -> tuple[int | float, ...] | None:
        """Return all elements of one HDSO in a snapshot, or None where it had no value."""
        data = memoryview(snapshot.data)
        return self._elements(data, index) if data[index] else None

    def _elements(self, live: memoryview, index: int) -> tuple[int | float, ...]:
        hdso = self.plan.hdsos[index]
        code, width = TYPES[hdso.datatype]
        start = self._flags_size + hdso.offset
        cast: Any = live[start : start + width * hdso.count].cast
        return tuple(cast(code).tolist())


def layout(plan: Plan) -> int:
    """Return a number, 64 bits with sign, that differs between plans whose stores are not the same to a reader."""
    said = repr([(hdso.id_num, hdso.name, hdso.kind, hdso.datatype, hdso.dims, hdso.offset) for hdso in plan.hdsos])
    return int.from_bytes(hashlib.sha256(said.encode()).digest()[:8], "little", signed=True)


def refusal(
    hdso: HdsoPlan, values: Sequence[int | float], element: int | None = None, *, constants: bool = False
) -> str | None:
    """Say why these values may not be written to this HDSO from outside, or None when they may (readings B15-B21).

    With `element`, one value for that element alone.
    """
    if hdso.kind == "sensor":
        return "sensors are written by the engine only"
    if hdso.kind == "constant" and not constants:
        return "constants are not changed while running"
    if hdso.owner:
        return f"it is written by {hdso.owner} ({OWNED})"
    if element is not None:
        if reason := no_element(hdso, element):
            return reason
        if len(values) != 1:
            return f"{len(values)} values for one element"
    return unfit(hdso, values)


def no_element(hdso: HdsoPlan, element: int) -> str:
    """Say why an HDSO has no such element, counted from 0, or nothing where it has."""
    if hdso.kind == "boolstring" or hdso.datatype == "char":
        return f"{'rules are' if hdso.kind == 'boolstring' else 'text is'} read and written whole, not by element"
    if 0 <= element < hdso.count:
        return ""
    return f"there is no element [{element}]: it has {hdso.count}, [0] to [{hdso.count - 1}]"


def unfit(hdso: HdsoPlan, values: Sequence[int | float]) -> str | None:
    """Say why these values do not fit the HDSO's type, size and `valid` range, or None when they do."""
    if not 0 < len(values) <= hdso.count:
        return f"{len(values)} values for {hdso.count} elements"
    limits = INTEGER_RANGE.get(hdso.datatype)
    for value in values:
        if limits is not None:
            if not isinstance(value, int) or not limits[0] <= value <= limits[1]:
                return f"{value} is not a {hdso.datatype} ({limits[0]}..{limits[1]})"
        elif not math.isfinite(value) or (hdso.datatype == "float" and not fits_float(value)):
            return f"{value} is not a finite {hdso.datatype}"
        lower, upper = hdso.valid
        if (lower is not None and value < lower) or (upper is not None and value > upper):
            return f"{value:g} is outside the valid range {_interval(hdso.valid)}"
        for low, high in hdso.invalid:
            if (low is None or value >= low) and (high is None or value <= high):
                return f"{value:g} lies in the invalid range {_interval((low, high))}"
    return None


def _interval(bounds: tuple[float | None, float | None]) -> str:
    lower, upper = bounds
    return f"{'-inf' if lower is None else f'{lower:g}'}..{'inf' if upper is None else f'{upper:g}'}"


def _padded(size: int) -> int:
    return (size + 7) // 8 * 8
