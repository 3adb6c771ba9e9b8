"""Rules in force: what they may use, and what is refused when one is put among the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nuc_engine.control.rulebook import Rulebook
from nuc_engine.model.plan import HdsoPlan, Plan
from nuc_engine.model.planning import stored_values
from nuc_engine.model.store import Store
from sccils_schemas.nesting import MAX_RULE_LEVELS
from sccils_schemas.rules import RuleError
from tests.engine.models import one_joint

HELPERS = 12


def with_helpers() -> Plan:
    """Return the plan of one joint with rules 901 to 912 that belong to no state."""
    plan = one_joint()
    rule = plan.hdso(162)
    more: list[HdsoPlan] = []
    for k in range(1, HELPERS + 1):
        offset = rule.offset + 240 * k
        more.append(HdsoPlan(rule.index + k, 900 + k, f"helper{k}", "boolstring", "int", (2, 30), offset, 60))
    hdsos = (*plan.hdsos, *more)
    return replace(plan, hdsos=hdsos, store_size=plan.store_size + 240 * HELPERS)


class Bench:
    def __init__(self) -> None:
        self.plan = with_helpers()
        self.store = Store(self.plan)
        self.book = Rulebook(self.plan, self.store)
        for write in self.plan.initial:
            self.store.write(write.hdso, write.values)

    def code(self, text: str) -> list[int]:
        return [int(value) for value in stored_values(self.plan.hdso(162), text, {})]

    def put(self, number: int, text: str) -> None:
        index, code = self.plan.hdso(number).index, self.code(text)
        self.book.swap(index, code, self.book.decode(index, code))

    def refused(self, **rules: str) -> dict[int, str]:
        """Return what is refused of rules given as r901="...", by id."""
        codes = {self.plan.hdso(int(name[1:])).index: self.code(text) for name, text in rules.items()}
        found = self.book.refusals(codes)
        return {self.plan.hdsos[index].id_num: reason for index, reason in found.items()}

    def truth(self, number: int) -> bool:
        return self.book.in_force[self.plan.hdso(number).index]()

    def at(self, time_ms: int, number: int, value: float) -> None:
        """Let an HDSO have a value from a time on."""
        self.store.write(self.plan.hdso(number).index, (value,))
        self.book.delays.record(time_ms * 1_000_000)

    def truths(self, number: int, *times_ms: int) -> list[bool]:
        """Return a rule's truth at evaluations."""
        found: list[bool] = []
        for time_ms in times_ms:
            self.book.delays.recall(time_ms * 1_000_000)
            found.append(self.truth(number))
        return found


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_rule_asks_the_rule_it_names_at_the_time(bench: Bench):
    bench.put(901, "902 & 191")
    assert not bench.truth(901), "902 is not in force"
    bench.put(902, "191")
    assert bench.truth(901)
    bench.put(902, "190")
    assert not bench.truth(901)


def test_circles_through_rules_already_in_force(bench: Bench):
    bench.put(901, "902 | 191")
    assert bench.refused(r902="903") == {}
    bench.put(902, "903")
    assert bench.refused(r903="901") == {903: "the rule would depend on itself"}
    assert bench.refused(r903="191") == {}
    bench.put(902, "191")
    assert bench.refused(r903="901") == {}, "902 no longer leads to 903"


def test_circles_of_several_new_rules(bench: Bench):
    refused = bench.refused(r901="902", r902="903", r903="902")
    assert set(refused) == {902, 903}, "901 leads into the circle and is not in it"


def test_levels_of_rules_in_force_are_counted(bench: Bench):
    bench.put(901, "191")
    for k in range(MAX_RULE_LEVELS):
        assert bench.refused(**{f"r{902 + k}": str(901 + k)}) == {}
        bench.put(902 + k, str(901 + k))
    last = 901 + MAX_RULE_LEVELS
    reason = "HDSO 910 (helper10) then has 9 levels of rules inside it, at most 8"
    assert last == 909
    assert bench.refused(r910="909") == {910: reason}
    assert bench.refused(r910="908") == {}


def test_a_change_inside_a_deep_rule_is_refused_for_the_rule_around_it(bench: Bench):
    bench.put(901, "191")
    for k in range(MAX_RULE_LEVELS):
        bench.put(902 + k, str(901 + k))
    refused = bench.refused(r901="911", r911="191", r912="190")
    assert refused.keys() == {901, 911}
    assert "HDSO 909 (helper9) then has 9 levels" in refused[901]


def test_terms_of_rules_in_force_are_counted(bench: Bench):
    bench.put(901, "|".join(["191"] * 15))
    bench.put(902, "|".join(["901"] * 15))
    assert bench.refused(r903="902|902|902|902") == {}
    assert "more than 1024 terms" in bench.refused(r903="902|902|902|902|902")[903]


def test_a_bomb_is_refused_without_being_counted_out(bench: Bench):
    bomb = {f"r{902 + k}": "|".join([str(901 + k)] * 15) for k in range(HELPERS - 1)}
    refused = bench.refused(r901="191", **bomb)
    assert "more than 1024 terms" in refused[904]


@pytest.mark.parametrize(("text", "word"), [("1999", "does not exist"), ("171", "2 elements"), ("162 > 191", "a rule")])
def test_code_that_means_nothing_here_is_refused(bench: Bench, text: str, word: str):
    with pytest.raises(RuleError, match=word):
        bench.book.decode(bench.plan.hdso(901).index, bench.code(text))


def test_an_operand_without_a_value_is_named(bench: Bench):
    index = bench.plan.hdso(901).index
    assert bench.book.unset_operand(index, bench.code("(301 > 103)&(302 < 105)")).name == "blank"
    bench.store.write(bench.plan.hdso("blank").index, (1.0,))
    assert bench.book.unset_operand(index, bench.code("(301 > 103)&(302 < 105)")) is None


def test_a_step_arrives_at_the_first_evaluation_at_or_after_its_delay(bench: Bench) -> None:
    bench.put(901, "301@0.030 > 103")
    bench.at(0, 301, 0.0)
    bench.at(100, 301, 50.0)
    assert bench.truths(901, 100, 129, 130, 155) == [False, False, True, True]


def test_parameters_and_rules_inside_are_as_they_were(bench: Bench) -> None:
    bench.put(901, "301 > 103")
    bench.put(902, "901@0.02 & (301 > 103@0.05)")
    bench.at(0, 301, 50.0)
    assert bench.truths(902, 20, 50) == [True, True]
    bench.at(60, 103, 60.0)
    assert bench.truths(901, 60) == [False]
    assert bench.truths(902, 79, 80) == [True, False]
    # 901 is another rule now, and what it was is asked of its new operands.
    bench.put(901, "103 > 301")
    assert bench.truths(902, 90, 109, 110) == [True, True, False]


def test_a_history_begins_in_force_and_is_forgotten_with_its_rule(bench: Bench) -> None:
    index, code = bench.plan.hdso(901).index, bench.code("301@1 > 103@2")
    predicate = bench.book.decode(index, code)
    assert not bench.book.delays.histories
    bench.book.swap(index, code, predicate)
    assert len(bench.book.delays.histories) == 2
    bench.put(902, "901@1")
    bench.put(901, "301 > 103")
    assert [len(history.operands) for history in bench.book.delays.histories] == [1, 1]
    bench.put(902, "301 > 103")
    assert not bench.book.delays.histories
