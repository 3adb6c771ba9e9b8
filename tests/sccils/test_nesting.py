"""Rules inside rules: how far they may reach, at load and through a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from sccils_schemas.checks import course
from sccils_schemas.model import Model, load_model, load_script
from sccils_schemas.nesting import (
    MAX_RULE_LEVELS,
    MAX_RULE_TERMS,
    RuleExtent,
    RuleParts,
    first_faults,
    parts_of,
    reaches,
)
from sccils_schemas.rules import parse_rule
from tests.sccils.small import changed, line_of
from tests.sccils.test_scripts import mod

J, P = "joints.xml", "parameters.xml"
LAST = '  <hdso idNum="171"'
RULE = 'boolstring="(302 &lt; 101)|(303 &gt; 102)"'


def helper(number: int, text: str, width: int = 30) -> str:
    return (
        f'  <hdso idNum="{number}" name="helper{number}" numdims="2" abstractType="boolstring" datatype="int">\n'
        f'    <dimsize dimNr="1">2</dimsize><dimsize dimNr="2">{width}</dimsize>\n'
        f"    <initial_data>{text.replace('<', '&lt;').replace('&', '&amp;')}</initial_data>\n  </hdso>\n"
    )


def chain(levels: int, first: int = 900) -> list[str]:
    """Return rules one inside the other: `first` uses the next one, and so on; the last uses none."""
    return [helper(first + k, str(first + k + 1) if k < levels else "191") for k in range(levels + 1)]


def with_rules(folder: Path, *rules: str) -> Path:
    return changed(folder, (P, LAST, "".join(rules) + LAST))


def test_parts_count_terms_as_often_as_they_stand() -> None:
    rules = {7: 7, 8: 8}
    parts = parts_of(parse_rule("(1 < 2)|(7&7&8)|3|3"), lambda ref: rules.get(ref) if isinstance(ref, int) else None)
    assert parts == RuleParts(3, (7, 7, 8))


def test_reach_adds_up_levels_and_terms() -> None:
    found = reaches({1: RuleParts(2), 2: RuleParts(1, (1, 1)), 3: RuleParts(0, (2, 1, 99))})
    assert found == {1: RuleExtent(0, 2), 2: RuleExtent(1, 5), 3: RuleExtent(2, 8)}


def test_circles_and_what_leads_into_them_have_no_reach() -> None:
    assert reaches({1: RuleParts(1, (2,)), 2: RuleParts(1, (1,)), 3: RuleParts(1, (1,)), 4: RuleParts(1)}) == {
        4: RuleExtent(0, 1)
    }


def test_only_the_first_rule_that_goes_too_far_is_named() -> None:
    many = 1500
    rules = {k: RuleParts(0, (k - 1,)) if k else RuleParts(1) for k in range(many)}
    assert list(first_faults(rules)) == [MAX_RULE_LEVELS + 1]
    bomb = {k: RuleParts(0, (k - 1,) * 15) if k else RuleParts(1) for k in range(many)}
    assert list(first_faults(bomb)) == [3]  # 15, 225, 3375
    assert first_faults(bomb)[3][0].startswith(f"has more than {MAX_RULE_TERMS} terms")


@pytest.mark.parametrize(("levels", "fits"), [(MAX_RULE_LEVELS, True), (MAX_RULE_LEVELS + 1, False)])
def test_levels_at_load(tmp_path: Path, levels: int, fits: bool) -> None:
    folder = with_rules(tmp_path, *chain(levels))
    model, problems = load_model(folder)
    assert (model is not None) == fits, str(problems)
    if not fits:
        (problem,) = problems.errors
        assert (problem.file, problem.line) == (str(folder / P), line_of(folder / P, ">901<"))
        assert "HDSO 900 (helper900) has 9 levels of rules inside it, expected at most 8" in str(problem)


def test_the_line_of_a_states_rule_is_named(tmp_path: Path) -> None:
    folder = with_rules(tmp_path, *chain(MAX_RULE_LEVELS))
    edited = (folder / J).read_text().replace(RULE, 'boolstring="900|(302 &lt; 101)|(303 &gt; 102)"')
    (folder / J).write_text(edited)
    (problem,) = load_model(folder)[1].errors
    assert (problem.file, problem.line) == (str(folder / J), line_of(folder / J, 'boolstring="900|'))


@pytest.mark.parametrize(("terms", "fits"), [(MAX_RULE_TERMS, True), (MAX_RULE_TERMS + 1, False)])
def test_terms_at_load(tmp_path: Path, terms: int, fits: bool) -> None:
    inner = ["901"] * 4 + ["191"] * (terms - MAX_RULE_TERMS)
    folder = with_rules(tmp_path, helper(900, "|".join(inner)), helper(901, "|".join(["191"] * 256), 511))
    model, problems = load_model(folder)
    assert (model is not None) == fits, str(problems)
    if not fits:
        assert "HDSO 900 (helper900) has more than 1024 terms with those of the rules inside it" in str(problems)


def test_a_rule_bomb_is_one_error(tmp_path: Path) -> None:
    rules = [helper(900 + k, "|".join([str(901 + k) if k < 8 else "191"] * 15)) for k in range(9)]
    _, problems = load_model(with_rules(tmp_path, *rules))
    (problem,) = problems.errors
    assert "HDSO 906 (helper906) has more than 1024 terms" in str(problem)


@pytest.fixture
def deep(tmp_path: Path) -> Model:
    model, problems = load_model(with_rules(tmp_path, *chain(MAX_RULE_LEVELS)))
    assert model is not None, str(problems)
    return model


def run(folder: Path, model: Model, *lines: str) -> list[str]:
    path = folder / "s.xml"
    path.write_text("<hdsoscript>\n" + "\n".join(lines) + "\n</hdsoscript>")
    return [str(problem).removeprefix(f"{path}:") for problem in load_script(path, model)[1].errors]


def test_a_script_may_not_nest_too_deep(tmp_path: Path, deep: Model) -> None:
    assert run(tmp_path, deep, mod(163, "901", "char", "1")) == []
    (error,) = run(tmp_path, deep, mod(101, "1"), mod(163, "900", "char", "1"))
    assert error == "3: error: HDSO 163 (Spare_Rule) has 9 levels of rules inside it, expected at most 8"


def test_a_change_far_inside_is_felt_by_the_rules_around_it(tmp_path: Path, deep: Model) -> None:
    (error,) = run(tmp_path, deep, mod(908, "162", "char", "1"))
    assert error.startswith("2: error: HDSO 900 (helper900) has 9 levels")
    assert run(tmp_path, deep, mod(904, "191", "char", "1"), mod(908, "162", "char", "2")) == []
    assert len(run(tmp_path, deep, mod(904, "191", "char", "2"), mod(908, "162", "char", "1"))) == 1


def test_what_is_reported_is_not_reported_again(tmp_path: Path, deep: Model) -> None:
    later = [mod(162, "302|302", "char", "2"), mod(162, "302", "char", "3")]
    (error,) = run(tmp_path, deep, mod(163, "900", "char", "1"), *later)
    assert error.startswith("2: error: HDSO 163")


def test_a_script_may_not_build_a_bomb(tmp_path: Path, deep: Model) -> None:
    times = [mod(900 + k, "|".join([str(901 + k)] * 15), "char", "1") for k in range(8)]
    (error,) = run(tmp_path, deep, *times)
    assert "has more than 1024 terms" in error


def test_rules_changed_too_often_are_an_error_not_a_wait(
    tmp_path: Path, deep: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(course, "MAX_LOOKS", 100)
    lines = [mod(908, "191" if k % 2 else "190", "char", str(k)) for k in range(40)]
    assert run(tmp_path, deep, *lines) == []  # the same terms, nothing to look at again
    lines = [mod(908, "191" if k % 2 else "190|191", "char", str(k)) for k in range(40)]
    (error,) = run(tmp_path, deep, *lines)
    assert "the script changes rules too often: all 11 of them" in error
