"""From repetitions to a verdict: shares with intervals, kicks, numbers, and whether the control failed as it must.

A row is *as seen* when at least 90 % of its valid repetitions are as the dissertation saw it. Not valid are failed
starts, and those in which too little happened to be judged; a bout that broke off is valid and not as seen. Fewer
valid repetitions than were asked for leave the row without evidence, however they came out. So does a control that
comes out as seen even once, or of which no repetition was judged, because none was valid or all broke off: then nobody
knows whether the criterion can tell.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Literal

from nuc_engine.batch.criterion import wilson
from nuc_engine.experiments.course import Collected
from nuc_engine.experiments.protocol import NOT_VALID, Again, Experiment, State, TableRow, Trial
from nuc_engine.experiments.sources import Sources, file_names

Word = Literal["as seen", "otherwise", "no evidence"]

ENOUGH = 0.9
"""Share of valid repetitions from which on a row is as seen."""
LEAST_REPETITIONS = 20
"""Fewer are no verdict."""
EMULATED = "emulated:"
"""The bus of emulated legs on simulated time; on any other one seeds decide nothing, or not all."""
TUNING_SEEDS_END = 2000
"""Smaller seeds are for tuning and trying out."""


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `of`, with the ends of the Wilson interval; NaN where `of` is 0."""

    count: int
    of: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The share itself."""
        return self.count / self.of if self.of else math.nan


@dataclass(frozen=True, slots=True)
class Kicks:
    """Kicks that were needed by the repetitions that came out as seen: by how many of them, mean and most per each."""

    repetitions: int
    mean: float
    most: int


@dataclass(frozen=True, slots=True)
class Spread:
    """One number over all valid repetitions that have it."""

    median: float
    lowest: float
    highest: float
    count: int


Tally = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Bout label -> window -> what it was called -> in how many repetitions."""


