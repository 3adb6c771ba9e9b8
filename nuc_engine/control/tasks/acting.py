"""State transition with what SCCILS 0.2 adds to acting (chapter 9 of the dissertation).

Of one evaluation the order is: what follows controls; signals about actions; triggers, and both anew where there are
any, since these may write what they go by; added tasks; all rules on one snapshot, and the switches, or weights, they
lead to, what modules without a motor write among them; activations with their influences, blended by weights; their
delays and dynamics. What a module writes is in force for activations at once, for rules from the next evaluation on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from nuc_engine.control.rulebook import Predicate, Rulebook
from nuc_engine.control.tasks.action_signals import ActionSignals
from nuc_engine.control.tasks.added import ExtendedTransition
from nuc_engine.control.tasks.blending import Blend
from nuc_engine.control.tasks.board import Board
from nuc_engine.control.tasks.dynamics import Dynamics
from nuc_engine.control.tasks.followers import Followers
from nuc_engine.control.tasks.state_transition import StateTransition, Switch
from nuc_engine.model.plan import InitialWrite, ModulePlan, Plan, StatePlan
from nuc_engine.model.store import BufferView, Store


def transition_of(plan: Plan) -> type[StateTransition]:
    """Return the task that does what a plan asks for, and no more."""
    if plan.acts_newly:
        return ActingTransition
    return ExtendedTransition if plan.tasks else StateTransition


class ActingTransition(ExtendedTransition):
    """State transition of a plan that has something of SCCILS 0.2 in it.

    A state can also be entered by its central rule (section 9.4.1). Sensory entries come first: central rules are asked
    where none of them leads to another state, or where one has to wait; of several the first in document order wins. A
    state is not left before its dwell time, in either way; one that was entered centrally not by a sensory entry before
    its hold (0 unless given) has passed. Of a module whose actions are blended the state is the one that leads; while
    it would not be left it loses nothing, and a central entry gives everything to one.
    """

    def __init__(self, plan: Plan, store: Store, board: Board, rulebook: Rulebook) -> None:
        super().__init__(plan, store, board, rulebook)
        modules = [_Commands(plan, store, board, rulebook, module) for module in plan.modules]
        self._commands = {module.joint: module for module in modules}
        self._switches: list[Switch] = [*self._modules, *modules]
        self._central: dict[int, list[tuple[int, int]]] = {}
        self._holds: dict[int, dict[int, tuple[BufferView, int]]] = {}
        for switch in self._switches:
            central = [(state.index, state.central) for state in _states(plan, switch.joint) if state.central]
            self._central[switch.joint] = [(state, entry.rule) for state, entry in central]
            holds = [(state, entry.hold) for state, entry in central if entry.hold is not None]
            self._holds[switch.joint] = {state: store.locate(slot) for state, slot in holds}
        self.overlaps += [0] * len(modules)
        self._blends: dict[int, Blend] = {}
        for switch in self._modules:
            soft = plan.joints[switch.joint].soft
            if soft is not None:
                self._blends[switch.joint] = Blend(store, rulebook, switch, soft)
        self._signals = ActionSignals(plan, store, self._switches)
        self._followers = Followers(plan, store)
        self._dynamics = Dynamics(plan, store, board)

    def begin(self, now_ns: int) -> None:
        """Let every module have entered its start state now, and every muscle be at rest."""
        for switch in self._switches:
            switch.entered_ns = now_ns
        self._dynamics.begin(now_ns)
        self._signals.run(now_ns)

    def measure(self, index: int, view: BufferView, at: int) -> None:
        """Put what is computed of this signal about actions into this cell from now on."""
        self._signals.measure(index, view, at)

    def refresh(self, now_ns: int) -> None:
        """Let what follows controls, and signals about actions, be what rules see; a second time changes nothing."""
        self._followers.run()
        self._signals.run(now_ns)

    def run(self, now_ns: int) -> None:
        """Evaluate everything. Does nothing before every sensor has a value."""
        if self._board.sensed:
            self.refresh(now_ns)
        super().run(now_ns)

    def _switch(self, now_ns: int) -> None:
        rules = self._rules
        entered: list[_Commands] = []
        for module in self._switches:
            current = module.home[module.place]
            blend = self._blends.get(module.joint)
            true = blend.whole() if blend is not None else [s for s, rule in module.entries if rules[rule]()]
            if len(true) > 1:
                self._overlap(module, true, now_ns)
            dwells = now_ns - module.entered_ns < module.dwell_ns(current)
            # After a central entry sensory ones wait for its hold; the dwell time keeps both.
            waits = dwells or (module.forced and now_ns - module.entered_ns < self._hold_ns(module.joint, current))
            target = -1 if waits else _other(true, current)
            if blend is not None:
                target = blend.take(current, kept=waits)
            if dwells:
                continue
            forced = False
            if target < 0:
                target = _other([state for state, rule in self._central[module.joint] if rules[rule]()], current)
                forced = target >= 0
            if target < 0:
                continue
            if forced and blend is not None:
                blend.give(target)
            module.home[module.place] = target
            module.entered_ns = now_ns
            module.forced = forced
            module.switched += 1
            if forced:
                names = f"from {module.names[current]} to {module.names[target]} by its central rule"
                self._board.on_event(now_ns, "forced_switch", f"{module.name}: {names}, cycle {self._board.cycle}")
            command = self._commands.get(module.joint)
            if command is not None:
                entered.append(command)
        # All rules have seen one snapshot: only now is anything written.
        for command in entered:
            command.write(command.home[command.place])

    def _hold_ns(self, switch: int, state: int) -> int:
        cell = self._holds[switch].get(state)
        return 0 if cell is None else cell[0][cell[1]]

    def _activate(self, now_ns: int) -> None:
        super()._activate(now_ns)
        for blend in self._blends.values():
            self._mix(blend)
        self._dynamics.take(now_ns)

    def _mix(self, blend: Blend) -> None:
        """Let a module's muscles have the activations of its actions, each by its weight."""
        mixed: dict[int, float] = {}
        for state, weight in blend.weights.items():
            for muscle, activation in self._activations[state] if weight > 0.0 else ():
                try:
                    value = activation()
                except (ArithmeticError, ValueError):
                    value = math.nan
                mixed[muscle] = weight * value if muscle not in mixed else mixed[muscle] + weight * value
        for muscle, value in mixed.items():
            self._board.activations[muscle] = value

    def advance(self, now_ns: int) -> None:
        """Let activations be what muscles have now: what was asked of them arrives, and they follow it."""
        self._dynamics.advance(now_ns)


