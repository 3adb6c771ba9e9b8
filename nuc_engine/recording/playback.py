"""What an input record holds, as the tasks take it: a bus that gives the recorded replies, and changesets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drivers.port import NEVER
from drivers.servo import count_misses
from nuc_engine.control.controls import index_of
from nuc_engine.model.changes import Changeset, JointControl, Write
from nuc_engine.model.plan import Plan
from nuc_engine.recording.inputs import InputRecordError


class RecordedBus:
    """A bus that gives the recorded replies at their recorded times, whatever is sent."""

    def __init__(self, plan: Plan, cycles: Sequence[Sequence[Any]]) -> None:
        count = len(plan.motors)
        self._cycles = cycles
        self._next = 0
        self.position_raw, self.current_raw = [0] * count, [0] * count
        self.status, self.stamp_ns, self.misses = [0] * count, [0] * count, [0] * count
        self._counted = 0
        self.refusals: tuple[str, ...] = ()

    def start(self, now_ns: int, goals: list[int]) -> None:
        """Make the next recorded cycle the one under way."""
        del now_ns, goals
        self._next += 1

    def run_until(self, horizon_ns: int) -> int:
        """Return when the recorded cycle was complete; NEVER when that is past the horizon, or nothing is left."""
        if not 0 < self._next <= len(self._cycles):
            return NEVER
        _, _, time_ns, positions, currents, status, stamps = self._cycles[self._next - 1]
        if time_ns > horizon_ns:
            return NEVER
        if self._counted < self._next:
            self._counted = self._next
            self.position_raw, self.current_raw, self.status, self.stamp_ns = positions, currents, status, stamps
            self.misses = [count_misses(s, misses) for s, misses in zip(status, self.misses, strict=True)]
        return time_ns

    def set_level(self, level: int) -> None:
        """Nothing to set: the replies are given."""

    def torque_off(self, now_ns: int) -> None:
        """Nothing to switch off."""


def split_inputs(
    path: Path, records: Sequence[Sequence[Any]], plan: Plan
) -> tuple[list[Sequence[Any]], tuple[Changeset, ...]]:
    """Return the cycles, and the edits as changesets of the times at which they were really made.

    `records` are those of `read_inputs`. Raises InputRecordError when they do not belong to the model of `plan`.
    """
    cycles: list[Sequence[Any]] = []
    # What another made at the same instant is a changeset of its own: its entries name who, or what, it was.
    edits: dict[tuple[int, str], tuple[list[Write], list[JointControl]]] = {}
    for number, record in enumerate(records, 1):
        if record[0] == "head" and record[2] != len(plan.motors):
            raise InputRecordError(f"{path}: is of {record[2]} motors, but {plan.name} has {len(plan.motors)}")
        if record[0] == "cycle":
            cycles.append(record)
        elif record[0] == "edit":
            try:
                hdso = plan.hdso(record[3])
            except KeyError as error:
                raise InputRecordError(f"{path}: record {number}: {plan.name} has no HDSO {record[3]}") from error
            by = record[6] if len(record) > 6 else ""
            edits.setdefault((record[2], by), ([], []))[0].append(Write(hdso.index, tuple(record[4])))
        elif record[0] == "control":
            try:
                control = JointControl(record[3], index_of(record[3], record[4], plan), record[5])
            except (KeyError, StopIteration) as error:
                raise InputRecordError(f"{path}: record {number}: {plan.name} has no such {record[3]}") from error
            edits.setdefault((record[2], ""), ([], []))[1].append(control)
    made = sorted(edits.items(), key=lambda item: item[0][0])
    return cycles, tuple(
        Changeset(time, tuple(writes), controls=tuple(controls), cause=by) for (time, by), (writes, controls) in made
    )
