"""Reads the experiments from `chapter7`, with their texts and other runs: strictly, unknown keys are errors.

A table takes what it does not have itself from the shape that `like` names; double braces are filled from `words`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeVar, cast

import msgspec
from jinja2 import TemplateError

from nuc_engine.bout.spec import HdsoValue
from nuc_engine.experiments.catalogue.asks import Question, RowCriterion
from nuc_engine.experiments.catalogue.cuts import counted as foretold
from nuc_engine.experiments.catalogue.drive import draw_drive
from nuc_engine.experiments.catalogue.felt import told
from nuc_engine.experiments.catalogue.gradual import counted
from nuc_engine.experiments.catalogue.grids import with_grids
from nuc_engine.experiments.catalogue.ladders import draw_ladders
from nuc_engine.experiments.catalogue.muscles import draw_figure_7_10
from nuc_engine.experiments.catalogue.muscles import pooled as spreads
from nuc_engine.experiments.catalogue.nested import AnyAsk, Nested
from nuc_engine.experiments.catalogue.phase import by_phase, draw_phase_map
from nuc_engine.experiments.catalogue.speed import draw_figure_7_11
from nuc_engine.experiments.catalogue.unloading import Promoted
from nuc_engine.experiments.catalogue.unloading import pooled as gains
from nuc_engine.experiments.catalogue.variations import draw_returns
from nuc_engine.experiments.nerves import AwaitedChange, Cut
from nuc_engine.experiments.protocol import (
    Again,
    BoutPlan,
    Experiment,
    JudgedWindow,
    NegativeControl,
    Part,
    Probe,
    ProbeLevel,
    TableRow,
)
from nuc_engine.experiments.templates import filled

HERE = Path(__file__).parent
CHAPTER, TEXTS, OTHER_RUNS = HERE / "chapter7", HERE / "texts", HERE / "other_runs.toml"
NEXT = HERE / "chapter9"
"""What the dissertation wanted next."""
_SUMMARIES = {"": None, "caught": counted, "spreads": spreads, "gains": gains, "foretold": foretold, "phase": by_phase}
_PICTURES = {
    "": None,
    "figure 7-10": draw_figure_7_10,
    "figure 7-11": draw_figure_7_11,
    "phase": draw_phase_map,
    "drive": draw_drive,
    "ladders": draw_ladders,
    "returns": draw_returns,
}
_LEVEL = Literal["level"]
_T = TypeVar("_T")
BOUT = "bout"
"""Label of the bout where a repetition has only one."""
_SECTION = re.compile(r"^# (.+): (why|to be noted)\n", re.MULTILINE)


class ExperimentError(Exception):
    """An experiment that cannot be used; the message names its file and the key, and what was expected."""


class _Strict(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A table of a file; nothing else may stand in it."""