def _other(true: list[int], current: int) -> int:
    """Return the first of these states that is not the current one, -1 where there is none."""
    for state in true:
        if state != current:
            return state
    return -1


def _states(plan: Plan, switch: int) -> Sequence[StatePlan]:
    """Return the states of a joint, or of a module, which are counted after all joints."""
    count = len(plan.joints)
    if switch >= count:
        return plan.modules[switch - count].states
    return [plan.states[k] for k in plan.joints[switch].states]


class _Commands(Switch):
    """A module without a motor: what it writes on entering each of its states."""

    def __init__(self, plan: Plan, store: Store, board: Board, rulebook: Rulebook, module: ModulePlan) -> None:
        number = len(plan.joints) + module.index
        super().__init__(store, number, module.name, module.states, board.states, number)
        self._store, self._rulebook = store, rulebook
        self._writes = {state.index: [self._decoded(write) for write in state.writes] for state in module.states}

    def _decoded(self, write: InitialWrite) -> tuple[InitialWrite, Predicate | None]:
        if self._store.plan.hdsos[write.hdso].kind != "boolstring":
            return write, None
        return write, self._rulebook.decode(write.hdso, _code(write))

    def write(self, state: int) -> None:
        """Write what the action of a state says: numbers, then rules."""
        for write, predicate in self._writes[state]:
            self._store.write(write.hdso, write.values)
            if predicate is not None:
                self._rulebook.swap(write.hdso, _code(write), predicate)


def _code(write: InitialWrite) -> list[int]:
    return [int(value) for value in write.values]
