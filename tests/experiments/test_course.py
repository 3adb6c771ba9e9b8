"""All repetitions of some rows: seeds, failed starts, controls, and worker processes."""

from itertools import pairwise
from pathlib import Path

import pytest

import nuc_engine.experiments.course as course
from nuc_engine.batch.pool import ItemFailed, Workers
from nuc_engine.experiments.course import file_stem, run_rows
from nuc_engine.experiments.protocol import NegativeControl
from tests.experiments import tiny
from tests.experiments.tiny import Inline


def answering(monkeypatch, state_of):
    """Let repetitions be answered instead of run; return what was asked for."""
    asked = []

    def answer(task, bouts=None):
        asked.append((task.row.name, task.seed, task.control))
        return tiny.trial(task.seed, state_of(task))

    monkeypatch.setattr(course, "run_task", answer)
    return asked


def test_each_row_gets_its_repetitions_and_its_control(monkeypatch):
    asked = answering(monkeypatch, lambda task: "as seen")
    rows = [tiny.row("a"), tiny.row("b", control=NegativeControl("why", (tiny.plan(),), 3))]
    found = run_rows(rows, 4, [100] * len(rows), workers=Inline())
    assert [sorted(each.trials) for each in found] == [[100, 101, 102, 103]] * 2
    assert [sorted(each.control) for each in found] == [[100, 101], [100, 101, 102]]
    assert len(asked) == len(set(asked)) == 13


def test_each_repetition_is_told_when_it_has_ended(monkeypatch):
    answering(monkeypatch, lambda task: "failed start" if task.seed == 100 else "as seen")
    heard = []
    run_rows(
        [tiny.row("a")],
        2,
        [100],
        workers=Inline(),
        heard=lambda task, trial: heard.append((task.seed, task.control, trial.state)),
    )
    assert sorted(heard) == [
        (100, False, "failed start"),
        (100, True, "failed start"),
        (101, False, "as seen"),
        (101, True, "as seen"),
        (102, False, "as seen"),
    ]


def test_each_row_has_seeds_of_its_own(monkeypatch):
    answering(monkeypatch, lambda task: "failed start" if task.seed == 100 else "as seen")
    found = run_rows([tiny.row("a"), tiny.row("b")], 2, [100, 200], workers=Inline())
    assert [sorted(each.trials) for each in found] == [[100, 101, 102], [200, 201]]
    assert [sorted(each.control) for each in found] == [[100, 101], [200, 201]]


def test_a_control_is_not_repeated_more_often_than_the_row(monkeypatch):
    answering(monkeypatch, lambda task: "as seen")
    assert len(run_rows([tiny.row()], 1, [100], workers=Inline())[0].control) == 1


def test_failed_starts_are_made_up_for_with_the_seeds_that_follow(monkeypatch):
    answering(monkeypatch, lambda task: "failed start" if task.seed in (101, 104, 105) else "as seen")
    (found,) = run_rows([tiny.row()], 4, [100], workers=Inline())
    assert sorted(found.trials) == [100, 101, 102, 103, 104, 105, 106]
    assert sum(trial.state == "as seen" for trial in found.trials.values()) == 4


def test_when_starts_keep_failing_it_ends_at_twice_as_many(monkeypatch):
    asked = answering(monkeypatch, lambda task: "failed start")
    (found,) = run_rows([tiny.row()], 4, [100], workers=Inline())
    assert sorted(found.trials) == list(range(100, 108))
    assert len(asked) == 8 + 2


def test_a_bout_that_broke_off_is_not_made_up_for(monkeypatch):
    answering(monkeypatch, lambda task: "aborted")
    (found,) = run_rows([tiny.row()], 4, [100], workers=Inline())
    assert len(found.trials) == 4


def test_progress_counts_everything_and_never_goes_back(monkeypatch):
    answering(monkeypatch, lambda task: "failed start" if task.seed == 100 else "as seen")
    told = []
    run_rows([tiny.row()], 2, [100], workers=Inline(), done=lambda *words: told.append(words))
    assert [done for done, *_ in told] == [1, 2, 3, 4, 5]
    assert told[-1] == (5, 5, 1.0)


def test_progress_tells_what_share_of_the_simulated_time_is_done(monkeypatch):
    answering(monkeypatch, lambda task: "as seen")
    still = tiny.plan(duration_s=4.0, values=tiny.STILL)
    long = tiny.row("long", bouts=(tiny.plan(duration_s=16.0),), control=NegativeControl("why", (still,)))
    told = []
    run_rows([long], 1, [100], workers=Inline(), done=lambda *words: told.append(words))
    # `Inline` takes the last item first.
    assert told == [(1, 2, 0.2), (2, 2, 1.0)]


def test_the_share_that_is_done_is_that_of_the_time_it_takes(monkeypatch):
    """Bouts that repetitions share are simulated once: they do not count several times, and not for the first only."""
    now_s, told = [0.0], []

    def run_all_of_them(tasks):
        # All that come together here have their beginning in common.
        now_s[0] += max(plan.duration_s for task in tasks for plan in task.bouts)
        return [tiny.trial(task.seed) for task in tasks]

    monkeypatch.setattr(course, "run_tasks", run_all_of_them)
    alone = NegativeControl("why", (tiny.plan(duration_s=3.0, values=tiny.STILL),))
    rows = [tiny.row(f"{length} s", bouts=(tiny.plan(duration_s=length),), control=alone) for length in (60.0, 10.0)]
    rows += [tiny.row("other", bouts=(tiny.plan(duration_s=20.0, config="null_roach"),), control=alone)]
    run_rows(rows, 1, [100] * 3, workers=Inline(), done=lambda *words: told.append((now_s[0], words[2])))
    ends = [share for (at_s, share), (after_s, _) in pairwise([*told, (now_s[0] + 1, 1.0)]) if after_s > at_s]
    assert now_s[0] == 60.0 + 20.0 + 3.0
    assert ends == pytest.approx([3 / 83, 23 / 83, 1.0])


def test_this_process_and_two_others_give_the_same(tmp_path):
    rows = [tiny.row("b", criterion=tiny.never, bouts=(tiny.plan("x"), tiny.plan("y")))]

    def keep(row, seed, control) -> Path | None:
        return tmp_path / row.name / str(seed) if seed == 3 and not control else None

    one = run_rows(rows, 2, [3] * len(rows), workers=Inline())
    with Workers(2) as workers:
        two = run_rows(rows, 2, [3] * len(rows), workers=workers, keep=keep)
    assert [(c.trials, c.control) for c in one] == [(c.trials, c.control) for c in two]
    assert sorted(path.name for path in (tmp_path / "b/3").iterdir()) == ["x", "y"]
    assert one[0].trials[3].reasons == ("x: no good", "y: no good")


def test_a_row_that_can_not_run_ends_it_all():
    broken = tiny.row(bouts=(tiny.plan(values={"nonsense": 1.0}),))
    with Workers(1) as workers, pytest.raises(ItemFailed, match="nonsense"):
        run_rows([broken], 1, [3], workers=workers)


@pytest.mark.parametrize(("name", "stem"), [("A", "A"), ("a b/c", "a-b-c"), ("..", "row"), ("16 cm", "16-cm")])
def test_a_row_s_name_makes_a_file_name(name, stem):
    assert file_stem(name) == stem


def test_repetitions_with_too_little_to_judge_are_made_up_for(monkeypatch):
    answering(monkeypatch, lambda task: "too few" if task.seed == 101 else "as seen")
    (found,) = run_rows([tiny.row()], 4, [100], workers=Inline())
    assert sorted(found.trials) == [100, 101, 102, 103, 104]
