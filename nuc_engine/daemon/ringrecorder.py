"""What the executive tells, as records in the ring: the core's `Recorder`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nuc_engine.control.bus_tap import ExchangeReplies
from nuc_engine.control.tasks.board import Board
from nuc_engine.daemon.block import Word
from nuc_engine.daemon.cyclering import CycleRing, values_of
from nuc_engine.daemon.ring import Ring
from nuc_engine.daemon.wire import Formats, RecordKind, pack
from nuc_engine.model.changes import Applied, Changeset, Controlled
from nuc_engine.model.plan import Plan, Slot
from nuc_engine.model.store import Store


class RingRecorder:
    """Implements `nuc_engine.control.executive.Recorder` on the records ring.

    Never waits: a record that finds no room is counted in the block, by kind, and told by a LOST record as soon as
    there is room. `wake` is called after records somebody may be waiting for. `cycles` gets every cycle for other
    programs, once its sensors are converted.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        ring: Ring,
        words: memoryview,
        wake: Callable[[], None],
        cycles: CycleRing | None = None,
    ) -> None:
        self._ring, self._words, self._wake, self._cycles = ring, words, wake, cycles
        self._complete: tuple[int, Board] | None = None
        self._formats = Formats(plan)
        self._columns = plan.sensor_columns
        self._cells = [store.locate(Slot(index)) for index in plan.sensor_columns]
        self._lost: dict[int, int] = {}
        self._cycle = 0

    def begin(self) -> None:
        """Count cycles from 0: another bout begins."""
        self._cycle = 0

    def put(self, kind: RecordKind, content: bytes, now_ns: int) -> None:
        """Put one record."""
        if self._lost and self._ring.offer(RecordKind.LOST, pack(now_ns, self._lost)):
            self._lost = {}
        if not self._ring.put(kind, content):
            self._words[Word.LOST + kind] += 1
            self._lost[kind] = self._lost.get(kind, 0) + 1

    def tell(self, kind: RecordKind, now_ns: int, *items: Any) -> None:
        """Put a record that a reader may wait for, and wake it up: its array begins with the time."""
        self.put(kind, pack(now_ns, *items), now_ns)
        self._wake()

    def acknowledge(self, request: int, ok: bool, now_ns: int, detail: Any = "", *, more: bool = False) -> None:
        """Answer a command; with `more` to follow at once the reader is not woken up for this one alone."""
        self.put(RecordKind.ACK, pack(request, ok, now_ns, self._cycle, detail), now_ns)
        if not more:
            self._wake()

    def motor(self, now_ns: int, board: Board, replies: ExchangeReplies) -> None:
        """A cycle is complete."""
        self._cycle = board.cycle
        self._complete = (now_ns, board)
        self.put(RecordKind.MOTOR, self._formats.pack_motor(now_ns, board, replies), now_ns)

    def started(self, now_ns: int, level: int, goals: Sequence[int]) -> None:
        """An exchange begins."""
        self.put(RecordKind.START, self._formats.pack_start(now_ns, level, goals), now_ns)

    def sensors(self, now_ns: int, store: Store) -> None:
        """Sensors are converted."""
        sensors: list[float] = [view[at] for view, at in self._cells]
        if store.parted:
            sensed, sensors = sensors, store.measured(self._columns, sensors)
            self.put(RecordKind.SENSED, self._formats.pack_sensors(now_ns, sensed), now_ns)
        self.put(RecordKind.SENSORS, self._formats.pack_sensors(now_ns, sensors), now_ns)
        if self._cycles is not None and self._complete is not None:
            time_ns, board = self._complete
            words = self._words
            head = (time_ns, board.cycle, words[Word.BOUT], words[Word.MODE])
            self._cycles.put([*head, *values_of(board, sensors)])

    def states(self, now_ns: int, board: Board) -> None:
        """States and activations are set."""
        self.put(RecordKind.STATES, self._formats.pack_states(now_ns, board), now_ns)

    def muscles(self, now_ns: int, board: Board) -> None:
        """Forces and lengths are computed."""
        self.put(RecordKind.MUSCLES, self._formats.pack_muscles(now_ns, board), now_ns)

    def applied(self, applied: Applied) -> None:
        """A write was made or refused."""
        write = applied.write
        what = (applied.cycle, write.hdso, write.values, applied.replaced, applied.refused, applied.origin)
        if applied.cause:
            what = (*what, applied.cause)
        self.put(RecordKind.APPLIED, pack(applied.time_ns, *what), applied.time_ns)

    def controlled(self, controlled: Controlled) -> None:
        """A control was made or refused."""
        made = controlled.control
        what = (controlled.cycle, made.what, made.joint, made.value, controlled.refused, controlled.origin)
        self.put(RecordKind.CONTROL, pack(controlled.time_ns, *what), controlled.time_ns)

    def done(self, now_ns: int, changeset: Changeset, refused: int) -> None:
        """A changeset has taken effect."""
        self.put(RecordKind.DONE, pack(changeset.origin, now_ns, self._cycle, refused), now_ns)
        self._wake()

    def answer(self, now_ns: int, hdso: int, values: tuple[int | float, ...], origin: int) -> None:
        """A request is answered: never here, where the service reads for those who ask."""

    def event(self, now_ns: int, kind: str, text: str) -> None:
        """Something worth a line happened."""
        self.tell(RecordKind.EVENT, now_ns, kind, text)
