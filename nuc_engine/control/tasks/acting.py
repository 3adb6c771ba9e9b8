"""State transition with what SCCILS 0.2 adds to acting: activation dynamics (chapter 9 of the dissertation).

Of one evaluation the order is: added tasks; all rules on one snapshot, and the switches they lead to; activations with
their influences; their dynamics.
"""

from __future__ import annotations

from nuc_engine.control.rulebook import Rulebook
from nuc_engine.control.tasks.added import ExtendedTransition
from nuc_engine.control.tasks.board import Board
from nuc_engine.control.tasks.dynamics import Dynamics
from nuc_engine.control.tasks.state_transition import StateTransition
from nuc_engine.model.plan import Plan
from nuc_engine.model.store import Store


def transition_of(plan: Plan) -> type[StateTransition]:
    """Return the task that does what a plan asks for, and no more."""
    if any(muscle.dynamics is not None for muscle in plan.muscles):
        return ActingTransition
    return ExtendedTransition if plan.tasks else StateTransition


class ActingTransition(ExtendedTransition):
    """State transition of a plan that has something of SCCILS 0.2 in it."""

    def __init__(self, plan: Plan, store: Store, board: Board, rulebook: Rulebook) -> None:
        super().__init__(plan, store, board, rulebook)
        self._dynamics = Dynamics(plan, store, board)

    def begin(self, now_ns: int) -> None:
        """Let every module have entered its start state now, and every muscle be at rest."""
        super().begin(now_ns)
        self._dynamics.begin(now_ns)

    def _activate(self, now_ns: int) -> None:
        super()._activate(now_ns)
        self._dynamics.take(now_ns)
