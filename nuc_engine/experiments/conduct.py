"""Whole experiments from the first bout to verdicts and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from nuc_engine.batch.pool import Workers
from nuc_engine.bout.run import BoutRefused, prepare_bout
from nuc_engine.experiments.course import (
    Collected,
    FinishedCallback,
    Heard,
    RunCounter,
    file_stem,
    run_rows,
    unheard,
)
from nuc_engine.experiments.edits import check_edits, is_edited
from nuc_engine.experiments.live import BoutRunner, Operator, Wait, collect_live
from nuc_engine.experiments.probes import Probed, evidence, run_probes
from nuc_engine.experiments.protocol import BoutPlan, Experiment, TableRow, Trial
from nuc_engine.experiments.sources import find_sources
from nuc_engine.experiments.verdict import Figure, RowVerdict, Verdict, in_need_of_reasons, judge_rows

_ALL = "all"
"""Beside "" and names of probes: the picture over all repetitions."""


@dataclass(frozen=True, slots=True)
class Judged:
    """An experiment with its verdict, the repetitions of its rows, and what was asked beside rows, by row name."""

    experiment: Experiment
    verdict: Verdict
    collected: tuple[Collected, ...]
    probed: Mapping[str, tuple[Probed, ...]] = field(default_factory=dict[str, tuple[Probed, ...]])


def check(experiments: Sequence[Experiment]) -> None:
    """Check the documents of all bouts before any is run. Raises BoutRefused with every reason, or NotFound."""
    refused: dict[str, None] = {}
    plans = {(p.config, p.script, tuple(p.values.items())): p for e in experiments for p in _plans(e)}
    for plan in plans.values():
        try:
            prepare_bout(plan.config, plan.script, values=plan.values)
        except BoutRefused as error:
            refused |= dict.fromkeys(str(error).splitlines())
    for plan in (plan for each in experiments for plan in _plans(each) if is_edited(plan)):
        try:
            check_edits(plan)
        except BoutRefused as error:
            refused |= dict.fromkeys(str(error).splitlines())
    if refused:
        raise BoutRefused("\n".join(refused))


def judge_all(
    experiments: Sequence[Experiment],
    repetitions: int,
    seed: int | None,
    *,
    workers: Workers,
    keep: Path | None = None,
    done: FinishedCallback | None = None,
    heard: Heard = unheard,
) -> list[Judged]:
    """Run and judge all rows of some experiments; `add_evidence` comes after it.

    `seed` is the first one; None: each experiment's own. With `keep` every bout stays below a folder of the
    experiment's name there. Raises ItemFailed as `run_rows` does.
    """
    owners = [(experiment, row) for experiment in experiments for row in experiment.rows]
    folders = {id(row): keep and keep / owner.name / "bouts" / file_stem(row.name) for owner, row in owners}

    def place(row: TableRow, seed: int, control: bool) -> Path | None:
        folder = folders[id(row)]
        return None if folder is None else folder / f"{seed}{'-control' if control else ''}"

    firsts = {experiment.name: experiment.seed if seed is None else seed for experiment in experiments}
    rows, seeds = [row for _, row in owners], [firsts[owner.name] for owner, _ in owners]
    collected = run_rows(rows, repetitions, seeds, workers=workers, keep=place, done=done, heard=heard)
    found: list[Judged] = []
    for experiment in experiments:
        own = [each for (owner, _), each in zip(owners, collected, strict=True) if owner is experiment]
        sources = find_sources(_plans(experiment))
        verdict = judge_rows(experiment, own, repetitions, firsts[experiment.name], sources)
        found.append(Judged(experiment, verdict, tuple(own)))
    return found


def add_evidence(judged: Sequence[Judged], *, workers: Workers, done: FinishedCallback | None = None) -> list[Judged]:
    """Run the probes of rows that came out otherwise, or as seen by these seeds only. Raises ItemFailed."""
    asked = [
        (k, row.name, probe, each.verdict.seed)
        for k, each in enumerate(judged)
        for row, seen in zip(each.experiment.rows, each.verdict.rows, strict=True)
        for probe in (row.probes if in_need_of_reasons(row, seen, each.verdict) else ())
    ]
    probes, seeds = [probe for _, _, probe, _ in asked], [seed for *_, seed in asked]
    found = run_probes(probes, seeds, workers=workers, done=done)
    answers: dict[tuple[int, str], tuple[Probed, ...]] = {}
    for (k, name, *_), probed in zip(asked, found, strict=True):
        answers[k, name] = (*answers.get((k, name), ()), probed)
    return [
        replace(
            each,
            verdict=_with_answers(each.verdict, {name: own for (j, name), own in answers.items() if j == k}),
            probed={name: own for (j, name), own in answers.items() if j == k},
        )
        for k, each in enumerate(judged)
    ]


def _with_answers(verdict: Verdict, answers: Mapping[str, Sequence[Probed]]) -> Verdict:
    rows = (
        replace(row, evidence=tuple(evidence(probed, verdict.seed) for probed in answers.get(row.name, ())))
        for row in verdict.rows
    )
    return replace(verdict, rows=tuple(rows))


def conduct_live(
    experiment: Experiment,
    repetitions: int,
    first: int,
    *,
    bus: str,
    stage: BoutRunner,
    hand: Operator,
    wait: Wait,
    target: Path,
    data: Path,
    figures: bool,
) -> Judged:
    """Do all rows of an experiment in real time, one repetition after the other; judge and draw them into `target`.

    Data directories go below `data`. Raises ClientError when the daemon is lost.
    """
    collected: list[Collected] = []
    drawn: dict[tuple[str, str], tuple[Figure, ...]] = {}
    target.mkdir(parents=True, exist_ok=True)
    for row in experiment.rows:
        own, done = collect_live(row, repetitions, first, stage, hand, wait, data / file_stem(row.name))
        collected.append(own)
        shown = representative([live.trial for live in done])
        if figures and shown is not None:
            from nuc_engine.experiments.figures import draw_picture, draw_trial

            live = next(live for live in done if live.trial is shown)
            drawn[experiment.name, row.name] = (
                *draw_trial(row, shown, live.folders, target),
                *draw_picture(row, [live.trial for live in done], target),
            )
    sources = find_sources(_plans(experiment))
    verdict = judge_rows(experiment, collected, repetitions, first, sources, f"{bus} in real time")
    return Judged(experiment, _with_figures(verdict, drawn), tuple(collected))


def draw_all(
    judged: Sequence[Judged], target: Path, *, workers: Workers, done: FinishedCallback | None = None
) -> list[Judged]:
    """Draw each row into a folder of its experiment's name in `target`, and name the figures in the verdicts.

    What is drawn is a representative repetition, which is run once more for it, the row's picture over all, and what
    was asked beside it.
    """
    tasks = [task for each in judged for task in _drawings(each, target / each.experiment.name)]
    # The longest first, so that no core is left alone with one at the end.
    tasks.sort(key=lambda task: -task.duration_s)
    count = RunCounter(done)
    count.expect([task.duration_s for task in tasks])
    drawn: dict[tuple[str, str, str], tuple[Figure, ...]] = {}
    for index, figures in workers.run(_draw, [task.draw for task in tasks]):
        drawn[tasks[index].key] = figures
        count.one(tasks[index].duration_s)
    return [_with_drawings(each, drawn, target / each.experiment.name) for each in judged]


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Something to draw: for which experiment and row, and of the row itself ("", "all") or the name of a probe."""

    key: tuple[str, str, str]
    draw: Callable[[], tuple[Figure, ...]]
    duration_s: float = 1.0