class _Window(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    name: str
    part: Part
    begin_s: float
    end_s: float
    settle_s: float = 3.0


class _Edit(_Strict, kw_only=True):
    """`value`: a number, the probe's level, or two numbers, of which the level says how far to go between them."""

    hdso: int
    at_s: float
    value: float | _LEVEL | tuple[float, float]


class _Wait(_Strict, kw_only=True):
    at_s: float
    rule: str
    from_s: float
    after_s: float = 0.0


class _Cut(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    sensor: str
    value: float | Literal["hold"]
    at_s: float


class _Bout(_Strict, kw_only=True):
    """A bout, or the one of a `row` with some things changed."""

    label: str = ""
    row: str = ""
    config: str = ""
    script: str | None = None
    duration_s: float = 0.0
    windows: tuple[_Window, ...] = ()
    values: dict[str, HdsoValue] = {}
    plant: dict[str, float | _LEVEL] = {}
    edits: tuple[_Edit, ...] = ()
    moved: dict[str, float | _LEVEL] = {}
    waits: tuple[_Wait, ...] = ()
    cuts: tuple[_Cut, ...] = ()
    told_s: float | None = None
    kicks_s: tuple[float, ...] = ()
    start_kick_s: float | None = None

    def __post_init__(self) -> None:
        """Refuse a bout that is neither."""
        if bool(self.row) == bool(self.config and self.duration_s and self.windows):
            raise ValueError("expected either a row, or config, duration_s and windows")


class _Control(_Strict, kw_only=True):
    why: str
    bouts: tuple[_Bout, ...]
    repetitions: int = 5


class _Row(_Strict, kw_only=True):
    name: str = ""
    saw: str
    bouts: tuple[_Bout, ...]
    criterion_text: str
    criterion: tuple[AnyAsk, ...]
    control: _Control
    kicks_there: str = "none"
    robot: tuple[int, int] | None = None
    robot_kicked: tuple[int, int] | None = None
    reservation: str = ""
    summary: Literal["", "caught", "spreads", "gains", "foretold", "phase"] = ""
    picture: Literal["", "figure 7-10", "figure 7-11", "phase", "drive", "ladders", "returns"] = ""


class _Experiment(_Strict, kw_only=True):
    name: str
    section: str
    title: str
    hypothesis: str
    method: str
    rows: tuple[_Row, ...]
    seed: int | None = None
    libraries: tuple[str, ...] = ()


class _Level(_Strict, kw_only=True):
    label: str
    bouts: tuple[_Bout, ...]


class _Probe(_Strict, kw_only=True):
    """A probe beside some `rows`; `levels` are numbers at which its `bouts` are run, or have bouts of their own."""

    rows: tuple[str, ...]
    name: str
    question: str
    quantity: str
    levels: tuple[float | _Level, ...]
    bouts: tuple[_Bout, ...] = ()
    measure: tuple[AnyAsk, ...]
    as_is: str = ""
    repetitions: int = 6
    seed: int | None = None


class _File(_Strict, kw_only=True):
    experiments: tuple[dict[str, Any], ...]
    probes: tuple[dict[str, Any], ...] = ()
    shapes: dict[str, dict[str, Any]] = {}
    seed: int = 20001


class _Run(_Strict, kw_only=True):
    """A run of all rows, or some, on other seeds: by row, how many repetitions were as seen, of how many valid ones.

    `mistake` is the reading (docs/readings.md) by which its engine was wrong.
    """

    seed: int
    mistake: str = ""
    as_seen: dict[str, tuple[int, int]]


class _OtherRuns(_Strict, kw_only=True):
    runs: tuple[_Run, ...]
    files: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Chapter:
    """A file that was read."""

    path: Path
    file: _File

    def tables(self, tables: Sequence[dict[str, Any]], kind: type[_T]) -> Iterator[_T]:
        """Yield tables of a kind, in full. Raises ExperimentError for one that is not as expected."""
        for table in tables:
            try:
                yield msgspec.convert(with_grids(self.full(table)), kind)
            except (msgspec.ValidationError, TemplateError) as error:
                raise ExperimentError(f"{self.path}: {table.get('name', 'a table without name')}: {error}") from error

    def full(self, value: Any, words: Mapping[str, str] | None = None) -> Any:
        """Return a value with shapes and words filled in; `words` and `like` themselves are left out."""
        if isinstance(value, str):
            return filled(value, words or {}) if "{{" in value else value
        if isinstance(value, list):
            return [self.full(item, words) for item in cast(list[Any], value)]
        if not isinstance(value, dict):
            return value
        table = self._shaped(cast(dict[str, Any], value))
        own = {**(words or {}), **table.get("words", {})}
        return {key: self.full(item, own) for key, item in table.items() if key != "words"}

    def _shaped(self, table: dict[str, Any]) -> dict[str, Any]:
        if "like" not in table:
            return table
        name = table["like"]
        if name not in self.file.shapes:
            raise ExperimentError(f"{self.path}: like = {name!r}: no such shape; expected one of {[*self.file.shapes]}")
        return {**self._shaped(self.file.shapes[name]), **{key: own for key, own in table.items() if key != "like"}}


def chapter_files(folder: Path | None = None) -> list[Path]:
    """Return the files that hold the experiments: of one folder, or of both chapters."""
    return [path for each in ((CHAPTER, NEXT) if folder is None else (folder,)) for path in sorted(each.glob("*.toml"))]


@cache
def load_experiments(
    folder: Path | None = None, texts: Path = TEXTS, other_runs: Path = OTHER_RUNS
) -> tuple[Experiment, ...]:
    """Return the experiments of a folder's files, or of all there are, in the order of their names.

    Raises ExperimentError for what is not as expected.
    """
    sources = [_Chapter(path, _read(path, _File)) for path in chapter_files(folder)]
    runs = _read(other_runs, _OtherRuns)
    found = [
        _experiment(own, source.file.seed, _sections(texts / f"{own.name}.md"), runs)
        for source in sources
        for own in source.tables(source.file.experiments, _Experiment)
    ]
    rows = {_key(each.name, row.name): row for each in found for row in each.rows}
    _expect_rows(rows, (name for run in runs.runs for name in run.as_seen), other_runs)
    probes: dict[str, tuple[Probe, ...]] = {}
    for source in sources:
        for asked in source.tables(source.file.probes, _Probe):
            probe = _probe(asked, rows, f"{source.path}: {asked.name}")
            probes |= {name: (*probes.get(name, ()), probe) for name in asked.rows}
    return tuple(
        replace(each, rows=tuple(replace(row, probes=probes.get(_key(each.name, row.name), ())) for row in each.rows))
        for each in found
    )


def _read(path: Path, kind: type[_T]) -> _T:
    try:
        return msgspec.toml.decode(path.read_bytes(), type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{path}: {error}") from error


def _expect_rows(rows: Mapping[str, TableRow], names: Iterable[str], where: object) -> None:
    if unknown := [name for name in names if name not in rows]:
        raise ExperimentError(f"{where}: no row {unknown[0]!r}; expected one of {', '.join(rows)}")


def _key(experiment: str, row: str) -> str:
    """Return how a row is called among those of all experiments."""
    return experiment if row == experiment else f"{experiment} {row}"


def _experiment(own: _Experiment, seed: int, texts: Mapping[tuple[str, str], str], runs: _OtherRuns) -> Experiment:
    return Experiment(
        name=own.name,
        section=own.section,
        title=own.title,
        hypothesis=own.hypothesis,
        method=own.method,
        rows=tuple(
            TableRow(
                name=name,
                saw=row.saw,
                bouts=_plans(row.bouts),
                criterion_text=row.criterion_text,
                criterion=RowCriterion(row.criterion),
                control=NegativeControl(row.control.why, _plans(row.control.bouts), row.control.repetitions),
                kicks_there=row.kicks_there,
                robot=row.robot,
                robot_kicked=row.robot_kicked,
                explanation=texts.get((name, "why"), ""),
                remark=texts.get((name, "to be noted"), ""),
                reservation=row.reservation,
                again=tuple(
                    Again(*run.as_seen[key], run.seed, runs.files, run.mistake)
                    for run in runs.runs
                    if key in run.as_seen
                ),
                summary=_SUMMARIES[row.summary],
                picture=_PICTURES[row.picture],
            )
            for row in own.rows
            for name in [row.name or own.name]
            for key in [_key(own.name, name)]
        ),
        seed=seed if own.seed is None else own.seed,
        libraries=own.libraries,
    )


def _sections(path: Path) -> dict[tuple[str, str], str]:
    """Return the parts of a file of texts, by the row and the heading they are for."""
    if not path.exists():
        return {}
    _, *parts = _SECTION.split(path.read_text(encoding="utf-8"))
    keys = zip(parts[::3], parts[1::3], strict=True)
    return {key: text.strip() for key, text in zip(keys, parts[2::3], strict=True)}


def _plans(bouts: Sequence[_Bout]) -> tuple[BoutPlan, ...]:
    return tuple(_plan(bout) for bout in bouts)


def _plan(bout: _Bout, rows: Mapping[str, TableRow] = MappingProxyType({}), level: float = math.nan) -> BoutPlan:
    if bout.row:
        (plan,) = rows[bout.row].bouts
    else:
        plan = BoutPlan(
            label=BOUT,
            config=bout.config,
            script=bout.script,
            duration_s=bout.duration_s,
            windows=tuple(
                JudgedWindow(own.name, own.begin_s, own.end_s, own.part, own.settle_s) for own in bout.windows
            ),
            values=bout.values,
            plant={name: _at(value, level) for name, value in bout.plant.items()},
            kicks_s=bout.kicks_s,
            start_kick_s=bout.start_kick_s,
        )
    plan = replace(
        plan,
        label=bout.label or plan.label,
        edits={(edit.hdso, edit.at_s): _at(edit.value, level) for edit in bout.edits},
        moved={float(old): _at(new, level) for old, new in bout.moved.items() if float(old) != _at(new, level)},
        waits=tuple(AwaitedChange(each.at_s, each.rule, each.from_s, each.after_s) for each in bout.waits)
        or plan.waits,
        cuts=tuple(Cut(each.sensor, each.value, each.at_s) for each in bout.cuts) or plan.cuts,
    )
    if bout.told_s is None:
        return plan
    schedule = next(ask for ask in cast(RowCriterion, rows[bout.row].criterion).asks if isinstance(ask, Promoted))
    return told(plan, schedule.times_s, bout.told_s)


def _at(value: float | _LEVEL | tuple[float, float], level: float) -> float:
    if isinstance(value, tuple):
        return round(value[0] + level * (value[1] - value[0]), 4)
    return level if value == "level" else float(value)


def _probe(asked: _Probe, rows: Mapping[str, TableRow], where: str) -> Probe:
    bouts = (*asked.bouts, *(bout for own in asked.levels if isinstance(own, _Level) for bout in own.bouts))
    criteria = (ask.criterion for ask in asked.measure if isinstance(ask, Nested) and isinstance(ask.criterion, str))
    _expect_rows(rows, (*asked.rows, *(bout.row for bout in bouts if bout.row), *criteria), where)
    return Probe(
        name=asked.name,
        question=asked.question,
        quantity=asked.quantity,
        levels=tuple(
            ProbeLevel(own.label, tuple(_plan(bout, rows) for bout in own.bouts))
            if isinstance(own, _Level)
            else ProbeLevel(f"{own:g}", tuple(_plan(bout, rows, own) for bout in asked.bouts), own)
            for own in asked.levels
        ),
        measure=RowCriterion(tuple(_resolved(ask, rows) for ask in asked.measure)).measure,
        as_is=asked.as_is,
        repetitions=asked.repetitions,
        seed=asked.seed,
    )


def _resolved(ask: Question, rows: Mapping[str, TableRow]) -> Question:
    """Return an ask with the criterion of a row in place of the row's name."""
    if isinstance(ask, Nested) and isinstance(ask.criterion, str):
        return msgspec.structs.replace(ask, criterion=cast(RowCriterion, rows[ask.criterion].criterion).asks)
    return ask
