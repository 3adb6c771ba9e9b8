"""Following a script through time: what is wrong only together, circles of rules and divisions by zero."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from sccils_schemas.checks.hdso_table import HdsoEntry, HdsoTable, parameter_refs
from sccils_schemas.checks.rules import (
    all_rule_parts,
    check_start,
    describe_circle,
    find_circles,
    rule_parts,
    unset_operands,
)
from sccils_schemas.documents import HdsoMod, JointList, Ref
from sccils_schemas.lines import data_line
from sccils_schemas.names import counted
from sccils_schemas.nesting import RuleParts, first_faults
from sccils_schemas.numbers import nanoseconds, write_number
from sccils_schemas.problems import Problems

PlannedWrite = tuple[HdsoMod, HdsoEntry]

MAX_LOOKS = 2_000_000
"""Rules looked at over all changes of a script; a leg has a dozen rules and a script some hundred changes of them."""


@dataclass(frozen=True, slots=True)
class _Watch:
    """Numbers the engine computes with: those of `refs` one after another, and what must not become of them."""

    refs: tuple[Ref, ...]
    kind: str
    of: str

    def fault(self, values: Sequence[int | float]) -> tuple[str, str]:
        """Return what is wrong with the numbers and what was expected, or two empty texts."""
        if self.kind == "parabolic" and values[0] == 0:
            return f"the first parameter of {self.of} becomes 0", "a number other than 0"
        if self.kind == "dwell" and values[0] < 0:
            return f"{self.of} becomes {write_number(values[0])} ns", "0 or more"
        if self.kind == "span" and any(values[at + 3] == values[at + 4] for at in range(0, len(values) - 4, 5)):
            return f"wmin and wmax of {self.of} become equal", "two different numbers"
        return "", ""


def check_course(
    writes: Sequence[PlannedWrite], table: HdsoTable, jointlist: JointList, file: str, problems: Problems
) -> None:
    """Carry out a script's writes changeset by changeset, and report what each leaves behind."""
    now = table.copy()
    rules = _Rules(now, file, problems)
    watches: dict[int, list[_Watch]] = {}
    for watch in _watches(jointlist, now):
        for entry in filter(None, map(now.get, watch.refs)):
            watches.setdefault(entry.hdso.id_num, []).append(watch)
    ordered = sorted(writes, key=lambda write: write[0].time_s)
    started = False
    for time_ns, group in groupby(ordered, key=lambda write: nanoseconds(write[0].time_s)):
        if time_ns > 0 and not started:
            started = True
            check_start(jointlist, now, "", problems, file)
        # Of several writes to one HDSO at one time the last one stays.
        last: dict[int, HdsoMod] = {}
        for mod, entry in group:
            if before := last.get(entry.hdso.id_num):
                _tell_replaced(before, mod, entry, file, problems)
            now.write(mod)
            last[entry.hdso.id_num] = mod
        rules.check({number: mod.line for number, mod in last.items()})
        touched = dict.fromkeys(watch for number in last for watch in watches.get(number, ()))
        for watch in touched:
            values = now.elements(watch.refs)
            what, expected = watch.fault(values) if values else ("", "")
            if what:
                written = [last.get(entry.hdso.id_num) for entry in map(now.get, watch.refs) if entry is not None]
                line = max(data_line(mod.line) for mod in written if mod is not None)
                problems.error(file, line, what, expected)
    if not started:
        check_start(jointlist, now, "", problems, file)


def _tell_replaced(before: HdsoMod, mod: HdsoMod, entry: HdsoEntry, file: str, problems: Problems) -> None:
    """Warn of a value that is written twice at one time: the first of them is never in force."""
    of_before = f"the entry in line {before.line}" if before.line > 0 else "the value given with the bout"
    kept = 0 if isinstance(mod.data, str) or entry.kind == "boolstring" else len(before.data) - len(mod.data)
    if kept > 0:
        of_before = f"{counted(len(mod.data), 'value')} of the {len(before.data)} of {of_before}"
    what = f"{entry} is written twice at {mod.time_s} s: this replaces {of_before}"
    problems.warning(file, mod.line, what, hint="within one time the last entry counts")


class _Rules:
    """The rules of a model as a script changes them."""

    def __init__(self, table: HdsoTable, file: str, problems: Problems) -> None:
        self._table, self._file, self._problems = table, file, problems
        self._parts = all_rule_parts(table)
        self._looked_at = 0

    def check(self, lines: Mapping[int, int]) -> None:
        """Report circles that a changeset closes, and rules that reach too far by it.

        `lines` are where the changeset writes what, by id. What is reported is taken out, so that a rule that has
        passed stays quick to follow.
        """
        changed = [number for number in lines if self._table.entries[number].kind == "boolstring"]
        nested = False
        for number in changed:
            parts = rule_parts(self._table.values.get(number), self._table)
            nested = nested or self._parts.get(number, RuleParts(0)) != parts
            self._parts[number] = parts
        self._check_circles(changed, lines)
        for number in changed:
            for entry in unset_operands(number, self._table):
                what = f"{entry}, used by this rule, has no value at that time"
                self._problems.error(self._file, lines[number], what, "a write of it no later than the rule's")
        if nested and self._looked_at <= MAX_LOOKS:
            self._check_reach(changed, lines)

    def _check_circles(self, changed: Sequence[int], lines: Mapping[int, int]) -> None:
        for circle, knot in find_circles(self._parts, changed):
            what = f"rules go round in a circle: {describe_circle(circle, self._table)}"
            line = max(lines.get(member, 0) for member in knot)
            self._problems.error(self._file, line, what, "rules that do not need their own result")
            self._parts.update(dict.fromkeys(set(knot).intersection(changed), RuleParts(0)))

    def _check_reach(self, changed: Sequence[int], lines: Mapping[int, int]) -> None:
        line = max(lines[number] for number in changed)
        self._looked_at += len(self._parts)
        if self._looked_at > MAX_LOOKS:
            what = f"the script changes rules too often: all {len(self._parts)} of them must be looked at each time"
            self._problems.error(self._file, line, what, "fewer rules, or fewer changes of them")
        for number, (what, expected) in first_faults(self._parts).items():
            entry = self._table.entries[number]
            self._problems.error(self._file, lines.get(number, line), f"{entry} {what}", expected)
            self._parts[number] = RuleParts(0)


def _watches(jointlist: JointList, table: HdsoTable) -> Iterator[_Watch]:
    for joint in jointlist.joints:
        for muscle in joint.muscles:
            for spec in muscle.functions:
                if spec.type == "parabolic":
                    refs = tuple(mod.ref for mod in spec.mods)
                    yield _Watch(refs, "parabolic", f"the parabolic {spec.use} function of {muscle.name}")
        for state in joint.states:
            if state.dwell_time is not None:
                yield _Watch((state.dwell_time.ref,), "dwell", f"the dwell time of {state.name}")
            for activation in state.activations:
                if activation.function != "constant":
                    refs = parameter_refs(activation, table.kind)
                    yield _Watch(refs, "span", f"muscle {activation.muscle} in {state.name}")
