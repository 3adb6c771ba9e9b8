"""Which entries a changeset needs, with legs whose needs are known: what they do follows from the script they get."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.batch.changeset import changeset_times, entries_at
from nuc_engine.batch.criterion import wilson
from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.inputs import read_inputs
from nuc_engine.batch.journal import RUN, Journal
from nuc_engine.batch.minimise import Kinds, Minimised, RunAll, Runner, ScriptTrial, minimise, watch
from nuc_engine.batch.task import BoutTask
from nuc_engine.bout.run import prepare_bout
from sccils_schemas.documents import HdsoMod, HdsoScript
from sccils_schemas.parser import parse
from sccils_schemas.writer import write

SEEDS = tuple(range(10))
A, B, C, D = "CTr_lev_TC1_load", "CTr_dep_TC1_load", "TC1_retLEV_FTang", "TC1_retLEV_CTang"
PRESENT = {A: 0.0, B: 0.01, C: 60.0, D: 70.0}
Leg = Callable[[set[str], int], str]


@pytest.fixture
def trial(tmp_path: Path) -> ScriptTrial:
    mods = [HdsoMod(-4, 1, (value,), name, True, time_s=Decimal(0)) for name, value in PRESENT.items()]
    mods += [HdsoMod(-4, 1, (value + 1,), name, True, time_s=Decimal(20)) for name, value in PRESENT.items()]
    path = tmp_path / "four.xml"
    path.write_bytes(write(HdsoScript(tuple(mods), name="four")))
    return open_trial(str(path))


def open_trial(path: str, seeds: tuple[int, ...] = SEEDS) -> ScriptTrial:
    prepared = prepare_bout("lin_roach", path)
    assert prepared.script is not None
    return ScriptTrial(read_inputs("lin_roach", path), prepared, prepared.script, seeds)


def runner(leg: Leg, before: Callable[[int], str] = lambda _: "FWD") -> RunAll:
    """Run no bout: what is seen follows from which names the script writes at 20 s."""

    def run(tasks: Sequence[BoutTask]) -> Sequence[Kinds]:
        return [{"before": before(task.seed), "after": leg(written(task), task.seed)} for task in tasks]

    return run


def written(task: BoutTask) -> set[str]:
    assert task.inputs.script is not None
    document, _ = parse(task.inputs.script, "script")
    assert isinstance(document, HdsoScript)
    return {str(mod.name) for mod in document.entries if isinstance(mod, HdsoMod) and mod.time_s == 20}


def verdicts(found: Minimised) -> dict[str, str]:
    return {report.entry.hdso.name: report.verdict for report in found.entries}


def left_out(found: Minimised) -> set[str]:
    return {report.entry.hdso.name for report in found.entries if report.entry.number in found.reduced.left_out}


def test_what_is_needed_is_told_from_what_is_not(trial: ScriptTrial) -> None:
    found = minimise(trial, Decimal(20), runner(lambda names, _: "ITF" if {A, B} <= names else "stuck"))
    assert verdicts(found) == {A: "necessary", B: "necessary", C: "unnecessary", D: "unnecessary"}
    assert found.wanted == "ITF"
    assert found.whole.seen == {"ITF": 10}
    assert left_out(found) == {C, D}
    assert [entry.number for entry in entries_at(found.script, trial.prepared.plan, Decimal(20))] == [4, 5]
    assert len(found.pairs) == 6


def test_two_that_can_stand_for_each_other(trial: ScriptTrial) -> None:
    found = minimise(trial, Decimal(20), runner(lambda names, _: "ITF" if A in names and {B, C} & names else "stuck"))
    assert verdicts(found) == {A: "necessary", B: "one of two", C: "one of two", D: "unnecessary"}
    assert left_out(found) in ({B, D}, {C, D})


def test_two_that_belong_together(trial: ScriptTrial) -> None:
    def leg(names: set[str], _: int) -> str:
        return "ITF" if {A, D} <= names and len({B, C} & names) != 1 else "stuck"

    found = minimise(trial, Decimal(20), runner(leg))
    assert verdicts(found) == {A: "necessary", B: "only together", C: "only together", D: "necessary"}
    assert left_out(found) == {B, C}


def test_what_makes_it_rarer_helps(trial: ScriptTrial) -> None:
    def leg(names: set[str], seed: int) -> str:
        return "ITF" if A in names and (B in names or seed < 7) else "irregular"

    found = minimise(trial, Decimal(20), runner(leg))
    assert verdicts(found) == {A: "necessary", B: "helps", C: "unnecessary", D: "unnecessary"}
    assert next(report for report in found.entries if report.entry.hdso.name == B).alone.seen == {  # type: ignore[union-attr]
        "ITF": 7,
        "irregular": 3,
    }


def test_what_seems_unnecessary_alone_and_in_pairs_is_tried_all_at_once(trial: ScriptTrial) -> None:
    """Any two of four are enough: alone and in pairs each may go, but not all of them."""
    found = minimise(trial, Decimal(20), runner(lambda names, _: "ITF" if len(names) >= 2 else "stuck"))
    assert set(verdicts(found).values()) == {"unnecessary"}
    assert len(left_out(found)) == 2
    assert found.reduced.effect == "kept"


def test_bouts_that_did_not_start_are_counted_apart(trial: ScriptTrial) -> None:
    def before(seed: int) -> str:
        return "stuck" if seed < 4 else "FWD"

    def leg(names: set[str], seed: int) -> str:
        return "ITF" if A in names and seed >= 4 else "stuck"

    found = minimise(trial, Decimal(20), runner(leg, before))
    assert found.failed_starts == 4
    assert found.whole.bouts == found.whole.good == 6
    assert verdicts(found) == {A: "necessary", B: "unnecessary", C: "unnecessary", D: "unnecessary"}
    with pytest.raises(BulkRefused, match="does not step before 20 s"):
        minimise(trial, Decimal(20), runner(leg, lambda _: "stuck"))


def test_a_changeset_that_does_not_work_itself_is_refused(trial: ScriptTrial) -> None:
    with pytest.raises(BulkRefused, match="ITB in 0 of 10 bouts: ITF 10"):
        minimise(trial, Decimal(20), runner(lambda *_: "ITF"), wanted="ITB")


def test_an_entry_that_changes_nothing_is_not_run(trial: ScriptTrial) -> None:
    asked: list[set[str]] = []

    def leg(names: set[str], _: int) -> str:
        asked.append(names)
        return "FWD"

    found = minimise(trial, Decimal(0), runner(leg))
    assert set(verdicts(found).values()) == {"no change"}
    assert left_out(found) == {A, B, C, D}
    assert len(asked) == len(SEEDS)


def test_no_changeset_there_is_refused_with_the_times_there_are(trial: ScriptTrial) -> None:
    with pytest.raises(BulkRefused, match="the script writes at 0, 20"):
        minimise(trial, Decimal(5), runner(lambda *_: "ITF"))
    assert changeset_times(trial.script) == (Decimal(0), Decimal(20))


def test_an_outcome_that_is_none_is_refused_before_anything_runs(trial: ScriptTrial) -> None:
    asked: list[object] = []
    with pytest.raises(BulkRefused, match="'FDW', is no outcome; expected FWD, ITF"):
        minimise(trial, Decimal(20), lambda tasks: asked.append(tasks) or [], wanted="FDW")
    assert not asked


def test_what_an_entry_changes_is_what_those_before_it_left(tmp_path: Path) -> None:
    """One that writes what stood there before the changeset changes something all the same when another one did."""
    values = (61.0, 60.0, 60.0)
    mods = [HdsoMod(-4, 1, (60.0,), C, True, time_s=Decimal(0))]
    mods += [HdsoMod(-4, 1, (value,), C, True, time_s=Decimal(20)) for value in values]
    (tmp_path / "thrice.xml").write_bytes(write(HdsoScript(tuple(mods), name="thrice")))
    trial = open_trial(str(tmp_path / "thrice.xml"))
    found = minimise(trial, Decimal(20), runner(lambda *_: "FWD"))
    assert [report.verdict for report in found.entries] == ["unnecessary", "unnecessary", "no change"]


def test_what_is_looked_at_ends_with_the_next_changeset_and_sooner_where_it_is_told(trial: ScriptTrial) -> None:
    def spans(time_s: int, length_s: float) -> list[tuple[str, float, float]]:
        found = watch(trial.script, Decimal(time_s), length_s)
        return [(window.name, window.begin_s, window.end_s) for window in found]

    assert spans(0, 5.0) == [("after", 0.0, 5.0)]
    assert spans(0, 50.0) == [("after", 0.0, 20.0)]
    assert spans(20, 50.0) == [("before", 0.0, 20.0), ("after", 20.0, 70.0)]


class Hands:
    """Workers that finish the last item first, and say what it was."""

    def __init__(self) -> None:
        self.given: list[list[str]] = []

    def run(self, function: object, items: Sequence[str]) -> Iterator[tuple[int, Kinds]]:
        self.given.append(list(items))
        for index in reversed(range(len(items))):
            yield index, {"after": items[index]}


def test_lists_of_bouts_are_gone_on_with_and_only_what_is_missing_is_run(tmp_path: Path) -> None:
    def run(*lists: Sequence[Any]) -> tuple[list[list[str]], list[list[str]], list[tuple[int, int]]]:
        hands, told = Hands(), list[tuple[int, int]]()
        with Journal(tmp_path / "parts", {}) as journal:
            run_all = Runner(hands, lambda *counts: told.append(counts), journal)  # type: ignore[arg-type]
            seen = [[kinds["after"] for kinds in run_all(tasks)] for tasks in lists]
        return seen, hands.given, told

    with Journal(tmp_path / "parts", {}) as journal:
        for number, kind in ((0, "a"), (2, "c")):
            journal.add({RUN: number, "after": kind})
    lists = ["a", "b", "c", "d"], ["e"]
    assert run(*lists) == ([["a", "b", "c", "d"], ["e"]], [["b", "d"], ["e"]], [(3, 4), (4, 4), (1, 1)])
    assert run(*lists, ["f"]) == ([["a", "b", "c", "d"], ["e"], ["f"]], [[], [], ["f"]], [(1, 1)])


def sure(found: Minimised) -> dict[str, bool]:
    return {report.entry.hdso.name: report.sure for report in found.entries}


@pytest.mark.parametrize(("seeds", "expected"), [(2, False), (3, False), (4, True), (10, True)])
def test_two_seeds_are_too_few_to_be_sure(trial: ScriptTrial, seeds: int, expected: bool) -> None:
    few = replace(trial, seeds=SEEDS[:seeds])
    found = minimise(few, Decimal(20), runner(lambda names, _: "ITF" if {A, B} <= names else "stuck"))
    assert verdicts(found) == {A: "necessary", B: "necessary", C: "unnecessary", D: "unnecessary"}
    assert set(sure(found).values()) == {expected}
    assert found.whole.high == 1.0
    assert found.whole.low == pytest.approx(wilson(seeds, seeds)[0])


def test_a_share_near_its_bound_is_not_sure(trial: ScriptTrial) -> None:
    def leg(names: set[str], seed: int) -> str:
        return "ITF" if A in names and (B in names or seed < 7) and (C in names or seed < 4) else "irregular"

    found = minimise(trial, Decimal(20), runner(leg))
    assert verdicts(found) == {A: "necessary", B: "helps", C: "necessary", D: "unnecessary"}
    assert sure(found) == {A: True, B: False, C: False, D: True}


def test_a_verdict_is_as_sure_as_the_tests_it_follows_from(trial: ScriptTrial) -> None:
    """B and C can stand for each other; without both, half of the bouts still do it, which is at the bound."""

    def leg(names: set[str], seed: int) -> str:
        return "ITF" if A in names and ({B, C} & names or seed < 5) else "stuck"

    found = minimise(trial, Decimal(20), runner(leg))
    assert verdicts(found) == {A: "necessary", B: "one of two", C: "one of two", D: "unnecessary"}
    assert sure(found) == {A: True, B: False, C: False, D: True}
