"""Named values of the last cycle: HDSOs, states, muscles, motors, rules and tasks, for requests and telemetry.

Names are HDSO names or ids, one element of an HDSO (`NAME[k]`, `nuc_engine.service.elements`), and:

    joint.NAME.state | action | angle_deg | mode | tweak       state as its index over all states, action as its name
    muscle.NAME.force | length | activation
    motor.NAME.position_raw | current_raw | sent_raw | status | age_ms
    sensor.NAME.measured                                       what is sensed is the HDSO itself
    rule.NAME                                                  of the rule's HDSO or its state; true or false now
    task.NAME.lateness_p50_us | lateness_p99_us | lateness_max_us | execution_... | period_us
    task.NAME.runs | overruns | skipped
    engine.time_s | cycle
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from drivers.units import NS_PER_S
from nuc_engine.control.rulebook import Rulebook
from nuc_engine.daemon.block import Block, Word
from nuc_engine.daemon.wire import Formats, MotorRecord, NumbersRecord, RecordKind, StatesRecord
from nuc_engine.model.plan import HdsoPlan, JointPlan, MotorPlan, MusclePlan, Plan
from nuc_engine.model.singularities import Singularities
from nuc_engine.model.store import Snapshot, Store, StoreError
from nuc_engine.model.values import Values, plain_number, plain_value
from nuc_engine.service.edits import ControlBook
from nuc_engine.service.elements import read_element, split_element
from sccils_schemas.problems import SccilsError

Plain = str | int | float | bool | list[int | float] | None


@dataclass(frozen=True, slots=True)
class Field:
    """One named value: its type (number, integer, flag, text, list), unit, and how to read it at a moment."""

    name: str
    type: str
    unit: str
    read: Callable[[Moment], Plain]


class Moment:
    """One look at everything: each record is unpacked at most once, and only when it is asked for."""

    def __init__(self, mirror: Mirror, latest: Mapping[int, bytes], now_ns: int) -> None:
        self._mirror, self._latest, self.now_ns = mirror, dict(latest), now_ns
        self._stored: dict[int, Values | None] = {}

    @cached_property
    def snapshot(self) -> Snapshot | None:
        """The whole store of the last cycle; None when the core writes faster than it can be read."""
        try:
            return self._mirror.store.snapshot()
        except StoreError:
            return None

    @cached_property
    def motor(self) -> MotorRecord | None:
        """The last exchange."""
        return self._unpack(RecordKind.MOTOR)

    @cached_property
    def states(self) -> StatesRecord | None:
        """The last state transition."""
        return self._unpack(RecordKind.STATES)

    @cached_property
    def sensors(self) -> NumbersRecord | None:
        """What was measured last."""
        return self._unpack(RecordKind.SENSORS)

    @cached_property
    def muscles(self) -> NumbersRecord | None:
        """The last forces and lengths."""
        return self._unpack(RecordKind.MUSCLES)

    @cached_property
    def rules(self) -> Callable[[int], bool | None]:
        """The truth of a rule by HDSO index, on the snapshot."""
        return self._mirror.rules.on(self.snapshot)

    @cached_property
    def tasks(self) -> Mapping[str, Mapping[str, Any]]:
        """Statistics of every task."""
        return {name: words.summary(self.now_ns) for name, words in self._mirror.block.statistics.items()}

    def values(self, index: int) -> Values | None:
        """Return an HDSO's elements: what was last written where only edits write, else those of the snapshot."""
        if index in self._mirror.settable and index in self._mirror.written:
            return self._mirror.written[index]
        return self.stored(index)

    def stored(self, index: int) -> Values | None:
        """Return an HDSO's elements as the snapshot has them; read once, however many of them are asked for by name."""
        if self.snapshot is None:
            return None
        if index not in self._stored:
            self._stored[index] = self._mirror.store.values_in(self.snapshot, index)
        return self._stored[index]

    @property
    def engine_time_s(self) -> float | None:
        """Engine time; None outside of a bout."""
        return self._mirror.engine_time_s(self.now_ns)

    def _unpack(self, kind: int) -> Any:
        content = self._latest.get(kind)
        try:
            return None if content is None else self._mirror.formats.unpack(kind, content)
        except struct.error:
            return None  # of another plan: a core is being replaced


