"""Many episodes of RunConfigs: one row each in a table, and, for a dataset, all rows of all logs in one file.

Episodes are run in blocks of `BLOCK`, numbered through: every seed of the first point of the first configuration, then
of its next point. A block is in the journal when all of it is done; what was cut off is run again.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from nuc_engine.batch.axes import SEED, Axis, Sampling, draw_points
from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.journal import RUN, Journal
from nuc_engine.batch.pool import DoneCallback, run_all, run_on_cluster
from nuc_engine.batch.sweep import PARTS, SweepResult, engine_used
from nuc_engine.batch.table import check_table, read_description, write_table
from nuc_engine.batch.task import REFUSED, Cell, Value
from nuc_engine.bout.episode import read_document
from nuc_engine.episode.document import RunConfig, RunConfigError, content_sum, read_run
from nuc_engine.episode.loop import run_steps
from nuc_engine.machine.locations import find_configuration
from nuc_engine.surrogate.pilot import SYSTEMS

BLOCK = 50
_PLACE = ("x_m", "y_m", "z_m")
COLUMNS: Mapping[str, str] = {
    "state": "text",
    "reason": "text",
    "steps": "whole number",
    "rows": "whole number",
    "limited": "whole number",
    "rms_error_m": "number",
    "max_error_m": "number",
    "last_error_m": "number",
    "reference": "text",
    "reference_sha256": "text",
    "content": "text",
    "rows_sha256": "text",
}
"""Told of each episode. `reference` and `content` are sums of what was resolved; content of all but the seed.

`reference_sha256` is of the references in its log, `rows_sha256` of all of that.
"""


@dataclass(frozen=True, slots=True)
class EpisodeBlock:
    """Some episodes: their numbers, and for each the document and what of it is replaced. `part` takes their logs."""

    runs: tuple[int, ...]
    episodes: tuple[tuple[Mapping[str, Any], Mapping[str, Value]], ...]
    part: Path | None = None

    def __str__(self) -> str:
        """Return what people call it."""
        return f"episodes {self.runs[0]} to {self.runs[-1]}"


@dataclass(frozen=True, slots=True)
class EpisodesPlan:
    """Checked episodes of RunConfigs, by their names."""

    documents: Mapping[str, Mapping[str, Any]]
    axes: tuple[Axis, ...]
    sampling: Sampling
    seeds: tuple[int, ...]
    changes: Mapping[str, Value] = field(default_factory=dict[str, Value])

    @property
    def points(self) -> tuple[tuple[Value, ...], ...]:
        """The points, one value per axis each."""
        return draw_points(self.axes, self.sampling)

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the rows, as plain data for JSON."""
        return {
            "runs": dict(self.documents),
            "changes": dict(self.changes),
            "vary": [axis.describe() for axis in self.axes],
            "sampling": asdict(self.sampling),
            "points": None if self.sampling.kind == "grid" else content_sum(self.points),
            "seeds": list(self.seeds),
        }


