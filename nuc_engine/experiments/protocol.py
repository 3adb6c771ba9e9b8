"""What an experiment is: bouts to run per seed, windows to look at, and what has to be seen in them.

    Experiment   one name of chapter 7 with its text, made of rows
    Row          one line of the result table: the bouts of one repetition, and the criterion over them
    BoutPlan     one bout of a repetition; all bouts of a repetition have the same seed
    Observation  what was seen in one bout
    Finding      what a criterion says of one repetition
    Probe        an experiment beside the row: one thing varied, to find out why the row comes out as it does
    Again        how the same row came out in another run, with other seeds

The catalogue (`nuc_engine.experiments.catalogue`) holds the experiments; everything else only reads these tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from nuc_engine.analysis.outcome import Outcome
from nuc_engine.analysis.steps import Steps
from nuc_engine.analysis.tracks import LegTracks
from nuc_engine.bout.spec import HdsoValue
from nuc_engine.experiments.nerves import AwaitedChange, Cut

Part = Literal["before", "interim", "final"]
"""Before: what the leg has to do for the rest to mean anything. Final: where a kick may be given when it is needed."""

State = Literal["as seen", "otherwise", "failed start", "too few", "aborted"]
"""As the dissertation saw it; not so; the behaviour before it was not there; too little happened to be judged; the bout
itself did not complete."""

NOT_VALID: tuple[State, ...] = ("failed start", "too few")
"""Repetitions of which nothing can be said; they are counted apart, and made up for."""


@dataclass(frozen=True, slots=True)
class JudgedWindow:
    """A stretch of a bout that is classified (seconds since engine start); its first `settle_s` are not judged."""

    name: str
    begin_s: float
    end_s: float
    part: Part
    settle_s: float = 3.0


@dataclass(frozen=True, slots=True)
class BoutPlan:
    """One bout: `values` are written at time 0 (HDSO name -> value), `plant` overrides numbers of plant.toml.

    `edits` change the script: (HDSO id, time in s) -> the value it writes then, or reaches in the gradual change that
    begins then; what is not written there is added. None leaves the write out. `moved` has all that the script writes
    at once at a time (s) written at another one; it comes after the edits. After it come `waits`, what is written at
    once and waits for a rule, and `cuts`, sensors that are cut.
    `kicks_s` are the instants, within final windows, at which a kick is given when the leg does not do there what is
    wanted: first none, then one, then two. `start_kick_s` likewise, in a window before.
    """

    label: str
    config: str
    script: str | None
    duration_s: float
    windows: tuple[JudgedWindow, ...]
    values: Mapping[str, HdsoValue] = field(default_factory=dict[str, HdsoValue])
    plant: Mapping[str, float] = field(default_factory=dict[str, float])
    edits: Mapping[tuple[int, float], float | None] = field(default_factory=dict[tuple[int, float], float | None])
    moved: Mapping[float, float] = field(default_factory=dict[float, float])
    waits: tuple[AwaitedChange, ...] = ()
    cuts: tuple[Cut, ...] = ()
    kicks_s: tuple[float, ...] = ()
    start_kick_s: float | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """What was seen in one bout; `outcomes` by window name, `kicks_s` the kicks that were given because needed."""

    plan: BoutPlan
    leg: LegTracks
    steps: Steps
    outcomes: Mapping[str, Outcome]
    kicks_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class CriterionResult:
    """What a criterion says of one repetition.

    `started` False makes it a failed start, whatever `ok` is, and `enough` False one in which too little happened that
    could be judged. `reasons` say what speaks against it, one sentence each; `numbers` go into the result table and the
    verdict, `samples` (as step durations) into the row's summary and picture.
    `settled` says that what speaks against it came before the final part, so that no kick there can help.
    """

    ok: bool
    reasons: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict[str, float])
    samples: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    started: bool = True
    settled: bool = False
    enough: bool = True


Observations = Mapping[str, Observation]
"""The bouts of one repetition, by label."""

CriterionFunction = Callable[[Observations], CriterionResult]


@dataclass(frozen=True, slots=True)
class Trial:
    """One repetition, judged. `kicks` were given because needed, `start_kicks` of them to make the leg begin.

    `outcomes` are by bout label and window name; `kicked_s` are the instants of the kicks by bout label, for bouts that
    got any. `moved` stands for what the leg felt and did in all its bouts: the same only where that is the same
    throughout.
    """

    seed: int
    state: State
    reasons: tuple[str, ...]
    numbers: Mapping[str, float]
    samples: Mapping[str, tuple[float, ...]]
    kicks: int
    outcomes: Mapping[str, Mapping[str, str]]
    kicked_s: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    start_kicks: int = 0
    moved: str = ""


@dataclass(frozen=True, slots=True)
class NegativeControl:
    """The same criterion where it has to fail: other bouts, and why they cannot do what is asked for."""

    why: str
    bouts: tuple[BoutPlan, ...]
    repetitions: int = 5


@dataclass(frozen=True, slots=True)
class ProbeLevel:
    """One setting of what a probe varies; `value` is its place on the axis, NaN where settings have no order."""

    label: str
    bouts: tuple[BoutPlan, ...]
    value: float = float("nan")


@dataclass(frozen=True, slots=True)
class Probe:
    """An experiment of its own about why a row comes out otherwise: one thing varied, all else as in the row.

    `quantity` is what is varied, with its unit. `measure` gives the numbers of one repetition at one level, nothing
    where the leg did not start; a number whose name ends in "(share)" is 0 or 1 and is averaged, of others the median
    is taken. `as_is` is the label of the level the row is run with. `seed` is its first seed; None: that of the row.
    """

    name: str
    question: str
    quantity: str
    levels: tuple[ProbeLevel, ...]
    measure: Callable[[Observations], Mapping[str, float]]
    as_is: str = ""
    repetitions: int = 6
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Again:
    """How a row came out in another run: `count` of `of` valid repetitions as seen, seeds from `seed` on.

    The verdict stays that of the seeds that were fixed before. `files` are the configurations and scripts it was run
    with: name -> the sha256 of all versions that make the same leg. Repetitions of another leg are not put together
    with these, nor any of a run that an engine with a mistake mended since made: `mistake` names it, "" for none.
    """

    count: int
    of: int
    seed: int
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    mistake: str = ""


@dataclass(frozen=True, slots=True)
class TableRow:
    """One line of the result table. `summary` makes numbers over all repetitions (tests, intervals) from the trials.

    `kicks_there` says what the dissertation reports of kicks; `robot` is how many of how many repetitions of the robot
    came out as `saw` says, `robot_kicked` how many of them needed a kick in the end; None where no number is printed.
    `explanation` and `probes` stand on the page when the
    emulated leg does otherwise: evidence, not excuse; the criterion stays. They stand there too when the row is as
    seen, but not with the repetitions of `again` counted in. `remark` stands there in any case. `reservation` says in
    a few words what the criterion does not ask for and is not as the dissertation saw it; a row that is as seen is
    so with this said beside it.
    `picture` draws over all repetitions, into an SVG file, beside the figures every row has of one bout.
    """

    name: str
    saw: str
    bouts: tuple[BoutPlan, ...]
    criterion_text: str
    criterion: CriterionFunction
    control: NegativeControl
    kicks_there: str = "none"
    robot: tuple[int, int] | None = None
    robot_kicked: tuple[int, int] | None = None
    explanation: str = ""
    remark: str = ""
    reservation: str = ""
    probes: tuple[Probe, ...] = ()
    again: tuple[Again, ...] = ()
    summary: Callable[[Sequence[Trial]], Mapping[str, float]] | None = None
    picture: Callable[[TableRow, Sequence[Trial], Path], None] | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment of chapter 7; the texts become its page.

    `seed` is the first of those it is judged by; `libraries` are what judging it needs (modules of `needs.LIBRARIES`).
    """

    name: str
    section: str
    title: str
    hypothesis: str
    method: str
    rows: tuple[TableRow, ...]
    seed: int = 20001
    libraries: tuple[str, ...] = ()
