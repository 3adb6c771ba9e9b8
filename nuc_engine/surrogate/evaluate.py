"""Flights of surrogates beside their teacher's: the same episode, with another controller in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from nuc_engine.episode.document import RunConfig, read_run
from nuc_engine.episode.loop import run_steps
from nuc_engine.surrogate.inputs import Array, inputs
from nuc_engine.surrogate.pilot import SYSTEMS, Surrogate, fly

NEAR_M, STRETCH_M = 0.15, 0.05
"""A flight is near its teacher's where it is no further from it than this, root mean square; and the stretch."""
TEACHER, BASELINE = "teacher", "least squares"


@dataclass(frozen=True, slots=True)
class Flown:
    """One flight: who flew what, and what became of it.

    `apart_m` is the root mean square of the distance from the teacher's flight, infinite where the flight ended before
    that one; `off_m` that of the distance from the reference. `beyond` is the share of steps beyond the training data,
    `called_s` when the first was, `lost_s` when it was first further than NEAR_M from the teacher's. None: never.
    """

    config: str
    seed: int
    who: str
    apart_m: float
    off_m: float
    reason: str
    beyond: float
    called_s: float | None
    lost_s: float | None

    @property
    def near(self) -> bool:
        """Whether it is as near its teacher's as it is to be."""
        return self.apart_m <= NEAR_M

    @property
    def called(self) -> bool:
        """Whether it was called beyond the training data before it was lost."""
        return self.called_s is not None and (self.lost_s is None or self.called_s <= self.lost_s)


@dataclass(frozen=True, slots=True)
class Trace:
    """The paths of one episode: time, reference, and for everybody who flew it positions (rows, 3) and marks (rows).

    `logged` are the teacher's rows, as surrogates learn from them.
    """

    config: str
    seed: int
    t_s: Array
    reference: Array
    paths: Mapping[str, tuple[Array, Array]]
    logged: Array


def evaluate(
    surrogates: Mapping[str, Surrogate], documents: Mapping[str, Mapping[str, Any]], seeds: Sequence[int]
) -> Iterator[tuple[list[Flown], Trace]]:
    """Yield what became of every episode: flown by its own controller, which is the teacher, then by each surrogate.

    Raises RunConfigError, and ValueError for a surrogate of another dt.
    """
    for config, document in documents.items():
        for seed in seeds:
            run = read_run(document, SYSTEMS, {"seed": seed})
            for name, surrogate in surrogates.items():
                if surrogate.dt_s != run.dt_s:
                    told = f"expected one of {surrogate.dt_s:g} s"
                    raise ValueError(f"{config}: dt_s is {run.dt_s:g}, but {name} has learned otherwise; {told}")
            teacher = _rows(run)
            found = [_judge(config, seed, TEACHER, run, teacher, teacher)]
            paths: dict[str, tuple[Array, Array]] = {TEACHER: (teacher[:, 1:4], np.zeros(len(teacher)))}
            for name, surrogate in surrogates.items():
                rows = _rows(replace(run, pilot=partial(fly, surrogate)))
                found.append(_judge(config, seed, name, run, rows, teacher))
                paths[name] = rows[:, 1:4], rows[:, 21]
            yield found, Trace(config, seed, teacher[:, 0], teacher[:, 10:13], paths, teacher[:, 1:21])


def _rows(run: RunConfig) -> Array:
    rows: list[tuple[float, ...]] = []
    run_steps(replace(run, every=1), rows.append)
    return np.array(rows)


def _judge(config: str, seed: int, who: str, run: RunConfig, rows: Array, teacher: Array) -> Flown:
    both = min(len(rows), len(teacher))
    apart = np.sqrt(((rows[:both, 1:4] - teacher[:both, 1:4]) ** 2).sum(axis=1))
    off = np.sqrt(((rows[:, 1:4] - rows[:, 10:13]) ** 2).sum(axis=1))
    marks = rows[:, 21] if who != TEACHER else np.zeros(len(rows))
    whole = len(rows) >= len(teacher)
    lost = _first(apart > NEAR_M, run.dt_s)
    if lost is None and not whole:
        lost = both * run.dt_s
    return Flown(
        config,
        seed,
        who,
        float(np.sqrt((apart**2).mean())) if whole else float("inf"),
        float(np.sqrt((off**2).mean())),
        "whole" if whole else f"ended after {(len(rows) - 1) * run.dt_s:g} s",
        float(marks.mean()),
        _first(marks > 0, run.dt_s),
        lost,
    )


def _first(where: Any, dt_s: float) -> float | None:
    return float(np.argmax(where)) * dt_s if where.any() else None


def one_step(surrogate: Surrogate, episodes: Sequence[Array]) -> Array:
    """Return the share of each control's variance (4) that is predicted one step ahead, R2, on logged episodes."""
    x = np.vstack([inputs(episode, surrogate.memory, surrogate.before) for episode in episodes])
    y = np.vstack([episode[:, 16:] for episode in episodes])
    left = ((y - surrogate.control(x)) ** 2).sum(axis=0)
    whole = ((y - y.mean(axis=0)) ** 2).sum(axis=0)
    return 1.0 - left / np.where(whole > 0, whole, 1.0)
