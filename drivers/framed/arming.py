"""What a servo is told before its torque goes on, and must still hold while it is on: gain, bounds and watchdog.

Nobody answers the packets that say it, so all of it is read back: before the torque goes on, and now and then after.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from drivers.framed import requests
from drivers.framed.group_read import LONGEST_GROUP, GroupReader
from drivers.framed.layout import GAIN, TORQUE, FamilyLayout, ModelLayout
from drivers.framed.registers import Register
from drivers.framed.servos import BusServo
from drivers.framed.setup import Setup
from drivers.framed.transactions import Exchange, StatusesById

ON: Final = 1
"""What the register of the torque holds while it is on."""

_GAP: Final = 4
"""Bytes nobody asked for that are read along at most: an exchange of its own costs more than these."""

_Told: TypeAlias = tuple[Register, list[tuple[BusServo, int]]]
"""A register, and what each of some servos should hold in it."""


class RegisterMismatch(NamedTuple):
    """A register that holds something else than was told."""

    register: str
    found: int
    told: int


class Arming:
    """What is told to the servos of one bus. `level` bounds their torque by `LEVEL_SHARE`."""

    __slots__ = ("_dialect", "_layout", "_spans", "_watchdog", "_watchdog_steps", "_which", "level")

    def __init__(self, layout: FamilyLayout, *, level: int, watchdog_ns: int) -> None:
        """Tell what `layout` has; a `watchdog_ns` of 0 is none."""
        self.level = level
        self._layout, self._dialect = layout, layout.dialect
        self._watchdog = layout.register(layout.watchdog) if layout.watchdog and watchdog_ns else None
        self._watchdog_steps = 0
        # What was last asked for in `spans`, and of whom.
        self._spans: list[RegisterSpan] = []
        self._which: tuple[int, list[tuple[int, Setup, ModelLayout]]] = level, []
        if self._watchdog is not None:
            self._watchdog_steps = min(max(round(watchdog_ns / layout.watchdog_step_ns), 1), self._watchdog.high)

    def packets(self, servos: Sequence[BusServo]) -> bytes:
        """Return the requests that tell everything; a servo that started anew unseen has lost it."""
        packets = b""
        for register, values in self._told(servos):
            if register is self._watchdog:
                packets += self.write_all(register, [(servo, 0) for servo, _ in values])
            packets += self.write_all(register, values)
        return packets

    def bounds(self, servos: Sequence[BusServo]) -> bytes:
        """Return the requests that bound the torque."""
        return b"".join(self.write_all(register, values) for register, values in self._bounds(servos))

    def check(
        self, reader: GroupReader, servos: Sequence[BusServo], prefix: bytes = b""
    ) -> Generator[Exchange, StatusesById, dict[int, list[RegisterMismatch]]]:
        """Read back what was told, behind the requests in `prefix`; return what is otherwise, as `compare` does."""
        return (yield from compare(reader, servos, _by_span(self._told(servos)), prefix))

    def spans(self, servos: Sequence[BusServo]) -> list[RegisterSpan]:
        """Return all that servos under torque hold only while they are powered; that of the torque comes first."""
        # The watch asks again and again for the same; to say it takes as long as several cycles.
        which = self.level, [(servo.number, servo.setup, servo.kind) for servo in servos]
        if which != self._which:
            torque = self._layout.register(TORQUE)
            spans = _by_span([(torque, [(servo, ON) for servo in servos]), *self._kept(servos)])
            self._spans = sorted(spans, key=lambda span: not span.first <= torque.address < span.end)
            self._which = which
        return self._spans

    def write_all(self, register: Register, values: Sequence[tuple[BusServo, int]]) -> bytes:
        """Return the requests that set one register of several servos."""
        return self.write_ids(register, [(servo.bus_id, value) for servo, value in values])

    def write_ids(self, register: Register, values: Sequence[tuple[int, int]]) -> bytes:
        """Return the same for values by bus id."""
        packets = b""
        for at in range(0, len(values), LONGEST_GROUP):
            packets += requests.sync_write(self._dialect, register, values[at : at + LONGEST_GROUP])
        return packets

    def _told(self, servos: Sequence[BusServo]) -> list[_Told]:
        """Return what each servo is told, by register, in the order in which it is."""
        told: list[_Told] = []
        gain = self._layout.register(GAIN)
        if gain.access == "ram" or self._layout.lock:
            told.append((gain, [(servo, servo.setup.gain) for servo in servos if servo.kind.model.gains[1]]))
        told += self._bounds(servos)
        driven = [(servo, servo.kind.drive_goal) for servo in servos if servo.kind.drive_goal]
        told += _by_register((servo.kind.table[name], servo, servo.setup.drive_most) for servo, name in driven)
        if self._watchdog is not None:
            told.append((self._watchdog, [(servo, self._watchdog_steps) for servo in servos]))
        return [(register, values) for register, values in told if values]

    def _kept(self, servos: Sequence[BusServo]) -> list[_Told]:
        """Return what servos were told before their torque, and at set-up, that they forget without their supply."""
        kept = self._told(servos)
        for servo in servos:
            registers = ((servo.kind.table[name], value) for name, value in servo.kind.settings)
            kept += [(register, [(servo, value)]) for register, value in registers if register.access == "ram"]
        return kept

    def _bounds(self, servos: Sequence[BusServo]) -> list[_Told]:
        return _by_register((servo.kind.table[servo.kind.cap[0]], servo, self._bound(servo)) for servo in servos)

    def _bound(self, servo: BusServo) -> int:
        share = servo.kind.share(self.level, servo.address.torque_limit_n_m)
        return min(max(round(share * servo.kind.cap[1]), 1), servo.setup.cap_most)


def _by_register(values: Iterable[tuple[Register, BusServo, int]]) -> list[_Told]:
    told: dict[Register, list[tuple[BusServo, int]]] = {}
    for register, servo, value in values:
        told.setdefault(register, []).append((servo, value))
    return list(told.items())


@dataclass(frozen=True, slots=True)
class RegisterSpan:
    """Bytes of memory that are read together."""

    first: int
    end: int
    told: tuple[_Told, ...]


def _by_span(told: Sequence[_Told]) -> list[RegisterSpan]:
    """Return the spans of memory in which all this lies, by address."""
    spans: list[RegisterSpan] = []
    for register, values in sorted(told, key=lambda one: one[0].address):
        end = register.address + register.size
        if spans and register.address - spans[-1].end <= _GAP:
            before = spans.pop()
            spans.append(RegisterSpan(before.first, max(end, before.end), (*before.told, (register, values))))
        else:
            spans.append(RegisterSpan(register.address, end, ((register, values),)))
    return spans


def compare(
    reader: GroupReader, servos: Sequence[BusServo], spans: Sequence[RegisterSpan], prefix: bytes = b""
) -> Generator[Exchange, StatusesById, dict[int, list[RegisterMismatch]]]:
    """Read spans of memory, behind the requests in `prefix`.

    Return what is otherwise than told, by the servos' numbers, of those that gave all of it.
    """
    losses: dict[int, list[RegisterMismatch]] = {servo.number: [] for servo in servos}
    for span in spans:
        asked = [servo for servo in servos if servo.number in losses]
        found = yield from reader.span(asked, span.first, span.end - span.first, prefix, fast=True)
        prefix = b""
        for servo in asked:
            if servo.number not in found:
                del losses[servo.number]
        for register, values in span.told:
            at = register.address - span.first
            for servo, told in values:
                if servo.number not in losses:
                    continue
                value = register.decode(found[servo.number][at : at + register.size])
                if value != told:
                    losses[servo.number].append(RegisterMismatch(register.name, value, told))
    return losses
