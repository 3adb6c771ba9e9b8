"""Timed changesets: what a script means to the executive, checked and coded before anything of it takes effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from nuc_engine.model.plan import HdsoPlan, Plan
from nuc_engine.model.planning import stored_values
from nuc_engine.model.store import refusal
from nuc_engine.model.values import Values, initial_values
from sccils_schemas.documents import HDSO_ALL, Gradual, HdsoMod, HdsoScript, HdsoSpec, ScriptEntry, SenseClamp, When
from sccils_schemas.numbers import INTEGER_RANGE, nanoseconds
from sccils_schemas.rules import TIME, format_tokens, tokenise


class ScriptRefused(Exception):
    """A script that cannot be run as a whole; `reasons` holds one line for each entry that is wrong."""

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class Write:
    """One write of HDSO data: values from the first element on, as the store holds them.

    With `element`, counted from 0 in row-major order, one value for that element alone: what is before it is found in
    the store when the write takes effect, so that no other change is undone by it.
    """

    hdso: int
    values: tuple[int | float, ...]
    element: int | None = None

    def from_first(self, held: Sequence[int | float]) -> Write:
        """Return the same as a write from the first element on, over the values held."""
        return self if self.element is None else Write(self.hdso, (*held[: self.element], *self.values))


@dataclass(frozen=True, slots=True)
class DataRequest:
    """One request for HDSO data: the HDSO's index, or -1 for all, and how many elements (0: all)."""

    hdso: int
    count: int = 0


@dataclass(frozen=True, slots=True)
class JointControl:
    """One change of what a joint's motor is commanded by (`nuc_engine.control.controls`): kind, joint index, value.

    Of the kind `sense` it is of what is sensed, and `joint` the index of a sensor's HDSO.
    """

    what: str
    joint: int
    value: float | str


@dataclass(frozen=True, slots=True)
class Trigger:
    """Writes that wait for a rule (`nuc_engine.control.triggers`).

    `rule` has its operands by id, and `time`; it must be true for `holds_ns`, and the writes come `after_ns` later. It
    counts before `until_ns` (-1: always), `times` times (0: as often as it is true), each `refractory_ns` after the one
    before.
    """

    rule: str
    writes: tuple[Write, ...]
    holds_ns: int = 0
    after_ns: int = 0
    until_ns: int = -1
    times: int = 1
    refractory_ns: int = 0