@dataclass(frozen=True, slots=True)
class ControlVerdict:
    """The same criterion where it has to fail."""

    why: str
    as_seen: Share
    failed_starts: int
    too_few: int
    aborted: int
    trials: tuple[Trial, ...]

    @property
    def failed(self) -> bool:
        """Whether it failed, as a control must: none came out as seen, and there was something to judge."""
        return self.as_seen.count == 0 and self.as_seen.of > self.aborted


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture: its file beside the page, and what to see in it."""

    file: str
    caption: str


@dataclass(frozen=True, slots=True)
class EvidenceNumber:
    """A number of a probe at one level, over `count` repetitions: its median, or, for a share, its mean."""

    middle: float
    lowest: float
    highest: float
    count: int


@dataclass(frozen=True, slots=True)
class EvidenceLevel:
    """One level of a probe: its label, its place on the axis, how many repetitions started, and their numbers."""

    label: str
    value: float
    started: int
    numbers: Mapping[str, EvidenceNumber]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What came of a probe: `repetitions` at each level of `quantity`, with seeds from `seed` on.

    `as_is` is the label of the level the row itself is run with.
    """

    name: str
    quantity: str
    as_is: str
    repetitions: int
    seed: int
    levels: tuple[EvidenceLevel, ...]
    figures: tuple[Figure, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Same:
    """In `count` of `of` repetitions, those that both rows have, the leg felt and did the same as in another row."""

    row: str
    count: int
    of: int


@dataclass(frozen=True, slots=True)
class RowVerdict:
    """One line of the result table. `trials` are in the order of their seeds.

    `start_kicks` were needed before what is studied began, `kicks` in the end of it. `evidence` is there when the row
    came out otherwise, or as seen by one set of seeds only. `same` names rows before it that are the same in some or
    all repetitions: there it is no evidence of its own.
    """

    name: str
    saw: str
    word: Word
    as_seen: Share
    failed_starts: int
    too_few: int
    aborted: int
    kicks: Kicks
    start_kicks: Kicks
    kicks_there: str
    numbers: Mapping[str, Spread]
    summary: Mapping[str, float]
    outcomes: Tally
    control: ControlVerdict
    trials: tuple[Trial, ...]
    figures: tuple[Figure, ...] = field(default=())
    evidence: tuple[Evidence, ...] = field(default=())
    same: tuple[Same, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Verdict:
    """One experiment, judged. `repetitions` valid ones were asked for, from `seed` on; `bus` is where they ran.

    `standing` says why this is no verdict, whatever came out; empty when it is one.
    """

    name: str
    section: str
    title: str
    repetitions: int
    seed: int
    bus: str
    standing: str
    rows: tuple[RowVerdict, ...]
    sources: Sources

    @property
    def good(self) -> bool:
        """Whether every row came out as seen, and every control failed."""
        return all(row.word == "as seen" for row in self.rows)


def judge_rows(
    experiment: Experiment,
    collected: Sequence[Collected],
    repetitions: int,
    seed: int,
    sources: Sources,
    bus: str = EMULATED,
) -> Verdict:
    """Return the verdict over the repetitions of an experiment's rows."""
    return Verdict(
        name=experiment.name,
        section=experiment.section,
        title=experiment.title,
        repetitions=repetitions,
        seed=seed,
        bus=bus,
        standing=standing(repetitions, seed if bus == EMULATED else TUNING_SEEDS_END),
        rows=tuple(
            replace(
                judge_row(each.row, _by_seed(each.trials), _by_seed(each.control), repetitions),
                same=_same(each, collected[:k]),
            )
            for k, each in enumerate(collected)
        ),
        sources=sources,
    )


def _same(own: Collected, others: Sequence[Collected]) -> tuple[Same, ...]:
    """Compare a row with those before it, by the repetitions with the same seeds that neither lacks nor broke off."""
    found: list[Same] = []
    for other in others:
        pairs = [(trial, other.trials[seed]) for seed, trial in own.trials.items() if seed in other.trials]
        pairs = [pair for pair in pairs if all(trial.state != "aborted" and trial.moved for trial in pair)]
        if count := sum(one.moved == another.moved for one, another in pairs):
            found.append(Same(other.row.name, count, len(pairs)))
    return tuple(found)


def judge_row(row: TableRow, trials: Sequence[Trial], control: Sequence[Trial], asked: int = 1) -> RowVerdict:
    """Return the verdict over one row's repetitions, of which `asked` have to be valid, and those of its control."""
    valid = [trial for trial in trials if trial.state not in NOT_VALID]
    whole = [trial for trial in valid if trial.state != "aborted"]
    good = [trial for trial in valid if trial.state == "as seen"]
    share = _share(valid)
    checked = ControlVerdict(
        why=row.control.why,
        as_seen=_share([trial for trial in control if trial.state not in NOT_VALID]),
        failed_starts=_count(control, "failed start"),
        too_few=_count(control, "too few"),
        aborted=_count(control, "aborted"),
        trials=tuple(control),
    )
    return RowVerdict(
        name=row.name,
        saw=row.saw,
        word=_word(share, checked, asked),
        as_seen=share,
        failed_starts=_count(trials, "failed start"),
        too_few=_count(trials, "too few"),
        aborted=_count(trials, "aborted"),
        kicks=_kicks([trial.kicks - trial.start_kicks for trial in good]),
        start_kicks=_kicks([trial.start_kicks for trial in good]),
        kicks_there=row.kicks_there,
        numbers=_spreads(whole),
        summary={} if row.summary is None or not whole else dict(row.summary(whole)),
        outcomes=_tally(valid),
        control=checked,
        trials=tuple(trials),
    )


def other_runs(row: TableRow, seen: RowVerdict, verdict: Verdict) -> tuple[Again, ...]:
    """Return the runs of `row.again` whose repetitions can be put together with this verdict's.

    Not one by the same seeds or by an engine with a mistake, and none where this is no verdict, or that of a real leg,
    or of an emulated one by other configurations, plants or scripts.
    """
    if verdict.bus != EMULATED or verdict.standing:
        return ()
    ran, names = verdict.sources.files, file_names(row.bouts)
    return tuple(
        again
        for again in row.again
        if not again.mistake
        and not any(again.seed <= trial.seed < again.seed + again.of for trial in seen.trials)
        and all(ran.get(name) in again.files.get(name, ()) for name in names)
    )


def together(row: TableRow, seen: RowVerdict, verdict: Verdict) -> Share | None:
    """Return the share over this verdict's repetitions and those of `other_runs`, None where there are none."""
    others = other_runs(row, seen, verdict)
    count = seen.as_seen.count + sum(again.count for again in others)
    of = seen.as_seen.of + sum(again.of for again in others)
    return Share(count, of, *wilson(count, of)) if others else None


def in_doubt(row: TableRow, seen: RowVerdict, verdict: Verdict) -> bool:
    """Say whether a row is as seen, but would not be by all sets of seeds together."""
    whole = together(row, seen, verdict)
    return seen.word == "as seen" and whole is not None and whole.value < ENOUGH


def in_need_of_reasons(row: TableRow, seen: RowVerdict, verdict: Verdict) -> bool:
    """Say whether a row's explanation and probes belong on its page."""
    return seen.word != "as seen" or in_doubt(row, seen, verdict)


def standing(repetitions: int, seed: int) -> str:
    """Return why repetitions like these are no verdict, "" when they are one."""
    if seed < TUNING_SEEDS_END:
        return "tuning seeds: no verdict"
    if repetitions < LEAST_REPETITIONS:
        return f"fewer than {LEAST_REPETITIONS} repetitions: no verdict"
    return ""


def _word(share: Share, control: ControlVerdict, asked: int) -> Word:
    if share.of < max(asked, 1) or not control.failed:
        return "no evidence"
    return "as seen" if share.value >= ENOUGH else "otherwise"


def _share(trials: Sequence[Trial]) -> Share:
    count = sum(trial.state == "as seen" for trial in trials)
    return Share(count, len(trials), *wilson(count, len(trials)))


def _count(trials: Iterable[Trial], state: State) -> int:
    return sum(trial.state == state for trial in trials)


def _kicks(counts: Sequence[int]) -> Kicks:
    if not counts:
        return Kicks(0, math.nan, 0)
    return Kicks(sum(count > 0 for count in counts), sum(counts) / len(counts), max(counts))


def _spreads(trials: Sequence[Trial]) -> dict[str, Spread]:
    names = dict.fromkeys(name for trial in trials for name in trial.numbers)
    spreads: dict[str, Spread] = {}
    for name in names:
        given = [float(trial.numbers[name]) for trial in trials if name in trial.numbers]
        values = [value for value in given if math.isfinite(value)]
        if values:
            spreads[name] = Spread(median(values), min(values), max(values), len(values))
    return spreads


def _tally(trials: Sequence[Trial]) -> dict[str, dict[str, dict[str, int]]]:
    counts: dict[str, dict[str, Counter[str]]] = {}
    for trial in trials:
        for label, windows in trial.outcomes.items():
            for window, kind in windows.items():
                counts.setdefault(label, {}).setdefault(window, Counter())[kind] += 1
    return {
        label: {window: dict(counter.most_common()) for window, counter in windows.items()}
        for label, windows in counts.items()
    }


def _by_seed(trials: Mapping[int, Trial]) -> tuple[Trial, ...]:
    return tuple(trials[seed] for seed in sorted(trials))
