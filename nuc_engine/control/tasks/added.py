"""Tasks that users have added: run before the entry rules at each of their evaluations, in the order they are named."""

from __future__ import annotations

from nuc_engine.control.rulebook import Rulebook
from nuc_engine.control.tasks.board import Board
from nuc_engine.control.tasks.state_transition import StateTransition
from nuc_engine.model.extensions import find_extension
from nuc_engine.model.plan import Plan
from nuc_engine.model.store import Store, unfit


class HdsoValues:
    """The HDSOs of a model by name, as an added task reads and writes them."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self._plan, self._store = plan, store
        self._measured = {index for motor in plan.motors for index in (motor.angle, motor.current)}
        self._measured |= {signal.output.hdso for signal in plan.signals}
        self._measured |= {signal.output.hdso for signal in plan.action_signals}

    def __getitem__(self, name: str) -> tuple[int | float, ...] | None:
        """Return the elements of an HDSO, None while it has no value. Raises KeyError where there is none."""
        return self._store.values(self._plan.hdso(name).index)

    def __setitem__(self, name: str, values: tuple[int | float, ...]) -> None:
        """Write its first elements: a parameter, or a sensor nothing feeds. Raises KeyError, or ValueError."""
        hdso = self._plan.hdso(name)
        if hdso.kind in ("constant", "boolstring") or hdso.index in self._measured or hdso.owner:
            expected = "a parameter without another writer, or a sensor that neither a motor nor a block feeds"
            raise ValueError(f"{name} is not written by tasks; expected {expected}")
        if reason := unfit(hdso, values):
            raise ValueError(f"{name}: {reason}")
        self._store.write(hdso.index, values)


class ExtendedTransition(StateTransition):
    """State transition with the tasks of the plan before it."""

    def __init__(self, plan: Plan, store: Store, board: Board, rulebook: Rulebook) -> None:
        super().__init__(plan, store, board, rulebook)
        values = HdsoValues(plan, store)
        self._tasks = [find_extension("tasks", name)(values) for name in plan.tasks]

    def run(self, now_ns: int) -> None:
        """Run the added tasks, then evaluate all rules. Does nothing before every sensor has a value."""
        if self._board.sensed:
            for task in self._tasks:
                task.run(now_ns)
        super().run(now_ns)
