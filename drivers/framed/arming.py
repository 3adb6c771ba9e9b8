"""What a servo is told before its torque goes on, and must still hold while it is on: gain, bounds and watchdog.

Nobody answers the packets that say it, so all of it is read back: before the torque goes on, and now and then after.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from drivers.framed import requests
from drivers.framed.asker import LONGEST_GROUP, Asker
from drivers.framed.layout import GAIN, TORQUE, Kind, Layout
from drivers.framed.registers import Register
from drivers.framed.setup import Setup
from drivers.framed.slots import Slot
from drivers.framed.talk import Answers, Exchange

ON: Final = 1
"""What the register of the torque holds while it is on."""

_GAP: Final = 4
"""Bytes nobody asked for that are read along at most: an exchange of its own costs more than these."""

_Told: TypeAlias = tuple[Register, list[tuple[Slot, int]]]
"""A register, and what each of some servos should hold in it."""


class Loss(NamedTuple):
    """A register that holds something else than was told."""

    register: str
    found: int
    told: int


class Arming:
    """What is told to the servos of one bus. `level` bounds their torque by `LEVEL_SHARE`."""

    __slots__ = ("_dialect", "_layout", "_spans", "_watchdog", "_watchdog_steps", "_which", "level")

    def __init__(self, layout: Layout, *, level: int, watchdog_ns: int) -> None:
        """Tell what `layout` has; a `watchdog_ns` of 0 is none."""
        self.level = level
        self._layout, self._dialect = layout, layout.dialect
        self._watchdog = layout.register(layout.watchdog) if layout.watchdog and watchdog_ns else None
        self._watchdog_steps = 0
        # What was last asked for in `spans`, and of whom.
        self._spans: list[Span] = []
        self._which: tuple[int, list[tuple[int, Setup, Kind]]] = level, []
        if self._watchdog is not None:
            self._watchdog_steps = min(max(round(watchdog_ns / layout.watchdog_step_ns), 1), self._watchdog.high)

    def packets(self, slots: Sequence[Slot]) -> bytes:
        """Return the requests that tell everything; a servo that started anew unseen has lost it."""
        packets = b""
        for register, values in self._told(slots):
            if register is self._watchdog:
                packets += self.write_all(register, [(slot, 0) for slot, _ in values])
            packets += self.write_all(register, values)
        return packets

    def bounds(self, slots: Sequence[Slot]) -> bytes:
        """Return the requests that bound the torque."""
        return b"".join(self.write_all(register, values) for register, values in self._bounds(slots))

    def check(
        self, asker: Asker, slots: Sequence[Slot], prefix: bytes = b""
    ) -> Generator[Exchange, Answers, dict[int, list[Loss]]]:
        """Read back what was told, behind the requests in `prefix`; return what is otherwise, as `compare` does."""
        return (yield from compare(asker, slots, _by_span(self._told(slots)), prefix))

    def spans(self, slots: Sequence[Slot]) -> list[Span]:
        """Return all that servos under torque hold only while they are powered; that of the torque comes first."""
        # The watch asks again and again for the same; to say it takes as long as several cycles.
        which = self.level, [(slot.number, slot.setup, slot.kind) for slot in slots]
        if which != self._which:
            torque = self._layout.register(TORQUE)
            spans = _by_span([(torque, [(slot, ON) for slot in slots]), *self._kept(slots)])
            self._spans = sorted(spans, key=lambda span: not span.first <= torque.address < span.end)
            self._which = which
        return self._spans

    def write_all(self, register: Register, values: Sequence[tuple[Slot, int]]) -> bytes:
        """Return the requests that set one register of several servos."""
        return self.write_ids(register, [(slot.bus_id, value) for slot, value in values])

    def write_ids(self, register: Register, values: Sequence[tuple[int, int]]) -> bytes:
        """Return the same for values by bus id."""
        packets = b""
        for at in range(0, len(values), LONGEST_GROUP):
            packets += requests.sync_write(self._dialect, register, values[at : at + LONGEST_GROUP])
        return packets

    def _told(self, slots: Sequence[Slot]) -> list[_Told]:
        """Return what each servo is told, by register, in the order in which it is."""
        told: list[_Told] = []
        gain = self._layout.register(GAIN)
        if gain.access == "ram" or self._layout.lock:
            told.append((gain, [(slot, slot.setup.gain) for slot in slots if slot.kind.model.gains[1]]))
        told += self._bounds(slots)
        driven = [(slot, slot.kind.drive_goal) for slot in slots if slot.kind.drive_goal]
        told += _by_register((slot.kind.table[name], slot, slot.setup.drive_most) for slot, name in driven)
        if self._watchdog is not None:
            told.append((self._watchdog, [(slot, self._watchdog_steps) for slot in slots]))
        return [(register, values) for register, values in told if values]

    def _kept(self, slots: Sequence[Slot]) -> list[_Told]:
        """Return what servos were told before their torque, and at set-up, that they forget without their supply."""
        kept = self._told(slots)
        for slot in slots:
            registers = ((slot.kind.table[name], value) for name, value in slot.kind.settings)
            kept += [(register, [(slot, value)]) for register, value in registers if register.access == "ram"]
        return kept

    def _bounds(self, slots: Sequence[Slot]) -> list[_Told]:
        return _by_register((slot.kind.table[slot.kind.cap[0]], slot, self._bound(slot)) for slot in slots)

    def _bound(self, slot: Slot) -> int:
        share = slot.kind.share(self.level, slot.address.torque_limit_n_m)
        return min(max(round(share * slot.kind.cap[1]), 1), slot.setup.cap_most)


def _by_register(values: Iterable[tuple[Register, Slot, int]]) -> list[_Told]:
    told: dict[Register, list[tuple[Slot, int]]] = {}
    for register, slot, value in values:
        told.setdefault(register, []).append((slot, value))
    return list(told.items())


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes of memory that are read together."""

    first: int
    end: int
    told: tuple[_Told, ...]


def _by_span(told: Sequence[_Told]) -> list[Span]:
    """Return the spans of memory in which all this lies, by address."""
    spans: list[Span] = []
    for register, values in sorted(told, key=lambda one: one[0].address):
        end = register.address + register.size
        if spans and register.address - spans[-1].end <= _GAP:
            before = spans.pop()
            spans.append(Span(before.first, max(end, before.end), (*before.told, (register, values))))
        else:
            spans.append(Span(register.address, end, ((register, values),)))
    return spans


def compare(
    asker: Asker, slots: Sequence[Slot], spans: Sequence[Span], prefix: bytes = b""
) -> Generator[Exchange, Answers, dict[int, list[Loss]]]:
    """Read spans of memory, behind the requests in `prefix`.

    Return what is otherwise than told, by the slots' numbers, of those that gave all of it.
    """
    losses: dict[int, list[Loss]] = {slot.number: [] for slot in slots}
    for span in spans:
        asked = [slot for slot in slots if slot.number in losses]
        found = yield from asker.span(asked, span.first, span.end - span.first, prefix, fast=True)
        prefix = b""
        for slot in asked:
            if slot.number not in found:
                del losses[slot.number]
        for register, values in span.told:
            at = register.address - span.first
            for slot, told in values:
                if slot.number not in losses:
                    continue
                value = register.decode(found[slot.number][at : at + register.size])
                if value != told:
                    losses[slot.number].append(Loss(register.name, value, told))
    return losses
