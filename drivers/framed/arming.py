"""What a servo is told before its torque goes on, and must still hold while it is on: gain, bound and watchdog.

Nobody answers the packets that say it, so all of it is read back: before the torque goes on, and now and then after.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

from drivers.framed import requests
from drivers.framed.asker import LONGEST_GROUP, Asker
from drivers.framed.layout import GAIN, Layout
from drivers.framed.registers import Register
from drivers.framed.slots import Slot
from drivers.framed.talk import Answers, Exchange
from drivers.servo import LEVEL_SHARE


class Loss(NamedTuple):
    """A register that holds something else than was told."""

    register: str
    found: int
    told: int


class Arming:
    """What is told to the servos of one bus. `level` bounds their torque by `LEVEL_SHARE`."""

    __slots__ = ("_dialect", "_layout", "_watchdog", "_watchdog_steps", "level")

    def __init__(self, layout: Layout, *, level: int, watchdog_ns: int) -> None:
        """Tell what `layout` has; a `watchdog_ns` of 0 is none."""
        self.level = level
        self._layout, self._dialect = layout, layout.dialect
        self._watchdog = layout.register(layout.watchdog) if layout.watchdog and watchdog_ns else None
        self._watchdog_steps = 0
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
        """Read everything back, behind the requests in `prefix`.

        Return what is otherwise than it was told, by the slots' numbers, of those that gave all of it.
        """
        losses: dict[int, list[Loss]] = {slot.number: [] for slot in slots}
        for register, values in self._told(slots):
            asked = [(slot, told) for slot, told in values if slot.number in losses]
            found = yield from asker.values([slot for slot, _ in asked], register, prefix)
            prefix = b""
            for slot, told in asked:
                value = found.get(slot.number)
                if value is None:
                    del losses[slot.number]
                elif value != told:
                    losses[slot.number].append(Loss(register.name, value, told))
        return losses

    def write_all(self, register: Register, values: Sequence[tuple[Slot, int]]) -> bytes:
        """Return the requests that set one register of several servos."""
        packets = b""
        for at in range(0, len(values), LONGEST_GROUP):
            part = [(slot.bus_id, value) for slot, value in values[at : at + LONGEST_GROUP]]
            packets += requests.sync_write(self._dialect, register, part)
        return packets

    def _told(self, slots: Sequence[Slot]) -> list[tuple[Register, list[tuple[Slot, int]]]]:
        """Return what each servo is told, by register, in the order in which it is."""
        told: list[tuple[Register, list[tuple[Slot, int]]]] = []
        gain = self._layout.register(GAIN)
        if gain.access == "ram" or self._layout.lock:
            told.append((gain, [(slot, slot.setup.gain) for slot in slots if slot.kind.model.gains[1]]))
        told += self._bounds(slots)
        if self._watchdog is not None:
            told.append((self._watchdog, [(slot, self._watchdog_steps) for slot in slots]))
        return [(register, values) for register, values in told if values]

    def _bounds(self, slots: Sequence[Slot]) -> list[tuple[Register, list[tuple[Slot, int]]]]:
        by_register: dict[Register, list[tuple[Slot, int]]] = {}
        for slot in slots:
            name, full = slot.kind.cap
            stall = slot.kind.model.stall_torque_n_m
            limit = slot.address.torque_limit_n_m
            share = LEVEL_SHARE[self.level] * (min(limit, stall) / stall if limit > 0.0 else 1.0)
            value = min(max(round(share * full), 1), slot.setup.cap_most)
            by_register.setdefault(slot.kind.table[name], []).append((slot, value))
        return list(by_register.items())