def _draw(draw: Callable[[], tuple[Figure, ...]]) -> tuple[Figure, ...]:
    return draw()


def _drawings(judged: Judged, folder: Path) -> Iterator[_Drawing]:
    """Say what is to be drawn of an experiment; a probe that rows share is drawn for the first of them."""
    from nuc_engine.experiments.evidence_figure import draw_probe
    from nuc_engine.experiments.figures import DrawTask, draw_picture, draw_task

    folder.mkdir(parents=True, exist_ok=True)
    name, drawn = judged.experiment.name, set[int]()
    for own in judged.collected:
        row = own.row
        trials = [own.trials[seed] for seed in sorted(own.trials)]
        yield _Drawing((name, row.name, _ALL), partial(draw_picture, row, trials, folder))
        if (shown := representative(trials)) is not None:
            task = partial(draw_task, DrawTask(row, shown, folder))
            yield _Drawing((name, row.name, ""), task, sum(plan.duration_s for plan in row.bouts))
        for probed in judged.probed.get(row.name, ()):
            if id(probed) not in drawn:
                drawn.add(id(probed))
                yield _Drawing((name, row.name, probed.probe.name), partial(draw_probe, probed, row.name, folder))


def _with_drawings(judged: Judged, drawn: Mapping[tuple[str, str, str], tuple[Figure, ...]], folder: Path) -> Judged:
    """Return an experiment with its figures named in the verdict; rows may share them."""
    name = judged.experiment.name
    own = {
        (name, row.name): (*drawn.get((name, row.name, ""), ()), *drawn.get((name, row.name, _ALL), ()))
        for row in judged.experiment.rows
    }
    _share_equal(own, folder)
    verdict = _with_figures(judged.verdict, own)
    of_probe: dict[int, tuple[Figure, ...]] = {}
    rows: list[RowVerdict] = []
    for row in verdict.rows:
        probes = judged.probed.get(row.name, ())
        for probed in probes:
            of_probe.setdefault(id(probed), drawn.get((name, row.name, probed.probe.name), ()))
        pairs = zip(row.evidence, probes, strict=True)
        rows.append(replace(row, evidence=tuple(replace(one, figures=of_probe[id(p)]) for one, p in pairs)))
    return replace(judged, verdict=replace(verdict, rows=tuple(rows)))


def _share_equal(drawn: dict[tuple[str, str], tuple[Figure, ...]], folder: Path) -> None:
    """Keep one file of those that are equal: rows of an experiment may have the same bouts."""
    kept: dict[bytes, tuple[str, str]] = {}
    for key, own in drawn.items():
        figures: list[Figure] = []
        for figure in own:
            path = folder / figure.file
            file, owner = kept.setdefault(path.read_bytes(), (figure.file, key[1]))
            if file == figure.file:
                figures.append(figure)
                continue
            path.unlink()
            figures.append(Figure(file, f"As in row {owner}, with the same bout: {figure.caption}"))
        drawn[key] = tuple(figures)


def representative(trials: Sequence[Trial]) -> Trial | None:
    """Return the first repetition that is as seen, else the first valid one, else one that did not start."""
    for state in ("as seen", "otherwise", "too few", "failed start"):
        for trial in trials:
            if trial.state == state:
                return trial
    return None


def _with_figures(verdict: Verdict, drawn: Mapping[tuple[str, str], tuple[Figure, ...]]) -> Verdict:
    rows = tuple(replace(row, figures=drawn.get((verdict.name, row.name), ())) for row in verdict.rows)
    return replace(verdict, rows=rows)


def _plans(experiment: Experiment) -> list[BoutPlan]:
    return [
        plan
        for row in experiment.rows
        for plans in (row.bouts, row.control.bouts, *(level.bouts for probe in row.probes for level in probe.levels))
        for plan in plans
    ]