@dataclass(frozen=True, slots=True)
class Changeset:
    """Writes and controls that take effect together, before any task of that instant, and requests of that time.

    `origin` is the number of the request it came with, 0 for a script that was there from the start. `triggers` are
    armed then; `cause` says which one this is of.
    """

    time_ns: int
    writes: tuple[Write, ...]
    requests: tuple[DataRequest, ...] = ()
    controls: tuple[JointControl, ...] = ()
    origin: int = 0
    triggers: tuple[Trigger, ...] = ()
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of one write: when it was really made, in which cycle, and why not when it was refused.

    `replaced` says that nothing of it is left, since a later entry of its changeset wrote the same elements; `cause`
    which trigger made it.
    """

    time_ns: int
    cycle: int
    write: Write
    refused: str = ""
    origin: int = 0
    replaced: bool = False
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Controlled:
    """What became of one control, likewise."""

    time_ns: int
    cycle: int
    control: JointControl
    refused: str = ""
    origin: int = 0


def prepare(
    script: HdsoScript, plan: Plan, ids: Mapping[str, int], values: Sequence[Values | None] | None = None
) -> tuple[Changeset, ...]:
    """Turn a checked script into changesets in order of time; entries of one time keep document order (C2, C5).

    Gradual changes become writes, from `values` on, which are those in force before the script, by the plan's order:
    those a bout starts with unless given. What is done to the leg by hand is not the engine's task and is left
    out. Raises ScriptRefused, naming every entry, when the store would refuse one.
    """
    preparation = _Preparation(script, plan, ids)
    for entry in script.entries:
        preparation.take(entry)
    if not preparation.reasons:
        preparation.expand(initial_values(plan) if values is None else values)
    if preparation.reasons:
        raise ScriptRefused(tuple(preparation.reasons))
    return preparation.changesets()


_Part = tuple[int, int, "Write | DataRequest | JointControl | Trigger | None"]
"""What is done at a time, in ns, by what stands at a place in the document."""


@dataclass(frozen=True, slots=True)
class _Change:
    """A gradual change of one HDSO: its place in the document, the entry it is of, and the write it ends with."""

    place: int
    entry: Gradual
    line: int
    goal: Write


class _Preparation:
    """Collects what a script does: each write and request with its time and its place in the document."""

    def __init__(self, script: HdsoScript, plan: Plan, ids: Mapping[str, int]) -> None:
        self._source, self._plan, self._ids = script.source, plan, ids
        self._places = count()
        self._parts: list[_Part] = []
        self._changes: dict[int, list[_Change]] = {}
        self.reasons: list[str] = []

    def take(self, entry: ScriptEntry) -> None:
        """Take one entry; the steps of gradual changes are for `expand`."""
        place = next(self._places)
        if isinstance(entry, HdsoMod):
            # One without data only names an HDSO (reading B17); checking has warned of it.
            write = self._write(entry) if entry.data else None
            self._parts.append((nanoseconds(entry.time_s), place, write))
        elif isinstance(entry, HdsoSpec):
            index = -1 if entry.ref == HDSO_ALL else self._plan.hdso(entry.ref).index
            request = DataRequest(index) if index < 0 else DataRequest(index, entry.num_elts)
            self._parts.append((nanoseconds(entry.time_s), place, request))
        elif isinstance(entry, SenseClamp):
            sensor = self._plan.hdso(entry.sensor).index
            control = JointControl("sense", sensor, entry.mode if entry.value is None else entry.value)
            self._parts.append((nanoseconds(entry.time_s), place, control))
        elif isinstance(entry, When):
            self._take_trigger(place, entry)
        elif isinstance(entry, Gradual):
            for mod in entry.mods:
                self._take_change(next(self._places), entry, mod)

    def _take_trigger(self, place: int, entry: When) -> None:
        tokens = tokenise(entry.rule)
        known = {TIME: -1} | dict(self._ids)
        named = [
            replace(token, ref=known.get(token.ref, -1)) if isinstance(token.ref, str) else token for token in tokens
        ]
        text = format_tokens([replace(token, ref=TIME) if token.ref == -1 else token for token in named])
        writes = [self._write(mod) for mod in entry.mods if mod.data]
        trigger = Trigger(
            rule=text,
            writes=tuple(write for write in writes if write is not None),
            holds_ns=nanoseconds(entry.holds_s),
            after_ns=nanoseconds(entry.after_s),
            until_ns=-1 if entry.until_s is None else nanoseconds(entry.until_s),
            times=entry.times,
            refractory_ns=nanoseconds(entry.refractory_s),
        )
        self._parts.append((nanoseconds(entry.time_s), place, trigger))

    def _take_change(self, place: int, entry: Gradual, mod: HdsoMod) -> None:
        hdso = self._plan.hdso(mod.ref)
        if isinstance(mod.data, str) or hdso.kind == "boolstring" or hdso.datatype == "char":
            self._refuse(hdso, mod.line, "what is not a number changes at once, not gradually")
        elif not mod.data:
            self._refuse(hdso, mod.line, "nothing to reach")
        elif (goal := self._write(mod)) is not None:
            self._changes.setdefault(hdso.index, []).append(_Change(place, entry, mod.line, goal))

    def _write(self, mod: HdsoMod) -> Write | None:
        hdso = self._plan.hdso(mod.ref)
        write = Write(hdso.index, stored_values(hdso, mod.data, self._ids))
        return write if self._fits(hdso, write.values, mod.line) else None

    def _fits(self, hdso: HdsoPlan, values: Values, line: int) -> bool:
        reason = refusal(hdso, values)
        if reason is not None:
            self._refuse(hdso, line, reason)
        return reason is None

    def _refuse(self, hdso: HdsoPlan, line: int, reason: str) -> None:
        self.reasons.append(f"{self._source}:{line}: HDSO {hdso.id_num} ({hdso.name}): {reason}")

    def expand(self, before: Sequence[Values | None]) -> None:
        """Add the steps of gradual changes, each from what is in force when it begins; each HDSO by itself."""
        writes: dict[int, list[tuple[int, int, Write]]] = {}
        for time_ns, place, part in self._parts:
            if isinstance(part, Write) and part.hdso in self._changes:
                writes.setdefault(part.hdso, []).append((time_ns, place, part))
        for index, changes in self._changes.items():
            ends = [(_step_ns(change.entry, change.entry.steps), change.place, change.goal) for change in changes]
            made = sorted([*writes.get(index, ()), *ends], key=_moment)
            self._expand_one(self._plan.hdsos[index], changes, made, before[index])

    def _expand_one(
        self, hdso: HdsoPlan, changes: Sequence[_Change], made: Sequence[tuple[int, int, Write]], before: Values | None
    ) -> None:
        held, at = list(before or ()), 0
        for change in sorted(changes, key=lambda change: change.entry.time_s):
            begin_ns = nanoseconds(change.entry.time_s)
            while at < len(made) and made[at][0] <= begin_ns:
                values = made[at][2].values
                held[: len(values)] = values
                at += 1
            if not held:
                self._refuse(hdso, change.line, "has no value that it could change from")
                continue
            self._add_steps(hdso, change, tuple(held[: len(change.goal.values)]))

    def _add_steps(self, hdso: HdsoPlan, change: _Change, held: Values) -> None:
        goal, steps = change.goal.values, change.entry.steps
        for step in range(1, steps + 1):
            values = goal if step == steps else _between(hdso, held, goal, step / steps)
            if not self._fits(hdso, values, change.line):
                return
            self._parts.append((_step_ns(change.entry, step), change.place, Write(hdso.index, values)))

    def changesets(self) -> tuple[Changeset, ...]:
        """Return everything by its time."""
        by_time: dict[int, list[Write | DataRequest | JointControl | Trigger | None]] = {}
        for time_ns, _, part in sorted(self._parts, key=_moment):
            by_time.setdefault(time_ns, []).append(part)
        return tuple(
            Changeset(
                time_ns,
                tuple(part for part in parts if isinstance(part, Write)),
                tuple(part for part in parts if isinstance(part, DataRequest)),
                tuple(part for part in parts if isinstance(part, JointControl)),
                triggers=tuple(part for part in parts if isinstance(part, Trigger)),
            )
            for time_ns, parts in by_time.items()
        )


def _moment(part: tuple[int, int, object]) -> tuple[int, int]:
    return part[:2]


def _step_ns(gradual: Gradual, step: int) -> int:
    return nanoseconds(gradual.time_s + gradual.duration_s * step / gradual.steps)


def _between(hdso: HdsoPlan, held: Values, goal: Values, part: float) -> Values:
    """Return the values this part of the way; those of whole numbers are rounded to the nearest, halves to even."""
    steps = (begin + (end - begin) * part for begin, end in zip(held, goal, strict=False))
    return tuple(round(value) if hdso.datatype in INTEGER_RANGE else value for value in steps)
