"""Signals about actions: which one, for how long, what is left of it, how often it changes (section 9.4.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nuc_engine.control.tasks.state_transition import Switch
from nuc_engine.model.plan import ActionSignalPlan, Plan
from nuc_engine.model.store import BufferView, Store

_S: float = 1e-9


class ActionSignals:
    """The signals of a plan that are about actions: what all rules of one evaluation see of the one before it."""

    def __init__(self, plan: Plan, store: Store, switches: Sequence[Switch]) -> None:
        self._flags = store.flags
        by_number = {switch.joint: switch for switch in switches}
        self._signals = [_KINDS[signal.type](store, by_number[signal.switch], signal) for signal in plan.action_signals]

    def run(self, now_ns: int) -> None:
        """Compute them all, in their order."""
        for signal in self._signals:
            signal.view[signal.at] = signal.value(now_ns)
            self._flags[signal.hdso] = 1

    def measure(self, index: int, view: BufferView, at: int) -> None:
        """Put what is computed of this signal into this cell from now on."""
        for signal in self._signals:
            if signal.hdso == index:
                signal.view, signal.at = view, at


class ActionSignal:
    """One signal with its cell, and whom it is about."""

    def __init__(self, store: Store, switch: Switch, signal: ActionSignalPlan) -> None:
        self.view, self.at = store.locate(signal.output)
        self.hdso = signal.output.hdso
        self._switch, self._state = switch, signal.state
        self._parameters: list[tuple[BufferView, int]] = [store.locate(slot) for slot in signal.parameters]

    def value(self, now_ns: int) -> float:
        """Return its value at an evaluation."""
        raise NotImplementedError

    def _parameter(self, k: int) -> float:
        view, at = self._parameters[k]
        return float(view[at])


class _InState(ActionSignal):
    """1 while the state is the current one, else 0."""

    def value(self, now_ns: int) -> float:
        return 1.0 if self._switch.home[self._switch.place] == self._state else 0.0


class _Weight(ActionSignal):
    """How much of a state is done: as `state` says, where the module's actions are not blended."""

    def value(self, now_ns: int) -> float:
        weights = self._switch.weights
        if weights:
            return weights[self._state]
        return 1.0 if self._switch.home[self._switch.place] == self._state else 0.0


class _CurrentAction(ActionSignal):
    """The number of the current state."""

    def value(self, now_ns: int) -> float:
        return float(self._switch.ids[self._switch.home[self._switch.place]])


class _TimeInAction(ActionSignal):
    """Seconds since the current state was entered."""

    def value(self, now_ns: int) -> float:
        return (now_ns - self._switch.entered_ns) * _S


class _Decay(ActionSignal):
    """What is left of 1 since the current state was entered: linear, exponential or as a power of time.

    With a rate, its time is the integral of that; the rate that stood at an evaluation counts up to the next.
    """

    def __init__(self, store: Store, switch: Switch, signal: ActionSignalPlan) -> None:
        super().__init__(store, switch, signal)
        self._shape = signal.shape
        self._rate = None if signal.rate is None else store.locate(signal.rate)
        self._entered_ns = self._at_ns = -1
        self._passed = self._pace = 0.0

    def value(self, now_ns: int) -> float:
        passed, tau = self._time(now_ns), self._parameter(0)
        if not tau > 0.0:
            return 0.0
        if self._shape == "linear":
            return max(0.0, 1.0 - passed / tau)
        if self._shape == "exponential":
            return math.exp(-passed / tau)
        return math.pow(1.0 + passed / tau, -self._parameter(1))

    def _time(self, now_ns: int) -> float:
        entered_ns = self._switch.entered_ns
        if self._rate is None:
            return (now_ns - entered_ns) * _S
        view, at = self._rate
        if entered_ns != self._entered_ns:
            self._passed, self._entered_ns, self._at_ns = 0.0, entered_ns, max(entered_ns, self._at_ns)
        self._passed += self._pace * (now_ns - self._at_ns) * _S
        self._at_ns = now_ns
        self._pace = max(0.0, float(view[at]))
        return self._passed


class _Switching(ActionSignal):
    """Switches per second of a joint or module, by a leaky integrator: each adds 1/tau, all of it leaks.

    At tau 0 nothing stays.
    """

    def __init__(self, store: Store, switch: Switch, signal: ActionSignalPlan) -> None:
        super().__init__(store, switch, signal)
        self._sensory = signal.sensory
        self._now_ns: int = 0
        self._counted: int = 0
        self._held = 0.0
        # The same at the evaluation before, where all of an interval begins: one can be looked at twice.
        self._before_ns: int = 0
        self._counted_before: int = 0
        self._held_before = 0.0

    def value(self, now_ns: int) -> float:
        tau, switch = self._parameter(0), self._switch
        if now_ns != self._now_ns:
            self._before_ns, self._now_ns = self._now_ns, now_ns
            self._counted_before, self._counted = self._counted, switch.switched
            self._held_before = self._held
        self._held = 0.0
        if tau > 0.0:
            self._held = self._held_before * math.exp((self._before_ns - now_ns) * _S / tau)
            if self._counted != self._counted_before and not (self._sensory and switch.forced):
                self._held += math.exp((switch.entered_ns - now_ns) * _S / tau) / tau
        return self._held


_KINDS: dict[str, type[ActionSignal]] = {
    "state": _InState,
    "action": _CurrentAction,
    "time_in_action": _TimeInAction,
    "decay": _Decay,
    "switching": _Switching,
    "weight": _Weight,
}
