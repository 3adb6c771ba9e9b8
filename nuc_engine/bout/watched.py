"""A bout that somebody watches cycle by cycle: while they look, the virtual clock stands still.

What is recorded is the same to the byte as without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from nuc_engine.control.bus_tap import ExchangeReplies
from nuc_engine.control.tasks.board import Board
from nuc_engine.daemon.cyclering import columns_of, values_of
from nuc_engine.daemon.modes import Mode
from nuc_engine.model.plan import Plan, Slot
from nuc_engine.model.store import Store
from nuc_engine.plants import Plant
from nuc_engine.recording.recorder import BoutRecorder
from sccils_schemas.model import Model

PLANT_COLUMNS = tuple((f"plant.{name}", unit, "f8") for name, unit in zip(
    ("x_cm", "y_cm", "z_cm", "contact_n"), ("cm", "cm", "cm", "N"), strict=True
))  # fmt: skip
"""Of the emulated leg itself, beside the columns that a daemon's records have."""

_NOTHING = (float("nan"),) * len(PLANT_COLUMNS)


class CycleWatch(Protocol):
    """Somebody who watches."""

    def begin(self, name: str, columns: Sequence[tuple[str, str, str]]) -> None:
        """Hear what the numbers of each record are: name, unit, "i8" or "f8"."""
        ...

    def cycle(self, now_ns: int, values: Sequence[int | float]) -> None:
        """Take the record of a cycle, once its sensors are converted; the bout goes on when this returns."""
        ...


class WatchedRecorder:
    """Implements `Recorder` beside the recorder of a bout that is watched. `plant` is whose foot is told.

    None of its subclasses: the recorder may be compiled.
    """

    def __init__(
        self, recorder: BoutRecorder, model: Model, plan: Plan, store: Store, plant: Plant, watch: CycleWatch
    ) -> None:
        self._recorder, self._leg, self._watch = recorder, plant, watch
        self.started, self.states, self.muscles = recorder.started, recorder.states, recorder.muscles
        self.applied, self.controlled, self.done = recorder.applied, recorder.controlled, recorder.done
        self.answer, self.event = recorder.answer, recorder.event
        self._cells = [store.locate(Slot(index)) for index in plan.sensor_columns]
        self._complete: tuple[int, Board] | None = None
        self._foot: Sequence[float] = _NOTHING
        self._columns = plan.sensor_columns
        watch.begin(model.name, [*columns_of(plan), *PLANT_COLUMNS])

    def motor(self, now_ns: int, board: Board, replies: ExchangeReplies) -> None:
        """A cycle is complete."""
        self._recorder.motor(now_ns, board, replies)
        self._complete = now_ns, board

    def sensors(self, now_ns: int, store: Store) -> None:
        """Sensors are converted."""
        self._recorder.sensors(now_ns, store)
        records = self._leg.take_records()
        self._recorder.plant(records)
        if records:
            self._foot = records[-1][1:]
        if self._complete is not None:
            time_ns, board = self._complete
            sensed = [view[at] for view, at in self._cells]
            values = values_of(board, store.measured(self._columns, sensed))
            self._watch.cycle(now_ns, [time_ns, board.cycle, 1, Mode.RUNNING.value, *values, *self._foot])
