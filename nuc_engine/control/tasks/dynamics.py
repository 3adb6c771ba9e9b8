"""What lies between activations and muscles: efferent delays (section 9.2.4), and activation dynamics (9.2.2.9)."""

from __future__ import annotations

import math

from nuc_engine.control.delay_line import DelayLine
from nuc_engine.control.tasks.board import Board
from nuc_engine.model.plan import MusclePlan, Plan, Slot
from nuc_engine.model.store import BufferView, Store


class Dynamics:
    """Lets activations follow their targets: a' = (target - a) / tau, solved exactly over each interval.

    tau is the time constant of rise while the target lies above, of fall while it lies below; 0 or none: at once. What
    was asked for at one evaluation is the target until the next. Muscles begin at 0. With an efferent delay the target
    is what was asked for so long ago, 0 before that: a step arrives at the first look at or after its time and delay.
    """

    def __init__(self, plan: Plan, store: Store, board: Board) -> None:
        self._board = board
        self._muscles = [
            _Follower(store, muscle)
            for muscle in plan.muscles
            if muscle.dynamics is not None or muscle.efferent_delay is not None
        ]

    def begin(self, now_ns: int) -> None:
        """Let every muscle be at rest now, and nothing be on its way."""
        for follower in self._muscles:
            follower.rest(now_ns)

    def take(self, now_ns: int) -> None:
        """Take what the board asks for as the new targets, and put there what muscles have now."""
        activations = self._board.activations
        for follower in self._muscles:
            follower.advance(now_ns)
            follower.ask(now_ns, activations[follower.muscle])
            activations[follower.muscle] = follower.level

    def advance(self, now_ns: int) -> None:
        """Put on the board what muscles have now, nothing new being asked for."""
        activations = self._board.activations
        for follower in self._muscles:
            follower.advance(now_ns)
            follower.arrive(now_ns)
            activations[follower.muscle] = follower.level


class _Follower:
    """One muscle's activation on its way."""

    def __init__(self, store: Store, muscle: MusclePlan) -> None:
        self.muscle = muscle.index
        dynamics = muscle.dynamics
        self._rise = None if dynamics is None else _cell(store, dynamics.rise)
        self._fall = None if dynamics is None else _cell(store, dynamics.fall)
        self._delay = _cell(store, muscle.efferent_delay)
        self.rest(0)

    def rest(self, now_ns: int) -> None:
        self.level = self.target = 0.0
        self.at_ns = now_ns
        self._line = DelayLine()
        self._line.put(now_ns, 0.0)

    def advance(self, now_ns: int) -> None:
        tau_s = self._tau_s()
        if tau_s > 0.0 and now_ns != self.at_ns:
            self.level = self.target + (self.level - self.target) * math.exp((self.at_ns - now_ns) * 1e-9 / tau_s)
        self.at_ns = now_ns

    def ask(self, now_ns: int, target: float) -> None:
        if self._delay is None:
            self.target = target
            self._jump()
        else:
            self._line.put(now_ns, target)
            self.arrive(now_ns)

    def arrive(self, now_ns: int) -> None:
        if self._delay is not None:
            view, at = self._delay
            self.target = self._line.at(now_ns - round(1e9 * view[at]))
        self._jump()

    def _jump(self) -> None:
        # What is no number is passed on, and recovered from: it has no way to go from.
        if not self._tau_s() > 0.0 or self.level - self.level != 0.0 or self.target - self.target != 0.0:
            self.level = self.target

    def _tau_s(self) -> float:
        cell = self._rise if self.target > self.level else self._fall
        return 0.0 if cell is None else cell[0][cell[1]]


def _cell(store: Store, slot: Slot | None) -> tuple[BufferView, int] | None:
    return None if slot is None else store.locate(slot)
