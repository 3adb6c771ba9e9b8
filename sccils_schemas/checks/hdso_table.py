"""The HDSOs of a configuration as the checks see them: by id, by name, with kind, file and value at the start."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from sccils_schemas.documents import (
    Control,
    Hdso,
    HdsoList,
    HdsoMod,
    HdsoSpec,
    Joint,
    JointList,
    MuscleActivation,
    Range,
    Ref,
    Servo,
    Signal,
    State,
    UpperModule,
)
from sccils_schemas.lines import attribute_line, data_line
from sccils_schemas.lookalikes import odd_letters, skeleton
from sccils_schemas.names import did_you_mean, id_ranges, shorten
from sccils_schemas.owners import mapped
from sccils_schemas.problems import Problems
from sccils_schemas.ranges import Bounds, both_ways, narrowed
from sccils_schemas.reader import STAND_IN
from sccils_schemas.signals import LONGEST_S, parameter_bounds, signals_of

HdsoKind = Literal["parameter", "sensor", "constant", "boolstring"]
KINDS: tuple[HdsoKind, ...] = ("parameter", "sensor", "constant", "boolstring")
LIST_KINDS: Mapping[str, HdsoKind] = {"parameterList": "parameter", "sensorList": "sensor"}
"""DataSetType of a list -> kind of its HDSOs that have no abstractType."""

SHORTEST_PERIOD_NS = 100_000
"""Of the evaluation of rules, or of muscles: a shorter one would let nothing else run."""
ENGINE_TIMES = ("engine_start_time", "engine_stop_time")
"""Sensors the engine itself writes, in nanoseconds."""

Data = Sequence[int | float] | str


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """Where something stands: an element, a character of one of its attributes, or an item `at` of its data.

    The line is looked up when it is asked for.
    """

    file: str
    element: int
    name: str = ""
    at: int | None = None

    @property
    def line(self) -> int:
        """The line."""
        if self.at is None:
            return self.element
        return attribute_line(self.element, self.name, self.at) if self.name else data_line(self.element, self.at)

    def __int__(self) -> int:
        """Return the line."""
        return int(self.line)

    def __str__(self) -> str:
        """Return `file:line`."""
        return f"{self.file}:{self.line}"

    def attribute(self, name: str, at: int = 0) -> SourcePlace:
        """Return where a character of an attribute stands."""
        return SourcePlace(self.file, self.element, name, at)

    def data(self, at: int = 0) -> SourcePlace:
        """Return where a number, or a character, of the data stands."""
        return SourcePlace(self.file, self.element, at=at)


@dataclass(frozen=True, slots=True)
class HdsoEntry:
    """One HDSO with its kind and the place of its declaration. `pushes`: it is the force command of a motor.

    `bounds` are what the engine can use of it, whatever its ranges say.
    """

    hdso: Hdso
    kind: HdsoKind
    place: SourcePlace
    pushes: bool = False
    bounds: Bounds = (None, None)

    @property
    def ranges(self) -> tuple[Range, ...]:
        """Its ranges, as they are read for its use."""
        return tuple(map(both_ways, self.hdso.ranges)) if self.pushes else self.hdso.ranges

    @property
    def count(self) -> int:
        """Number of elements."""
        return math.prod(self.hdso.dims)

    def __str__(self) -> str:
        """Return `HDSO 101 (CTr_lev_TC1_load)`."""
        return f"HDSO {self.hdso.id_num} ({self.hdso.name})"


def kind_of(hdso: Hdso, home: HdsoList, otherwise: HdsoKind) -> HdsoKind:
    """Return an HDSO's kind: its abstractType, else its list's kind (reading B18), else `otherwise`."""
    for kind in KINDS:
        if hdso.abstract_type == kind:
            return kind
    return LIST_KINDS.get(home.data_set_type or "", otherwise)


@dataclass(slots=True)
class HdsoTable:
    """HDSOs by id and by name. `complete` is false when a list is missing: then nothing is called undeclared.

    `values` holds what HDSOs hold at the start, as far as it is known: numbers, or the text of rules and characters.
    `fed` are the sensors that get values while the engine runs, or None where that is not known; `loads`
    those of them that are loads of motors.
    """

    entries: dict[int, HdsoEntry] = field(default_factory=dict[int, HdsoEntry])
    ids: dict[str, int] = field(default_factory=dict[str, int])
    values: dict[int, Data] = field(default_factory=dict[int, Data])
    complete: bool = True
    fed: frozenset[int] | None = None
    loads: frozenset[int] | None = None

    def add(self, hdsos: HdsoList, file: str, otherwise: HdsoKind) -> None:
        """Take in a list. Of HDSOs with the same id or name the first counts."""
        for hdso in hdsos.hdsos:
            entry = HdsoEntry(hdso, kind_of(hdso, hdsos, otherwise), SourcePlace(file, hdso.line))
            self.entries.setdefault(hdso.id_num, entry)
            if hdso.name:
                self.ids.setdefault(hdso.name, hdso.id_num)
            if hdso.initial_data is not None:
                self.values.setdefault(hdso.id_num, hdso.initial_data)
        for ref, bounds in parameter_bounds(signals_of(hdsos)):
            if (entry := self.get(ref)) is not None:
                self.entries[entry.hdso.id_num] = replace(entry, bounds=narrowed(entry.bounds, bounds))

    @property
    def controls(self) -> list[Control]:
        """The controls among them."""
        return [entry.hdso for entry in self.entries.values() if isinstance(entry.hdso, Control)]

    def get(self, ref: Ref) -> HdsoEntry | None:
        """Return the HDSO with this id or name, or None."""
        number = ref if isinstance(ref, int) else self.ids.get(ref)
        return None if number is None else self.entries.get(number)

    def kind(self, ref: Ref) -> HdsoKind | None:
        """Return the kind of the HDSO with this id or name, or None when there is none."""
        entry = self.get(ref)
        return None if entry is None else entry.kind

    def find(self, ref: Ref, place: SourcePlace, problems: Problems, name: str | None = None) -> HdsoEntry | None:
        """Return the HDSO with this id or name; report one that is not declared. `name` is what goes with an id."""
        entry = self.get(ref)
        if entry is not None or not self.complete or (isinstance(ref, int) and ref <= STAND_IN):
            return entry
        if isinstance(ref, str):
            what = f"HDSO '{shorten(ref)}' is not declared"
        else:
            what = f"HDSO {ref} is not declared" if ref >= 0 else f"HDSO id {ref} cannot be used here"
        hint = self._hint(ref, name) if problems.guessing else ""
        problems.error(place.file, place.line, what, "an HDSO of parameters.xml or sensors.xml", hint)
        return None

    def _hint(self, ref: Ref, name: str | None) -> str:
        if isinstance(ref, str):
            return did_you_mean(ref, self.ids)
        if name in self.ids:
            return f"'{name}' is HDSO {self.ids[name]}"
        return f"declared ids are {id_ranges(number for number in self.entries if number >= 0)}"

    def find_mod(self, mod: HdsoMod | HdsoSpec, file: str, problems: Problems) -> HdsoEntry | None:
        """Return the HDSO an hdsoMod or hdsoSpec means; report one not declared, warn of a name that differs."""
        place = SourcePlace(file, mod.line)
        by = "name" if isinstance(mod.ref, str) else "idNum"
        entry = self.find(mod.ref, place.attribute(by), problems, mod.name)
        if entry is not None and not mod.id_by_name and mod.name and mod.name != entry.hdso.name:
            what = f"name '{shorten(mod.name)}' differs from '{entry.hdso.name}', the name of HDSO {mod.id_num}"
            line, odd = place.attribute("name").line, odd_letters(mod.name) or odd_letters(entry.hdso.name)
            hint = "idNum decides; with idByName='y' the name does"
            problems.warning(file, line, what, hint=f"{hint}; look-alike: {odd}" if odd else hint)
        return entry

    def write(self, mod: HdsoMod) -> None:
        """Note what a write leaves in an HDSO."""
        entry = self.get(mod.ref)
        if entry is None or not mod.data:
            return
        number = entry.hdso.id_num
        before = self.values.get(number, ())
        if isinstance(mod.data, str) or isinstance(before, str) or len(mod.data) >= len(before):
            self.values[number] = mod.data
            return
        # A write shorter than the HDSO leaves the rest as it was (reading B17), and costs no more than itself.
        held = before if isinstance(before, list) else list(before)
        held[: len(mod.data)] = mod.data
        self.values[number] = held

    def follow(self, control: Control) -> None:
        """Note what follows a control, where that has a value."""
        held = self.values.get(control.id_num)
        if not held or isinstance(held, str):
            return
        for item in control.maps:
            entry = self.get(item.hdso)
            before = None if entry is None else self.values.get(entry.hdso.id_num)
            if entry is not None and before and not isinstance(before, str) and item.points:
                values = list(before)
                if item.element < len(values):
                    values[item.element] = mapped(item, float(held[0]))
                self.values[entry.hdso.id_num] = values

    def copy(self) -> HdsoTable:
        """Return a table whose values can change on their own."""
        values = {number: tuple(data) if isinstance(data, list) else data for number, data in self.values.items()}
        return HdsoTable(self.entries, self.ids, values, self.complete, self.fed, self.loads)

    def feed(self, sensors: HdsoList, jointlist: JointList) -> None:
        """Note which sensors get values: those of the motors (reading B12), and the engine's own times."""
        pairs = motor_sensors(jointlist, sensors)
        entries = [self.get(ref) for pair in pairs for ref in pair]
        loads = [self.get(pair[1]) for pair in pairs if len(pair) > 1]
        times = [hdso.id_num for hdso in sensors.hdsos if hdso.name in ENGINE_TIMES or isinstance(hdso, Signal)]
        self.loads = frozenset(entry.hdso.id_num for entry in loads if entry is not None)
        self.fed = frozenset([*times, *(entry.hdso.id_num for entry in entries if entry is not None)])

    def is_unfed(self, entry: HdsoEntry) -> bool:
        """Say whether this is a sensor that never has a value."""
        number = entry.hdso.id_num
        return entry.kind == "sensor" and self.fed is not None and number not in self.fed and number not in self.values

    def elements(self, refs: Sequence[Ref]) -> list[int | float] | None:
        """Return the values of several HDSOs one after another, or None when any is not fully known."""
        flat: list[int | float] = []
        for ref in refs:
            entry = self.get(ref)
            values = self.values.get(entry.hdso.id_num) if entry else None
            if entry is None or values is None or isinstance(values, str) or len(values) != entry.count:
                return None
            flat += values
        return flat


