"""Rules and triggers that can never be true: what is found before a bout, from ranges and present values alone.

A sensor can be anything its servo can report: its whole range of positions through the calibration for an angle, and
its greatest load, of either sign, for a current. A command the engine itself writes is not limited, nor is an angle
once its servo's turns have been counted: a rule that waits for that is reported with those words. Other parameters and
constants have the values they are given, first by the configuration, then by each changeset of a script in turn. A rule
that is a single constant says itself that it is never (or always) true, and is not reported.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from nuc_engine.model.changes import Changeset
from nuc_engine.model.plan import HdsoPlan, Plan
from sccils_schemas.nesting import MAX_RULE_LEVELS
from sccils_schemas.rules import (
    TIME,
    Inequality,
    Or,
    Rule,
    Variable,
    decode_rule,
    format_rule,
    operands,
    parse_rule,
    shifted,
    variables,
)

_MAX_CASES, _MAX_TERMS = 1024, 16_384
MAX_LOOKS = 2_000_000
"""Most terms of rules that are looked at for one script."""

_Case = tuple[Inequality | Variable, ...]
_Interval = tuple[float, float]
_Then = tuple[int, int]
"""An HDSO, by index, and how many microseconds ago."""


@dataclass(frozen=True, slots=True)
class DeadRule:
    """A rule that can never be true from `time_ns` on (0: as configured), and the terms that see to that."""

    time_ns: int
    hdso: int
    text: str


def find_dead_rules(plan: Plan, changesets: Sequence[Changeset] = ()) -> list[DeadRule]:
    """Return every entry rule that can never be true, at the start and after each changeset that makes it so.

    A rule is looked at again where something it reads is written. After `MAX_LOOKS` terms nothing more is looked at.
    """
    checker = _Checker(plan)
    for write in plan.initial:
        checker.write(write.hdso, write.values)
    entry_rules = plan.entry_rules
    dead = {rule for rule in entry_rules if not checker.can_be_true(rule)}
    found = [DeadRule(0, rule, checker.explain(rule)) for rule in sorted(dead)]
    checker.watch(entry_rules)
    for change in changesets:
        touched = sorted({rule for write in change.writes for rule in checker.write(write.hdso, write.values)})
        for rule in touched:
            if checker.can_be_true(rule):
                dead.discard(rule)
            elif rule not in dead:
                dead.add(rule)
                found.append(DeadRule(change.time_ns, rule, checker.explain(rule)))
        if checker.looked_at > MAX_LOOKS:
            break
    return found


def find_dead_triggers(plan: Plan, changesets: Sequence[Changeset] = ()) -> dict[int, str]:
    """Return why a trigger never fires, by its place among all, with the values that are in force while it waits.

    Writes of other triggers may make it true: with any in the script that could, nothing is said.
    """
    checker = _Checker(plan)
    for write in plan.initial:
        checker.write(write.hdso, write.values)
    waiting = [(change.time_ns, trigger) for change in changesets for trigger in change.triggers]
    free = {write.hdso for _, trigger in waiting for write in trigger.writes}
    alive: set[int] = set()
    for change in changesets:
        for write in change.writes:
            checker.write(write.hdso, write.values)
        for k, (armed_ns, trigger) in enumerate(waiting):
            ended = 0 <= trigger.until_ns <= change.time_ns
            if armed_ns <= change.time_ns and not ended and checker.may_fire(trigger.rule, free):
                alive.add(k)
        if checker.looked_at > MAX_LOOKS:
            return {}
    return {k: checker.explain_text(trigger.rule) for k, (_, trigger) in enumerate(waiting) if k not in alive}


class _TooMany(Exception):
    """A rule has more cases than are looked at: nothing is said, rather than something wrong."""


class _Checker:
    """Looks at rules with the values of the moment. Each rule's code is decoded once."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._names = {hdso.id_num: hdso.name for hdso in plan.hdsos}
        self._ranges = free_ranges(plan)
        self._turned = free_ranges(plan, turned=True)
        self._numbers: dict[int, float] = {}
        self._rules: dict[int, Rule] = {}
        self._reads: dict[int, frozenset[int]] = {}
        self._readers: dict[int, set[int]] = {}
        self._known_cases: dict[int, list[_Case] | None] = {}
        self.looked_at = 0
        """Terms looked at so far."""

    def write(self, index: int, values: Sequence[int | float]) -> set[int]:
        """Take over what is written to an HDSO; return the watched rules that may have become others by it."""
        hdso = self._plan.hdsos[index]
        if hdso.kind != "boolstring":
            # No rule reads an HDSO of several elements.
            self._numbers[index] = float(values[0])
            return self._readers.get(index, set())
        width = hdso.dims[1]
        code = [int(value) for value in values]
        self._rules[index] = decode_rule(code[:width], code[width:])
        touched = set(self._readers.get(index, ()))
        for rule in touched:
            self._forget(rule)
        self.watch(touched)
        return touched

    def watch(self, rules: Iterable[int]) -> None:
        """Say of these rules from now on when something they read is written."""
        for rule in rules:
            for index in self._read_by(rule):
                self._readers.setdefault(index, set()).add(rule)

    def _forget(self, rule: int) -> None:
        for index in self._reads.pop(rule, ()):
            self._readers[index].discard(rule)
        self._known_cases.pop(rule, None)

    def can_be_true(self, rule: int, *, turned: bool = False) -> bool:
        """Say whether a rule can be true; one without a value, or with too many cases to look at, is not judged.

        `turned` lets angles go as far as counted turns take them.
        """
        cases = self._cases_of(rule)
        if cases is None:
            return True
        ranges = self._turned if turned else self._ranges
        return any(self._possible(case, ranges) for case in cases)

    def may_fire(self, text: str, free: Collection[int]) -> bool:
        """Say whether the rule of a trigger can be true; one that reads what triggers write is not judged."""
        tree = parse_rule(text)
        try:
            cases = self._cases(tree, 0)
        except _TooMany:
            return True
        read = {self._hdso(operand.ref).index for operand in variables(tree) if operand.ref != TIME}
        inside = {index for rule in read if rule in self._rules for index in self._read_by(rule)}
        return bool((read | inside) & set(free)) or any(self._possible(case, self._ranges) for case in cases)

    def explain_text(self, text: str) -> str:
        """Return why a trigger never fires."""
        tree = parse_rule(text)
        return f"when {format_rule(tree, self._names)} can never fire: {self._where(tree) or 'it is never true'}"

    def _read_by(self, rule: int) -> frozenset[int]:
        """Return the HDSOs a rule's truth depends on: itself, its operands, and those of rules inside it."""
        known = self._reads.get(rule)
        if known is None:
            found: set[int] = set()
            ahead = [rule]
            while ahead:
                index = ahead.pop()
                if index in found:
                    continue
                found.add(index)
                if index in self._rules:
                    ahead += [self._hdso(ref).index for ref in operands(self._rules[index])]
            known = self._reads[rule] = frozenset(found)
        return known

    def _cases_of(self, rule: int) -> list[_Case] | None:
        """Return the alternatives of a rule, None for one that is not judged."""
        if rule not in self._known_cases:
            tree = self._rules.get(rule)
            try:
                said = tree is None or self._plan.hdsos[rule].owner or self._says_itself(tree)
                cases = None if said or tree is None else self._cases(tree, 0)
            except _TooMany:
                cases = None
            self._known_cases[rule] = cases
        return self._known_cases[rule]

    def _says_itself(self, tree: Rule) -> bool:
        """Say whether a rule is a single constant: what it says is then what it is to say, always or never."""
        return isinstance(tree, Variable) and self._hdso(tree.ref).kind == "constant"

    def _cases(self, rule: Rule, level: int) -> list[_Case]:
        """Return the rule as alternatives, each a conjunction of simple terms. Raises _TooMany."""
        if isinstance(rule, Inequality):
            return [(rule,)]
        if isinstance(rule, Variable):
            if rule.ref == TIME:
                return [(rule,)]
            hdso = self._hdso(rule.ref)
            if hdso.index not in self._rules:
                return [(rule,)]
            # What a module writes becomes another rule.
            if level >= MAX_RULE_LEVELS or hdso.owner:
                raise _TooMany
            return self._cases(shifted(self._rules[hdso.index], rule.delay_us), level + 1)
        cases: list[_Case] = [] if isinstance(rule, Or) else [()]
        for term in rule.terms:
            more = self._cases(term, level)
            new = chain(cases, more) if isinstance(rule, Or) else (a + b for a in cases for b in more)
            cases = list(islice(new, _MAX_CASES + 1))
            if len(cases) > _MAX_CASES or sum(map(len, cases)) > _MAX_TERMS:
                raise _TooMany
        return cases

    def _possible(self, case: _Case, ranges: Mapping[int, _Interval]) -> bool:
        strict: dict[_Then, _Interval] = {}
        for term in case:
            self.looked_at += 1
            if isinstance(term, Variable):
                if self._range(term, ranges) == (0.0, 0.0):
                    return False
                continue
            less, more = (term.left, term.right) if term.op == "<" else (term.right, term.left)
            low, high = self._range(less, ranges), self._range(more, ranges)
            if not low[0] < high[1]:
                return False
            self._tighten(less, upper=high[1], strict=strict)
            self._tighten(more, lower=low[0], strict=strict)
        return all(low < high and low < ranges[k][1] and high > ranges[k][0] for (k, _), (low, high) in strict.items())

    def _tighten(
        self, side: Variable, *, strict: dict[_Then, _Interval], lower: float = -math.inf, upper: float = math.inf
    ) -> None:
        if side.ref == TIME:
            return
        index = self._hdso(side.ref).index
        if index in self._ranges:
            # What it was before may be another value.
            then = (index, side.delay_us)
            low, high = strict.get(then, (-math.inf, math.inf))
            strict[then] = (max(low, lower), min(high, upper))

    def _range(self, side: Variable, ranges: Mapping[int, _Interval]) -> _Interval:
        if side.ref == TIME:
            return (0.0, math.inf)
        hdso = self._hdso(side.ref)
        if hdso.index in ranges:
            return ranges[hdso.index]
        held = self._numbers.get(hdso.index)
        return (-math.inf, math.inf) if held is None else (held, held)

    def _hdso(self, ref: int | str) -> HdsoPlan:
        return self._plan.hdso(ref)

    def explain(self, rule: int) -> str:
        """Return the rule by names, with what its operands can be."""
        tree = self._rules[rule]
        parts = self._where(tree)
        where = f", where {parts}" if parts else ""
        unless = " unless an angle wraps round" if self.can_be_true(rule, turned=True) else ""
        return f"{self._plan.hdsos[rule].name} can never be true{unless}: {format_rule(tree, self._names)}{where}"

    def _where(self, tree: Rule) -> str:
        """Return what the operands of a rule can be."""
        parts: list[str] = []
        for ref in operands(tree):
            if ref == TIME:
                continue
            hdso = self._hdso(ref)
            if hdso.index in self._ranges:
                low, high = self._ranges[hdso.index]
                parts.append(f"{hdso.name} can be {'anything' if low == -math.inf else f'{low:.4g} to {high:.4g}'}")
            elif hdso.index in self._numbers:
                parts.append(f"{hdso.name} is {self._numbers[hdso.index]:g}")
        return ", ".join(parts)