class Mirror:
    """What can be known of the core of one plan without asking it.

    `written` are the elements every HDSO was last given, as the edit book follows them; `closed` the HDSOs that the
    engine writes itself or that are of no use to write.
    """

    def __init__(
        self, block: Block, plan: Plan, controls: ControlBook, written: Mapping[int, Values], closed: Collection[int]
    ) -> None:
        self.block, self.plan, self.controls, self.written = block, plan, controls, written
        self.settable = frozenset(h.index for h in plan.hdsos if h.kind != "sensor" and h.index not in closed)
        self.store = block.store(plan)
        self.formats = Formats(plan)
        self.rules = _Rules(plan)
        self.hazards = Singularities(plan)
        self.names = {hdso.id_num: hdso.name for hdso in plan.hdsos}
        self._hdsos: dict[int | str, HdsoPlan] = {hdso.id_num: hdso for hdso in plan.hdsos}
        self._hdsos.update({hdso.name: hdso for hdso in plan.hdsos})
        self._fields: dict[str, Field] = {field.name: field for field in self._make_fields()}

    def hdso(self, ref: int | str) -> HdsoPlan | None:
        """Return an HDSO by id or name; digits in a text are an id."""
        if isinstance(ref, str) and ref.isdecimal() and len(ref) < 11:
            ref = int(ref)
        return self._hdsos.get(ref)

    def field(self, ref: int | str) -> Field | None:
        """Return the named value, or None when there is none of that name.

        Raises Refused for an element that the HDSO named does not have.
        """
        name, element = split_element(ref)
        hdso = self.hdso(name)
        if hdso is None:
            return self._fields.get(str(ref))
        return _hdso_field(hdso, self.names) if element is None else _element_field(hdso, read_element(hdso, element))

    @property
    def known(self) -> tuple[str, ...]:
        """Every name but those of HDSOs."""
        return tuple(self._fields)

    def engine_time_s(self, time_ns: int) -> float | None:
        """Return an instant as engine time; None outside of a bout."""
        words = self.block.words
        return (time_ns - words[Word.BOUT_START]) / NS_PER_S if words[Word.BOUT] else None

    def default_recipe(self) -> tuple[Field, ...]:
        """Return what telemetry sends unasked: sensors, states, activations, forces, what was sent."""
        names: list[int | str] = ["engine.time_s", "engine.cycle"]
        names += [self.plan.hdsos[index].name for index in self.plan.sensor_columns]
        names += [f"joint.{joint.name}.state" for joint in self.plan.joints if joint.states]
        for muscle in self.plan.muscles:
            names += [f"muscle.{muscle.name}.{what}" for what in ("activation", "force")]
        names += [f"motor.{motor.name}.{what}" for motor in self.plan.motors for what in ("position_raw", "sent_raw")]
        return tuple(field for name in names if (field := self.field(name)) is not None)

    def _make_fields(self) -> list[Field]:
        fields = [
            Field("engine.time_s", "number", "s", lambda moment: moment.engine_time_s),
            Field("engine.cycle", "integer", "", lambda _: self.block.words[Word.CYCLE]),
        ]
        for joint in self.plan.joints:
            fields += self._joint_fields(joint)
        for muscle in self.plan.muscles:
            fields += _muscle_fields(muscle, len(self.plan.muscles))
        for motor in self.plan.motors:
            fields += _motor_fields(motor)
        for at, index in enumerate(self.plan.sensor_columns):
            hdso = self.plan.hdsos[index]
            fields.append(Field(f"sensor.{hdso.name}.measured", "number", hdso.units, _measured(hdso, at)))
        for name, index in self._rule_names():
            fields.append(Field(f"rule.{name}", "flag", "", lambda moment, k=index: moment.rules(k)))
        for task in self.block.statistics:
            fields += _task_fields(task)
        return fields

    def _joint_fields(self, joint: JointPlan) -> list[Field]:
        k, states = joint.index, self.plan.states

        def state(moment: Moment) -> int | None:
            return None if moment.states is None else moment.states.states[k]

        def action(moment: Moment) -> str | None:
            index = state(moment)
            return states[index].name if index is not None and 0 <= index < len(states) else None

        fields = [
            Field(f"joint.{joint.name}.state", "integer", "", state),
            Field(f"joint.{joint.name}.action", "text", "", action),
            Field(f"joint.{joint.name}.mode", "text", "", lambda _: self.controls.mode(k)),
            Field(f"joint.{joint.name}.tweak", "number", "ticks", lambda _: self.controls.value("tweak", k)),
        ]
        if joint.motor >= 0:
            angle = _hdso_field(self.plan.hdsos[self.plan.motors[joint.motor].angle], self.names)
            fields.append(Field(f"joint.{joint.name}.angle_deg", "number", "deg", angle.read))
        return fields

    def _rule_names(self) -> list[tuple[str, int]]:
        rules = [(hdso.name, hdso.index) for hdso in self.plan.hdsos if hdso.kind == "boolstring"]
        return rules + [(state.name, state.rule) for state in self.plan.states]


