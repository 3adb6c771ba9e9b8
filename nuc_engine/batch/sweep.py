"""A sweep from its plan to one table: what is there already is not run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import cast

from nuc_engine.batch import scratch
from nuc_engine.batch.axes import SEED
from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.journal import RUN, Journal
from nuc_engine.batch.plan import SweepPlan
from nuc_engine.batch.pool import DoneCallback, run_all, run_on_cluster
from nuc_engine.batch.table import check_table, read_description, write_table
from nuc_engine.batch.task import WINDOW_COLUMNS, BoutTask, Cell, row_of
from nuc_engine.recording.manifest import versions

NOT_JUDGED = "not judged"

PARTS = ".parts"
"""Added to the name of the file: the folder with the rows until all are there."""


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What became of a sweep: rows in the file, how many of them were there before, and what was seen.

    `states` counts bouts by state, `outcomes` by window and outcome, `engines` by the version that ran them; all are
    empty when the file was complete already.
    """

    path: Path
    rows: int
    before: int
    states: Mapping[str, int] = field(default_factory=Counter[str])
    outcomes: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Counter[str]])
    engines: Mapping[str, int] = field(default_factory=Counter[str])


def run_sweep(
    plan: SweepPlan,
    out: Path,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    keep: Path | None = None,
    force: bool = False,
    done: DoneCallback | None = None,
) -> SweepResult:
    """Run every bout of a plan that has no row yet, on this machine or on the Dask cluster of an address.

    `keep` is a folder for the data directories; `force` throws away what stands in the place of the file, or was begun
    there. `done` is told rows that are there, those from before included. Raises BulkRefused when the file or its
    folder of rows belong to something else, ItemFailed when a worker died.
    """
    check_table(out)
    total = len(plan)
    description = plan.describe()
    if out.exists() and not force:
        if read_description(out) != description:
            raise BulkRefused(f"{out}: exists, and is not from this sweep; choose another file, or replace it: --force")
        return SweepResult(out, total, total)
    scratch.clear_left_over()
    parts = out.with_name(out.name + PARTS)
    engine = engine_used()
    with Journal(parts, description, afresh=force) as journal:
        before = len(journal.rows)
        missing = _Missing([run for run in range(total) if run not in journal.rows], plan, keep)
        told = None if done is None else partial(_told, done, before, total)
        for index, row in _run_missing(missing, jobs, cluster, told):
            journal.add({RUN: missing.runs[index], "engine": engine, **row})
        states, outcomes, engines = _count(plan, journal)
        write_table(out, columns_of(plan), _rows(plan, journal), description)
        journal.remove()
    return SweepResult(out, total, before, states, outcomes, engines)


def engine_used() -> str:
    """Return version and commit of this engine, as one word for a row."""
    used = versions()
    return f"{used['engine']} ({used['commit']})"


def columns_of(plan: SweepPlan) -> dict[str, str]:
    """Return the columns of a sweep's file, and what each holds (`nuc_engine.batch.table`)."""
    columns = {RUN: "whole number"}
    for axis in plan.axes:
        texts = any(isinstance(value, str) for value in axis.choices)
        columns[axis.name] = "text" if texts else "number"
    columns |= {SEED: "whole number", "state": "text", "reason": "text", "simulated_s": "number"}
    for window in plan.windows:
        columns |= {f"{window.name}.{name}": kind for name, kind in WINDOW_COLUMNS.items()}
    return columns | {"folder": "text", "engine": "text"}


class _Missing(Collection[BoutTask]):
    """The bouts still to be run, each made when its turn comes."""

    def __init__(self, runs: Sequence[int], plan: SweepPlan, keep: Path | None) -> None:
        self.runs, self._plan, self._keep = runs, plan, keep

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[BoutTask]:
        return (self._plan.task(run, self._keep) for run in self.runs)

    def __contains__(self, task: object) -> bool:
        return any(task == other for other in self)


def _run_missing(
    missing: _Missing, jobs: int | None, cluster: str | None, done: DoneCallback | None
) -> Iterator[tuple[int, dict[str, Cell]]]:
    if cluster is None:
        return run_all(row_of, missing, jobs=jobs, done=done)
    return run_on_cluster(row_of, missing, cluster, done=done)


def _rows(plan: SweepPlan, journal: Journal) -> Iterator[dict[str, Cell]]:
    """Yield whole rows, in the order of their numbers."""
    texts = {name for name, kind in columns_of(plan).items() if kind == "text"}
    for row in journal.read():
        run = int(cast(int, row[RUN]))
        point, seed = plan.point(run)
        for axis, value in zip(plan.axes, point, strict=True):
            row[axis.name] = str(value) if axis.name in texts else float(value)
        yield {**row, SEED: seed}


def _count(plan: SweepPlan, journal: Journal) -> tuple[Counter[str], dict[str, Counter[str]], Counter[str]]:
    states: Counter[str] = Counter()
    engines: Counter[str] = Counter()
    outcomes: dict[str, Counter[str]] = {window.name: Counter() for window in plan.windows}
    for row in journal.read():
        states[str(row["state"])] += 1
        engines[str(row["engine"])] += 1
        for name, seen in outcomes.items():
            seen[str(row.get(f"{name}.outcome") or NOT_JUDGED)] += 1
    return states, outcomes, engines


def _told(done: DoneCallback, before: int, total: int, finished: int, _: int) -> None:
    done(before + finished, total)
