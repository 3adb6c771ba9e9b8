"""Experiments beside a row that came out otherwise, or not firmly as seen: one thing varied, over seeds, for why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from nuc_engine.batch.pool import Workers
from nuc_engine.experiments.course import FinishedCallback, RunCounter
from nuc_engine.experiments.protocol import Probe
from nuc_engine.experiments.trials import Aborted, watch_plan
from nuc_engine.experiments.verdict import Evidence, EvidenceLevel, EvidenceNumber

SHARE = "(share)"
"""How the name of a number ends that is 0 or 1 in each repetition."""


@dataclass(frozen=True, slots=True)
class ProbeTask:
    """One repetition of a probe at one of its levels."""

    probe: Probe
    level: int
    seed: int

    def __str__(self) -> str:
        return f"{self.probe.name}, level {self.level}, seed {self.seed}"


@dataclass(slots=True)
class Probed:
    """What came of a probe: for each level the numbers of every repetition that started, by seed."""

    probe: Probe
    levels: list[dict[int, Mapping[str, float]]] = field(default_factory=list[dict[int, Mapping[str, float]]])

    def __post_init__(self) -> None:
        """Make room for every level."""
        self.levels = self.levels or [{} for _ in self.probe.levels]

    @property
    def names(self) -> tuple[str, ...]:
        """The numbers there are, in order."""
        return tuple(dict.fromkeys(name for level in self.levels for found in level.values() for name in found))

    def values(self, level: int, name: str) -> list[float]:
        """Return a number's values at a level, in the order of the seeds; repetitions without it are left out."""
        found = [self.levels[level][seed].get(name, math.nan) for seed in sorted(self.levels[level])]
        return [value for value in found if math.isfinite(value)]


def run_probe_task(task: ProbeTask) -> Mapping[str, float]:
    """Run one repetition at one level; nothing where the leg did not start, or a bout broke off."""
    try:
        seen = {plan.label: watch_plan(plan, task.seed) for plan in task.probe.levels[task.level].bouts}
    except Aborted:
        return {}
    return task.probe.measure(seen)


def run_probes(
    probes: Sequence[Probe], seeds: Sequence[int], *, workers: Workers, done: FinishedCallback | None = None
) -> list[Probed]:
    """Run some probes, each from its own first seed on, or else from its row's.

    A probe that several rows ask is run once. Raises ItemFailed as `run_rows` does.
    """
    keys = [(id(probe), first_seed(probe, seed)) for probe, seed in zip(probes, seeds, strict=True)]
    found = {key: Probed(probe) for key, probe in zip(keys, probes, strict=True)}
    places = [
        (each, level, first + k)
        for (_, first), each in found.items()
        for level in range(len(each.probe.levels))
        for k in range(each.probe.repetitions)
    ]
    # The longest first, so that no core is left alone with one at the end.
    places.sort(key=lambda place: -_duration_s(place[0].probe, place[1]))
    tasks = [ProbeTask(each.probe, level, number) for each, level, number in places]
    count = RunCounter(done)
    count.expect([_duration_s(each.probe, level) for each, level, _ in places])
    for index, numbers in workers.run(run_probe_task, tasks):
        each, level, number = places[index]
        each.levels[level][number] = numbers
        count.one(_duration_s(each.probe, level))
    return [found[key] for key in keys]


def first_seed(probe: Probe, seed: int) -> int:
    """Return the first seed of a probe: its own, or that of its row."""
    return seed if probe.seed is None else probe.seed


def _duration_s(probe: Probe, level: int) -> float:
    return sum(plan.duration_s for plan in probe.levels[level].bouts)


def evidence(probed: Probed, seed: int) -> Evidence:
    """Return what came of a probe, over its repetitions."""
    return Evidence(
        name=probed.probe.name,
        quantity=probed.probe.quantity,
        as_is=probed.probe.as_is,
        repetitions=probed.probe.repetitions,
        seed=first_seed(probed.probe, seed),
        levels=tuple(
            EvidenceLevel(
                level.label,
                level.value,
                sum(bool(found) for found in probed.levels[k].values()),
                {name: _number(name, values) for name in probed.names if (values := probed.values(k, name))},
            )
            for k, level in enumerate(probed.probe.levels)
        ),
    )


def _number(name: str, values: Sequence[float]) -> EvidenceNumber:
    middle = fmean(values) if name.endswith(SHARE) else median(values)
    return EvidenceNumber(middle, min(values), max(values), len(values))
