"""From logged episodes to a surrogate, with episodes that begin where it went.

One-step errors of a fitted controller say nothing of where it flies, since it comes into states that its teacher never
came into. So it is flown, and the teacher is started from states that it visited, against the reference that it had
there (after Ross, Gordon and Bagnell 2011); the logs of these episodes are learned from too. The teacher is not asked
anything but to fly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from nuc_engine.episode.document import RunConfig, read_run
from nuc_engine.episode.loop import run_steps
from nuc_engine.flight.appendix import STATE
from nuc_engine.surrogate.cover import cover
from nuc_engine.surrogate.inputs import ERRORS, Array, errors, inputs
from nuc_engine.surrogate.network import fit_layers, least_squares
from nuc_engine.surrogate.pilot import SYSTEMS, Surrogate, fly

LONGEST_S = 2.0
"""How long an episode lasts that begins where a surrogate went."""
REACH = 2.0
"""How far from training data they may begin, in radii of their cover."""
_MOST_ROWS = 60_000
"""Rows the cover is chosen from."""


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How a surrogate is fitted: its seed, steps of memory, units of each layer, steps of Adam, rows that are kept."""

    seed: int = 0
    memory: int = 8
    hidden: tuple[int, ...] = (64, 64)
    steps: int = 10_000
    cover: int = 600


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Rounds of flying and starting: surrogates' flights a round, and episodes started from each."""

    rounds: int = 0
    flights: int = 20
    starts: int = 5


@dataclass(frozen=True, slots=True)
class Lessons:
    """What is learned from: rows (rows, 20) of each episode, dt, the sum of the teacher's table, and all in words."""

    episodes: Sequence[Array]
    dt_s: float
    teacher_sha256: str
    told: str
    started: int = 0

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(map(len, self.episodes))

    def with_more(self, episodes: Sequence[Array]) -> Lessons:
        """Return these and the episodes that were started."""
        return replace(self, episodes=[*self.episodes, *episodes], started=self.started + len(episodes))

    def training_sum(self) -> str:
        """Return the sha256 of all rows, episode by episode."""
        whole = hashlib.sha256()
        for episode in self.episodes:
            whole.update(episode.astype("<f8").tobytes())
        return whole.hexdigest()


def fit_surrogate(lessons: Lessons, options: FitOptions) -> Surrogate:
    """Return a surrogate fitted to episodes. Raises ValueError where there are too few rows for the numbers it has."""
    rows, unknown = lessons.rows, len(ERRORS) * options.memory + 5
    if rows < 2 * unknown:
        raise ValueError(f"{rows} rows; expected at least {2 * unknown} for {options.memory} steps of memory")
    before = np.mean([episode[0, 16:] for episode in lessons.episodes], axis=0)
    x = np.vstack([inputs(episode, options.memory, before) for episode in lessons.episodes])
    y = np.vstack([episode[:, 16:] for episode in lessons.episodes])
    weights, biases = least_squares(x, y)
    left = y - (x @ weights + biases)
    layers = fit_layers(x, left, options.hidden, options.seed, options.steps) if options.hidden else []
    found = np.vstack([errors(episode) for episode in lessons.episodes])
    some = np.random.default_rng(options.seed).permutation(len(found))[:_MOST_ROWS]
    told = (
        f"{lessons.told}; {lessons.started} episodes started from states that surrogates visited; seed {options.seed}"
    )
    return Surrogate(
        lessons.dt_s,
        options.memory,
        before,
        (weights, biases),
        layers,
        cover(found[np.sort(some)], options.cover),
        lessons.training_sum(),
        lessons.teacher_sha256,
        told,
    )


def aggregate(
    lessons: Lessons,
    options: FitOptions,
    rounds: Aggregation,
    documents: Sequence[Mapping[str, Any]],
    first_seed: int,
    done: Callable[[int, int], object] = lambda _done, _of: None,
) -> tuple[Surrogate, Lessons]:
    """Return a surrogate after so many rounds, and all it learned from; `done` is told how many fits of how many.

    It flies the documents, with their teachers' places taken, and seeds from the first one on.
    """
    rng = np.random.default_rng([options.seed, 1])
    surrogate = fit_surrogate(lessons, options)
    for number in range(rounds.rounds):
        done(number + 1, rounds.rounds + 1)
        more: list[Array] = []
        for _ in range(rounds.flights):
            run = read_run(documents[first_seed % len(documents)], SYSTEMS, {"seed": first_seed})
            more += _started(run, surrogate, rounds.starts, rng)
            first_seed += 1
        lessons = lessons.with_more(more)
        surrogate = fit_surrogate(lessons, options)
    done(rounds.rounds + 1, rounds.rounds + 1)
    return surrogate, lessons


def flown(run: RunConfig) -> Array:
    """Return the rows (rows, 20) of an episode, every step of it."""
    rows: list[tuple[float, ...]] = []
    run_steps(replace(run, every=1), rows.append)
    return np.array([row[1:21] for row in rows])


def _started(run: RunConfig, surrogate: Surrogate, count: int, rng: np.random.Generator) -> list[Array]:
    """Return episodes of the run's teacher, from states that the surrogate visited in the same episode.

    Half of these are among the ones furthest from its training data, the others any. States that it came into long
    after it was lost teach nothing, and make the training data end nowhere: none is further than REACH radii.
    """
    rows = flown(replace(run, pilot=partial(fly, surrogate)))
    far = np.array([surrogate.cover.distance(one) for one in errors(rows)])
    near = np.flatnonzero(far <= REACH * surrogate.cover.radius)
    if not len(near):
        return []
    furthest = near[np.argsort(far[near])[-max(len(near) // 20, 1) :]]
    steps = {*rng.choice(furthest, count // 2).tolist(), *rng.choice(near, count - count // 2).tolist()}
    return [flown(start_from(run, rows[step, : len(STATE)], step)) for step in sorted(steps)]


def start_from(run: RunConfig, state: Array, step: int) -> RunConfig:
    """Return the episode that begins in a state, against the reference that a run has from a step on."""
    x, y, z, vx, vy, vz, *attitude = state.tolist()
    document = {key: value for key, value in run.resolved.items() if key != "random"}
    document["initial"] = {"position_m": [x, y, z], "velocity_m_s": [vx, vy, vz], "attitude_rad": attitude}
    document["reference"] = {"kind": "later", "by_s": step * run.dt_s, "of": run.resolved["reference"]}
    lasts = min(round(LONGEST_S / run.dt_s), run.steps)
    document["timing"] = {"dt_s": run.dt_s, "duration_s": lasts * run.dt_s}
    return read_run(document, SYSTEMS)
