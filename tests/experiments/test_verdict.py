"""From repetitions to a verdict."""

import math

import pytest

from nuc_engine.experiments.course import Collected
from nuc_engine.experiments.sources import Sources
from nuc_engine.experiments.verdict import judge_row, judge_rows, standing
from tests.experiments import tiny

BAD = [tiny.trial(seed, "otherwise") for seed in range(5)]


def trials(as_seen: int, otherwise: int = 0, failed: int = 0, aborted: int = 0) -> list:
    states = ["as seen"] * as_seen + ["otherwise"] * otherwise + ["failed start"] * failed + ["aborted"] * aborted
    return [tiny.trial(seed, state) for seed, state in enumerate(states)]


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (trials(20), "as seen"),
        (trials(18, 2), "as seen"),
        (trials(17, 3), "otherwise"),
        (trials(18, 2, failed=15), "as seen"),
        (trials(18, 1, aborted=2), "otherwise"),
        (trials(0, failed=40), "no evidence"),
        ([], "no evidence"),
    ],
)
def test_nine_of_ten_valid_repetitions_decide(found, word):
    assert judge_row(tiny.row(), found, BAD).word == word


@pytest.mark.parametrize(
    ("control", "word"),
    [
        (BAD, "as seen"),
        ([*BAD[:4], tiny.trial(9)], "no evidence"),
        ([], "no evidence"),
        ([tiny.trial(1, "aborted")], "no evidence"),
        ([tiny.trial(1, "failed start")], "no evidence"),
        ([tiny.trial(1, "failed start"), tiny.trial(2, "aborted")], "no evidence"),
        ([tiny.trial(1, "failed start"), tiny.trial(2, "otherwise")], "as seen"),
    ],
)
def test_a_control_that_does_not_fail_leaves_no_evidence(control, word):
    assert judge_row(tiny.row(), trials(20), control).word == word


def test_too_few_repetitions_that_started_are_no_evidence():
    assert judge_row(tiny.row(), trials(19, failed=21), BAD, 20).word == "no evidence"
    assert judge_row(tiny.row(), trials(0, 19, failed=21), BAD, 20).word == "no evidence"
    assert judge_row(tiny.row(), trials(19, failed=20, aborted=1), BAD, 20).word == "as seen"
    few = [Collected(tiny.row(), {t.seed: t for t in trials(19, failed=21)}, {t.seed: t for t in BAD})]
    assert not judge_rows(tiny.experiment(), few, 20, 20001, Sources("", False, {}, {})).good


def test_repetitions_with_too_little_to_judge_are_neither_failed_starts_nor_valid():
    found = [*trials(18, 2, failed=1), tiny.trial(30, "too few"), tiny.trial(31, "too few")]
    seen = judge_row(tiny.row(), found, [*BAD, tiny.trial(9, "too few")])
    assert (seen.as_seen.of, seen.failed_starts, seen.too_few, seen.word) == (20, 1, 2, "as seen")
    assert (seen.control.as_seen.of, seen.control.too_few) == (5, 1)
    assert judge_row(tiny.row(), trials(20), [tiny.trial(1, "too few")]).word == "no evidence"


def same(*rows: list) -> list:
    """Which rows are said to be the same as earlier ones; rows are the repetitions of a, b, c in order."""
    collected = [
        Collected(tiny.row(name), {one.seed: one for one in own}) for name, own in zip("abc", rows, strict=False)
    ]
    verdict = judge_rows(tiny.experiment(), collected, 20, 20001, Sources("", False, {}, {}))
    return [[(each.row, each.count, each.of) for each in row.same] for row in verdict.rows]


def test_repetitions_in_which_rows_are_the_same_are_counted():
    first = [tiny.trial(seed, moved=f"{seed}") for seed in range(4)]
    second = [tiny.trial(seed, moved=f"{min(seed, 2)}") for seed in range(4)]
    other = [tiny.trial(seed, moved="other") for seed in range(4)]
    assert same(first, other, second) == [[], [], [("a", 3, 4)]]
    assert same(first, first, first) == [[], [("a", 4, 4)], [("a", 4, 4), ("b", 4, 4)]]