class _Episodes:
    """The episodes of a plan by number: name, values of the axes, seed."""

    def __init__(self, plan: EpisodesPlan) -> None:
        self.plan, self.points, self.names = plan, plan.points, list(plan.documents)
        self.each = len(self.points) * len(plan.seeds)

    def __len__(self) -> int:
        return len(self.names) * self.each

    def at(self, run: int) -> tuple[str, dict[str, Value], int]:
        name, rest = self.names[run // self.each], run % self.each
        values = self.points[rest // len(self.plan.seeds)]
        point = dict(zip((axis.name for axis in self.plan.axes), values, strict=True))
        return name, point, self.plan.seeds[rest % len(self.plan.seeds)]

    def block(self, number: int, parts: Path | None) -> EpisodeBlock:
        runs = tuple(range(number * BLOCK, min((number + 1) * BLOCK, len(self))))
        told = [self.at(run) for run in runs]
        changes = [{**self.plan.changes, **point, SEED: seed} for _, point, seed in told]
        episodes = tuple(
            (self.plan.documents[name], change) for (name, _, _), change in zip(told, changes, strict=True)
        )
        return EpisodeBlock(runs, episodes, None if parts is None else part_file(parts, number))


def part_file(parts: Path, number: int) -> Path:
    """Return the file with the logs of a block."""
    return parts / f"{number:06d}.f64"


def make_episodes(
    configs: Sequence[str],
    axes: Sequence[Axis] = (),
    sampling: Sampling | None = None,
    seeds: Sequence[int] = (0,),
    duration_s: float | None = None,
) -> EpisodesPlan:
    """Check what is asked for. Raises BulkRefused with all that is wrong, NotFound."""
    folders = [find_configuration(config) for config in configs]
    names = [folder.resolve().name for folder in folders]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BulkRefused(f"{', '.join(twice)}: given more than once")
    changes: dict[str, Value] = {} if duration_s is None else {"timing.duration_s": duration_s}
    documents: dict[str, Mapping[str, Any]] = {}
    problems: dict[str, None] = {}
    for name, folder in zip(names, folders, strict=True):
        try:
            documents[name] = read_document(folder)
        except RunConfigError as error:
            problems |= dict.fromkeys(f"{name}: {problem}" for problem in error.problems)
            continue
        for tried in ({}, *({axis.name: end} for axis in axes for end in axis.ends)):
            try:
                read_run(documents[name], SYSTEMS, {**changes, **tried})
            except RunConfigError as error:
                problems |= dict.fromkeys(f"{name}: {problem}" for problem in error.problems)
    if problems:
        raise BulkRefused("\n".join(problems))
    return EpisodesPlan(documents, tuple(axes), sampling or Sampling(), tuple(seeds), changes)


def run_block(block: EpisodeBlock) -> list[dict[str, Cell]]:
    """Run the episodes of a block; return a row for each, and leave their logs in its part."""
    told: list[dict[str, Cell]] = []
    logs: list[array[float]] = []
    for run, (document, changes) in zip(block.runs, block.episodes, strict=True):
        numbers = array("d")
        try:
            config = read_run(document, SYSTEMS, changes)
        except RunConfigError as error:
            told.append({RUN: run, "state": REFUSED, "reason": "; ".join(error.problems), "steps": 0, "rows": 0})
        else:
            told.append({RUN: run, **_row(config, numbers)})
        logs.append(numbers)
    if block.part is not None:
        draft = block.part.with_suffix(".new")
        with draft.open("wb") as file:
            for numbers in logs:
                file.write(np.asarray(numbers).astype("<f8").tobytes())
        draft.replace(block.part)
    return told


def _row(config: RunConfig, numbers: array[float]) -> dict[str, Cell]:
    end = run_steps(config, numbers.extend)
    columns = config.columns
    rows = np.frombuffer(numbers).reshape(-1, len(columns))
    at = [columns.index(name) for name in _PLACE]
    wanted = [columns.index(f"ref_{name}") for name in _PLACE]
    followed = [columns.index(f"ref_{name}") for name in config.system.reference]
    with np.errstate(over="ignore"):
        error = np.sqrt(((rows[:, wanted] - rows[:, at]) ** 2).sum(axis=1))
        rms = float(np.sqrt((error**2).mean()))
    return {
        "state": end.state,
        "reason": end.reason,
        "steps": end.steps,
        "rows": len(rows),
        "limited": end.limited,
        "rms_error_m": _finite(rms),
        "max_error_m": _finite(float(error.max())),
        "last_error_m": _finite(float(error[-1])),
        "reference": content_sum(config.resolved["reference"]),
        "reference_sha256": hashlib.sha256(rows[:, followed].astype("<f8").tobytes()).hexdigest(),
        "content": content_sum({key: value for key, value in config.resolved.items() if key != SEED}),
        "rows_sha256": hashlib.sha256(rows.astype("<f8").tobytes()).hexdigest(),
    }


def _finite(number: float) -> float | None:
    return number if np.isfinite(number) else None


def columns_of(plan: EpisodesPlan) -> dict[str, str]:
    """Return the columns of the table, and what each holds (`nuc_engine.batch.table`)."""
    varied = {
        axis.name: "text" if any(isinstance(value, str) for value in axis.choices) else "number" for axis in plan.axes
    }
    return {RUN: "whole number", "config": "text", **varied, SEED: "whole number", **COLUMNS, "engine": "text"}


def run_missing(
    plan: EpisodesPlan,
    journal: Journal,
    *,
    parts: Path | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    done: DoneCallback | None = None,
) -> None:
    """Run every block that is not whole in a journal; with `parts`, blocks leave their logs in that folder."""
    episodes = _Episodes(plan)
    engine = engine_used()
    total = len(episodes)
    blocks = range((total + BLOCK - 1) // BLOCK)
    whole = {number for number in blocks if all(run in journal.rows for run in episodes.block(number, None).runs)}
    if parts is not None:
        whole = {number for number in whole if part_file(parts, number).is_file()}
    missing = [number for number in blocks if number not in whole]
    items = [episodes.block(number, parts) for number in missing]
    start = partial(run_all, jobs=jobs) if cluster is None else partial(run_on_cluster, address=cluster)
    finished = total - sum(len(item.runs) for item in items)
    for _, told in start(run_block, items):
        journal.add_all([{"engine": engine, **row} for row in told])
        finished += len(told)
        if done is not None:
            done(finished, total)


def rows_of(plan: EpisodesPlan, journal: Journal) -> Iterator[dict[str, Cell]]:
    """Yield whole rows of the table, in the order of their numbers."""
    episodes = _Episodes(plan)
    texts = {name for name, kind in columns_of(plan).items() if kind == "text"}
    for row in journal.read():
        name, point, seed = episodes.at(int(cast(int, row[RUN])))
        values = {key: str(value) if key in texts else float(value) for key, value in point.items()}
        yield {**row, "config": name, **values, SEED: seed}


def sweep_episodes(
    plan: EpisodesPlan,
    out: Path,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    force: bool = False,
    done: DoneCallback | None = None,
) -> SweepResult:
    """Run every episode of a plan into a table, as `nuc_engine.batch.sweep.run_sweep` does with bouts."""
    check_table(out)
    description, total = plan.describe(), len(_Episodes(plan))
    if out.exists() and not force:
        if read_description(out) != json.loads(json.dumps(description)):
            raise BulkRefused(f"{out}: exists, and is not from this sweep; choose another file, or replace it: --force")
        return SweepResult(out, total, total)
    with Journal(out.with_name(out.name + PARTS), description, afresh=force) as journal:
        before = len(journal.rows)
        run_missing(plan, journal, jobs=jobs, cluster=cluster, done=done)
        states = Counter(str(row["state"]) for row in journal.read())
        engines = Counter(str(row["engine"]) for row in journal.read())
        write_table(out, columns_of(plan), rows_of(plan, journal), description)
        journal.remove()
    return SweepResult(out, total, before, states, {}, engines)


def read_part(path: Path, columns: int) -> npt.NDArray[np.float64]:
    """Return the rows of a block's logs."""
    return np.fromfile(path, "<f8").reshape(-1, columns)
