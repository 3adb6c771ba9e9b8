"""Whole experiments from the first bout to verdicts and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from nuc_engine.bout import BoutRefused, prepare_bout
from nuc_engine.bulk.pool import Workers
from nuc_engine.experiments.course import Collected, file_stem, run_rows
from nuc_engine.experiments.protocol import BoutPlan, Experiment, Row, Trial
from nuc_engine.experiments.sources import find_sources
from nuc_engine.experiments.verdict import Figure, Verdict, judge_rows

Told = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and of how much."""


def check(experiments: Sequence[Experiment]) -> None:
    """Check the documents of all bouts before any is run. Raises BoutRefused with every reason, or NotFound."""
    refused: dict[str, None] = {}
    plans = {(p.config, p.script, tuple(p.values.items())): p for e in experiments for p in _plans(e)}
    for plan in plans.values():
        try:
            prepare_bout(plan.config, plan.script, values=plan.values)
        except BoutRefused as error:
            refused |= dict.fromkeys(str(error).splitlines())
    if refused:
        raise BoutRefused("\n".join(refused))


def conduct(
    experiments: Sequence[Experiment],
    repetitions: int,
    seed: int,
    *,
    workers: Workers,
    target: Path,
    keep: Path | None = None,
    figures: bool = True,
    done: Told,
) -> list[Verdict]:
    """Run all rows of some experiments, judge them, and draw them into a folder of each experiment's name in `target`.

    `figures` need matplotlib. With `keep` every bout stays below a folder of the experiment's name there. Raises
    ItemFailed as `run_rows` does.
    """
    owners = [(experiment, row) for experiment in experiments for row in experiment.rows]
    folders = {id(row): None if keep is None else keep / e.name / "bouts" / file_stem(row.name) for e, row in owners}

    def place(row: Row, seed: int, control: bool) -> Path | None:
        folder = folders[id(row)]
        return None if folder is None else folder / f"{seed}{'-control' if control else ''}"

    collected = run_rows(
        [row for _, row in owners],
        repetitions,
        seed,
        workers=workers,
        keep=place,
        done=lambda count, total: done("repetitions", count, total),
    )
    verdicts: list[Verdict] = []
    for experiment in experiments:
        own = [each for (owner, _), each in zip(owners, collected, strict=True) if owner is experiment]
        verdicts.append(judge_rows(experiment, own, repetitions, seed, find_sources(_plans(experiment))))
    pictures = _draw(experiments, owners, collected, workers, target, done) if figures else {}
    return [
        replace(v, rows=tuple(replace(row, figures=pictures.get((v.name, row.name), ())) for row in v.rows))
        for v in verdicts
    ]


def representative(trials: Sequence[Trial]) -> Trial | None:
    """Return the first repetition that is as seen, else the first valid one, else one that did not start."""
    for state in ("as seen", "otherwise", "failed start"):
        for trial in trials:
            if trial.state == state:
                return trial
    return None


def _draw(
    experiments: Sequence[Experiment],
    owners: Sequence[tuple[Experiment, Row]],
    collected: Sequence[Collected],
    workers: Workers,
    target: Path,
    done: Told,
) -> dict[tuple[str, str], tuple[Figure, ...]]:
    from nuc_engine.experiments.figures import DrawTask, draw_picture, draw_task

    for experiment in experiments:
        (target / experiment.name).mkdir(parents=True, exist_ok=True)
    drawn: dict[tuple[str, str], tuple[Figure, ...]] = {}
    keys: list[tuple[str, str]] = []
    tasks: list[DrawTask] = []
    for (experiment, row), each in zip(owners, collected, strict=True):
        trials = [each.trials[seed] for seed in sorted(each.trials)]
        key = experiment.name, row.name
        drawn[key] = draw_picture(row, trials, target / experiment.name)
        shown = representative(trials)
        if shown is not None:
            keys.append(key)
            tasks.append(DrawTask(row, shown, target / experiment.name))
    for index, figures in workers.run(draw_task, tasks, lambda count, total: done("figures", count, total)):
        drawn[keys[index]] = (*figures, *drawn[keys[index]])
    return drawn


def _plans(experiment: Experiment) -> list[BoutPlan]:
    return [plan for row in experiment.rows for plan in (*row.bouts, *row.control.bouts)]
