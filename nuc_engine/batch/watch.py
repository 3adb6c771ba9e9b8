"""A bout that is not kept: its leg is analysed in memory, without files in between.

The numbers are, to the last bit, those that `run_bout` would have written and `load_bout` read again.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from drivers.units import NS_PER_S, S_PER_NS
from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.log_columns import PLANT_COLUMNS, joints_of, states_of
from nuc_engine.analysis.series import Series
from nuc_engine.bout.run import CHUNK_NS, BoutSpec, Prepared, run_to, set_up
from nuc_engine.control.tasks.board import Board
from nuc_engine.model.plan import Plan, Slot
from nuc_engine.model.store import BufferView, Store
from nuc_engine.recording.digits import as_logged
from sccils_schemas.model import Model

_NOTHING = Series(np.zeros(0), np.zeros((0, 0)), (), ())


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """What became of a bout, as in `nuc_engine.bout.run.BoutResult`, and what was seen of its leg."""

    state: str
    reason: str
    simulated_s: float
    read: Read

    def until(self, end_ns: int) -> Watched:
        """Return the same bout as if it had ended then: at a multiple of `CHUNK_NS`, before its end."""

        def read(until_ns: int | None = None) -> Bout:
            return self.read(end_ns if until_ns is None else until_ns)

        return Watched(self.state, self.reason, end_ns / NS_PER_S, read)


class Read(Protocol):
    """Tells what was seen."""

    def __call__(self, until_ns: int | None = None) -> Bout:
        """Return angles, loads, actions and the plant's record; no activations, muscles or motor data.

        With `until_ns`, a multiple of `CHUNK_NS`, only what the same bout would show that ends then. Raises BoutError
        as `load_bout` does when the joints are no single chain, ValueError for another end.
        """
        ...


def watch_bout(spec: BoutSpec, prepared: Prepared | None = None) -> Watched:
    """Run one bout on the virtual clock and write nothing; `out` and `overwrite` do not matter.

    `prepared` is as for `set_up`. Raises BoutRefused, NotFound, PlantSpecError or BusError when the bout cannot start.
    """
    ready = set_up(spec, prepared)
    prepared, store = ready.prepared, Store(ready.prepared.plan)
    seen = _Watcher(prepared.plan, store)
    executive = ready.executive(seen, store)
    state, reason = run_to(ready.end_ns, executive, seen, ready.plant, ready.events)
    executive.stop()
    return Watched(state, reason, executive.clock.now_ns / NS_PER_S, _reading(seen, prepared.model))


def _reading(seen: _Watcher, model: Model) -> Read:
    def read(until_ns: int | None = None) -> Bout:
        return seen.bout(model, until_ns)

    return read


class _Watcher:
    """Takes what a leg's tracks are made of (a `nuc_engine.bout.run.Log`); all else goes by."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self._plan = plan
        indices = [index for motor in plan.motors for index in (motor.angle, motor.current) if index >= 0]
        self._columns = tuple(dict.fromkeys(indices))
        self._read = _reader([store.locate(Slot(index)) for index in self._columns])
        self._sensor_ns, self._sensors = array("q"), array("d")
        self._state_ns, self._states = array("q"), array("q")
        self._plant_ns, self._foot = array("q"), array("d")
        self._pieces: list[tuple[int, int, int]] = []

    def bout(self, model: Model, until_ns: int | None) -> Bout:
        """Return everything so far, or up to the end of a piece, as what a data directory tells."""
        plan = self._plan
        named = tuple(plan.hdsos[index].name for index in self._columns)
        counts = len(self._sensor_ns), len(self._state_ns), len(self._plant_ns)
        if until_ns is not None:
            piece, rest = divmod(until_ns, CHUNK_NS)
            if rest or not 0 < piece <= len(self._pieces):
                raise ValueError(f"{until_ns} ns; expected the end of one of {len(self._pieces)} pieces of {CHUNK_NS}")
            counts = self._pieces[piece - 1]
        sensor_ns, state_ns, plant_ns = (
            times[:count]
            for times, count in zip((self._sensor_ns, self._state_ns, self._plant_ns), counts, strict=True)
        )
        return Bout(
            folder=Path(),
            label=model.name or model.jointlist.name or "",
            joints=joints_of(plan, model),
            states_of=states_of(model, plan),
            motor=_NOTHING,
            sensors=_series(sensor_ns, self._sensors, named, rounded=True),
            states=_series(state_ns, self._states, tuple(f"{joint.name}.state" for joint in plan.joints)),
            muscles=_NOTHING,
            plant=_series(plant_ns, self._foot, PLANT_COLUMNS, rounded=True) if plant_ns else None,
        )

    def sensors(self, now_ns: int, store: Store) -> None:
        """Keep angles and loads as they were measured, whatever is sensed of them."""
        self._sensor_ns.append(now_ns)
        numbers = self._read()
        self._sensors.extend(store.measured(self._columns, numbers) if store.parted else numbers)

    def states(self, now_ns: int, board: Board) -> None:
        """Keep the action of every joint."""
        self._state_ns.append(now_ns)
        self._states.extend(board.states)

    def plant(self, records: Iterable[Sequence[float]]) -> None:
        """Keep where the foot was, and what the ground did to it."""
        for instant, *row in records:
            self._plant_ns.append(int(instant))
            self._foot.extend(row)

    def _let_go_by(self, *_: Any, **__: Any) -> None:
        """Take no notice."""

    started = motor = muscles = applied = controlled = done = answer = event = happened = debug = _let_go_by

    def flush(self) -> None:
        """Note how far everything was at the end of a piece."""
        self._pieces.append((len(self._sensor_ns), len(self._state_ns), len(self._plant_ns)))


def _reader(cells: Sequence[tuple[BufferView, int]]) -> Callable[[], tuple[float, ...]]:
    """Return what reads these cells of the store at once."""
    views = {id(view): view for view, _ in cells}
    if len(views) != 1 or len(cells) < 2:
        return lambda: tuple(view[at] for view, at in cells)
    (view,), pick = views.values(), itemgetter(*(at for _, at in cells))
    return lambda: pick(view)


def _series(
    times_ns: array[int], numbers: array[float] | array[int], columns: tuple[str, ...], *, rounded: bool = False
) -> Series:
    """Return the rows of numbers there are times for; `rounded` as the logs round them."""
    count = len(times_ns)
    values = np.array(numbers[: count * len(columns)], dtype=np.float64).reshape(count, len(columns))
    times_s = np.array(times_ns, dtype=np.int64).astype(np.float64) * S_PER_NS
    return Series(times_s, as_logged(values) if rounded else values, columns, ("",) * len(columns))