def parameter_refs(activation: MuscleActivation, kind: Callable[[Ref], str | None]) -> tuple[Ref, ...]:
    """Return the parameters of an activation; `kind` tells an HDSO's kind.

    Where activation_parameters is left out the hdsoMods that name no sensor are the parameters.
    """
    return activation.parameters or tuple(mod.ref for mod in activation.mods if kind(mod.ref) != "sensor")


def all_states(jointlist: JointList) -> list[State]:
    """Return the states of all joints, then those of modules without a motor."""
    return [state for owner in (*jointlist.joints, *jointlist.modules) for state in owner.states]


def joint_mods(joint: Joint, servos: Sequence[Servo] | None = None) -> list[HdsoMod]:
    """Return every hdsoMod of a joint in document order; of its motors those in `servos`, or of all."""
    mods: list[HdsoMod | None] = [mod for muscle in joint.muscles for spec in muscle.functions for mod in spec.mods]
    mods += [joint.geometry.amatrix, joint.geometry.dh_line]
    mods += [mod for state in joint.states for mod in state_mods(state)]
    mods += [mod for organ in joint.sense_organs for mod in organ.mods]
    for servo in joint.servos if servos is None else servos:
        mods += [mod for spec in servo.sensorspecs for mod in spec.mods]
        mods += [servo.force_command, servo.position_command]
    return [mod for mod in mods if mod is not None]


