"""Experiments beside a row: what is run, what comes of it, how it is kept and shown."""

import math
from dataclasses import replace

import pytest

import nuc_engine.experiments.probes as probes_module
from nuc_engine.experiments.conduct import add_evidence, draw_all, judge_all
from nuc_engine.experiments.evidence_figure import draw_probe
from nuc_engine.experiments.page import page
from nuc_engine.experiments.probes import Probed, ProbeTask, evidence, run_probe_task, run_probes
from nuc_engine.experiments.protocol import Again, JudgedWindow, Probe, ProbeLevel
from nuc_engine.experiments.record import read_verdict, write_verdict
from nuc_engine.experiments.sources import find_sources
from nuc_engine.experiments.trials import Aborted
from tests.experiments import tiny
from tests.experiments.tiny import Inline


def measure(seen):
    angle = seen["only"].leg.module("FTi").angle_deg
    covered = float(angle.max() - angle.min())
    return {"range (deg)": covered, "moved (share)": float(covered > 20)}


PROBE = Probe(
    name="the drive",
    question="Does it take a drive?",
    quantity="drive (no unit)",
    levels=(ProbeLevel("none", (tiny.plan(values=tiny.STILL),), 0.0), ProbeLevel("all", (tiny.plan(),), 1.0)),
    measure=measure,
    as_is="all",
    repetitions=2,
)


def answered(monkeypatch, answer):
    asked = []

    def run(task: ProbeTask):
        asked.append((task.level, task.seed))
        return answer(task)

    monkeypatch.setattr(probes_module, "run_probe_task", run)
    return asked


def test_every_level_gets_the_same_seeds(monkeypatch):
    asked = answered(monkeypatch, lambda task: {"x": task.level + task.seed / 100})
    (found,) = run_probes([PROBE], [40], workers=Inline())
    assert sorted(asked) == [(0, 40), (0, 41), (1, 40), (1, 41)]
    assert found.values(1, "x") == [1.4, 1.41]


def test_a_probe_has_its_own_seeds_where_it_says_so(monkeypatch):
    asked = answered(monkeypatch, lambda task: {"x": 1.0})
    own = replace(PROBE, seed=60001)
    (found,) = run_probes([own], [40], workers=Inline())
    assert sorted(asked) == [(0, 60001), (0, 60002), (1, 60001), (1, 60002)]
    assert (evidence(found, 40).seed, evidence(Probed(PROBE), 40).seed) == (60001, 40)


def test_a_probe_of_several_rows_is_run_once(monkeypatch):
    asked = answered(monkeypatch, lambda task: {"x": 1.0})
    other = replace(PROBE, name="the same with another name")
    found = run_probes([PROBE, other, PROBE], [40] * 3, workers=Inline())
    assert len(asked) == 8
    assert [each.probe.name for each in found] == [PROBE.name, other.name, PROBE.name]
    assert found[0] is found[2]


def test_the_longest_repetitions_come_first(monkeypatch):
    asked = answered(monkeypatch, lambda task: {"x": 1.0})
    long = replace(PROBE, levels=(*PROBE.levels, ProbeLevel("long", (tiny.plan(duration_s=9.0),), 2.0)))
    told = []
    run_probes([long], [40], workers=Inline(), done=lambda *words: told.append(words))
    # `Inline` takes the last item first.
    assert [level for level, _ in reversed(asked)] == [2, 2, 0, 0, 1, 1]
    assert [words[:2] for words in told] == [(k, 6) for k in range(1, 7)]
    shares = [share for *_, share in told]
    assert shares[-1] == 1.0
    assert shares[3] < 0.5, "what takes longest is still to come"


def test_a_share_is_a_mean_and_any_other_number_a_median():
    found = Probed(PROBE, [{1: {"x": 1.0, "y (share)": 1.0}, 2: {"x": 2.0}, 3: {"x": 9.0, "y (share)": 0.0}}, {1: {}}])
    first, second = evidence(found, 1).levels
    assert (first.started, second.started) == (3, 0)
    assert (first.numbers["x"].middle, first.numbers["x"].lowest, first.numbers["x"].highest) == (2.0, 1.0, 9.0)
    assert (first.numbers["y (share)"].middle, first.numbers["y (share)"].count) == (0.5, 2)
    assert second.numbers == {}


