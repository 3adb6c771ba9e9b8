"""Several writes of one HDSO at one time: document order holds, for rules as for numbers, and each is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine import BoutSpec, run_bout
from nuc_engine.bout.replay import replay_bout, replay_inputs
from nuc_engine.control.rulebook import Rulebook
from nuc_engine.control.tasks.board import Board
from nuc_engine.control.tasks.script import Script
from nuc_engine.model.changes import Applied, Changeset, Write
from nuc_engine.model.plan import Plan
from nuc_engine.model.planning import stored_values
from nuc_engine.model.store import Store, refusal
from nuc_engine.recording.recover import recover
from sccils_schemas.documents import HdsoScript
from sccils_schemas.parser import parse
from tests.engine.models import one_joint

PLAN = one_joint()
A, B, CIRCLE = "301 < 104", "301 > 103", "161"
TEXTS = (A, B, "(301 < 104)&191", CIRCLE, "105 < 104")
"""Rules for HDSO 161; it must not be its own operand, and HDSO 105 has no value."""


def written(ref: int, *values: float | str) -> Write:
    hdso = PLAN.hdso(ref)
    first = values[0]
    return Write(hdso.index, stored_values(hdso, first if isinstance(first, str) else list(values), {}))


class Bench:
    def __init__(self, plan: Plan = PLAN) -> None:
        self.store = Store(plan)
        for write in plan.initial:
            self.store.write(write.hdso, write.values)
        self.book = Rulebook(plan, self.store)
        self.told: list[Applied] = []
        self.refused: list[int] = []
        board = Board(plan, lambda *_: None)
        self.script = Script(
            plan,
            self.store,
            board,
            self.book,
            lambda _: "",
            self.told.append,
            lambda _: None,
            lambda _ns, _changeset, refused: self.refused.append(refused),
        )

    def make(self, *writes: Write) -> list[str]:
        """Let these take effect at one time; return what was told of each."""
        self.script.load([Changeset(5, writes)])
        self.script.run(5)
        assert [told.write for told in self.told] == list(writes), "in the order of the document"
        assert self.refused == [sum(bool(told.refused) for told in self.told)]
        return ["refused" if told.refused else "replaced" if told.replaced else "made" for told in self.told]

    def value(self, ref: int) -> tuple[int | float, ...] | None:
        return self.store.values(PLAN.hdso(ref).index)


@pytest.mark.parametrize(("ref", "a", "b"), [(161, A, B), (103, 11.0, 12.0)], ids=["rules", "numbers"])
def test_of_a_b_a_the_last_one_is_in_force_and_the_others_were_replaced(
    ref: int, a: float | str, b: float | str
) -> None:
    bench = Bench()
    assert bench.make(written(ref, a), written(ref, b), written(ref, a)) == ["replaced", "replaced", "made"]
    assert bench.value(ref) == written(ref, a).values


def test_the_rule_in_force_is_the_last_one_too() -> None:
    bench = Bench()
    bench.store.write(PLAN.hdso(301).index, (20.0,))
    bench.make(written(161, "301 < 190"), written(161, A), written(161, "301 < 190"))
    assert bench.book.in_force[PLAN.hdso(161).index]() is False


@pytest.mark.parametrize("bad", [CIRCLE, "105 < 104"], ids=["circle", "operand without value"])
def test_what_can_not_be_replaces_nothing(bad: str) -> None:
    bench = Bench()
    assert bench.make(written(161, B), written(161, A), written(161, bad)) == ["replaced", "made", "refused"]
    assert bench.value(161) == written(161, A).values


def test_a_shorter_write_leaves_something_of_a_longer_one() -> None:
    bench = Bench()
    assert bench.make(written(171, 3.0, -2.0), written(171, 4.0)) == ["made", "made"]
    assert bench.value(171) == (4.0, -2.0)


NUMBERS = st.tuples(
    st.sampled_from((103, 104, 171)), st.lists(st.sampled_from((1.0, 2.0, 999.0)), min_size=1, max_size=2)
)
RULES = st.tuples(st.just(161), st.sampled_from(TEXTS).map(lambda text: [text]))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.one_of(NUMBERS, RULES), min_size=1, max_size=8))
def test_what_is_in_force_is_as_if_all_that_was_not_refused_had_come_one_after_another(entries: list) -> None:
    writes = [written(ref, *values) for ref, values in entries if ref != 103 or len(values) == 1]
    writes = [write for write in writes if len(write.values) <= PLAN.hdsos[write.hdso].count]
    bench, alone = Bench(), Store(PLAN)
    for initial in PLAN.initial:
        alone.write(initial.hdso, initial.values)
    bench.make(*writes)
    for told in bench.told:
        assert not (told.refused and told.replaced)
        if not told.refused:
            assert refusal(PLAN.hdsos[told.write.hdso], told.write.values) is None
            alone.write(told.write.hdso, told.write.values)
    assert bench.store.live_bytes() == alone.live_bytes()
    for hdso in {write.hdso for write in writes}:
        made = [told for told in bench.told if told.write.hdso == hdso and not told.refused]
        assert not made or not made[-1].replaced, "of each something is in force"


@pytest.fixture(scope="module")
def bout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("same")
    entries = [
        '<hdsoMod idNum="101" NumElts="1" time="0.1">-1</hdsoMod>',
        '<hdsoMod idNum="101" NumElts="1" time="0.1">-2</hdsoMod>',
        '<hdsoMod idNum="161" NumElts="9" datatype="char" time="0.1">307 &gt; 105</hdsoMod>',
        '<hdsoMod idNum="161" NumElts="9" datatype="char" time="0.1">307 &gt; 103</hdsoMod>',
        '<hdsoMod idNum="161" NumElts="9" datatype="char" time="0.1">307 &gt; 105</hdsoMod>',
    ]
    script = folder / "s.xml"
    script.write_text("<hdsoscript>\n" + "\n".join(entries) + "\n</hdsoscript>")
    out = folder / "out"
    result = run_bout(BoutSpec(config="lin_roach", script=str(script), out=out, duration_s=0.3, bus="loopback:"))
    assert result.refused == 0
    return out


def test_the_script_log_says_so_and_reads_back_as_what_is_in_force(bout: Path) -> None:
    text = (bout / "Scriptlog.xml").read_text()
    assert text.count("<!-- replaced by a later entry: <hdsoMod ") == 3
    assert "refused" not in text
    log, problems = parse((bout / "Scriptlog.xml").read_bytes())
    assert problems.ok
    assert isinstance(log, HdsoScript)
    assert [(entry.ref, entry.data) for entry in log.entries] == [(101, (-2.0,)), (161, "307 > 105")]


def test_such_a_bout_is_repeated_to_the_byte_and_needs_no_mending(bout: Path) -> None:
    assert replay_bout(bout).identical
    assert replay_inputs(bout).identical
    assert not recover(bout, dry_run=True).changed