def test_only_repetitions_of_the_same_seed_that_both_rows_have_whole_are_compared():
    first = [tiny.trial(1, moved="x"), tiny.trial(2, moved="y"), tiny.trial(3, "aborted", moved="z"), tiny.trial(4)]
    second = [tiny.trial(1, moved="x"), tiny.trial(3, moved="z"), tiny.trial(4), tiny.trial(5, moved="y")]
    assert same(first, second) == [[], [("a", 1, 1)]]


def test_failed_starts_are_counted_apart():
    seen = judge_row(tiny.row(), trials(3, 1, failed=2, aborted=1), BAD)
    assert (seen.as_seen.count, seen.as_seen.of, seen.failed_starts, seen.aborted) == (3, 5, 2, 1)
    assert seen.as_seen.value == 0.6


def test_kicks_are_those_of_the_repetitions_as_seen():
    found = [tiny.trial(1, kicks=1), tiny.trial(2, kicks=2), tiny.trial(3), tiny.trial(4, "otherwise", kicks=2)]
    kicks = judge_row(tiny.row(kicks_there="one in three"), found, BAD).kicks
    assert (kicks.repetitions, kicks.mean, kicks.most) == (2, 1.0, 2)


def test_kicks_to_begin_are_counted_apart_from_those_in_the_end():
    found = [tiny.trial(1, kicks=1, start_kicks=1), tiny.trial(2, kicks=2, start_kicks=1), tiny.trial(3)]
    seen = judge_row(tiny.row(), found, BAD)
    assert (seen.start_kicks.repetitions, seen.start_kicks.most) == (2, 1)
    assert (seen.kicks.repetitions, seen.kicks.mean) == (1, pytest.approx(1 / 3))


def test_numbers_are_medians_of_those_that_have_them():
    found = [
        tiny.trial(1, numbers={"period (s)": 1.0, "p": math.nan}),
        tiny.trial(2, numbers={"period (s)": 2.0}),
        tiny.trial(3, "otherwise", numbers={"period (s)": 6.0, "p": 0.5}),
        tiny.trial(4, "failed start", numbers={"period (s)": 99.0}),
    ]
    numbers = judge_row(tiny.row(), found, BAD).numbers
    assert (numbers["period (s)"].median, numbers["period (s)"].lowest, numbers["period (s)"].highest) == (2, 1, 6)
    assert (numbers["p"].median, numbers["p"].count) == (0.5, 1)


def test_a_summary_is_made_of_repetitions_that_were_judged():
    found = [tiny.trial(1, samples={"range": (4.0, 6.0)}), tiny.trial(2, "failed start"), tiny.trial(3, "aborted")]
    assert judge_row(tiny.row(summary=tiny.mean_range), found, BAD).summary == {"mean range (deg)": 5.0}
    assert judge_row(tiny.row(summary=tiny.mean_range), found[1:], BAD).summary == {}


def test_what_windows_were_called_is_counted():
    assert judge_row(tiny.row(), trials(2, 1, failed=1), BAD).outcomes == {
        "only": {"all": {"FWD": 2, "stuck in A + B": 1}}
    }


@pytest.mark.parametrize(
    ("repetitions", "seed", "why"),
    [
        (20, 20001, ""),
        (20, 1999, "tuning seeds: no verdict"),
        (3, 1000, "tuning seeds: no verdict"),
        (19, 20001, "fewer than 20 repetitions: no verdict"),
        (20, 2000, ""),
    ],
)
def test_tuning_seeds_and_few_repetitions_are_no_verdict(repetitions, seed, why):
    assert standing(repetitions, seed) == why


def test_an_experiment_is_good_when_all_its_rows_are():
    rows = (tiny.row("a"), tiny.row("b"))
    sources = Sources("", False, {}, {})
    bad = {trial.seed: trial for trial in BAD}

    def collected(*others):
        found = [{t.seed: t for t in trials(18, otherwise)} for otherwise in others]
        return [Collected(row, each, bad) for row, each in zip(rows, found, strict=True)]

    experiment = tiny.experiment(*rows)
    assert judge_rows(experiment, collected(0, 2), 18, 20001, sources).good
    assert not judge_rows(experiment, collected(0, 3), 18, 20001, sources).good


def test_repetitions_stand_in_the_order_of_their_seeds():
    found = {seed: tiny.trial(seed) for seed in (7, 5, 6)}
    verdict = judge_rows(tiny.experiment(), [Collected(tiny.row(), found)], 3, 5, Sources("", False, {}, {}))
    assert [trial.seed for trial in verdict.rows[0].trials] == [5, 6, 7]
