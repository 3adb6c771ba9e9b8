"""Where a leg ends up by its rules alone, with a sensor cut: which actions each module still takes in the end.

Known are the entry rules with their thresholds, which way each action drives its joint and its load, the actions in
force at the lesion, and between which thresholds each sensor was. Time, mass and ground are not: in each evaluation
every module whose other rule is true switches, then each sensor may pass one threshold in the direction of the action
in force, or may not yet. Where all that can follow leads back, the leg stays for good: that is an end.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, product

from nuc_engine.figures.diagrams.drive import drives
from nuc_engine.figures.diagrams.wiring import (
    AllOf,
    AnyOf,
    Condition,
    ConstantCondition,
    Limit,
    NonZero,
    Sense,
    SensorOrder,
    Wiring,
    leaves,
)

Actions = tuple[int, ...]
"""The state index of every module's action, modules from the body outwards."""
End = tuple[frozenset[int], ...]
"""The actions each module still takes in the end, by state index; one, where it has stopped."""
_State = tuple[Actions, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Ends:
    """All ends that can follow, and through how many states the leg may go."""

    ends: tuple[End, ...]
    states: int


def ends(wiring: Wiring, actions: Actions, sensed: Mapping[str, float], cut: Mapping[str, float]) -> Ends:
    """Return the ends from these actions and sensed values on; `cut` are sensors, by name, and what they stay at.

    Of sensors that no rule reads nothing needs to be known. Raises ValueError for a rule that compares two sensors.
    """
    machine = _Machine(wiring, cut)
    start = actions, tuple(machine.place(sense, sensed[sense.name]) for sense in machine.senses)
    following: dict[_State, tuple[_State, ...]] = {}
    ahead = [start]
    while ahead:
        state = ahead.pop()
        if state not in following:
            following[state] = tuple(machine.after(state))
            ahead += following[state]
    last = _last(following)
    found = {tuple(frozenset(a[k] for a, _ in own) for k in range(len(actions))) for own in last}
    return Ends(tuple(sorted(found, key=lambda end: [sorted(each) for each in end])), len(following))


def _last(following: Mapping[_State, Collection[_State]]) -> list[set[_State]]:
    """Return the sets of states that are not left any more."""
    before: dict[_State, set[_State]] = {state: set() for state in following}
    for state, after in following.items():
        for each in after:
            before[each].add(state)
    found: list[set[_State]] = []
    left = set(following)
    while left:
        state = next(iter(left))
        while astray := _reached(state, following) - _reached(state, before):
            state = next(iter(astray))
        found.append(_reached(state, following))
        left -= _reached(state, before)
    return found


def _reached(state: _State, following: Mapping[_State, Collection[_State]]) -> set[_State]:
    found, ahead = {state}, [state]
    while ahead:
        new = set(following[ahead.pop()]) - found
        found |= new
        ahead += new
    return found


class _Machine:
    """What follows what. A sensor is somewhere between two of its thresholds, or at the value it was cut at."""

    def __init__(self, wiring: Wiring, cut: Mapping[str, float]) -> None:
        self.modules, self.senses, self._cut = wiring.modules, wiring.senses(), cut
        self._drives = drives(wiring.plan, wiring.values)
        self._places = {module.joint: place for place, module in enumerate(wiring.modules)}
        rules = [action.rule for module in wiring.modules for action in module.actions]
        limits = [leaf for rule in rules for leaf in leaves(rule) if isinstance(leaf, Limit)]
        self._thresholds = {
            sense: sorted({limit.threshold for limit in limits if limit.sense == sense}) for sense in self.senses
        }

    def place(self, sense: Sense, value: float) -> float:
        """Return a value that stands for all between the same thresholds; of a cut sensor its own."""
        if sense.name in self._cut:
            return self._cut[sense.name]
        return self._middles(sense)[sum(threshold < value for threshold in self._thresholds[sense])]

    def after(self, state: _State) -> Iterator[_State]:
        """Yield what may follow an evaluation of the rules."""
        before, values = state
        held = dict(zip(self.senses, values, strict=True))
        actions = tuple(
            next((a.index for a in module.actions if a.index != own and _holds(a.rule, held)), own)
            for module, own in zip(self.modules, before, strict=True)
        )
        choices = [self._moves(sense, value, actions) for sense, value in held.items()]
        yield from ((actions, moved) for moved in product(*choices))

    def _moves(self, sense: Sense, value: float, actions: Actions) -> tuple[float, ...]:
        """Return where a sensor may be next."""
        if sense.name in self._cut or sense.joint not in self._places:
            return (value,)
        drive = self._drives[actions[self._places[sense.joint]]]
        middles = self._middles(sense)
        there = middles.index(value)
        on = there + (drive.angle if sense.what == "angle" else drive.load)
        return (value, middles[on]) if 0 <= on < len(middles) and on != there else (value,)

    def _middles(self, sense: Sense) -> list[float]:
        own = self._thresholds[sense]
        return [-math.inf, *((a + b) / 2 for a, b in pairwise(own)), math.inf]


def _holds(condition: Condition, values: Mapping[Sense, float]) -> bool:
    if isinstance(condition, AllOf):
        return all(_holds(term, values) for term in condition.terms)
    if isinstance(condition, AnyOf):
        return any(_holds(term, values) for term in condition.terms)
    if isinstance(condition, ConstantCondition):
        return condition.holds
    if isinstance(condition, NonZero):
        return values[condition.sense] != 0.0
    if isinstance(condition, SensorOrder):
        raise ValueError(f"{condition.text}: compares two sensors, expected a sensor and a threshold")
    value = values[condition.sense]
    return value > condition.threshold if condition.above else value < condition.threshold
