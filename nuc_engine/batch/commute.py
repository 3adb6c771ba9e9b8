"""Which changesets of a script may come in either order: by what they write, and by what the leg does in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations

from nuc_engine.analysis.outcome import CYCLIC
from nuc_engine.batch.changeset import changeset_times, entries_at, swapped
from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.minimise import BEFORE, KEPT_SHARE, Kinds, RunAll, ScriptTrial
from nuc_engine.batch.task import WatchWindow
from nuc_engine.model.planning import stored_values
from nuc_engine.model.values import same_value

BETWEEN, FINAL = "between", "final"


@dataclass(frozen=True, slots=True)
class OrderOutcomes:
    """One order of two changesets, over the seeds whose bouts started well: what the leg did between and after."""

    between: Mapping[str, int]
    final: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Commuting:
    """Two changesets, by their times in the script.

    `shared` are the HDSOs both write, with different values: with none, the values in force in the end are the same in
    either order (`by_values`). `wanted` is what the given order most often leads to, and `by_outcome` says whether the
    other one leads there as often (at least nine times in ten of that). `failed_starts` count nowhere else.
    """

    one_s: Decimal
    other_s: Decimal
    shared: tuple[str, ...]
    by_values: bool
    wanted: str
    by_outcome: bool
    given: OrderOutcomes
    reverse: OrderOutcomes
    failed_starts: int


def commute(trial: ScriptTrial, run_all: RunAll, *, length_s: float = 20.0) -> tuple[Commuting, ...]:
    """Compare both orders of every two changesets after the start.

    Raises BulkRefused for a script with fewer than two, or where the leg steps with no seed before them.
    """
    times = [time for time in changeset_times(trial.script) if time > 0]
    if len(times) < 2:
        raise BulkRefused(f"the script writes at {', '.join(map(str, times)) or 'no time'} s; expected two changesets")
    pairs = list(combinations(times, 2))
    lists = []
    for one, other in pairs:
        windows = _windows(times, one, other, length_s)
        lists += [trial.tasks(trial.script, windows), trial.tasks(swapped(trial.script, one, other), windows)]
    kinds = run_all([task for tasks in lists for task in tasks])
    size = len(trial.seeds)
    per_list = [kinds[k * size : (k + 1) * size] for k in range(len(lists))]
    return tuple(
        _compare(trial, pair, given, reverse)
        for pair, given, reverse in zip(pairs, per_list[0::2], per_list[1::2], strict=True)
    )


def shared_names(trial: ScriptTrial, one: Decimal, other: Decimal) -> tuple[str, ...]:
    """Return the names of the HDSOs that two changesets leave with different values, in order of the first."""
    plan, ids = trial.prepared.plan, trial.prepared.model.ids
    last = [
        {entry.hdso.index: stored_values(entry.hdso, entry.mod.data, ids) for entry in entries}
        for entries in (entries_at(trial.script, plan, time) for time in (one, other))
    ]
    both = (plan.hdsos[index] for index in last[0] if index in last[1])
    return tuple(hdso.name for hdso in both if not same_value(hdso, last[0][hdso.index], last[1][hdso.index]))


def _windows(times: Sequence[Decimal], one: Decimal, other: Decimal, length_s: float) -> tuple[WatchWindow, ...]:
    later = [float(time) for time in times if time > other]
    between_s = min(float(time) for time in times if time > one)
    earlier = [float(time) for time in times if time < one]
    return (
        WatchWindow(BEFORE, max(earlier, default=0.0), float(one)),
        WatchWindow(BETWEEN, float(one), between_s),
        WatchWindow(FINAL, float(other), min([float(other) + length_s, *later])),
    )


def _compare(
    trial: ScriptTrial, pair: tuple[Decimal, Decimal], given: Sequence[Kinds], reverse: Sequence[Kinds]
) -> Commuting:
    started = [k for k, seen in enumerate(given) if seen[BEFORE] in CYCLIC]
    if not started:
        raise BulkRefused(f"the leg does not step before {pair[0]} s with any seed")
    one, other = _order(given, started), _order(reverse, started)
    wanted = max(one.final, key=lambda kind: one.final[kind])
    shared = shared_names(trial, *pair)
    return Commuting(
        one_s=pair[0],
        other_s=pair[1],
        shared=shared,
        by_values=not shared,
        wanted=wanted,
        by_outcome=other.final.get(wanted, 0) >= KEPT_SHARE * one.final[wanted],
        given=one,
        reverse=other,
        failed_starts=len(given) - len(started),
    )


def _order(kinds: Sequence[Kinds], started: Sequence[int]) -> OrderOutcomes:
    return OrderOutcomes(Counter(kinds[k][BETWEEN] for k in started), Counter(kinds[k][FINAL] for k in started))
