"""All repetitions of some rows, on all cores; those that are not valid are made up for with new seeds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nuc_engine.batch.pool import Workers
from nuc_engine.experiments.protocol import NOT_VALID, TableRow, Trial
from nuc_engine.experiments.sharing import Bundle, Shared, bundles
from nuc_engine.experiments.trials import Task, run_task

Keep = Callable[[TableRow, int, bool], Path | None]
"""Row, seed and whether it is the control -> where the bouts of a repetition are kept, None for nowhere."""

Heard = Callable[[Task, Trial], object]
"""Told of a repetition when it has ended."""

FinishedCallback = Callable[[int, int, float], None]
"""Told how many repetitions are finished, of how many in all, and what share of the simulated time these are.

The whole grows when some are not valid.
"""


@dataclass(slots=True)
class RunCounter:
    """Counts what is finished, by number and by simulated time, and tells it."""

    done: FinishedCallback | None
    finished: int = 0
    total: int = 0
    finished_s: float = 0.0
    total_s: float = 0.0

    def expect(self, durations_s: Sequence[float]) -> None:
        """Take how long those are that come now."""
        self.total += len(durations_s)
        self.total_s += sum(durations_s)

    def one(self, duration_s: float) -> None:
        """Take that one of them is finished."""
        self.finished += 1
        self.finished_s += duration_s
        if self.done is not None:
            self.done(self.finished, self.total, min(1.0, self.finished_s / self.total_s))


@dataclass(slots=True)
class Collected:
    """The repetitions of one row so far, by seed; `seed` is the first of them."""

    row: TableRow
    trials: dict[int, Trial] = field(default_factory=dict[int, Trial])
    control: dict[int, Trial] = field(default_factory=dict[int, Trial])
    seed: int = 0

    def missing(self, repetitions: int) -> int:
        """Return how many more repetitions are to be run: until so many are valid, or twice as many in all.

        A bout that broke off is not made up for: it counts against the row.
        """
        valid = sum(trial.state not in NOT_VALID for trial in self.trials.values())
        return max(0, min(repetitions - valid, 2 * repetitions - len(self.trials)))


def file_stem(name: str) -> str:
    """Return a row's name as (the beginning of) a file name."""
    return re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-.") or "row"


def nowhere(row: TableRow, seed: int, control: bool) -> None:
    """Keep no bout."""
    del row, seed, control


def unheard(task: Task, trial: Trial) -> None:
    """Tell nobody of a repetition."""
    del task, trial


def run_rows(
    rows: Sequence[TableRow],
    repetitions: int,
    seeds: Sequence[int],
    *,
    workers: Workers,
    keep: Keep = nowhere,
    done: FinishedCallback | None = None,
    heard: Heard = unheard,
) -> list[Collected]:
    """Run so many valid repetitions of every row, and its control with the same seeds; `seeds` are the rows' first.

    `heard` is told of each repetition when it has ended.

    What comes out depends on the seeds alone, not on the order in which repetitions end. Raises ItemFailed when a bout
    could not start, or could not be judged, by a fault of the row or of this program.
    """
    found = [Collected(row, seed=seed) for row, seed in zip(rows, seeds, strict=True)]
    count = RunCounter(done)
    tasks = _first(found, repetitions, keep)
    while tasks:
        together = _together([task for _, task in tasks])
        # Bouts that repetitions share are simulated once, and count once.
        count.expect([each.duration_s / len(each.places) for each in together for _ in each.places])
        for index, trials in workers.run(run_tasks, [[tasks[place][1] for place in each.places] for each in together]):
            own = together[index]
            for place, trial in zip(own.places, trials, strict=True):
                collected, task = tasks[place]
                (collected.control if task.control else collected.trials)[task.seed] = trial
                heard(task, trial)
                count.one(own.duration_s / len(own.places))
        tasks = [
            (collected, _task(collected.row, collected.seed + len(collected.trials) + k, False, keep))
            for collected in found
            for k in range(collected.missing(repetitions))
        ]
    return found


def run_tasks(tasks: Sequence[Task]) -> list[Trial]:
    """Run repetitions that share bouts; the form in which worker processes are asked for them."""
    if len(tasks) == 1:
        return [run_task(tasks[0])]
    bouts = Shared([plan for task in tasks for plan in task.bouts], tasks[0].seed)
    return [run_task(task, bouts) for task in tasks]


def _together(tasks: Sequence[Task]) -> list[Bundle]:
    """Return which tasks, by their places, are run one after the other, the longest first.

    So no core is left alone with one at the end. A repetition that is kept has bouts of its own.
    """
    free = [place for place, task in enumerate(tasks) if task.keep is None]
    found = [
        Bundle(tuple(free[k] for k in each.places), each.duration_s)
        for each in bundles([(tasks[place].bouts, tasks[place].seed) for place in free])
    ]
    found += [Bundle((place,), task.duration_s) for place, task in enumerate(tasks) if task.keep is not None]
    return sorted(found, key=lambda each: -each.duration_s)


def _first(found: Sequence[Collected], repetitions: int, keep: Keep) -> list[tuple[Collected, Task]]:
    tasks: list[tuple[Collected, Task]] = []
    for collected in found:
        row, seed = collected.row, collected.seed
        tasks += [(collected, _task(row, seed + k, False, keep)) for k in range(repetitions)]
        controls = min(row.control.repetitions, repetitions)
        tasks += [(collected, _task(row, seed + k, True, keep)) for k in range(controls)]
    return tasks


def _task(row: TableRow, seed: int, control: bool, keep: Keep) -> Task:
    return Task(row, seed, control, keep(row, seed, control))
