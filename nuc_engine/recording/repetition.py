"""A bout in real time again, from its input record: every task at the time and in the order in which it really ran.

Real time is an input like the replies: a rule that was evaluated 0.3 ms late saw another measurement. So nothing is
scheduled here; what the record says is what runs, with the replies and the edits that stand in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drivers.servo import count_misses
from nuc_engine.control.clock import VirtualClock
from nuc_engine.control.controls import index_of
from nuc_engine.control.dispatcher import Dispatcher
from nuc_engine.model.changes import Applied, Changeset, Controlled, JointControl, Write
from nuc_engine.model.plan import Plan
from nuc_engine.model.store import Store, StoreError
from nuc_engine.recording.inputs import InputRecordError
from nuc_engine.recording.recorder import BoutRecorder
from sccils_schemas.model import Model
from sccils_schemas.rules import RuleError


class RepetitionRecorder(BoutRecorder):
    """Writes the logs of a repetition; `author` is whose the next edits are."""

    author = ""

    def applied(self, applied: Applied, author: str = "") -> None:
        """A write was made or refused."""
        super().applied(applied, author or self.author)

    def controlled(self, controlled: Controlled, author: str = "") -> None:
        """A control was made or refused."""
        super().controlled(controlled, author or self.author)


class _Replies:
    """A bus whose replies are given to it."""

    def __init__(self, plan: Plan) -> None:
        count = len(plan.motors)
        self.position_raw, self.current_raw, self.status = [0] * count, [0] * count, [0] * count
        self.stamp_ns, self.misses = [0] * count, [0] * count

    def start(self, now_ns: int, goals: list[int]) -> None:
        """Nothing to send."""

    def set_level(self, level: int) -> None:
        """Nothing to set."""

    def take(self, cycle: Sequence[Any]) -> None:
        """Take the replies of one recorded cycle."""
        self.position_raw, self.current_raw, self.status, self.stamp_ns = cycle[3:7]
        self.misses = [count_misses(status, n) for status, n in zip(self.status, self.misses, strict=True)]


class Repetition(Dispatcher):
    """Runs the tasks of one model as an input record says.

    `source` names the record in errors. Raises InputRecordError when it does not begin with the whole store, or is of
    another model.
    """

    def __init__(
        self,
        source: Path,
        model: Model,
        plan: Plan,
        out: Path,
        entries: Sequence[Sequence[Any]],
        *,
        limits: Sequence[int | None],
        approach_deg_s: float | None,
    ) -> None:
        self._source = source
        self._entries = entries[1:]
        first = next((entry for entry in self._entries if entry[0] in ("store", "cycle")), ())
        if entries[0][2] != len(plan.motors):
            raise InputRecordError(f"{source}: is of {entries[0][2]} motors, but {plan.name} has {len(plan.motors)}")
        if not first or first[0] != "store":
            raise InputRecordError(f"{source}: the store at the start of the bout is not in it; logging began later")
        store = Store(plan)
        try:
            store.load_bytes(first[3])
        except StoreError as error:
            raise InputRecordError(f"{source}: {error}") from error
        self._replies, self._time = _Replies(plan), VirtualClock()
        self.recorder = RepetitionRecorder(out, model, plan, store)
        try:
            super().__init__(
                plan,
                self._replies,
                self.recorder,
                self._time,
                store=store,
                limits=limits,
                approach_deg_s=approach_deg_s,
                keep_store=True,
            )
        except RuleError as error:
            self.recorder.abandon()
            raise InputRecordError(f"{source}: a rule in the store cannot be read: {error}") from error
        self._writes: list[Write] = []
        self._made: list[JointControl] = []

    def repeat(self, until_ns: int) -> None:
        """Run everything before `until_ns`. Raises InputRecordError for an entry that does not fit the model."""
        for number, entry in enumerate(self._entries, 2):
            if entry[2] >= until_ns:
                break
            self._time.wait_until(max(entry[2], self._time.now_ns))
            try:
                self._do(entry)
            except (KeyError, IndexError, StopIteration) as error:
                raise InputRecordError(
                    f"{self._source}: record {number} is not of {self.plan.name}: {error}"
                ) from error

    def _do(self, entry: Sequence[Any]) -> None:
        now_ns: int = entry[2]
        match entry[0], entry[1]:
            case "cycle", _:
                self._replies.take(entry)
                self._cycle_complete(now_ns)
            case "ran", "start":
                self._motor_action.start(now_ns)
            case "ran", "sensors":
                self._run_conversion(now_ns)
            case "ran", "states":
                self.transition.run(now_ns)
                self.recorder.states(now_ns, self.board)
            case "ran", "muscles":
                self._pull(now_ns)
            case "ran", _:
                self._take_effect(now_ns)
            case "edit", _:
                self.recorder.author = entry[6] if len(entry) > 6 else ""
                self._writes.append(Write(self.plan.hdso(entry[3]).index, tuple(entry[4])))
            case "control", _:
                self.recorder.author = entry[7] if len(entry) > 7 else ""
                self._made.append(JointControl(entry[3], index_of(entry[3], entry[4], self.plan), entry[5]))
            case _:
                pass

    def _take_effect(self, now_ns: int) -> None:
        changeset = Changeset(now_ns, tuple(self._writes), controls=tuple(self._made))
        self._writes, self._made = [], []
        self.load([changeset])
        self._run_script(now_ns)

    def _missed(self, motor: int, misses: int, now_ns: int) -> None:
        # How the bout ended stands in the record: there is no fault to find.
        self.missed[motor] += 1
