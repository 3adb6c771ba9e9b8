"""Which entries of a changeset it needs: each one and each pair is left out, and what the leg does then is looked at.

Section 7.4.3 tells how this was done by hand, one entry after the other, and names its limit: one by one is not
exhaustive. So pairs are tested too: two entries may each be replaceable by the other, or belong together. And all of it
over seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations
from typing import Any, Literal, get_args

from nuc_engine.analysis.criteria import OutcomeKind
from nuc_engine.analysis.outcome import CYCLIC
from nuc_engine.batch.changeset import NumberedWrite, changeset_times, entries_at, without
from nuc_engine.batch.criterion import wilson
from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.inputs import BoutInputs
from nuc_engine.batch.journal import RUN, Journal
from nuc_engine.batch.pool import DoneCallback, Workers
from nuc_engine.batch.task import BoutTask, Cell, WatchWindow, see
from nuc_engine.bout.run import Prepared
from nuc_engine.model.planning import stored_values
from nuc_engine.model.values import Values, initial_values, same_value
from sccils_schemas.documents import HdsoScript
from sccils_schemas.numbers import nanoseconds
from sccils_schemas.writer import write

BEFORE, AFTER = "before", "after"
NOT_JUDGED = "not judged"

EntryEffect = Literal["kept", "weakened", "lost"]
EntryVerdict = Literal["necessary", "helps", "unnecessary", "one of two", "only together", "no change"]

KEPT_SHARE, LOST_SHARE = 0.9, 0.5
"""Of the bouts in which the whole changeset works: at least so many must go on working, or at most so many do."""

Kinds = Mapping[str, str]
"""What a bout was called, by window."""
RunAll = Callable[[Sequence[BoutTask]], Sequence[Kinds]]
"""Runs bouts, and returns what each was called, in their order."""


@dataclass(frozen=True, slots=True)
class Tested:
    """The changeset without some entries (their numbers in the script), over the seeds whose bouts started well.

    `seen` counts what the leg did after the changeset, `good` those that were what the changeset is for, and `low` to
    `high` is the 95 % interval of their share. `sure` says whether the whole of it lies where `effect` says; where it
    does not, there are too few seeds to say.
    """

    left_out: tuple[int, ...]
    good: int
    bouts: int
    seen: Mapping[str, int]
    effect: EntryEffect
    low: float
    high: float
    sure: bool


@dataclass(frozen=True, slots=True)
class EntryReport:
    """One entry: what was tested without it, and what follows. `partners` are the entries that it has to do with.

    `sure` is False where one of the tests that it follows from had too few seeds.
    """

    entry: NumberedWrite
    verdict: EntryVerdict
    alone: Tested | None
    partners: tuple[int, ...] = ()
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Minimised:
    """What a changeset needs. `wanted` is what it is for; `before` counts what the leg did before it.

    `failed_starts` are bouts in which the leg did not step before the changeset; they count nowhere else. `reduced` is
    the changeset without all that it can do without at once, and `script` the script with it.
    """

    time_s: Decimal
    wanted: str
    before: Mapping[str, int]
    failed_starts: int
    whole: Tested
    entries: tuple[EntryReport, ...]
    pairs: tuple[Tested, ...]
    reduced: Tested
    script: HdsoScript


@dataclass(frozen=True, slots=True)
class ScriptTrial:
    """A script with its configuration, and where it is looked at: what every bout of a test has in common."""

    kit: BoutInputs
    prepared: Prepared
    script: HdsoScript
    seeds: tuple[int, ...]
    settle_s: float = 3.0

    def describe(self) -> dict[str, Any]:
        """Return what decides its bouts, as plain data for JSON."""
        return {
            "configuration": self.kit.name,
            "documents": self.kit.sums(),
            "seeds": list(self.seeds),
            "settle": self.settle_s,
        }

    def tasks(self, script: HdsoScript, windows: Sequence[WatchWindow]) -> list[BoutTask]:
        """Return a bout per seed under another script; it ends with the last window."""
        kit = replace(self.kit, script=write(script))
        end_s = max(window.end_s for window in windows)
        return [BoutTask(kit, end_s, seed, tuple(windows), settle_s=self.settle_s) for seed in self.seeds]


def kinds_of(task: BoutTask) -> Kinds:
    """Run a bout and return what it was called in each window; one that did not complete is called by its state."""
    sight = see(task)
    seen = {name: outcome.kind for name, outcome in sight.outcomes.items()}
    missing = sight.state if sight.state != "complete" else NOT_JUDGED
    return {window.name: str(seen.get(window.name, missing)) for window in task.windows}


class Runner:
    """Runs bouts on worker processes, one list after the other. With a journal, those that stand there are not run."""

    def __init__(self, workers: Workers, done: DoneCallback | None = None, journal: Journal | None = None) -> None:
        """Take the workers, who is told of finished bouts of each list, and what is remembered from earlier."""
        self._workers, self._done, self._journal = workers, done, journal
        self._known = {} if journal is None else {row[RUN]: _kinds_in(row) for row in journal.read()}
        self._next = 0

    def __call__(self, tasks: Sequence[BoutTask]) -> Sequence[Kinds]:
        """Return what each bout was called. Bouts are known again by their number, as the same lists come again."""
        runs = range(self._next, self._next + len(tasks))
        self._next = runs.stop
        missing = [run for run in runs if run not in self._known]
        before = len(tasks) - len(missing)
        found = self._workers.run(kinds_of, [tasks[run - runs.start] for run in missing])
        for k, (index, kinds) in enumerate(found, 1):
            run = missing[index]
            self._known[run] = kinds
            if self._journal is not None:
                self._journal.add({RUN: run, **kinds})
            if self._done is not None:
                self._done(before + k, len(tasks))
        return [self._known[run] for run in runs]


def _kinds_in(row: Mapping[str, Cell]) -> Kinds:
    return {name: str(kind) for name, kind in row.items() if name != RUN}


def watch(script: HdsoScript, time_s: Decimal, length_s: float) -> tuple[WatchWindow, ...]:
    """Return the windows before and after a changeset: to its neighbours, and `length_s` after it at most."""
    times = changeset_times(script)
    if time_s not in times:
        raise BulkRefused(f"no changeset at {time_s} s; the script writes at {', '.join(map(str, times)) or 'no time'}")
    later = [float(time) for time in times if time > time_s]
    end_s = min([float(time_s) + length_s, *later])
    after = WatchWindow(AFTER, float(time_s), end_s)
    earlier = [float(time) for time in times if time < time_s]
    if not time_s:
        return (after,)
    return WatchWindow(BEFORE, max(earlier, default=0.0), float(time_s)), after


def minimise(
    trial: ScriptTrial, time_s: Decimal, run_all: RunAll, *, length_s: float = 20.0, wanted: str | None = None
) -> Minimised:
    """Test the changeset at a time without each entry, without each pair, and without all it seems not to need.

    `wanted` is what it is for (an outcome); without, what the whole changeset leads to most often. Raises BulkRefused
    where there is no such outcome or changeset, the leg does not step before it, or the whole of it does not do it
    either.
    """
    if wanted is not None and wanted not in get_args(OutcomeKind):
        raise BulkRefused(f"what is wanted, {wanted!r}, is no outcome; expected {', '.join(get_args(OutcomeKind))}")
    windows = watch(trial.script, time_s, length_s)
    entries = entries_at(trial.script, trial.prepared.plan, time_s)
    idle = _without_change(trial, entries)
    live = [entry.number for entry in entries if entry.number not in idle]
    sets: list[tuple[int, ...]] = [(), *((number,) for number in live), *combinations(live, 2)]
    lists = [trial.tasks(without(trial.script, left_out), windows) for left_out in sets]
    kinds = run_all([task for tasks in lists for task in tasks])
    per_set = [kinds[k * len(trial.seeds) : (k + 1) * len(trial.seeds)] for k in range(len(sets))]
    started = [k for k, seen in enumerate(per_set[0]) if seen.get(BEFORE, CYCLIC[0]) in CYCLIC]
    before = Counter(seen[BEFORE] for seen in per_set[0] if BEFORE in seen)
    if not started:
        raise BulkRefused(f"the leg does not step before {time_s} s with any seed ({_counts(before)})")
    wanted = wanted or Counter(per_set[0][k][AFTER] for k in started).most_common(1)[0][0]
    judge = _Judge(wanted, started, per_set[0])
    tested = {left_out: judge.test(left_out, seen) for left_out, seen in zip(sets, per_set, strict=True)}
    if 2 * judge.reference <= len(started):
        whole = _counts(tested[()].seen)
        raise BulkRefused(
            f"the whole changeset leads to {wanted} in {judge.reference} of {len(started)} bouts: {whole}"
        )
    reports = tuple(_report(entry, idle, tested, live) for entry in entries)
    reduced = _reduce(trial, windows, reports, tested, judge, run_all)
    return Minimised(
        time_s=time_s,
        wanted=wanted,
        before=before,
        failed_starts=len(trial.seeds) - len(started),
        whole=tested[()],
        entries=reports,
        pairs=tuple(tested[pair] for pair in combinations(live, 2)),
        reduced=reduced,
        script=without(trial.script, reduced.left_out),
    )


class _Judge:
    """Counts bouts that started well, and compares with the whole changeset."""

    def __init__(self, wanted: str, started: Sequence[int], reference: Sequence[Kinds]) -> None:
        self._wanted, self._started = wanted, started
        self.reference = self._good(reference)

    def test(self, left_out: tuple[int, ...], seen: Sequence[Kinds]) -> Tested:
        good = self._good(seen)
        counts = Counter(seen[k][AFTER] for k in self._started)
        effect: EntryEffect = "weakened"
        if good >= KEPT_SHARE * self.reference:
            effect = "kept"
        elif good <= LOST_SHARE * self.reference:
            effect = "lost"
        low, high = wilson(good, len(self._started))
        sure = _is_sure(effect, low, high, self.reference / len(self._started))
        return Tested(left_out, good, len(self._started), counts, effect, low, high, sure)

    def _good(self, seen: Sequence[Kinds]) -> int:
        return sum(seen[k][AFTER] == self._wanted for k in self._started)


def _is_sure(effect: EntryEffect, low: float, high: float, whole: float) -> bool:
    """Say whether an interval lies on that side of half the whole changeset's share on which its effect says.

    What helps has to lie between the two bounds. That a share is nine tenths no small number of bouts can tell.
    """
    if effect == "lost":
        return high <= LOST_SHARE * whole
    return low > LOST_SHARE * whole and (effect == "kept" or high < KEPT_SHARE * whole)


def _report(
    entry: NumberedWrite, idle: Sequence[int], tested: Mapping[tuple[int, ...], Tested], live: Sequence[int]
) -> EntryReport:
    number = entry.number
    if number in idle:
        return EntryReport(entry, "no change", None)
    alone = tested[(number,)]
    pairs = {other: tested[_pair(number, other)] for other in live if other != number}
    if alone.effect == "kept":
        others = tuple(k for k, pair in pairs.items() if pair.effect != "kept" and tested[(k,)].effect == "kept")
        # Unnecessary is what no pair speaks against, so all pairs have to be sure; else those that say so.
        asked = [pairs[k] for k in others] or [pair for k, pair in pairs.items() if tested[(k,)].effect == "kept"]
        sure = alone.sure and all(pair.sure for pair in asked)
        return EntryReport(entry, "one of two" if others else "unnecessary", alone, others, sure)
    together = tuple(k for k, pair in pairs.items() if pair.effect == "kept" and tested[(k,)].effect != "kept")
    if together:
        sure = alone.sure and all(pairs[k].sure for k in together)
        return EntryReport(entry, "only together", alone, together, sure)
    return EntryReport(entry, "necessary" if alone.effect == "lost" else "helps", alone, sure=alone.sure)


def _reduce(
    trial: ScriptTrial,
    windows: Sequence[WatchWindow],
    reports: Sequence[EntryReport],
    tested: Mapping[tuple[int, ...], Tested],
    judge: _Judge,
    run_all: RunAll,
) -> Tested:
    """Leave out all that is unnecessary at once; where that is too much, one after the other as long as it works."""

    def test(left_out: tuple[int, ...]) -> Tested:
        if left_out in tested:
            return tested[left_out]
        return judge.test(left_out, run_all(trial.tasks(without(trial.script, left_out), windows)))

    idle = tuple(report.entry.number for report in reports if report.verdict == "no change")
    free = tuple(report.entry.number for report in reports if report.verdict == "unnecessary")
    units = [(report.entry.number,) for report in reports if report.verdict in ("unnecessary", "one of two")]
    units += [
        (report.entry.number, other)
        for report in reports
        if report.verdict == "only together"
        for other in report.partners
        if report.entry.number < other
    ]
    best = test(()) if not free else test(free)
    if best.effect != "kept":
        best = test(())
    for unit in units:
        if set(unit).isdisjoint(best.left_out):
            more = test(tuple(sorted((*best.left_out, *unit))))
            best = more if more.effect == "kept" else best
    return replace(best, left_out=tuple(sorted((*best.left_out, *idle))))


def _without_change(trial: ScriptTrial, entries: Sequence[NumberedWrite]) -> tuple[int, ...]:
    """Return the entries that write what is in force already."""
    plan, ids = trial.prepared.plan, trial.prepared.model.ids
    values: list[Values | None] = list(initial_values(plan))
    begin_ns = nanoseconds(entries[0].mod.time_s)
    for changeset in trial.prepared.changesets:
        for item in changeset.writes if changeset.time_ns < begin_ns else ():
            values[item.hdso] = item.values + (values[item.hdso] or ())[len(item.values) :]
    idle: list[int] = []
    for entry in entries:
        written = stored_values(entry.hdso, entry.mod.data, ids)
        after = written + (values[entry.hdso.index] or ())[len(written) :]
        if same_value(entry.hdso, values[entry.hdso.index], after):
            idle.append(entry.number)
        values[entry.hdso.index] = after
    return tuple(idle)


def _pair(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)


def _counts(seen: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {number}" for kind, number in sorted(seen.items(), key=lambda item: -item[1]))
