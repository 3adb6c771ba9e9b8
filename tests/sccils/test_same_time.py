"""Values written twice at one time are warned of, and what a document writes in all is bounded."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sccils_schemas.checks.scripts import MAX_COMMANDS, MAX_WRITES
from sccils_schemas.documents import Command, CommandScript, Gradual, HdsoMod, HdsoScript, ScriptEntry
from sccils_schemas.model import check_commandscript, check_script
from tests.sccils.small import small_model
from tests.sccils.test_scripts import checked, mod

MODEL = small_model()


def gradual(begin: str, duration: str, number: int, goal: str, steps: int = 2) -> str:
    inner = f'<hdsoMod idNum="{number}" NumElts="1">{goal}</hdsoMod>'
    return f'<gradual time="{begin}" duration="{duration}" steps="{steps}">{inner}</gradual>'


RULE = mod(163, "302 > 101", "char", "5")
TWICE = {
    "numbers": ((mod(101, "1", time="5"), mod(101, "2", time="5")), "HDSO 101 (pro_load)", "the entry in line 2"),
    "the same number": ((mod(101, "1", time="5"), mod(101, "1", time="5")), "HDSO 101", "the entry in line 2"),
    "rules": ((RULE, RULE.replace("302", "303")), "HDSO 163 (Spare_Rule)", "the entry in line 2"),
    "by name and by number": ((mod("pro_load", "1"), mod(101, "2")), "HDSO 101", "the entry in line 2"),
    "a shorter list": ((mod(171, "1 2"), mod(171, "3")), "HDSO 171", "1 value of the 2 of the entry in line 2"),
    "a longer list": ((mod(171, "1"), mod(171, "3 4")), "HDSO 171", "the entry in line 2"),
    "the end of a gradual change": ((gradual("1", "4", 101, "3"), mod(101, "2", time="5")), "HDSO 101", "in line 2"),
    "times that are one to the nanosecond": (
        (mod(101, "1", time="5"), mod(101, "2", time="5.0000000001")),
        "HDSO 101",
        "the entry in line 2",
    ),
}


@pytest.mark.parametrize(("lines", "what", "replaces"), TWICE.values(), ids=TWICE.keys())
def test_a_value_written_twice_at_one_time_is_a_warning(lines: tuple[str, ...], what: str, replaces: str) -> None:
    problems = checked(*lines)
    assert problems.ok, str(problems)
    (warning,) = [problem for problem in problems.warnings if "written twice" in problem.what]
    assert warning.line == 3
    assert what in warning.what
    assert f"this replaces {replaces}" in warning.what or replaces in warning.what
    assert "the last entry counts" in warning.hint


ONCE = {
    "two times": (mod(101, "1", time="5"), mod(101, "1", time="6")),
    "two values": (mod(101, "1", time="5"), mod(102, "1", time="5")),
    "the beginning of a gradual change": (mod(101, "2", time="1"), gradual("1", "4", 101, "3")),
    "one gradual change after another": (gradual("1", "4", 101, "3"), gradual("5", "4", 101, "2")),
    "asked for twice": ('<hdsoSpec idNum="101"/>', '<hdsoSpec idNum="101"/>'),
}


@pytest.mark.parametrize("lines", ONCE.values(), ids=ONCE.keys())
def test_nothing_is_said_where_nothing_is_lost(lines: tuple[str, ...]) -> None:
    assert not len(checked(*lines))


def test_each_further_entry_names_the_one_before_it() -> None:
    lines = [problem.what.rpartition(" ")[2] for problem in checked(*[mod(101, str(k)) for k in range(4)])]
    assert lines == ["2", "3", "4"]


def test_steps_finer_than_time_itself_are_an_error() -> None:
    assert "3 steps in 2 ns" in str(checked(gradual("1", "0.000000002", 101, "3", steps=3)))
    assert checked(gradual("1", "0.000000002", 101, "3")).ok


# --- how much ---


def write(*data: float, time: int = 0) -> HdsoMod:
    return HdsoMod(101 if len(data) == 1 else 142, len(data), data, time_s=Decimal(time), line=time + 1)


def slowly(*mods: HdsoMod, steps: int = 1000, time: int = 1) -> Gradual:
    return Gradual(Decimal(time * 10), Decimal(10), steps, mods, line=time + 1)


def told(*entries: ScriptEntry) -> list[tuple[int, str]]:
    found = check_script(HdsoScript(entries), MODEL).errors
    return [(problem.line, problem.what.partition(",")[0]) for problem in found]


def test_the_budget_of_writes_is_for_the_whole_document() -> None:
    hundred = [slowly(write(3.0), time=time) for time in range(100)]
    assert told(*hundred) == []
    assert told(*hundred, write(1.0, time=1001)) == [(1002, f"the document makes {MAX_WRITES + 1} writes")]
    assert told(write(1.0, time=0), *hundred) == [(100, f"the document makes {MAX_WRITES + 1} writes")]


def test_a_list_counts_number_by_number_and_a_rule_once() -> None:
    lists = [slowly(write(0, 1, 2, 3, 4, 0, 1, 2, 3, 4), time=time) for time in range(10)]
    assert told(*lists) == []
    rule = HdsoMod(163, 9, "302 > 101", datatype="char", time_s=Decimal(200), line=9)
    assert told(*lists, rule) == [(9, f"the document makes {MAX_WRITES + 1} writes")]


def test_the_number_is_told_whatever_it_is_and_nothing_is_expanded_for_it() -> None:
    most = told(slowly(write(3.0), steps=2_000_000_000))
    assert most == [(2, "the document makes 2000000000 writes"), (2, "steps='2000000000'")]
    assert told(*[slowly(write(3.0), time=time) for time in range(500)])[0] == (101, "the document makes 500000 writes")


def test_commands_share_one_budget_and_polls_write_nothing() -> None:
    script = HdsoScript(tuple(slowly(write(3.0), time=time) for time in range(60)))
    two = CommandScript((Command("run", script=script), Command("run", script=script)))
    assert "the document makes 120000 writes" in str(check_commandscript(two, MODEL))
    assert "writes" not in str(check_commandscript(CommandScript((Command("run", script=script),)), MODEL))
    asked = HdsoScript(tuple(write(3.0, time=time) for time in range(10)))
    poll = CommandScript(tuple(Command("log", "poll", script=asked) for _ in range(MAX_COMMANDS)))
    assert check_commandscript(poll, MODEL).ok


def test_the_commands_of_a_document_are_counted() -> None:
    many = CommandScript(tuple(Command("stop", line=k) for k in range(MAX_COMMANDS + 1)))
    (problem,) = check_commandscript(many, MODEL).errors
    assert (problem.line, problem.what) == (MAX_COMMANDS, f"{MAX_COMMANDS + 1} commands in one document")
