"""Checking and preparing grow with the document and not faster: twice as much of anything is twice the work."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

from nuc_engine.configurations.describe import describe_changes
from nuc_engine.control.rulebook import Rulebook
from nuc_engine.control.tasks.board import Board
from nuc_engine.control.tasks.script import Script
from nuc_engine.model import rulecheck
from nuc_engine.model.changes import prepare
from nuc_engine.model.plan import Plan
from nuc_engine.model.planning import build_plan
from nuc_engine.model.rulecheck import find_dead_rules
from nuc_engine.model.store import Store
from sccils_schemas.by_hand import DisconnectEntry
from sccils_schemas.documents import Command, CommandScript, Gradual, HdsoMod, HdsoScript, HdsoSpec, ScriptEntry
from sccils_schemas.model import check_commandscript, check_script
from sccils_schemas.parser import parse
from sccils_schemas.writer import write
from tests.sccils.small import small_model
from tests.work import growth

MODEL = small_model()
PLAN = build_plan(MODEL)
RULES = ("302 > 101", "161|(302 > 102)", "(302 > 101)&(303 > 102)")


def mod(ref: int | str, time_s: float, *data: float) -> HdsoMod:
    number, name = (ref, None) if isinstance(ref, int) else (-4, ref)
    when = Decimal(str(time_s))
    return HdsoMod(number, len(data), data, name, id_by_name=name is not None, time_s=when)


def rule(number: int, time_s: float, text: str) -> HdsoMod:
    return HdsoMod(number, len(text), text, datatype="char", time_s=Decimal(str(time_s)))


def gradual(begin_s: int, length_s: int, steps: int, *mods: HdsoMod) -> Gradual:
    return Gradual(Decimal(begin_s), Decimal(length_s), steps, mods)


def circle(k: int) -> HdsoMod:
    return rule((161, 162)[k % 2], k, ("162", "161")[k % 2])


SCRIPTS: dict[str, Callable[[int], ScriptEntry]] = {
    "values": lambda k: mod(101, k, 3.0),
    "values, backwards": lambda k: mod(101, 1000 - k, 3.0),
    "values of one time": lambda k: mod(101, 5, 3.0),
    "values by name": lambda k: mod("pro_load", k, 3.0),
    "first numbers of a list": lambda k: mod(142, k, 1.0, 2.0),
    "a threshold that kills a rule and revives it": lambda k: mod(102, k, -20.0 if k % 2 else 20.0),
    "rules": lambda k: rule(163, k, RULES[k % 3]),
    "rules of one time": lambda k: rule(163, 5, RULES[k % 3]),
    "circles": circle,
    "gradual changes": lambda k: gradual(10 * k, 10, 5, mod(101, 0, 3.0), mod(102, 0, 4.0 + k % 2)),
    "gradual changes, backwards": lambda k: gradual(10 * (1000 - k), 10, 5, mod(101, 0, 3.0)),
    "gradual changes at once": lambda k: gradual(k, 1000, 5, mod(101, 0, 3.0)),
    "steps": lambda k: gradual(10 * k, 10, 50, mod(101, 0, 3.0)),
    "gradual changes, and writes in between": lambda k: (
        gradual(10 * k, 9, 5, mod(101, 0, 3.0)) if k % 2 else mod(101, 10 * k + 9, 2.0)
    ),
    "writes into gradual changes": lambda k: (
        gradual(10 * k, 20, 5, mod(101, 0, 3.0)) if k % 2 else mod(101, 10 * k + 15, 2.0)
    ),
    "unknown names": lambda k: mod(f"name{k}", k, 3.0),
    "unknown joints": lambda k: DisconnectEntry(Decimal(k), f"joint{k}", Decimal(1)),
    "requests": lambda k: HdsoSpec(-1 if k % 2 else 101, time_s=Decimal(k)),
}


def taken(document: HdsoScript, plan: Plan) -> None:
    """Do with a script everything that is done before a bout, and let all of it take effect."""
    parsed, _ = parse(write(document), "s.xml")
    if parsed is None or not check_script(document, MODEL).ok:
        return
    changesets = prepare(document, plan, MODEL.ids)
    find_dead_rules(plan, changesets)
    describe_changes(plan, changesets)
    store = Store(plan)
    for initial in plan.initial:
        store.write(initial.hdso, initial.values)
    board = Board(plan, lambda *_: None)
    script = Script(
        plan, store, board, Rulebook(plan, store), lambda _: "", lambda _: None, lambda _: None, lambda *_: None
    )
    script.load(changesets)
    script.run(10**18)
    assert not len(script)


@pytest.mark.parametrize("entry", SCRIPTS.values(), ids=SCRIPTS.keys())
def test_a_script_of_twice_the_entries_is_twice_the_work(entry: Callable[[int], ScriptEntry]) -> None:
    def deed(count: int) -> Callable[[], None]:
        document = HdsoScript(tuple(map(entry, range(count))))
        return lambda: taken(document, PLAN)

    assert growth(deed, 20) < 1.02


def test_twice_the_commands_are_twice_the_work() -> None:
    def deed(count: int) -> Callable[[], None]:
        inner = HdsoScript((mod(101, 1, 3.0), rule(163, 2, RULES[1])))
        document = CommandScript(tuple(Command("run", script=inner) for _ in range(count)))
        return lambda: check_commandscript(document, MODEL)

    assert growth(deed, 20) < 1.02


def test_a_rule_is_decoded_when_it_is_written_and_not_again(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[object] = []
    plain = rulecheck.decode_rule
    monkeypatch.setattr(rulecheck, "decode_rule", lambda *code: decoded.append(code) or plain(*code))
    find_dead_rules(PLAN)
    of_the_model = len(decoded)
    steps = gradual(0, 100, 100, mod(101, 0, 3.0), mod(102, 0, 4.0))
    script = HdsoScript((steps, rule(163, 1, RULES[0]), rule(161, 200, RULES[2])))
    find_dead_rules(PLAN, prepare(script, PLAN, MODEL.ids))
    assert len(decoded) == 2 * of_the_model + 2