def state_mods(state: State) -> list[HdsoMod]:
    """Return every hdsoMod of a state that is written before the start: not what a module does on entering it."""
    mods: list[HdsoMod] = [] if state.dwell_time is None else [state.dwell_time]
    mods += [mod for activation in state.activations for mod in activation.mods]
    return [*mods, *state.rule.mods]


def module_mods(module: UpperModule) -> list[HdsoMod]:
    """Return every hdsoMod of a module in document order, then the action of its start state, which it begins in."""
    mods = [mod for state in module.states for mod in state_mods(state)]
    started = [state.action for state in module.states if state.id_num == module.start_state]
    return [*mods, *(mod for action in started if action is not None for mod in action.mods)]


def motor_sensors(jointlist: JointList, sensors: HdsoList) -> list[tuple[Ref, ...]]:
    """Return angle and current of each motor, in the order of the joints: by its sensorspecs, as far as it has any.

    Without them the first 2N sensors are (angle, current) of the N motors, in document order (reading B12).
    """
    servos = [joint.servos[0] for joint in jointlist.joints if joint.servos and not joint.endpoint]
    ids = [hdso.id_num for hdso in sensors.hdsos if not isinstance(hdso, Signal)]
    return [sensor_refs(servo) or tuple(ids[2 * k : 2 * k + 2]) for k, servo in enumerate(servos)]


