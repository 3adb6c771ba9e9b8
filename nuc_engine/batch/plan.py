"""A whole sweep, checked before its first bout: which bouts there are, and how each of them is numbered."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import Any

from drivers.units import S_PER_NS
from nuc_engine.analysis.windows import behaviour_windows
from nuc_engine.batch.axes import PLANT, Axis, Sampling, draw_points, with_whole
from nuc_engine.batch.changeset import find_hdso, with_values, writes
from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.inputs import BoutInputs, read_inputs
from nuc_engine.batch.task import BoutTask, Value, WatchWindow
from nuc_engine.bout.described import read_leg
from nuc_engine.bout.run import Prepared, prepare_bout
from nuc_engine.machine.locations import PLANT_SPEC_FILE, find_configuration
from nuc_engine.model.plan import Plan
from nuc_engine.model.planning import stored_values
from nuc_engine.model.store import refusal
from nuc_engine.plants.spec import PlantSpecError, load_spec
from sccils_schemas.documents import HdsoScript
from sccils_schemas.numbers import INTEGER_RANGE
from sccils_schemas.rules import RuleError
from sccils_schemas.writer import write

AT = "@"
"""Between the name of an HDSO and the time of the script's write that is meant: `FT_ext_FTang@20`."""


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """What somebody asks for. `windows` empty: those of the script, one from each change of rules to the next.

    `described` is the RunConfig of the bouts, where one describes them.
    """

    config: str
    script: str | None = None
    duration_s: float = 30.0
    axes: tuple[Axis, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)
    seeds: tuple[int, ...] = (0,)
    windows: tuple[WatchWindow, ...] = ()
    settle_s: float = 3.0
    described: Mapping[str, Any] | None = None

    def looking_at(self, windows: tuple[WatchWindow, ...], settle_s: float) -> SweepRequest:
        """Return the same with windows of one's own, where there are any."""
        return replace(self, windows=windows or self.windows, settle_s=settle_s)


