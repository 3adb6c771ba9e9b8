"""Which global states should follow which, by the rules alone (sections 4.2.2.1, 4.4.1 and 9.5.1.3).

A global state is one action of every module. In it, each joint moves the way its action drives it, so each sensor goes
one way, and sooner or later reaches the thresholds that lie there. Whatever rule that fulfils switches its module. An
event that brought the leg into the state is taken as still there, and completes a compound rule as soon as the rest
of it happens. Which of several sensors is first is not known: each gives a transition of its own.

Most rules wait for what another joint does; those carry the cycle (section 4.4.1, step 6). A rule that waits for its
own joint alone is a limit of that joint's movement; its transitions are kept apart. What ground, weight and inertia do
is not considered, so what a leg really does may differ: `nuc_engine.figures.diagrams.seen`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nuc_engine.figures.diagrams.drive import DriveSigns, drives
from nuc_engine.figures.diagrams.wiring import Case, DiagramError, Limit, Module, Wiring, cases, leaves

GlobalState = tuple[int, ...]
"""The state index of every module's action, modules from the body outwards."""

MAX_STATES = 512


@dataclass(frozen=True, slots=True)
class Transition:
    """One global state to the next, and the events that lead there (any of them).

    `own_limit`: a joint's rule about itself takes part, so this is no part of the nominal cycle.
    """

    begin: GlobalState
    end: GlobalState
    causes: tuple[Limit, ...]
    own_limit: bool = False


@dataclass(frozen=True, slots=True)
class Nominal:
    """All global states that can be reached from the start by the rules, and the cycle they end in.

    `cycle` is in order of time, the start state or the first of the document first; empty when the states lead nowhere
    or to one that is not left: that one is `stop`. Several ends that exclude each other: the first one found.
    """

    states: tuple[GlobalState, ...]
    transitions: tuple[Transition, ...]
    cycle: tuple[GlobalState, ...]
    stop: GlobalState | None = None

    def in_cycle(self, transition: Transition) -> bool:
        """Say whether a transition belongs to the nominal cycle."""
        return not transition.own_limit and transition.begin in self.cycle and transition.end in self.cycle


@dataclass(frozen=True, slots=True)
class _Switch:
    """A rule that is going to be fulfilled: which module goes to which action, and the last event it waits for."""

    module: int
    action: int
    last: Limit
    own: bool


def nominal(wiring: Wiring) -> Nominal:
    """Return the predicted global states. Raises DiagramError for a model with too many of them."""
    finder = _Finder(wiring)
    start = tuple(module.start for module in wiring.modules)
    ahead, found = [start], {start: finder.transitions(start)}
    while ahead:
        for transition in found[ahead.pop()]:
            if transition.end not in found:
                if len(found) >= MAX_STATES:
                    raise DiagramError(f"{wiring.label}: more than {MAX_STATES} global states, too many to draw")
                found[transition.end] = finder.transitions(transition.end)
                ahead.append(transition.end)
    between = {state: [t.end for t in out if not t.own_limit] for state, out in found.items()}
    last = _last_component(between, start)
    cycle = _in_order(between, last) if len(last) > 1 else ()
    stop = last[0] if len(last) == 1 else None
    return Nominal(tuple(sorted(found)), tuple(t for state in sorted(found) for t in found[state]), cycle, stop)


