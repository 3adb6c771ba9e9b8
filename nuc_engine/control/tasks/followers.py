"""Values that follow a control: piecewise linear maps, computed when the control has changed (section 9.5.2.6)."""

from __future__ import annotations

from nuc_engine.model.plan import ControlPlan, Plan
from nuc_engine.model.store import BufferView, Store
from sccils_schemas.numbers import INTEGER_RANGE
from sccils_schemas.owners import mapped


class Followers:
    """All that follows the controls of a plan. What follows has its new value at the next evaluation of the rules.

    A control that nobody has given a value leaves everything as it is.
    """

    def __init__(self, plan: Plan, store: Store) -> None:
        self._controls = [_Followed(plan, store, control) for control in plan.controls]

    def run(self) -> None:
        """Write what follows the controls that have changed."""
        for control in self._controls:
            control.run()


class _Followed:
    def __init__(self, plan: Plan, store: Store, control: ControlPlan) -> None:
        self._flags, self._hdso = store.flags, control.value.hdso
        self._view, self._at = store.locate(control.value)
        self._known: float | None = None
        self._maps: list[tuple[BufferView, int, bool, tuple[float, ...]]] = []
        self._written: list[int] = []
        for slot, points in control.maps:
            view, at = store.locate(slot)
            self._maps.append((view, at, plan.hdsos[slot.hdso].datatype in INTEGER_RANGE, points))
            self._written.append(slot.hdso)

    def run(self) -> None:
        if not self._flags[self._hdso]:
            return
        value = self._view[self._at]
        if value == self._known:
            return
        self._known = value
        for view, at, whole, points in self._maps:
            followed = mapped(points, value)
            view[at] = round(followed) if whole else followed
        for hdso in self._written:
            self._flags[hdso] = 1