class _Rules:
    """Entry rules evaluated beside the core, on a store of one's own that is filled from snapshots."""

    def __init__(self, plan: Plan) -> None:
        self._boolstrings = [hdso for hdso in plan.hdsos if hdso.kind == "boolstring"]
        self._store = Store(plan)
        self._book = Rulebook(plan, self._store)
        self._codes: dict[int, tuple[int | float, ...]] = {}

    def on(self, snapshot: Snapshot | None) -> Callable[[int], bool | None]:
        """Return a function from a rule's HDSO index to its truth; None where it cannot be told."""
        if snapshot is None:
            return lambda _: None
        self._store.load_bytes(snapshot.data)
        for hdso in self._boolstrings:
            values = self._store.values(hdso.index)
            if values is not None:
                self._swap(hdso.index, values)
        return self._truth

    def _swap(self, index: int, values: Values) -> None:
        if self._codes.get(index) == values:
            return
        code = [int(value) for value in values]
        try:
            self._book.swap(index, code, self._book.decode(index, code))
        except SccilsError:
            self._book.in_force.pop(index, None)
        self._codes[index] = values

    def _truth(self, index: int) -> bool | None:
        predicate = self._book.in_force.get(index)
        try:
            return None if predicate is None else bool(predicate())
        except RecursionError:
            return None


def _hdso_field(hdso: HdsoPlan, names: Mapping[int, str]) -> Field:
    if hdso.kind == "boolstring" or hdso.datatype == "char":
        kind = "text"
    elif hdso.count > 1:
        kind = "list"
    else:
        kind = "number" if hdso.datatype in ("float", "double") else "integer"
    return Field(hdso.name, kind, hdso.units, lambda moment: plain_value(hdso, moment.values(hdso.index), names))


def _element_field(hdso: HdsoPlan, element: int) -> Field:
    def read(moment: Moment) -> Plain:
        values = moment.values(hdso.index)
        return None if values is None else plain_number(values[element], hdso.datatype)

    kind = "number" if hdso.datatype in ("float", "double") else "integer"
    return Field(f"{hdso.name}[{element}]", kind, hdso.units, read)


def _measured(hdso: HdsoPlan, at: int) -> Callable[[Moment], Plain]:
    def read(moment: Moment) -> Plain:
        # Before the first value there is a number in the record too.
        if moment.sensors is None or moment.stored(hdso.index) is None:
            return None
        return plain_number(moment.sensors.numbers[at], hdso.datatype)

    return read


def _muscle_fields(muscle: MusclePlan, count: int) -> list[Field]:
    k = muscle.index

    def number(at: int) -> Callable[[Moment], Plain]:
        return lambda moment: None if moment.muscles is None else moment.muscles.numbers[at]

    return [
        Field(f"muscle.{muscle.name}.force", "number", "", number(k)),
        Field(f"muscle.{muscle.name}.length", "number", "", number(count + k)),
        Field(
            f"muscle.{muscle.name}.activation",
            "number",
            "",
            lambda moment: None if moment.states is None else moment.states.activations[k],
        ),
    ]


def _motor_fields(motor: MotorPlan) -> list[Field]:
    k = motor.index

    def column(what: str) -> Callable[[Moment], Plain]:
        return lambda moment: None if moment.motor is None else getattr(moment.motor, what)[k]

    def age(moment: Moment) -> float | None:
        return None if moment.motor is None else (moment.now_ns - moment.motor.stamp_ns[k]) / 1e6

    named = [
        Field(f"motor.{motor.name}.{what}", "integer", "" if what == "status" else "ticks", column(what))
        for what in ("position_raw", "current_raw", "sent_raw", "status")
    ]
    return [*named, Field(f"motor.{motor.name}.age_ms", "number", "ms", age)]


def _task_fields(task: str) -> list[Field]:
    def quantile(what: str, which: str) -> Callable[[Moment], Plain]:
        def read(moment: Moment) -> float | None:
            part = moment.tasks[task]["last_second"] or moment.tasks[task]["since_start"]
            return None if part is None else part[f"{what}_ns"][which] / 1e3

        return read

    def period(moment: Moment) -> float | None:
        spans = moment.tasks[task]["period_ns"]
        return None if spans is None else spans["mean"] / 1e3

    timed = [
        Field(f"task.{task}.{what}_{which}_us", "number", "us", quantile(what, which))
        for what in ("lateness", "execution")
        for which in ("p50", "p99", "max")
    ]
    counted = [
        Field(f"task.{task}.{what}", "integer", "", lambda moment, what=what: moment.tasks[task][what])
        for what in ("runs", "overruns", "skipped")
    ]
    return [*timed, *counted, Field(f"task.{task}.period_us", "number", "us", period)]
