"""Experiments as data: strictly read, and texts that quote verdicts."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.catalogue.load import CHAPTER, OTHER_RUNS, TEXTS, ExperimentError, load_experiments
from nuc_engine.experiments.explain import fill_text, observations
from nuc_engine.experiments.protocol import TableRow
from nuc_engine.experiments.record import read_verdict
from nuc_engine.experiments.verdict import RowVerdict, Verdict
from tests.catalogue.seen import row_of

PAGES = Path(__file__).resolve().parents[2] / "docs/experiments"


PROBE = """
[[probes]]
rows = ["D1 literal", "D1 commuting"]
name = "HDSO 104"
question = "What does it do?"
quantity = "HDSO 104 of ITB (deg)"
levels = [110, 112]
bouts = [
  { row = "D1 literal", edits = [{ hdso = 104, at_s = 20, value = "level" }] },
  { row = "A", label = "A", edits = [{ hdso = 104, at_s = 40, value = "level" }] },
]
measure = [{ ask = "share", bouts = ["bout"], criterion = "D1 literal", name = "no stepping in the interim (share)" }]
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("script = ", "skript = ", r"1_changes\.toml: A: Object contains unknown field `skript` - at `\$\.rows\[0\]"),
        (
            'kind = "ITF"',
            'type = "ITF"',
            r"A: Object contains unknown field `type` - at `\$\.rows\[0\]\.criterion\[4\]`",
        ),
        ('ask = "is"', 'ask = "seems"', r"A: Invalid value 'seems' - at `\$\.rows\[0\]\.criterion\[4\]\.ask`"),
        ('section = "7.4.4.1"', "", r"A: Object missing required field `section`"),
        (
            "at_s = 20",
            'at_s = "soon"',
            r"HDSO 104: Expected `float`, got `str` - at `\$\.bouts\[0\]\.edits\[0\]\.at_s`",
        ),
        ("seed = 110001", "seeds = 110001", r"unknown field `seeds`"),
        ("seed = 110001", "seed = ", r"1_changes\.toml: "),
        ('like = "minute"', 'like = "hour"', r"like = 'hour': no such shape; expected one of \['roach', 'minute'"),
        ('row = "A"', 'row = "Z"', r"1_changes\.toml: HDSO 104: no row 'Z'; expected one of A, B, D1 literal"),
        (
            'config = "lin_roach"',
            "",
            r"B: expected either a row, or config, .* - at `\$\.rows\[0\]\.bouts",
        ),
        ("words.about", "words.abort", r"D1: 'about' is undefined"),
        ('criterion = "D1 literal"', 'criterion = "D9"', r"HDSO 104: no row 'D9'"),
    ],
)
def test_what_is_not_as_expected_is_named_with_its_file_and_key(tmp_path: Path, old: str, new: str, told: str) -> None:
    text = (CHAPTER / "1_changes.toml").read_text() + PROBE
    assert old in text
    folder, runs = tmp_path / "chapter", tmp_path / "runs.toml"
    folder.mkdir()
    (folder / "1_changes.toml").write_text(text.replace(old, new, 1))
    runs.write_text("runs = []\n[files]\n")
    with pytest.raises(ExperimentError, match=told):
        load_experiments(folder, TEXTS, runs)


def test_other_runs_are_of_rows_that_are_there(tmp_path: Path) -> None:
    runs = tmp_path / "runs.toml"
    runs.write_text(OTHER_RUNS.read_text().replace("A = [", "AA = [", 1))
    with pytest.raises(ExperimentError, match=r"runs\.toml: no row 'AA'"):
        load_experiments(CHAPTER, TEXTS, runs)


def test_every_text_and_every_observation_belongs_to_an_experiment() -> None:
    names = {each.name for each in EXPERIMENTS}
    assert set(observations()) <= names
    whole = {path for path in TEXTS.glob("*.md") if path.read_text().startswith("# ")}
    assert {path.stem for path in whole} <= names
    for path in whole:
        rows = {row.name for each in EXPERIMENTS if each.name == path.stem for row in each.rows}
        assert set(re.findall(r"^# (.+?)(?:: why|: to be noted)$", path.read_text(), re.M)) <= rows


def judged(name: str) -> tuple[TableRow, RowVerdict, Verdict]:
    row = row_of(name)
    verdict = read_verdict(PAGES / name.partition(" ")[0])
    assert verdict is not None
    (seen,) = [each for each in verdict.rows if each.name == row.name]
    return row, seen, verdict


JUDGED = [each for each in EXPERIMENTS if (PAGES / each.name).is_dir()]


@pytest.mark.parametrize("name", [f"{each.name} {row.name}" for each in JUDGED for row in each.rows])
def test_texts_are_filled_from_the_committed_verdicts(name: str) -> None:
    row, seen, verdict = judged(name)
    for source in (row.remark, row.explanation):
        text = fill_text(source, row, seen, verdict)
        assert "Not explained by this run" not in text
        assert not re.search(r"[{}]|\bnan\b|None", text)


def test_a_text_quotes_what_was_measured_and_says_so_where_nothing_was() -> None:
    row, seen, verdict = judged("muscles-sideways")
    (found,) = seen.evidence
    level = next(one for one in found.levels if one.label == "26")
    name = "null has stopped (share)"
    told = f"and {{}} of {level.numbers[name].count} repetitions each, while"
    numbers = {**level.numbers, name: replace(level.numbers[name], middle=1.0)}
    levels = tuple(replace(one, numbers=numbers) if one is level else one for one in found.levels)
    other = replace(seen, evidence=(replace(found, levels=levels),))
    was = round(level.numbers[name].middle * level.numbers[name].count)
    assert told.format(was) in " ".join(fill_text(row.explanation, row, seen, verdict).split())
    assert told.format(level.numbers[name].count) in " ".join(fill_text(row.explanation, row, other, verdict).split())
    without = fill_text(row.explanation, row, replace(seen, evidence=()), verdict)
    assert without.startswith("Not explained by this run: the explanation quotes what was not measured in it")
