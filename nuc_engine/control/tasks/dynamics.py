"""Activation dynamics: muscles whose activation follows what states ask for, with time constants (section 9.2.2.9)."""

from __future__ import annotations

import math

from nuc_engine.control.tasks.board import Board
from nuc_engine.model.plan import Plan, Slot
from nuc_engine.model.store import BufferView, Store


class Dynamics:
    """Lets activations follow their targets: a' = (target - a) / tau, solved exactly over each interval.

    tau is the time constant of rise while the target lies above, of fall while it lies below; 0 or none: at once. What
    was asked for at one evaluation is the target until the next. Muscles begin at 0.
    """

    def __init__(self, plan: Plan, store: Store, board: Board) -> None:
        self._board = board
        self._muscles = [
            _Follower(muscle.index, _cell(store, muscle.dynamics.rise), _cell(store, muscle.dynamics.fall))
            for muscle in plan.muscles
            if muscle.dynamics is not None
        ]

    def begin(self, now_ns: int) -> None:
        """Let every muscle be at rest now."""
        for follower in self._muscles:
            follower.level = follower.target = 0.0
            follower.at_ns = now_ns

    def take(self, now_ns: int) -> None:
        """Take what the board asks for as the new targets, and put there what muscles have now."""
        activations = self._board.activations
        for follower in self._muscles:
            follower.advance(now_ns)
            follower.target = activations[follower.muscle]
            follower.jump()
            activations[follower.muscle] = follower.level

    def advance(self, now_ns: int) -> None:
        """Put on the board what muscles have now, their targets unchanged."""
        activations = self._board.activations
        for follower in self._muscles:
            follower.advance(now_ns)
            activations[follower.muscle] = follower.level


class _Follower:
    """One muscle's activation on its way."""

    def __init__(self, muscle: int, rise: tuple[BufferView, int] | None, fall: tuple[BufferView, int] | None) -> None:
        self.muscle = muscle
        self._rise, self._fall = rise, fall
        self.level = self.target = 0.0
        self.at_ns = 0

    def advance(self, now_ns: int) -> None:
        tau_s = self._tau_s()
        if tau_s > 0.0:
            self.level = self.target + (self.level - self.target) * math.exp((self.at_ns - now_ns) * 1e-9 / tau_s)
        self.at_ns = now_ns

    def jump(self) -> None:
        # What is no number is passed on, and recovered from: it has no way to go from.
        if not self._tau_s() > 0.0 or self.level - self.level != 0.0 or self.target - self.target != 0.0:
            self.level = self.target

    def _tau_s(self) -> float:
        cell = self._rise if self.target > self.level else self._fall
        return 0.0 if cell is None else cell[0][cell[1]]


def _cell(store: Store, slot: Slot | None) -> tuple[BufferView, int] | None:
    return None if slot is None else store.locate(slot)