class _Finder:
    """Finds the transitions out of one global state."""

    def __init__(self, wiring: Wiring) -> None:
        self._modules = wiring.modules
        self._senses = wiring.senses()
        self._drives = drives(wiring.plan, wiring.values)
        self._cases: dict[int, tuple[Case, ...]] = {
            action.index: cases(action.rule) for module in wiring.modules for action in module.actions
        }

    def transitions(self, state: GlobalState) -> tuple[Transition, ...]:
        going = self._going(state)
        switches = list(self._switches(state, going))
        merged: dict[tuple[GlobalState, bool], list[Limit]] = {}
        for own in (False, True):
            for event in dict.fromkeys((s.last.sense, s.last.above) for s in switches if s.own is own):
                at_event = [s for s in switches if (s.last.sense, s.last.above) == event]
                first = _first([s for s in at_event if s.own is own])
                together = [s for s in at_event if first.last.implies(s.last) and (own or not s.own)]
                end = _apply(state, together)
                merged.setdefault((end, own), []).append(first.last)
        return tuple(Transition(state, end, tuple(dict.fromkeys(causes)), own) for (end, own), causes in merged.items())

    def _going(self, state: GlobalState) -> Mapping[int, int]:
        """Return which way each sensor goes, by HDSO index; a joint that is not driven stays where it was led."""
        going: dict[int, int] = {}
        for module, action in zip(self._modules, state, strict=True):
            drive = self._drives.get(action, DriveSigns(0, 0))
            for sense in self._senses:
                if sense.joint == module.joint and sense.what in ("angle", "load"):
                    own = drive.angle if sense.what == "angle" else drive.load
                    going[sense.hdso] = own or _demanded(module, action, sense.hdso)
        return going

    def _switches(self, state: GlobalState, going: Mapping[int, int]) -> Iterator[_Switch]:
        standing = self._standing(state, going)
        for place, (module, current) in enumerate(zip(self._modules, state, strict=True)):
            for action in module.actions:
                if action.index == current:
                    continue
                for case in self._cases[action.index]:
                    limits = [limit for limit in case if isinstance(limit, Limit) and _is_ahead(limit, going)]
                    if not case or len(limits) < len(case):
                        continue
                    fresh = [limit for limit in limits if not any(there.implies(limit) for there in standing)]
                    own = all(limit.sense.joint == module.joint for limit in limits)
                    for last in fresh or limits:
                        yield _Switch(place, action.index, last, own)

    def _standing(self, state: GlobalState, going: Mapping[int, int]) -> list[Limit]:
        """Return the events that led into the actions of this state and that nothing undoes."""
        rules = [module.action(action).rule for module, action in zip(self._modules, state, strict=True)]
        found = [leaf for rule in rules for leaf in leaves(rule) if isinstance(leaf, Limit)]
        return [limit for limit in found if _is_ahead(limit, going)]


def _is_ahead(limit: Limit, going: Mapping[int, int]) -> bool:
    return going.get(limit.sense.hdso, 0) == (1 if limit.above else -1)


def _demanded(module: Module, action: int, hdso: int) -> int:
    """Return on which side of its thresholds a sensor was when the action was entered; 0 where that is open."""
    limits = [leaf for leaf in leaves(module.action(action).rule) if isinstance(leaf, Limit)]
    found = {limit.above for limit in limits if limit.sense.hdso == hdso}
    return 0 if len(found) != 1 else 1 if found.pop() else -1


def _first(switches: Sequence[_Switch]) -> _Switch:
    """Return the switch whose threshold the sensor reaches first."""
    return min(switches, key=lambda s: s.last.threshold if s.last.above else -s.last.threshold)


def _apply(state: GlobalState, switches: Sequence[_Switch]) -> GlobalState:
    """Switch all modules at once; of several rules of one module the first in document order wins (reading B5)."""
    targets: dict[int, int] = {}
    for switch in switches:
        targets[switch.module] = min(targets.get(switch.module, switch.action), switch.action)
    return tuple(targets.get(k, action) for k, action in enumerate(state))


def _last_component(following: Mapping[GlobalState, Sequence[GlobalState]], start: GlobalState) -> list[GlobalState]:
    """Return the states that, once reached from the start, are never left for good, in order."""
    reach = {state: _reachable(following, state) for state in following}
    for state in sorted(reach[start]):
        if all(state in reach[other] for other in reach[state]):
            return sorted(reach[state])
    return [start]


def _reachable(following: Mapping[GlobalState, Sequence[GlobalState]], start: GlobalState) -> set[GlobalState]:
    seen, ahead = {start}, [start]
    while ahead:
        fresh = [state for state in following[ahead.pop()] if state not in seen]
        seen.update(fresh)
        ahead += fresh
    return seen


def _in_order(
    following: Mapping[GlobalState, Sequence[GlobalState]], members: Sequence[GlobalState]
) -> tuple[GlobalState, ...]:
    """Return the states of a cycle in the order of time; branches come after the way that was followed first."""
    order: list[GlobalState] = []
    ahead = [members[0]]
    while ahead:
        state = ahead.pop()
        if state not in order:
            order.append(state)
            ahead += [end for end in reversed(following[state]) if end in members]
    return tuple(order)