@dataclass(frozen=True)
class SweepPlan:
    """A checked sweep. Runs are numbered from 0: every seed of the first point, then of the next.

    `remarks` are about what will run, but perhaps not as it was meant.
    """

    inputs: BoutInputs
    duration_s: float
    axes: tuple[Axis, ...]
    sampling: Sampling
    seeds: tuple[int, ...]
    windows: tuple[WatchWindow, ...]
    settle_s: float
    document: HdsoScript | None
    plan: Plan
    remarks: tuple[str, ...] = ()
    described: Mapping[str, Any] | None = None

    @cached_property
    def points(self) -> tuple[tuple[Value, ...], ...]:
        """The points, one value per axis each. Raises BulkRefused where they cannot be drawn."""
        return draw_points(self.axes, self.sampling)

    def __len__(self) -> int:
        return len(self.points) * len(self.seeds)

    def point(self, run: int) -> tuple[tuple[Value, ...], int]:
        """Return the values of the axes, and the seed, of a run."""
        return self.points[run // len(self.seeds)], self.seeds[run % len(self.seeds)]

    def task(self, run: int, keep: Path | None = None) -> BoutTask:
        """Return the bout of a run; `keep` is the folder in which data directories stay, by the run's number."""
        point, seed = self.point(run)
        return self.task_of(dict(zip((axis.name for axis in self.axes), point, strict=True)), seed, place_of(keep, run))

    def task_of(self, values: dict[str, Value], seed: int, keep: Path | None = None) -> BoutTask:
        """Return the bout of these values, by the names of the axes."""
        timed, given, plant = sort_out(values)
        inputs = self.inputs
        if timed and self.document is not None:
            inputs = replace(inputs, script=write(with_values(self.document, self.plan, timed)))
        windows, settle_s = self.windows, self.settle_s
        return BoutTask(inputs, self.duration_s, seed, windows, given, plant, keep, settle_s, self.described)

    def _points_sum(self) -> str | None:
        """Return a sum of drawn points: other versions of a library may draw others from the same seed."""
        if self.sampling.kind == "grid":
            return None
        return hashlib.sha256(json.dumps(self.points).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the rows, as plain data for JSON: two sweeps are the same when this is."""
        return {
            "configuration": self.inputs.name,
            "documents": self.inputs.sums(),
            "duration": self.duration_s,
            "vary": [axis.describe() for axis in self.axes],
            "sampling": asdict(self.sampling),
            "points": self._points_sum(),
            "seeds": list(self.seeds),
            "windows": [asdict(window) for window in self.windows],
            "settle": self.settle_s,
            **({} if self.described is None else {"described": self.described}),
        }


def make_plan(request: SweepRequest) -> SweepPlan:
    """Check what is asked for as a whole.

    Raises BulkRefused with every reason, NotFound, BoutRefused where configuration and script are wrong.
    """
    plant_file = PLANT_SPEC_FILE
    if request.described is not None:
        plant_file = read_leg(request.described, checked=True).plant_file
    inputs = read_inputs(request.config, request.script, plant_file)
    prepared = prepare_bout(request.config, request.script)
    reasons: list[str] = []
    axes: list[Axis] = []
    for axis in request.axes:
        try:
            axes.append(_checked(axis, prepared, request.config, plant_file))
        except BulkRefused as refused:
            reasons.append(str(refused))
    names = [axis.name for axis in axes]
    reasons += [f"--vary {name}: given twice" for name in dict.fromkeys(names) if names.count(name) > 1]
    if not request.duration_s > 0:
        reasons.append(f"duration {request.duration_s:g} s; expected more than 0")
    windows = request.windows or _windows(prepared, request.duration_s)
    reasons += _wrong_windows(windows, request.duration_s)
    if reasons:
        raise BulkRefused("\n".join(reasons))
    return SweepPlan(
        inputs=inputs,
        duration_s=request.duration_s,
        axes=tuple(axes),
        sampling=request.sampling,
        seeds=request.seeds,
        windows=windows,
        settle_s=request.settle_s,
        document=prepared.script,
        plan=prepared.plan,
        remarks=tuple(_remarks(axes, prepared)),
        described=request.described,
    )


def sort_out(
    values: dict[str, Value],
) -> tuple[list[tuple[str, Decimal, Value]], tuple[tuple[str, Value], ...], tuple[tuple[str, float], ...]]:
    """Return values by where they go: into a write of the script, into the store at time 0, into plant.toml."""
    timed: list[tuple[str, Decimal, Value]] = []
    given: list[tuple[str, Value]] = []
    plant: list[tuple[str, float]] = []
    for name, value in values.items():
        if name.startswith(PLANT):
            plant.append((name.removeprefix(PLANT), float(value)))
        elif AT in name:
            hdso, _, time = name.partition(AT)
            timed.append((hdso, Decimal(time), value))
        else:
            given.append((name, value))
    return timed, tuple(given), tuple(plant)


def place_of(keep: Path | None, run: int) -> Path | None:
    """Return the data directory of a run that is kept, None where none is."""
    return None if keep is None else keep / f"{run:06d}"


def _checked(axis: Axis, prepared: Prepared, config: str, plant_file: str) -> Axis:
    """Return the axis with its HDSO's own name, and rounded where that holds whole numbers. Raises BulkRefused."""
    if axis.is_plant:
        return _checked_plant(axis, find_configuration(config) / plant_file)
    name, at, time = axis.name.partition(AT)
    hdso = find_hdso(prepared.plan, name)
    if hdso.kind not in ("parameter", "boolstring"):
        raise BulkRefused(f"{axis.name}: is a {hdso.kind}; expected a parameter or a rule")
    axis = with_whole(replace(axis, name=hdso.name + at + time), hdso.datatype in INTEGER_RANGE)
    for value in axis.ends:
        try:
            data = stored_values(hdso, value if isinstance(value, str) else (value,), prepared.model.ids)
            problem = refusal(hdso, data)
        except (RuleError, TypeError) as error:
            problem = str(error)
        if problem is not None:
            raise BulkRefused(f"{axis.name}={value}: {problem}")
    if at:
        try:
            when = Decimal(time)
        except InvalidOperation:
            raise BulkRefused(f"{axis.name}: {time!r} is no time; expected NAME@SECONDS") from None
        if prepared.script is None:
            raise BulkRefused(f"{axis.name}: there is no script; expected one that writes {hdso.name} at {time} s")
        with_values(prepared.script, prepared.plan, [(hdso.name, when, axis.ends[0])])
    elif prepared.script is not None and writes(prepared.script, prepared.plan, hdso.name, Decimal(0)):
        raise BulkRefused(
            f"{axis.name}: the script writes it at 0 s, so it would always have the script's value;"
            f" vary {axis.name}{AT}0 to change it there"
        )
    return axis


def _checked_plant(axis: Axis, spec: Path) -> Axis:
    key = axis.name.removeprefix(PLANT)
    for value in axis.ends:
        if isinstance(value, str):
            raise BulkRefused(f"{axis.name}={value}: expected numbers")
        try:
            load_spec(spec, {key: value})
        except PlantSpecError as error:
            raise BulkRefused("; ".join(f"{axis.name}={value:g}: {line}" for line in error.problems)) from error
    return axis


def _windows(prepared: Prepared, duration_s: float) -> tuple[WatchWindow, ...]:
    found = behaviour_windows(prepared.plan, prepared.changesets, duration_s)
    return tuple(WatchWindow(window.name, window.begin_s, window.end_s) for window in found)


def _wrong_windows(windows: Sequence[WatchWindow], duration_s: float) -> Iterable[str]:
    names = [window.name for window in windows]
    for window in windows:
        if not 0 <= window.begin_s < window.end_s <= duration_s:
            yield f"window {window.name} {window.begin_s:g}:{window.end_s:g}; expected to lie in 0:{duration_s:g} s"
        if names.count(window.name) > 1:
            yield f"window {window.name}: given twice"


def _remarks(axes: Sequence[Axis], prepared: Prepared) -> Iterable[str]:
    for axis in axes:
        if axis.is_plant or AT in axis.name or prepared.script is None:
            continue
        later = [
            changeset.time_ns * S_PER_NS
            for changeset in prepared.changesets
            if any(prepared.plan.hdsos[write.hdso].name == axis.name for write in changeset.writes)
        ]
        if later:
            yield f"{axis.name} is varied until {later[0]:g} s only: there the script writes it"
