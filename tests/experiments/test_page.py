"""Pages, and the folder they lie in."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from nuc_engine.experiments.course import Collected
from nuc_engine.experiments.page import page, write_experiment, write_index
from nuc_engine.experiments.protocol import Again, BoutPlan, JudgedWindow
from nuc_engine.experiments.record import read_verdict
from nuc_engine.experiments.sources import Sources, file_names
from nuc_engine.experiments.templates import measured, number
from nuc_engine.experiments.verdict import Figure, Same, Spread, judge_rows
from tests.experiments import tiny

PAGES = Path(__file__).resolve().parents[2] / "docs/experiments"

ROW = tiny.row(
    "first",
    bouts=(
        BoutPlan(
            "b",
            "lin_roach",
            "experiment_a",
            60.0,
            (JudgedWindow("FWD", 0.0, 20.0, "before"),),
            values={"motor_speed": 2},
            plant={"world.base_height_cm": 20.0},
        ),
    ),
    kicks_there="one in one of three",
    robot=(3, 3),
    robot_kicked=(1, 3),
    explanation="The tarsus is stiff.",
)


FILES = dict.fromkeys(file_names(ROW.bouts), ("ff00", "ff01"))


def verdict_of(*rows, as_seen: int = 20, otherwise: int = 0, failed: int = 0, seed: int = 20001, control=None):
    states = ["as seen"] * as_seen + ["otherwise"] * otherwise + ["failed start"] * failed
    trials = {seed + k: tiny.trial(seed + k, state) for k, state in enumerate(states)}
    against = {seed: tiny.trial(seed, "otherwise")} if control is None else control
    sources = Sources("0123abc", False, {"engine": "1.0"}, {name: known[0] for name, known in FILES.items()})
    experiment = tiny.experiment(*rows)
    return experiment, judge_rows(experiment, [Collected(row, trials, against) for row in rows], 20, seed, sources)


def test_a_page_tells_what_was_asked_done_and_seen():
    experiment, verdict = verdict_of(ROW, as_seen=19, otherwise=1, failed=2)
    text = page(experiment, verdict, root="../../..", command="nuc experiment T")
    for part in (
        "# T: A leg that moves",
        "Section 0.0",
        "Legs move.",
        "We look.",
        "[experiment_a](../../../scripts/experiment_a.xml)",
        "[lin_roach](../../../configs/lin_roach)",
        "FWD 0 to 20 s",
        "motor_speed = 2, world.base_height_cm = 20",
        "The tibia covers 20 degrees",
        "The tibia is held where it is.",
        "19 of 20",
        "76 to 99 %",
        "one in one of three",
        "**Verdict: as seen.**",
        "| all | FWD: 19, stuck in A + B: 1 |",
        "seed 20020, otherwise: it did not",
        "    nuc experiment T",
        "`0123abc`",
        "`ff00`",
    ):
        assert part in text, part
    assert "The tarsus is stiff." not in text, "an explanation of what came out as seen"


AGAIN = (Again(13, 20, 50001, FILES),)
DOUBTED = replace(ROW, again=AGAIN)
RESERVED = replace(ROW, reservation="it slows only")
THREE = (Again(20, 20, 50001, FILES), Again(60, 100, 70001, FILES), Again(0, 100, 80001))


@pytest.mark.parametrize(
    ("rows", "found", "there", "absent"),
    [
        ([ROW], {}, ["**Verdict: as seen.**", "`experiment_a`"], ["The tarsus is stiff.", "](../../", "## Row"]),
        ([ROW], {"as_seen": 10, "otherwise": 10}, ["**Verdict: otherwise.** It does not", "The tarsus is stiff."], []),
        ([replace(ROW, explanation="")], {"as_seen": 10, "otherwise": 10}, ["Not explained yet."], []),
        ([replace(ROW, remark="It hops.")], {}, ["To be noted\n\nIt hops."], []),
        ([ROW], {"as_seen": 0, "otherwise": 20}, ["and 12 more, in `verdict.json`"], []),
        ([ROW], {"as_seen": 0, "failed": 3}, ["None of 3 repetitions is valid (3 did not start)"], []),
        (
            [ROW],
            {"as_seen": 18, "otherwise": 2, "failed": 2},
            ["| 2 did not start |", "seen (2 did not start)."],
            [],
        ),
        ([ROW], {"seed": 1000}, ["**Tuning seeds: no verdict.**"], ["**Verdict:"]),
        ([ROW], {"control": {1: tiny.trial(1)}}, ["**Verdict: no evidence.**", "this row proves nothing.**"], []),
        (
            [ROW],
            {"control": {seed: tiny.trial(seed, "otherwise") for seed in range(2)}},
            ["0 of 2 repetitions came out as seen: the criterion fails", "0 to 66 %.)", "| 0 of 2 (0 to 66 %) |"],
            [],
        ),
        ([RESERVED], {}, ["**Verdict: as seen, with a reservation.**", "in the dissertation: it slows only."], []),
        ([ROW, replace(RESERVED, name="second")], {}, ["second: it slows only", "## Row second: as seen"], []),
        ([RESERVED], {"as_seen": 10, "otherwise": 10}, [], ["it slows only"]),
        ([replace(RESERVED, again=AGAIN)], {"as_seen": 18, "otherwise": 2}, ["not firmly", "And: it slows only."], []),
        (
            [DOUBTED],
            {"as_seen": 18, "otherwise": 2},
            [
                "**Verdict: as seen, but not firmly.**",
                "from 50001 on, 13 of 20 are as seen; together with those above 31 of 40 (78 %, 62 to 88 %)",
                "**That is less than the 90 % of a row that is as seen**",
                "Why it is not always as seen\n\nThe tarsus is stiff.",
            ],
            [],
        ),
        ([DOUBTED], {"as_seen": 18, "otherwise": 2, "seed": 50011}, [], ["With other seeds"]),
        ([DOUBTED], {"as_seen": 18, "otherwise": 2, "seed": 1000}, [], ["With other seeds"]),
        (
            [replace(ROW, again=THREE)],
            {"as_seen": 18, "otherwise": 2},
            ["from 50001 on, 20 of 20 and, from 70001 on, 60 of 100", "above 98 of 140 (70 %", "not firmly"],
            [],
        ),
        (
            [replace(ROW, again=(Again(18, 20, 50001, FILES),))],
            {"as_seen": 18, "otherwise": 2},
            ["together with those above 36 of 40 (90 %", "**Verdict: as seen.**"],
            ["The tarsus is stiff."],
        ),
    ],
)
def test_what_came_out_is_told(rows, found, there, absent):
    text = page(*verdict_of(*rows, **found))
    assert [part for part in there if part not in text] == []
    assert [part for part in absent if part in text] == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["otherwise"], "It does not come out on"),
        (["otherwise", "otherwise"], "No row comes out on"),
        (["as seen", "otherwise"], "Not every row comes out on"),
        (["otherwise", "no evidence"], "No row comes out on"),
        (["no evidence"], "Whether it comes out on the emulated leg as in the dissertation is not known."),
    ],
)
def test_the_headline_says_how_many_rows_come_out(words, told):
    experiment, verdict = verdict_of(*(replace(ROW, name=f"r{k}") for k in range(len(words))))
    rows = tuple(replace(row, word=word) for row, word in zip(verdict.rows, words, strict=True))
    assert told in page(experiment, replace(verdict, rows=rows))


def test_on_another_leg_neither_reservations_nor_other_seeds_count():
    experiment, verdict = verdict_of(replace(RESERVED, again=AGAIN), as_seen=18, otherwise=2)
    text = page(experiment, replace(verdict, bus="aimotor:///dev/ttyUSB0 in real time"))
    assert "it slows only" not in text
    assert "With other seeds" not in text
    assert "on `aimotor:///dev/ttyUSB0 in real time`; the ground's force on the foot is not recorded" in text


def test_a_row_that_is_another_one_again_is_said_to_be_no_evidence_of_its_own(tmp_path):
    experiment, verdict = verdict_of(ROW, replace(ROW, name="second"))
    assert "no evidence beside" not in page(experiment, verdict)
    for count, text in ((20, "In all 20 repetitions these bouts"), (13, "In 13 of 20 repetitions these bouts")):
        rows = (verdict.rows[0], replace(verdict.rows[1], same=(Same("first", count, 20),)))
        path = write_experiment(experiment, replace(verdict, rows=rows), tmp_path)
        assert f"{text} are the same as in row *first*" in path.read_text().partition("## Row second")[2]
        back = read_verdict(tmp_path)
        assert back is not None
        assert page(experiment, back) == path.read_text()
    write_experiment(experiment, back, tmp_path / "T")
    text = write_index([experiment], tmp_path).read_text()
    assert text.count("| **as seen** (13 of 20 are the same bouts as in row first) |") == 1


def test_rows_that_ask_something_else_of_the_same_bouts_are_not_told_to_be_no_evidence(tmp_path):
    experiment, verdict = verdict_of(ROW, replace(ROW, name="second", criterion=tiny.trial))
    rows = (verdict.rows[0], replace(verdict.rows[1], same=(Same("first", 20, 20),)))
    text = page(experiment, replace(verdict, rows=rows))
    assert "Its bouts are those of row *first*, of which something else is asked here." in text
    assert "no evidence beside" not in text
    write_experiment(experiment, replace(verdict, rows=rows), tmp_path / "T")
    text = write_index([experiment], tmp_path).read_text()
    assert "| **as seen** (the bouts of row first, asked something else) |" in text


def test_figures_are_shown_with_what_to_see_in_them():
    experiment, verdict = verdict_of(ROW)
    verdict = replace(verdict, rows=(replace(verdict.rows[0], figures=(Figure("f.png", "See the foot."),)),))
    assert "![f.png](f.png)\n\n*See the foot.*" in page(experiment, verdict)


@pytest.mark.parametrize(
    ("value", "text"), [(0.123456, "0.123"), (12345.6, "12346"), (0.0, "0"), (1e-9, "1e-09"), (float("nan"), "-")]
)
def test_numbers_have_three_digits(value, text):
    assert number(value) == text


def test_the_same_verdict_gives_the_same_bytes(tmp_path):
    experiment, verdict = verdict_of(ROW)
    first = write_experiment(experiment, verdict, tmp_path / "a", command="nuc experiment T")
    write_experiment(experiment, verdict, tmp_path / "b", command="nuc experiment T")
    back = read_verdict(tmp_path / "a")
    assert back is not None
    write_experiment(experiment, back, tmp_path / "b", command="nuc experiment T")
    for name in ("page.md", "verdict.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    assert str(tmp_path) not in first.read_text()


def test_pictures_of_an_earlier_verdict_go(tmp_path):
    experiment, verdict = verdict_of(ROW)
    row = replace(verdict.rows[0], figures=(Figure("old.png", ""), Figure("both.png", ""), Figure("../x.png", "")))
    folder = tmp_path / "T"
    write_experiment(experiment, replace(verdict, rows=(row,)), folder)
    for name in ("old.png", "both.png", "mine.png", "../x.png"):
        (folder / name).touch()
    write_experiment(experiment, replace(verdict, rows=(replace(row, figures=(Figure("both.png", ""),)),)), folder)
    assert sorted(path.name for path in folder.glob("*.png")) == ["both.png", "mine.png"]
    assert (tmp_path / "x.png").exists()


@pytest.mark.parametrize(
    ("row", "found", "line"),
    [
        (
            ROW,
            {},
            "| [T](T/page.md) | 0.0 | first | it moves | 20 of 20 (84 to 100 %) | 3 of 3 (29 to 100 %) | 0 | none |",
        ),
        (ROW, {"seed": 1000}, "(as seen; tuning seeds: no verdict) |"),
        (RESERVED, {}, "**as seen**, but it slows only |"),
        (DOUBTED, {"as_seen": 18, "otherwise": 2}, "**as seen**, but 31 of 40 with [other seeds](../replication.md) |"),
    ],
)
def test_the_table_over_all_has_a_line_for_each_row(tmp_path, row, found, line):
    experiment, verdict = verdict_of(row, **found)
    write_experiment(experiment, verdict, tmp_path / "T")
    text = write_index([experiment, tiny.experiment(tiny.row("late | last"), name="U")], tmp_path).read_text()
    assert line in text
    assert "| U | 0.0 | late \\| last | it moves | - |" in text
    assert "at least 90 % of its valid repetitions meet its criterion, over at\nleast 20 of them" in text


def test_an_earlier_verdict_that_can_not_be_read_is_replaced(tmp_path):
    (tmp_path / "verdict.json").write_text('{"format": 1}')
    write_experiment(*verdict_of(ROW), tmp_path)
    assert read_verdict(tmp_path) is not None


def test_kicks_to_begin_stand_apart():
    trials = {k: tiny.trial(k, kicks=2 if k else 1, start_kicks=1) for k in range(2)}
    collected = [Collected(ROW, trials, {1: tiny.trial(1, "otherwise")})]
    verdict = judge_rows(tiny.experiment(ROW), collected, 2, 20001, Sources("", False, {}, {}))
    text = page(tiny.experiment(ROW), verdict)
    assert (
        "to begin in 2 of 2 (34 to 100 %; mean 1, most 1); in the end in 1 of 2 (9 to 91 %; mean 0.5, most 1)"
    ) in text


def test_runs_of_other_legs_are_not_put_together():
    row = replace(ROW, again=(Again(13, 20, 50001, FILES),))
    experiment, verdict = verdict_of(row, as_seen=18, otherwise=2)

    def with_files(**files):
        return page(experiment, replace(verdict, sources=replace(verdict.sources, files=files)))

    assert "scripts/experiment_a.xml" in FILES
    same = {name: known[1] for name, known in FILES.items()}
    assert "With other seeds" in with_files(**same, **{"configs/of_a_probe/joints.xml": "abcd"})
    for name in FILES:
        assert "With other seeds" not in with_files(**same | {name: "another"})
        assert "With other seeds" not in with_files(**{key: value for key, value in same.items() if key != name})
    unknown = tiny.experiment(replace(ROW, again=(Again(13, 20, 50001),)))
    assert "With other seeds" not in page(unknown, verdict)
    mistaken = tiny.experiment(replace(ROW, again=(Again(13, 20, 50001, FILES, "B19"),)))
    sources = replace(verdict.sources, files=same)
    assert "With other seeds" not in page(mistaken, replace(verdict, sources=sources))


def test_the_record_for_machines_tells_what_other_seeds_do_to_a_verdict(tmp_path):
    experiment, verdict = verdict_of(replace(ROW, again=(Again(13, 20, 50001, FILES),)), as_seen=18, otherwise=2)
    write_experiment(experiment, verdict, tmp_path)
    (row,) = json.loads((tmp_path / "verdict.json").read_text())["rows"]
    assert (row["word"], row["in_doubt"]) == ("as seen", True)
    assert (row["with_other_seeds"]["count"], row["with_other_seeds"]["of"]) == (31, 40)
    back = read_verdict(tmp_path)
    assert back is not None
    assert back.rows[0].as_seen.count == 18
    experiment, verdict = verdict_of(ROW, as_seen=18, otherwise=2)
    write_experiment(experiment, verdict, tmp_path)
    assert "in_doubt" not in (tmp_path / "verdict.json").read_text()


@pytest.mark.parametrize(("value", "text"), [(-1.42e-14, "0"), (-0.0, "0"), (0.0213, "0.0213"), (math.nan, "-")])
def test_what_rounding_leaves_of_nothing_is_nothing(value, text):
    assert measured(value) == text
    experiment, verdict = verdict_of(ROW)
    row = replace(verdict.rows[0], numbers={"later by (s)": Spread(value, value, value, 3)}, summary={"p": 1.42e-14})
    shown = page(experiment, replace(verdict, rows=(row,)))
    assert f"| later by (s) | {text} | {text} | {text} | 3 |" in shown
    assert "| p | 1.42e-14 |" in shown, "a probability is as small as it is"


def test_the_robot_s_repetitions_stand_beside_the_leg_s_with_their_exact_interval():
    text = page(*verdict_of(ROW))
    assert "| 20 of 20 | 84 to 100 % | 3 of 3 (29 to 100 %) | 0 |" in text
    assert "| one in one of three: 1 of 3 (1 to 91 %) |" in text


def test_where_the_dissertation_has_no_number_the_robot_s_place_is_empty():
    assert "| 20 of 20 | 84 to 100 % | - | 0 | none | none |" in page(*verdict_of(tiny.row("first")))