def test_numbers_that_are_none_are_left_out():
    found = Probed(PROBE, [{1: {"x": math.nan}}, {1: {"x": 3.0}}])
    assert found.values(0, "x") == []
    assert evidence(found, 1).levels[0].numbers == {}


def test_a_probe_really_runs_its_levels():
    still, whole = (run_probe_task(ProbeTask(PROBE, level, 5)) for level in (0, 1))
    assert still["range (deg)"] < 20 < whole["range (deg)"]
    assert (still["moved (share)"], whole["moved (share)"]) == (0.0, 1.0)
    assert run_probe_task(ProbeTask(PROBE, 1, 5)) == whole


def test_a_bout_that_breaks_off_has_no_numbers(monkeypatch):
    def broken(plan, seed):
        raise Aborted("only: stopped")

    monkeypatch.setattr(probes_module, "watch_plan", broken)
    assert run_probe_task(ProbeTask(PROBE, 0, 5)) == {}


def with_evidence(experiments, repetitions, seed):
    workers = Inline()
    return add_evidence(judge_all(experiments, repetitions, seed, workers=workers), workers=workers)


def judged(monkeypatch, criterion, **changes):
    asked = answered(monkeypatch, lambda task: {"range (deg)": 10.0 * task.level + task.seed % 2})
    experiment = tiny.experiment(tiny.row(criterion=criterion, probes=(PROBE,), **changes))
    (found,) = with_evidence([experiment], 1, 30)
    return experiment, found, asked


def test_probes_are_made_for_rows_that_come_out_otherwise_only(monkeypatch):
    _, found, asked = judged(monkeypatch, tiny.moved)
    assert found.verdict.rows[0].word == "as seen"
    assert asked == []
    assert found.verdict.rows[0].evidence == ()
    _, found, asked = judged(monkeypatch, tiny.never)
    assert found.verdict.rows[0].word == "otherwise"
    assert sorted(asked) == [(0, 30), (0, 31), (1, 30), (1, 31)]
    assert found.verdict.rows[0].evidence[0].levels[1].numbers["range (deg)"].middle == 10.5


def test_probes_are_made_for_a_row_that_other_seeds_do_not_bear_out(monkeypatch):
    asked = answered(monkeypatch, lambda task: {"range (deg)": 1.0})
    files = {name: (digest,) for name, digest in find_sources([tiny.plan()]).files.items()}
    row = tiny.row(criterion=tiny.moved, probes=(PROBE,), again=(Again(13, 20, 50001, files),))
    (found,) = with_evidence([tiny.experiment(row)], 20, 30001)
    assert found.verdict.rows[0].word == "as seen"
    assert asked
    assert found.verdict.rows[0].evidence[0].name == PROBE.name


def test_without_a_seed_each_experiment_has_its_own_and_so_has_its_evidence(monkeypatch):
    asked = answered(monkeypatch, lambda task: {"range (deg)": 1.0})
    one, other = (
        replace(tiny.experiment(tiny.row(criterion=tiny.never, probes=(PROBE,))), name=name, seed=seed)
        for name, seed in (("one", 2050), ("other", 2070))
    )
    found = with_evidence([one, other], 1, None)
    assert [each.verdict.seed for each in found] == [2050, 2070]
    assert [each.verdict.rows[0].trials[0].seed for each in found] == [2050, 2070]
    assert [each.verdict.rows[0].evidence[0].seed for each in found] == [2050, 2070]
    assert {seed for _, seed in asked} == {first + k for first in (2050, 2070) for k in range(PROBE.repetitions)}


