"""Clamps: what is sensed of a sensor, where it is not what was measured (section 9.2.1.2).

Rules, activations, signals, scripts and clients read the store, and with it what is sensed. Muscles, and what carries
the leg's weight, read what was measured. The two are one cell until a clamp parts them: then what measures, and who
needs what was measured, have a cell of their own, which `Store.parted` knows.
"""

from __future__ import annotations

from array import array

from nuc_engine.control.tasks.acting import ActingTransition
from nuc_engine.control.tasks.motor_conversion import MotorConversion
from nuc_engine.control.tasks.muscle_conversion import MuscleConversion
from nuc_engine.control.tasks.state_transition import StateTransition
from nuc_engine.model.plan import Plan, Slot
from nuc_engine.model.store import TYPES, BufferView, Store

OFF, HOLD = "off", "hold"


class Clamps:
    """The clamps of one model, none at first."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        conversion: MotorConversion,
        transition: StateTransition,
        muscles: MuscleConversion,
    ) -> None:
        self._plan, self._store = plan, store
        self.ahead: set[int] = set()
        self._measures = [conversion.measure, muscles.measure]
        if isinstance(transition, ActingTransition):
            self._measures.append(transition.measure)

    def apply(self, index: int, value: float | str) -> None:
        """Let a sensor be sensed as this number from now on, as it is sensed now (`hold`), or as measured (`off`).

        What has never had a value is held with the first one: it is `ahead` until then.
        """
        parted, (view, at) = self._store.parted, self._store.locate(Slot(index))
        self.ahead.discard(index)
        if value == HOLD and not self._store.flags[index]:
            self.ahead.add(index)
            return
        if value == OFF:
            if index in parted:
                own, place = parted.pop(index)
                view[at] = own[place]
                self._measure(index, view, at)
            return
        if index not in parted:
            own = memoryview(array(TYPES[self._plan.hdsos[index].datatype][0], [view[at]]))
            parted[index] = (own, 0)
            self._measure(index, own, 0)
        if not isinstance(value, str):
            view[at] = value
            self._store.flags[index] = 1

    def settle(self) -> None:
        """Hold what has its first value now of what was to be held without one."""
        for index in [index for index in self.ahead if self._store.flags[index]]:
            self.apply(index, HOLD)

    def _measure(self, index: int, view: BufferView, at: int) -> None:
        for measure in self._measures:
            measure(index, view, at)
