"""Rules that can never be true: what is found before a bout, from ranges and present values alone.

A sensor can be anything its servo can report: 0 to 254 raw through the calibration for an angle, 254 ticks of either
sign for a current. Parameters and constants have the values they are given, first by the configuration, then by each
changeset of a script in turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nuc_engine.changes import Changeset
from nuc_engine.plan import HdsoPlan, Plan
from sccils_schemas.rules import Comparison, Or, Rule, Variable, decode_rule, format_rule, operands

RAW_POSITIONS = (0, 254)
MAX_CURRENT_TICKS = 254.0

_MAX_CASES = 4096
_Case = tuple[Comparison | Variable, ...]
_Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class DeadRule:
    """A rule that can never be true from `time_ns` on (0: as configured), and the terms that see to that."""

    time_ns: int
    hdso: int
    text: str


def find_dead_rules(plan: Plan, changesets: Sequence[Changeset] = ()) -> list[DeadRule]:
    """Return every entry rule that can never be true, at the start and after each changeset that makes it so."""
    values: dict[int, tuple[int | float, ...]] = {}
    for write in plan.initial:
        _overwrite(values, write.hdso, write.values)
    entry_rules = sorted({state.rule for state in plan.states})
    dead: list[DeadRule] = []
    known: set[int] = set()
    for time_ns, writes in [(0, ()), *((change.time_ns, change.writes) for change in changesets)]:
        for write in writes:
            _overwrite(values, write.hdso, write.values)
        found = {rule for rule in entry_rules if rule in values and not _Checker(plan, values).can_be_true(rule)}
        dead += [DeadRule(time_ns, rule, _explain(plan, values, rule)) for rule in sorted(found - known)]
        known = found
    return dead


def _overwrite(values: dict[int, tuple[int | float, ...]], hdso: int, new: tuple[int | float, ...]) -> None:
    values[hdso] = new + values.get(hdso, ())[len(new) :]


class _Checker:
    def __init__(self, plan: Plan, values: Mapping[int, tuple[int | float, ...]]) -> None:
        self._plan, self._values = plan, values
        self._by_id = {hdso.id_num: hdso for hdso in plan.hdsos}
        self._sensors = sensor_ranges(plan)

    def can_be_true(self, rule: int) -> bool:
        cases = self._cases(_tree(self._plan, self._values, rule), 0)
        # Too many cases to look at all: say nothing rather than something wrong.
        return len(cases) > _MAX_CASES or any(self._possible(case) for case in cases)

    def _cases(self, rule: Rule, depth: int) -> list[_Case]:
        """Return the rule as alternatives, each a conjunction of simple terms."""
        if isinstance(rule, Variable):
            hdso = self._hdso(rule.ref)
            if hdso.kind == "boolstring" and hdso.index in self._values and depth < len(self._plan.hdsos):
                return self._cases(_tree(self._plan, self._values, hdso.index), depth + 1)
            return [(rule,)]
        if isinstance(rule, Comparison):
            return [(rule,)]
        parts = [self._cases(term, depth) for term in rule.terms]
        if isinstance(rule, Or):
            return [case for part in parts for case in part]
        cases: list[_Case] = [()]
        for part in parts:
            cases = [(*case, *more) for case in cases for more in part][: _MAX_CASES + 1]
        return cases

    def _possible(self, case: _Case) -> bool:
        ranges = dict(self._sensors)
        strict: dict[int, _Interval] = {}
        for term in case:
            if isinstance(term, Variable):
                if not self._nonzero(self._hdso(term.ref), ranges):
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
        if index in self._sensors:
            low, high = strict.get(index, (-math.inf, math.inf))
            strict[index] = (max(low, lower), min(high, upper))

    def _range(self, side: Variable, ranges: Mapping[int, _Interval]) -> _Interval:
        hdso = self._hdso(side.ref)
        if hdso.index in ranges:
            return ranges[hdso.index]
        value = float(self._values.get(hdso.index, (math.nan,))[0])
        return (-math.inf, math.inf) if math.isnan(value) else (value, value)

    def _nonzero(self, hdso: HdsoPlan, ranges: Mapping[int, _Interval]) -> bool:
        return self._range(Variable(hdso.id_num), ranges) != (0.0, 0.0)

    def _hdso(self, ref: int | str) -> HdsoPlan:
        return self._by_id[int(ref)]


def sensor_ranges(plan: Plan) -> dict[int, _Interval]:
    """Return what each sensor HDSO can be, by index; sensors that no motor feeds are not limited."""
    ranges = {hdso.index: (-math.inf, math.inf) for hdso in plan.hdsos if hdso.kind == "sensor"}
    for motor in plan.motors:
        ends = sorted((raw - motor.cal1) / motor.cal2 for raw in RAW_POSITIONS)
        ranges[motor.angle] = (ends[0], ends[1])
        ranges[motor.current] = (-MAX_CURRENT_TICKS, MAX_CURRENT_TICKS)
    return ranges


def _tree(plan: Plan, values: Mapping[int, tuple[int | float, ...]], rule: int) -> Rule:
    width = plan.hdsos[rule].dims[1]
    code = [int(value) for value in values[rule]]
    return decode_rule(code[:width], code[width:])


def _explain(plan: Plan, values: Mapping[int, tuple[int | float, ...]], rule: int) -> str:
    names = {hdso.id_num: hdso.name for hdso in plan.hdsos}
    ranges = sensor_ranges(plan)
    tree = _tree(plan, values, rule)
    parts: list[str] = []
    for ref in dict.fromkeys(operands(tree)):
        hdso = plan.hdso(ref)
        if hdso.index in ranges:
            low, high = ranges[hdso.index]
            parts.append(f"{hdso.name} can be {low:.4g} to {high:.4g}")
        elif hdso.index in values and hdso.kind != "boolstring":
            parts.append(f"{hdso.name} is {values[hdso.index][0]:g}")
    return f"{plan.hdsos[rule].name} can never be true: {format_rule(tree, names)}, where {', '.join(parts)}"