def sensor_refs(servo: Servo) -> tuple[Ref, ...]:
    """Return the sensors that the sensorspecs of a motor name, one after another."""
    return tuple(mod.ref for spec in servo.sensorspecs for mod in spec.mods)


def acting_bounds(jointlist: JointList) -> list[tuple[Ref, Bounds]]:
    """Return what holds a time constant, a width, a delay or a period, and what it may be, whatever its ranges say."""
    muscles = [muscle for joint in jointlist.joints for muscle in joint.muscles]
    found: list[tuple[Ref | None, Bounds]] = [(jointlist.muscle_period, (SHORTEST_PERIOD_NS, None))]
    found += [(muscle.efferent_delay, (0.0, LONGEST_S)) for muscle in muscles]
    for dynamics in (muscle.dynamics for muscle in muscles if muscle.dynamics is not None):
        found += [(dynamics.rise, (0.0, None)), (dynamics.fall, (0.0, None))]
    for soft in (joint.soft for joint in jointlist.joints if joint.soft is not None):
        found += [(width.hdso, (0.0, None)) for width in soft.widths]
    return [(ref, bounds) for ref, bounds in found if ref is not None]


def force_commands(jointlist: JointList) -> list[Ref]:
    """Return the HDSOs that motors take forces from."""
    servos = [servo for joint in jointlist.joints for servo in joint.servos]
    return [servo.force_command.ref for servo in servos if servo.force_command is not None]


def initialise(table: HdsoTable, jointlist: JointList) -> None:
    """Note what the joint list uses as a force, and what it writes at the start: later writes win (reading B13)."""
    for entry in filter(None, map(table.get, force_commands(jointlist))):
        table.entries[entry.hdso.id_num] = replace(entry, pushes=True)
    for ref, bounds in acting_bounds(jointlist):
        if (entry := table.get(ref)) is not None:
            table.entries[entry.hdso.id_num] = replace(entry, bounds=narrowed(entry.bounds, bounds))
    for state in all_states(jointlist):
        if state.rule.boolstring is not None and state.rule.mods:
            entry = table.get(state.rule.mods[0].ref)
            if entry is not None:
                table.values[entry.hdso.id_num] = state.rule.boolstring
    for joint in jointlist.joints:
        for mod in joint_mods(joint):
            table.write(mod)
    for module in jointlist.modules:
        for mod in module_mods(module):
            table.write(mod)
    for control in table.controls:
        table.follow(control)


def check_looks(name: str, place: SourcePlace, looks: dict[str, str], problems: Problems) -> None:
    """Warn of a name whose letters look like others, or that looks like another one; `looks` are those seen before."""
    if odd := odd_letters(name):
        what = f"name '{shorten(name)}' has letters that look like others, or like none: {odd}"
        problems.warning(place.file, place.line, what, hint="type it anew")
    other = looks.setdefault(skeleton(name), name)
    if other != name:
        problems.warning(place.file, place.line, f"name '{shorten(name)}' looks like '{shorten(other)}', another name")
