"""Rules that can never be true: what is found before a bout, from ranges and present values alone.

A sensor can be anything its servo can report: its whole range of positions through the calibration for an angle, and
its greatest load, of either sign, for a current. A command the engine itself writes is not limited, nor is an angle
once its servo's turns have been counted: a rule that waits for that is reported with those words. Other parameters and
constants have the values they are given, first by the configuration, then by each changeset of a script in turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from nuc_engine.changes import Changeset
from nuc_engine.plan import HdsoPlan, Plan
from sccils_schemas.nesting import MAX_RULE_LEVELS
from sccils_schemas.rules import Comparison, Or, Rule, Variable, decode_rule, format_rule, operands

_MAX_CASES, _MAX_TERMS = 1024, 16_384
_Case = tuple[Comparison | Variable, ...]
_Interval = tuple[float, float]
_Values = dict[int, tuple[int | float, ...]]


@dataclass(frozen=True, slots=True)
class DeadRule:
    """A rule that can never be true from `time_ns` on (0: as configured), and the terms that see to that."""

    time_ns: int
    hdso: int
    text: str


def find_dead_rules(plan: Plan, changesets: Sequence[Changeset] = ()) -> list[DeadRule]:
    """Return every entry rule that can never be true, at the start and after each changeset that makes it so."""
    values: _Values = {}
    for write in plan.initial:
        _overwrite(values, write.hdso, write.values)
    checker = _Checker(plan, values)
    entry_rules = sorted({state.rule for state in plan.states})
    dead = {rule for rule in entry_rules if not checker.can_be_true(rule)}
    found = [DeadRule(0, rule, checker.explain(rule)) for rule in sorted(dead)]
    for change in changesets:
        for write in change.writes:
            _overwrite(values, write.hdso, write.values)
        touched = {write.hdso for write in change.writes}
        for rule in [rule for rule in entry_rules if not touched.isdisjoint(checker.reads(rule))]:
            checker.forget(rule)
            if checker.can_be_true(rule):
                dead.discard(rule)
            elif rule not in dead:
                dead.add(rule)
                found.append(DeadRule(change.time_ns, rule, checker.explain(rule)))
    return found


class _TooMany(Exception):
    """A rule has more cases than are looked at: nothing is said, rather than something wrong."""


def _overwrite(values: _Values, hdso: int, new: tuple[int | float, ...]) -> None:
    values[hdso] = new + values.get(hdso, ())[len(new) :]


class _Checker:
    """Looks at rules with the values that stand in `values` at the moment."""

    def __init__(self, plan: Plan, values: _Values) -> None:
        self._plan, self._values = plan, values
        self._by_id = {hdso.id_num: hdso for hdso in plan.hdsos}
        self._ranges = free_ranges(plan)
        self._turned = free_ranges(plan, turned=True)
        self._reads: dict[int, frozenset[int]] = {}

    def can_be_true(self, rule: int, *, turned: bool = False) -> bool:
        """Say whether a rule can be true; one without a value, or with too many cases to look at, is not judged.

        `turned` lets angles go as far as counted turns take them.
        """
        if rule not in self._values:
            return True
        try:
            cases = self._cases(_tree(self._plan, self._values, rule), 0)
        except _TooMany:
            return True
        ranges = self._turned if turned else self._ranges
        return any(self._possible(case, ranges) for case in cases)

    def reads(self, rule: int) -> frozenset[int]:
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
                if self._plan.hdsos[index].kind == "boolstring" and index in self._values:
                    ahead += [self._hdso(ref).index for ref in operands(_tree(self._plan, self._values, index))]
            known = self._reads[rule] = frozenset(found)
        return known

    def forget(self, rule: int) -> None:
        """Read a rule anew, since something it depends on has changed."""
        self._reads.pop(rule, None)

    def _cases(self, rule: Rule, level: int) -> list[_Case]:
        """Return the rule as alternatives, each a conjunction of simple terms. Raises _TooMany."""
        if isinstance(rule, Comparison):
            return [(rule,)]
        if isinstance(rule, Variable):
            hdso = self._hdso(rule.ref)
            if hdso.kind != "boolstring" or hdso.index not in self._values:
                return [(rule,)]
            if level >= MAX_RULE_LEVELS:
                raise _TooMany
            return self._cases(_tree(self._plan, self._values, hdso.index), level + 1)
        cases: list[_Case] = [] if isinstance(rule, Or) else [()]
        for term in rule.terms:
            more = self._cases(term, level)
            new = chain(cases, more) if isinstance(rule, Or) else (a + b for a in cases for b in more)
            cases = list(islice(new, _MAX_CASES + 1))
            if len(cases) > _MAX_CASES or sum(map(len, cases)) > _MAX_TERMS:
                raise _TooMany
        return cases

    def _possible(self, case: _Case, ranges: Mapping[int, _Interval]) -> bool:
        strict: dict[int, _Interval] = {}
        for term in case:
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
        return all(low < high and low < ranges[k][1] and high > ranges[k][0] for k, (low, high) in strict.items())

    def _tighten(
        self, side: Variable, *, strict: dict[int, _Interval], lower: float = -math.inf, upper: float = math.inf
    ) -> None:
        index = self._hdso(side.ref).index
        if index in self._ranges:
            low, high = strict.get(index, (-math.inf, math.inf))
            strict[index] = (max(low, lower), min(high, upper))

    def _range(self, side: Variable, ranges: Mapping[int, _Interval]) -> _Interval:
        hdso = self._hdso(side.ref)
        if hdso.index in ranges:
            return ranges[hdso.index]
        held = self._values.get(hdso.index)
        if held is None:
            return -math.inf, math.inf
        return float(held[0]), float(held[0])

    def _hdso(self, ref: int | str) -> HdsoPlan:
        return self._by_id[int(ref)]

    def explain(self, rule: int) -> str:
        """Return the rule by names, with what its operands can be."""
        names = {hdso.id_num: hdso.name for hdso in self._plan.hdsos}
        tree = _tree(self._plan, self._values, rule)
        parts: list[str] = []
        for ref in operands(tree):
            hdso = self._hdso(ref)
            if hdso.index in self._ranges:
                low, high = self._ranges[hdso.index]
                parts.append(f"{hdso.name} can be {'anything' if low == -math.inf else f'{low:.4g} to {high:.4g}'}")
            elif hdso.index in self._values and hdso.kind != "boolstring":
                parts.append(f"{hdso.name} is {self._values[hdso.index][0]:g}")
        where = f", where {', '.join(parts)}" if parts else ""
        unless = " unless an angle wraps round" if self.can_be_true(rule, turned=True) else ""
        return f"{self._plan.hdsos[rule].name} can never be true{unless}: {format_rule(tree, names)}{where}"


def free_ranges(plan: Plan, *, turned: bool = False) -> dict[int, _Interval]:
    """Return what each HDSO the engine writes can be, by index: sensors, and commands in muscle mode (reading B20).

    Not limited are sensors no motor feeds, commands, and with `turned` angles whose turns are counted (reading B15).
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
    return ranges


def _tree(plan: Plan, values: _Values, rule: int) -> Rule:
    width = plan.hdsos[rule].dims[1]
    code = [int(value) for value in values[rule]]
    return decode_rule(code[:width], code[width:])
