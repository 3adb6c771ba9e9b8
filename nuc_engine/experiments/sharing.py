"""Bouts that several repetitions have in common: run once, and looked at by each.

Rows of different experiments have the same bouts where neither script nor plant make a difference before the end of
the shorter one; with the same seed these are the same bout, one being the first part of the other.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from drivers.errors import BusError
from drivers.units import NS_PER_S
from nuc_engine.batch.scratch import scratch_folder
from nuc_engine.batch.watch import Watched, watch_bout
from nuc_engine.bout.run import CHUNK_NS, BoutRefused, BoutSpec, Prepared, prepare_spec
from nuc_engine.experiments.edits import script_of
from nuc_engine.experiments.protocol import BoutPlan
from nuc_engine.machine.locations import NotFound, find_configuration, find_script
from nuc_engine.model.changes import Changeset
from nuc_engine.plants import PlantSpecError
from nuc_engine.plants.events import Kick, PlantEvent
from nuc_engine.plants.scripted import events_of

_KEPT = 256
"""So many plans are kept prepared in a process; more than a page of all experiments has."""

Files = tuple[tuple[str, int, int], ...]
"""Path, time of the last change (ns) and size of each document."""


def spec_of(plan: BoutPlan, seed: int, folder: Path, kicks_s: Sequence[float] = ()) -> BoutSpec:
    """Return a plan's bout with this seed and these kicks; its script, where it is edited, is written into `folder`.

    Raises BoutRefused as `script_of` does.
    """
    return BoutSpec(
        config=plan.config,
        out=folder / plan.label,
        script=script_of(plan, folder),
        duration_s=plan.duration_s,
        seed=seed,
        overwrite=True,
        values=plan.values,
        plant=plan.plant,
        events=_kicks(kicks_s),
    )


def watch(plan: BoutPlan, seed: int, kicks_s: Sequence[float] = ()) -> Watched:
    """Run a plan's bout, which nobody keeps. Raises BoutRefused, NotFound, PlantSpecError or BusError."""
    prepared = prepared_of(plan)
    # Its script is prepared already: nothing is read from here or written.
    spec = BoutSpec(
        config=plan.config,
        out=Path(plan.label),
        duration_s=plan.duration_s,
        seed=seed,
        values=plan.values,
        plant=plan.plant,
        events=_kicks(kicks_s),
    )
    return watch_bout(spec, prepared)


def _kicks(kicks_s: Sequence[float]) -> tuple[Kick, ...]:
    return tuple(Kick(round(time_s * NS_PER_S)) for time_s in kicks_s)


@dataclass(frozen=True, slots=True)
class Course:
    """What happens in a bout without kicks, its seed apart, up to its end: what decides its data."""

    end_ns: int
    config: str
    files: Files
    plant: tuple[tuple[str, float], ...]
    changesets: tuple[Changeset, ...]
    events: tuple[PlantEvent, ...]

    def until(self, end_ns: int) -> Course:
        """Return the same with an earlier end."""
        return Course(
            end_ns,
            self.config,
            self.files,
            self.plant,
            tuple(each for each in self.changesets if each.time_ns < end_ns),
            # The plant is a little ahead of the engine: what happens to it at the very end may count.
            tuple(each for each in self.events if each.at_ns <= end_ns),
        )

    def begins(self, other: Course) -> bool:
        """Whether this bout is the other one, or its first part, which is to be had from it."""
        if self.end_ns != other.end_ns and self.end_ns % CHUNK_NS:
            return False
        return self.end_ns <= other.end_ns and self == other.until(self.end_ns)


def course_of(plan: BoutPlan) -> Course:
    """Return what happens in a plan's bout. Raises BoutRefused, NotFound, PlantSpecError or BusError."""
    prepared, end_ns = prepared_of(plan), round(plan.duration_s * NS_PER_S)
    events = () if prepared.script is None else events_of(prepared.script)
    files = _files(plan, with_script=False)
    plant = tuple(sorted(plan.plant.items()))
    return Course(end_ns, plan.config, files, plant, prepared.changesets, tuple(events)).until(end_ns)


class Shared:
    """Watches the bouts of repetitions with one seed; one that begins another one of them is taken from that."""

    def __init__(self, plans: Sequence[BoutPlan], seed: int) -> None:
        """Take all that will be asked for. Raises BoutRefused, NotFound, PlantSpecError or BusError."""
        self._seed = seed
        self._courses = {_name(plan): course_of(plan) for plan in plans}
        self._plans = {self._courses[_name(plan)]: plan for plan in plans}
        longest_first = sorted(self._plans, key=lambda course: -course.end_ns)
        self._hosts = {own: next(each for each in longest_first if own.begins(each)) for own in self._plans}
        self._seen: dict[tuple[Course, tuple[float, ...]], Watched] = {}

    def watch(self, plan: BoutPlan, kicks_s: Sequence[float] = ()) -> Watched:
        """Return what `watch` does."""
        own, kicks = self._courses[_name(plan)], tuple(kicks_s)
        # With kicks, which are not compared, only the whole bout is the same one.
        host = own if kicks else self._hosts[own]
        found = self._watched(host, kicks)
        if host == own or found.state == "complete":
            return found if host == own else found.until(own.end_ns)
        return self._watched(own, kicks)

    def _watched(self, course: Course, kicks_s: tuple[float, ...]) -> Watched:
        key = course, kicks_s
        if key not in self._seen:
            self._seen[key] = watch(self._plans[course], self._seed, kicks_s)
        return self._seen[key]


