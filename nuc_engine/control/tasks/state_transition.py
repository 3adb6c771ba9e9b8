"""State transition: entry rules, states and activations (sections 4.2.2 and 6.2.1.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from nuc_engine.control.faults import FAULTS
from nuc_engine.control.functions import bind_activation
from nuc_engine.control.rulebook import Rulebook
from nuc_engine.control.tasks.board import Board
from nuc_engine.model.plan import Plan, Slot, StatePlan
from nuc_engine.model.store import BufferView, Store

_AGAIN_NS = FAULTS["rule_overlap"].again_ns


class StateTransition:
    """Switches every module whose entry rules say so, all on one snapshot, then sets all activations.

    A rule is its state's entry rule; the current state's own rule is ignored; of several others the first in document
    order wins (reading B5). A state is not left before its dwell time has passed (B6). `overlaps` counts, per joint,
    the evaluations in which two or more of its rules were true, the current state's own among them.
    """

    def __init__(self, plan: Plan, store: Store, board: Board, rulebook: Rulebook) -> None:
        self._board, self._rules, self._delays = board, rulebook.in_force, rulebook.delays
        self._modules = [
            Switch(store, joint.index, joint.name, [plan.states[k] for k in joint.states], board.states, joint.index)
            for joint in plan.joints
            if joint.states
        ]
        self._activations: list[list[tuple[int, Callable[[], float]]]] = [
            [
                (activation.muscle, bind_activation(activation, store, rulebook.delays))
                for activation in state.activations
            ]
            for state in plan.states
        ]
        self.overlaps = [0] * len(plan.joints)

    def begin(self, now_ns: int) -> None:
        """Let every module have entered its start state now."""
        for module in self._modules:
            module.entered_ns = now_ns

    def refresh(self, now_ns: int) -> None:
        """Let what rules see be as it is now, for who looks before them."""

    def run(self, now_ns: int) -> None:
        """Evaluate all rules, switch states, set activations. Does nothing before every sensor has a value."""
        if self._board.sensed:
            if self._delays.histories:
                self._delays.recall(now_ns)
            self._switch(now_ns)
            self._activate(now_ns)

    def advance(self, now_ns: int) -> None:
        """Let activations be what muscles have now, where that changes between two evaluations."""

    def _switch(self, now_ns: int) -> None:
        states, rules = self._board.states, self._rules
        for module in self._modules:
            current = states[module.joint]
            true = [state for state, rule in module.entries if rules[rule]()]
            if not true:
                continue
            if len(true) > 1:
                self._overlap(module, true, now_ns)
            target = true[0] if true[0] != current else true[1] if len(true) > 1 else current
            if target != current and now_ns - module.entered_ns >= module.dwell_ns(current):
                states[module.joint] = target
                module.entered_ns = now_ns

    def _activate(self, now_ns: int) -> None:
        activations, states = self._board.activations, self._board.states
        for module in self._modules:
            for muscle, activation in self._activations[states[module.joint]]:
                try:
                    activations[muscle] = activation()
                except (ArithmeticError, ValueError):
                    # Muscle conversion and the guard drive nothing by NaN, and report it.
                    activations[muscle] = math.nan

    def _overlap(self, module: Switch, true: list[int], now_ns: int) -> None:
        self.overlaps[module.joint] += 1
        if now_ns - module.reported_ns >= _AGAIN_NS:
            module.reported_ns = now_ns
            names = " and ".join(module.names[state] for state in true)
            self._board.on_event(now_ns, "rule_overlap", f"{module.name}: the entry rules of {names} are true together")


class Switch:
    """One module's states with their rules, and since when it has been in the current one.

    Which one that is stands on the board. `joint` counts modules without a motor after all joints.
    """

    def __init__(
        self, store: Store, joint: int, name: str, states: Sequence[StatePlan], home: list[int], place: int
    ) -> None:
        self.joint, self.name = joint, name
        self.home, self.place = home, place
        self.ids = {state.index: state.id_num for state in states}
        self.names = {state.index: state.name for state in states}
        self.entries = [(state.index, state.rule) for state in states]
        self._dwell = {state.index: _dwell(store, state.dwell) for state in states}
        self.entered_ns = 0
        # Of plans with central entries or signals about actions alone.
        self.forced = False
        self.switched = 0
        # Of modules whose actions are blended alone.
        self.weights: dict[int, float] = {}
        self.reported_ns = -_AGAIN_NS

    def dwell_ns(self, state: int) -> int:
        """Return how long a state is not left."""
        cell = self._dwell[state]
        return 0 if cell is None else cell[0][cell[1]]


def _dwell(store: Store, slot: Slot | None) -> tuple[BufferView, int] | None:
    return None if slot is None else store.locate(slot)