def test_evidence_is_kept_drawn_and_shown(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    experiment, found, _ = judged(monkeypatch, tiny.never, explanation="It takes a drive.")
    (drawn,) = draw_all([found], tmp_path, workers=Inline())
    (figure,) = drawn.verdict.rows[0].evidence[0].figures
    assert (tmp_path / "T" / figure.file).stat().st_size < 100_000
    write_verdict(drawn.verdict, tmp_path)
    back = read_verdict(tmp_path)
    assert back is not None
    assert back.rows[0].evidence == drawn.verdict.rows[0].evidence
    text = page(experiment, back)
    assert text.index("It takes a drive.") < text.index("Evidence: the drive") < text.index(figure.file)
    assert "| all (as in the row) | 10.5 (10 to 11) | 2 of 2 |" in text
    assert "Evidence" not in page(experiment, replace(back, rows=(replace(back.rows[0], word="as seen"),)))


def test_rows_that_share_a_probe_share_its_figure(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    answered(monkeypatch, lambda task: {"range (deg)": 10.0 * task.level + task.seed % 2})
    rows = [tiny.row(name, criterion=tiny.never, probes=(PROBE,)) for name in ("one", "other")]
    (drawn,) = draw_all(with_evidence([tiny.experiment(*rows)], 1, 30), tmp_path, workers=Inline())
    one, other = (row.evidence[0].figures for row in drawn.verdict.rows)
    assert one == other
    assert [path.name for path in (tmp_path / "T").glob("*_probe.svg")] == [figure.file for figure in one]


def test_rows_with_the_same_bouts_share_their_figures(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [tiny.row(name, criterion=tiny.moved) for name in ("one", "other")]
    rows.append(tiny.row("shorter", criterion=tiny.moved, bouts=(tiny.plan(duration_s=1.5),)))
    (drawn,) = draw_all(judge_all([tiny.experiment(*rows)], 1, 30, workers=Inline()), tmp_path, workers=Inline())
    one, other, shorter = ([figure.file for figure in row.figures] for row in drawn.verdict.rows)
    assert one
    assert one == other
    assert not set(one) & set(shorter)
    captions = [[figure.caption for figure in row.figures] for row in drawn.verdict.rows]
    assert all(caption.startswith("As in row one, with the same bout: ") for caption in captions[1])
    assert not any("As in row" in caption for caption in (*captions[0], *captions[2]))
    assert {path.name for path in (tmp_path / "T").iterdir()} == {*one, *shorter}


def test_a_table_of_more_numbers_than_levels_stands_on_its_side(monkeypatch):
    answered(monkeypatch, lambda task: {"a (s)": 1.0, "b (s)": 2.0, "c (s)": 3.0})
    experiment = tiny.experiment(tiny.row(criterion=tiny.never, probes=(PROBE,), explanation="It takes a drive."))
    (found,) = with_evidence([experiment], 1, 30)
    text = page(experiment, found.verdict)
    assert "| c (s) | 3 (3 to 3) | 3 (3 to 3) |" in text
    assert "| repetitions that started | 2 of 2 | 2 of 2 |" in text


def test_levels_without_an_order_are_drawn_too(tmp_path):
    pytest.importorskip("matplotlib")
    levels = tuple(replace(level, value=math.nan) for level in PROBE.levels)
    found = Probed(
        replace(PROBE, levels=levels), [{1: {"x": 1.0, "y (share)": 1.0}}, {1: {"x": 2.0, "y (share)": 0.0}}]
    )
    (first,) = draw_probe(found, "a row", tmp_path)
    content = (tmp_path / first.file).read_bytes()
    draw_probe(found, "a row", tmp_path)
    assert (tmp_path / first.file).read_bytes() == content
    assert draw_probe(Probed(PROBE), "a row", tmp_path) == ()


def test_drawing_tells_how_far_it_is_also_where_no_repetition_can_be_shown(tmp_path):
    pytest.importorskip("matplotlib")
    beyond = tiny.plan(windows=(JudgedWindow("late", 1.0, 9.0, "final", 0.5),))
    rows = (tiny.row("broken", bouts=(beyond,)), tiny.row("whole", picture=tiny.picture))
    for own, files in ((rows[:1], []), (rows, ["whole_all.svg", "whole_angles.png", "whole_paths.png"])):
        told = []
        found = judge_all([tiny.experiment(*own)], 1, 30, workers=Inline())
        (drawn,) = draw_all(found, tmp_path, workers=Inline(), done=lambda *words, told=told: told.append(words))
        count = len(told)
        assert [done for done, *_ in told] == list(range(1, count + 1))
        assert told[-1] == (count, count, 1.0)
        assert sorted(path.name for path in (tmp_path / "T").iterdir()) == files
        assert drawn.verdict.rows[0].figures == ()
