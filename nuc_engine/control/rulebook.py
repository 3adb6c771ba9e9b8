"""Entry rules at run time: integer code in the store, decoded when it arrives, swapped in when it is due.

`decode` turns the 2 x n code of a boolstring HDSO into a callable over the store; the `Rulebook` holds the callables
in force. A rule may use another rule's HDSO as a variable: it then asks the rulebook for that rule's truth. How far
rules may reach into one another is bounded (`sccils_schemas.nesting`), and with it what one evaluation can cost.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence

from nuc_engine.control.delays import Delays
from nuc_engine.model.plan import HdsoPlan, Plan, Slot
from nuc_engine.model.store import BufferView, Store
from sccils_schemas.documents import Ref
from sccils_schemas.nesting import RuleParts, first_faults, knots, parts_of
from sccils_schemas.rules import (
    TIME,
    And,
    Inequality,
    Rule,
    RuleError,
    Variable,
    decode_rule,
    format_rule,
    has_delay,
    operands,
    parse_rule,
    shifted,
    variables,
)

Predicate = Callable[[], bool]


class Rulebook:
    """The rules in force, by HDSO index. `in_force[index]()` is the truth of that rule now, `trees` is what it says.

    `swaps` counts the rules that were put in force.
    """

    def __init__(self, plan: Plan, store: Store) -> None:
        self.plan = plan
        self._store = store
        self._by_id = {hdso.id_num: hdso for hdso in plan.hdsos}
        self._parts: dict[int, RuleParts] = {}
        self.in_force: dict[int, Predicate] = {}
        self.delays = Delays(store)
        self.trees: dict[int, Rule] = {}
        self.swaps: int = 0
        self._late: dict[tuple[int, int], Predicate] = {}
        self._held: list[Rule] = []
        self._time_s: BufferView = memoryview(array("d", [0.0]))

    def decode(self, index: int, code: Sequence[int]) -> Predicate:
        """Return the callable of a rule's integer code (flag row, then value row).

        Raises RuleError for code that is no rule, or names an unknown or a vector HDSO.
        """
        return self._bind(self._tree(index, code), live=False)

    def read(self, text: str) -> Rule:
        """Return the tree of a rule that stands in no HDSO: operands are ids, and `time`. Raises RuleError."""
        tree = parse_rule(text)
        self._bind(tree, live=False)
        return tree

    def hold(self, tree: Rule) -> Predicate:
        """Return the callable of such a rule, and remember what it needs."""
        self._held.append(tree)
        return self._bind(tree, live=True)

    def let_go(self, tree: Rule) -> None:
        """Forget what only this rule needs."""
        self._held = [item for item in self._held if item is not tree]
        self._release()

    def set_time(self, now_ns: int, start_ns: int) -> None:
        """Let `time` be this since the start, and what has a delay be what it was its delay before."""
        self._time_s[0] = (now_ns - start_ns) * 1e-9
        if self.delays.histories:
            self.delays.recall(now_ns)

    def shown(self, tree: Rule) -> str:
        """Return a rule as text, by names."""
        return format_rule(tree, {hdso.id_num: hdso.name for hdso in self.plan.hdsos})

    def unset_operand(self, index: int, code: Sequence[int]) -> HdsoPlan | None:
        """Return the first operand that has no value yet, sensors apart: they get theirs with the first exchange."""
        return self.unset_in(self._tree(index, code))

    def unset_in(self, tree: Rule) -> HdsoPlan | None:
        """Return the same of a rule's tree."""
        for ref in operands(tree):
            if ref == TIME:
                continue
            hdso = self.hdso(ref)
            if hdso.kind in ("parameter", "constant") and not self._store.is_set(hdso.index):
                return hdso
        return None

    def swap(self, index: int, code: Sequence[int], predicate: Predicate) -> None:
        """Put a decoded rule in force."""
        self.swaps += 1
        self._parts[index] = self._parts_of(index, code)
        self.trees[index] = tree = self._tree(index, code)
        # What has a delay is bound now: its history begins when it comes into force.
        late = has_delay(tree)
        self.in_force[index] = self._bind(tree, live=True) if late else predicate
        for rule, delay_us in [key for key in self._late if key[0] == index]:
            self._late[rule, delay_us] = self._bind(shifted(tree, delay_us), live=True)
        if late or self.delays.histories:
            self._release()

    def refusals(self, codes: Mapping[int, Sequence[int]]) -> dict[int, str]:
        """Return why some of these rules cannot be put in force together with those that are.

        A rule must not depend on itself, directly or not, and no rule may reach too far by it.
        """
        new = {index: self._parts_of(index, code) for index, code in codes.items()}
        if all(self._parts.get(index) == parts for index, parts in new.items()):
            return {}
        rules = self._parts | new
        knotted = {index for knot in knots(rules, codes) for index in knot}
        reasons = {index: "the rule would depend on itself" for index in codes if index in knotted}
        seen: set[int] = set()
        for index, (what, allowed) in first_faults(rules).items():
            hdso = self.plan.hdsos[index]
            for other in _inside(rules, index, seen):
                if other in codes:
                    reasons.setdefault(other, f"HDSO {hdso.id_num} ({hdso.name}) then {what}, {allowed}")
        return reasons

    def _tree(self, index: int, code: Sequence[int]) -> Rule:
        return _decoded(tuple(code), self.plan.hdsos[index].dims[1])

    def _parts_of(self, index: int, code: Sequence[int]) -> RuleParts:
        def number(ref: Ref) -> int | None:
            hdso = self.hdso(ref)
            return hdso.index if hdso.kind == "boolstring" else None

        return parts_of(self._tree(index, code), number)

    def hdso(self, ref: int | str) -> HdsoPlan:
        """Return the HDSO that an operand means. Raises RuleError where it can be none."""
        hdso = self._by_id.get(ref) if isinstance(ref, int) else None
        if hdso is None:
            raise RuleError(f"HDSO {ref} does not exist")
        if hdso.kind != "boolstring" and hdso.count != 1:
            raise RuleError(f"HDSO {ref} ({hdso.name}) has {hdso.count} elements; a rule needs a single value")
        return hdso

    def _bind(self, rule: Rule, *, live: bool) -> Predicate:
        if isinstance(rule, Inequality):
            return self._comparison(rule, live=live)
        if isinstance(rule, Variable):
            return self._variable(rule, live=live)
        terms = [self._bind(term, live=live) for term in rule.terms]
        return _all(terms) if isinstance(rule, And) else _any(terms)

    def _comparison(self, rule: Inequality, *, live: bool) -> Predicate:
        (a, i), (b, j) = (self._number(side, live=live) for side in (rule.left, rule.right))
        if rule.op == "<":
            return lambda: a[i] < b[j]
        return lambda: a[i] > b[j]

    def _number(self, operand: Variable, *, live: bool) -> tuple[BufferView, int]:
        if operand.ref == TIME and not operand.delay_us:
            return self._time_s, 0
        hdso = self.hdso(operand.ref)
        if hdso.kind == "boolstring":
            raise RuleError(f"HDSO {operand.ref} ({hdso.name}) is a rule; it can not be compared with < or >")
        return self._locate(hdso, operand, live=live)

    def _variable(self, rule: Variable, *, live: bool) -> Predicate:
        hdso = self.hdso(rule.ref)
        if hdso.kind == "boolstring" and rule.delay_us and live:
            return self._late_rule(hdso.index, rule.delay_us)
        if hdso.kind == "boolstring":
            book, index = self.in_force, hdso.index
            return lambda: index in book and book[index]()
        view, at = self._locate(hdso, rule, live=live)
        return lambda: view[at] != 0

    def _locate(self, hdso: HdsoPlan, operand: Variable, *, live: bool) -> tuple[BufferView, int]:
        slot = Slot(hdso.index, delay_us=operand.delay_us)
        return self.delays.locate(slot) if live else self._store.locate(slot)

    def _late_rule(self, index: int, delay_us: int) -> Predicate:
        """Return the truth of what a rule in force says of its operands of so long ago."""
        late, key = self._late, (index, delay_us)
        if key not in late:
            late[key] = _never
            if index in self.trees:
                late[key] = self._bind(shifted(self.trees[index], delay_us), live=True)

        def truth() -> bool:
            return late[key]()

        return truth

    def _release(self) -> None:
        """Forget the histories that no rule in force and no activation reads any more."""
        needed = {slot for state in self.plan.states for item in state.activations for slot in item.sensors}
        wanted: set[tuple[int, int]] = set()
        ahead = [(tree, 0) for tree in (*self.trees.values(), *self._held)]
        while ahead:
            tree, delay_us = ahead.pop()
            for operand in variables(tree):
                if operand.ref == TIME:
                    continue
                hdso, behind_us = self.hdso(operand.ref), operand.delay_us + delay_us
                if hdso.kind != "boolstring":
                    needed.add(Slot(hdso.index, 0, behind_us))
                elif behind_us and (hdso.index, behind_us) not in wanted:
                    wanted.add((hdso.index, behind_us))
                    ahead += [(self.trees[hdso.index], behind_us)] if hdso.index in self.trees else []
        for key in self._late.keys() - wanted:
            del self._late[key]
        self.delays.release(needed)


def _never() -> bool:
    return False


@functools.lru_cache(maxsize=1024)
def _decoded(code: tuple[int, ...], width: int) -> Rule:
    """Return the tree of a rule's code, which is looked at several times on its way into force."""
    return decode_rule(code[:width], code[width:])


def _all(terms: list[Predicate]) -> Predicate:
    if len(terms) == 2:
        first, second = terms
        return lambda: first() and second()
    return lambda: all(term() for term in terms)


def _any(terms: list[Predicate]) -> Predicate:
    if len(terms) == 2:
        first, second = terms
        return lambda: first() or second()
    return lambda: any(term() for term in terms)


def _inside(rules: Mapping[int, RuleParts], start: int, seen: set[int]) -> Iterator[int]:
    """Yield a rule and every rule inside it, but for those that have been seen."""
    ahead = [start]
    while ahead:
        index = ahead.pop()
        if index not in seen:
            seen.add(index)
            ahead.extend(rules[index].rules if index in rules else ())
            yield index