@dataclass(frozen=True, slots=True)
class Bundle:
    """Repetitions that share bouts, by their places in a list, and the simulated time of these bouts, each once."""

    places: tuple[int, ...]
    duration_s: float


def bundles(asked: Sequence[tuple[Sequence[BoutPlan], int]]) -> list[Bundle]:
    """Return which repetitions, given by bouts and seed, share any: directly, or through others.

    One whose bouts cannot be prepared shares none: what is wrong is said when it is run.
    """
    relations = _Relations()
    by_seed: dict[int, list[int]] = {}
    for place, (_, seed) in enumerate(asked):
        by_seed.setdefault(seed, []).append(place)
    found: list[Bundle] = []
    for places in by_seed.values():
        left = [(place, {_name(plan): plan for plan in asked[place][0]}) for place in places]
        while left:
            own, plans = left.pop(0)
            together, grown = [own], True
            while grown:
                near = [item for item in left if relations.share(plans, item[1])]
                left = [item for item in left if item not in near]
                together += [place for place, _ in near]
                plans = {name: plan for _, each in near for name, plan in each.items()} | plans
                grown = bool(near)
            found.append(Bundle(tuple(sorted(together)), relations.duration_s(plans)))
    return found


class _Relations:
    """Which plans share their bouts; each is prepared, and each pair compared, once."""

    def __init__(self) -> None:
        self._courses: dict[str, Course | None] = {}
        self._begins: dict[tuple[str, str], bool] = {}

    def share(self, some: Mapping[str, BoutPlan], others: Mapping[str, BoutPlan]) -> bool:
        """Say whether any bout of the one is one of the other, or its first part."""
        pairs = [(one, other) for one in some.items() for other in others.items()]
        return any(self._starts(one, other) or self._starts(other, one) for one, other in pairs)

    def duration_s(self, plans: Mapping[str, BoutPlan]) -> float:
        """Return the simulated time of these bouts, without those that begin, or are, others of them."""
        alone: dict[str, BoutPlan] = {}
        for name, plan in sorted(plans.items(), key=lambda item: -item[1].duration_s):
            if not any(self._starts((name, plan), other) for other in alone.items()):
                alone[name] = plan
        return sum(plan.duration_s for plan in alone.values())

    def _starts(self, one: tuple[str, BoutPlan], other: tuple[str, BoutPlan]) -> bool:
        key = one[0], other[0]
        if key not in self._begins:
            own, longer = self._course(*one), self._course(*other)
            self._begins[key] = own is not None and longer is not None and own.begins(longer)
        return self._begins[key]

    def _course(self, name: str, plan: BoutPlan) -> Course | None:
        if name not in self._courses:
            try:
                self._courses[name] = course_of(plan)
            except (BoutRefused, NotFound, PlantSpecError, BusError):
                self._courses[name] = None
        return self._courses[name]


def prepared_of(plan: BoutPlan) -> Prepared:
    """Return what a plan's bout is made of, from an earlier time where its files are as they were then.

    Raises BoutRefused, NotFound, PlantSpecError or BusUrlError.
    """
    return _prepared(_Recipe(_name(plan), _files(plan, with_script=True), plan))


@dataclass(frozen=True, slots=True)
class _Recipe:
    """What decides what a plan's bout is made of; plans hold mappings, and are compared by their texts."""

    name: str
    files: Files
    plan: BoutPlan = field(compare=False)


@functools.lru_cache(maxsize=_KEPT)
def _prepared(recipe: _Recipe) -> Prepared:
    with scratch_folder() as folder:
        return prepare_spec(spec_of(recipe.plan, 0, folder))


def _name(plan: BoutPlan) -> str:
    parts: tuple[Mapping[object, object], ...] = (plan.values, plan.plant, plan.edits, plan.moved)  # pyright: ignore[reportAssignmentType]
    return repr(
        (plan.config, plan.script, plan.duration_s, *(tuple(part.items()) for part in parts), plan.waits, plan.cuts)
    )


def _files(plan: BoutPlan, *, with_script: bool) -> Files:
    paths = sorted(path for path in find_configuration(plan.config).iterdir() if path.is_file())
    if with_script and plan.script is not None:
        paths.append(find_script(plan.script))
    stats = [(path, path.stat()) for path in paths]
    return tuple((str(path), stat.st_mtime_ns, stat.st_size) for path, stat in stats)
