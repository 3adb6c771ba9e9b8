"""Operands of some time ago: what rules and activations read where an operand has a delay (section 9.2.4).

A history begins when what reads it comes into force and its HDSO has a value, and is added to whenever values change:
after each exchange, after each changeset, and before each evaluation. Until it is as long as a delay, the operand is
the earliest value in it.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection
from typing import Final

from nuc_engine.control.delay_line import LONGEST_NS, DelayLine
from nuc_engine.model.plan import Slot
from nuc_engine.model.store import BufferView, Store

_US: Final = 1000


class Delays:
    """The delayed operands of one model, each with a cell of its own, and the histories they are taken from."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.histories: list[History] = []

    def locate(self, slot: Slot) -> tuple[BufferView, int]:
        """Return the cell of an operand, which is the store's own where it has no delay."""
        if not slot.delay_us:
            return self._store.locate(slot)
        history = next((item for item in self.histories if item.hdso == slot.hdso), None)
        if history is None:
            history = History(self._store, slot.hdso)
            self.histories.append(history)
        operand = next((item for item in history.operands if item.delay_us == slot.delay_us), None)
        if operand is None:
            operand = DelayedOperand(slot.delay_us, float(history.view[history.at]))
            history.operands.append(operand)
        return operand.view, 0

    def release(self, needed: Collection[Slot]) -> None:
        """Forget every operand but these."""
        for history in self.histories:
            history.operands = [item for item in history.operands if Slot(history.hdso, 0, item.delay_us) in needed]
        self.histories = [history for history in self.histories if history.operands]

    def record(self, now_ns: int) -> None:
        """Take note of values as they are from now on."""
        flags = self._store.flags
        for history in self.histories:
            # What has not been measured yet was nothing, not 0.
            if flags[history.hdso]:
                history.line.put(now_ns, float(history.view[history.at]))

    def recall(self, now_ns: int) -> None:
        """Let every operand be what it was its delay before now."""
        for history in self.histories:
            line = history.line
            line.put(now_ns, float(history.view[history.at]))
            for operand in history.operands:
                operand.view[0] = line.at(now_ns - operand.delay_ns)


class History:
    """The values of one HDSO, and the operands that are taken from them."""

    def __init__(self, store: Store, hdso: int) -> None:
        self.hdso = hdso
        self.view, self.at = store.locate(Slot(hdso))
        self.line = DelayLine()
        self.operands: list[DelayedOperand] = []


class DelayedOperand:
    """What an HDSO was some time ago."""

    def __init__(self, delay_us: int, value: float) -> None:
        self.delay_us, self.delay_ns = delay_us, min(_US * delay_us, LONGEST_NS)
        self.view: BufferView = memoryview(array("d", [value]))