def free_ranges(plan: Plan, *, turned: bool = False) -> dict[int, _Interval]:
    """Return what each HDSO the engine writes can be, by index: sensors, and commands in muscle mode (reading B20).

    Of what a module writes, or follows a control, this is from the lowest to the highest such value. Not limited are
    sensors no motor feeds, commands, and with `turned` angles whose turns are counted (reading B15).
    """
    anything = (-math.inf, math.inf)
    ranges = {hdso.index: anything for hdso in plan.hdsos if hdso.kind == "sensor"}
    for motor in plan.motors:
        ends = sorted((raw - motor.cal1) / motor.cal2 for raw in motor.positions)
        ranges[motor.angle] = anything if turned and motor.overflow_correction else (ends[0], ends[1])
        load = float(max(map(abs, motor.load_range))) * abs(motor.load_scale)
        ranges[motor.current] = (-load, load)
        if plan.joints[motor.joint].control_mode == "muscle":
            written = (motor.position_command, motor.force_command)
            ranges.update({index: anything for index in written if index >= 0})
    written_values: dict[int, list[float]] = {}
    for module in plan.modules:
        for write in (write for state in module.states for write in state.writes):
            written_values.setdefault(write.hdso, []).append(float(write.values[0]))
    for slot, points in (item for control in plan.controls for item in control.maps):
        if not slot.element:
            written_values.setdefault(slot.hdso, []).extend(points[1::2])
    for write in plan.initial:
        if write.hdso in written_values:
            written_values[write.hdso].append(float(write.values[0]))
    rules = {hdso.index for hdso in plan.hdsos if hdso.kind == "boolstring"}
    return ranges | {index: (min(held), max(held)) for index, held in written_values.items() if index not in rules}
