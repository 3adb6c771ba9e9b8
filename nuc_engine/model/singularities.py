"""Values the engine can not compute with, though each alone is in its range: what checking a script finds, live.

A parabola whose first parameter is 0, an activation whose wmin equals its wmax, a dwell time below 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nuc_engine.model.changes import Write
from nuc_engine.model.plan import Plan, Slot
from nuc_engine.model.values import Values

_KERNEL = 5
_WMIN, _WMAX = 3, 4


@dataclass(frozen=True, slots=True)
class _Watch:
    slots: tuple[Slot, ...]
    wrong: Callable[[Sequence[int | float]], bool]
    text: str


class Singularities:
    """What the values of one plan must not become."""

    def __init__(self, plan: Plan) -> None:
        self._watches: dict[int, list[_Watch]] = {}
        for watch in _watches(plan):
            for index in {slot.hdso for slot in watch.slots}:
                self._watches.setdefault(index, []).append(watch)

    def of(self, writes: Sequence[Write], held: Mapping[int, Values]) -> list[str]:
        """Return what these writes, made together on the values held, would leave that can not be computed with."""
        changed: dict[int, Values] = {}
        for write in writes:
            before = changed.get(write.hdso, held.get(write.hdso, ()))
            if write.element is not None and not before:
                continue  # No element of what has no value can be written; the core says so.
            values = write.from_first(before).values
            changed[write.hdso] = values + before[len(values) :]
        watches = {id(watch): watch for index in changed for watch in self._watches.get(index, ())}
        found: list[str] = []
        for watch in watches.values():
            values = [changed.get(slot.hdso, held.get(slot.hdso, ()))[slot.element :][:1] for slot in watch.slots]
            known = [value[0] for value in values if value]
            if len(known) == len(values) and watch.wrong(known):
                found.append(watch.text)
        return found


def _watches(plan: Plan) -> list[_Watch]:
    watches: list[_Watch] = []
    for muscle in plan.muscles:
        for function in (muscle.passive_stiffness, muscle.force_length, muscle.force_velocity):
            if function.type == "parabolic":
                text = f"the first parameter of a parabolic function of {muscle.name} would be 0"
                watches.append(_Watch(function.parameters[:1], _is_zero, text))
    for state in plan.states:
        if state.dwell is not None:
            watches.append(_Watch((state.dwell,), _is_negative, f"the dwell time of {state.name} would be below 0"))
        for activation in state.activations:
            if activation.function == "constant":
                continue
            text = f"wmin and wmax of {plan.muscles[activation.muscle].name} in {state.name} would be equal"
            for at in range(0, len(activation.parameters) - _WMAX, _KERNEL):
                pair = activation.parameters[at + _WMIN], activation.parameters[at + _WMAX]
                watches.append(_Watch(pair, _are_equal, text))
    return watches


def _is_zero(values: Sequence[int | float]) -> bool:
    return values[0] == 0


def _is_negative(values: Sequence[int | float]) -> bool:
    return values[0] < 0


def _are_equal(values: Sequence[int | float]) -> bool:
    return values[0] == values[1]
