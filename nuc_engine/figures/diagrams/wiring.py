"""What the diagrams are drawn from: modules, actions and entry rules, with the values in force at one moment.

Source: chapter 4. A rule becomes a tree of conditions on sensors: thresholds are numbers already, rules inside rules
are opened, and what no sensor decides is true or false.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from drivers.units import NS_PER_S
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.tracks import JointRole, joint_role
from nuc_engine.model.changes import Changeset
from nuc_engine.model.decimals import number_text, plain_number
from nuc_engine.model.plan import ControlPlan, HdsoPlan, JointPlan, ModulePlan, Plan
from nuc_engine.model.planning import follow
from nuc_engine.model.rulecheck import free_ranges
from nuc_engine.model.values import Values, initial_values, rule_tokens
from sccils_schemas.documents import seconds_text
from sccils_schemas.model import Model
from sccils_schemas.nesting import MAX_RULE_LEVELS
from sccils_schemas.rules import And, Inequality, Rule, Variable, parse_tokens

Color = tuple[float, float, float]
MAX_CASES = 256


class DiagramError(AnalysisError):
    """A configuration or a bout of which the diagram asked for cannot be drawn: what is in the way, what to do."""


@dataclass(frozen=True, slots=True)
class Sense:
    """A sensor rules read: `joint` is the joint it belongs to (None: of no joint), `low` and `high` what it can be.

    One that tells of a joint's actions (section 9.4.1) is what that joint does, and no sense of what it feels.
    """

    hdso: int
    name: str
    unit: str
    joint: int | None
    what: Literal["angle", "load", "action", "other"]
    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True, slots=True)
class Limit:
    """One sensory event: a sensor above or below a threshold. `parameter` is the threshold's name, `id_num` its id."""

    sense: Sense
    above: bool
    threshold: float
    parameter: str
    id_num: int

    @property
    def text(self) -> str:
        """The event as it stands in a rule, with the number: `FT_angle > 120`."""
        return f"{self.sense.name} {'>' if self.above else '<'} {number_text(self.threshold, 'float')}"

    def implies(self, other: Limit) -> bool:
        """Say whether this event cannot be without the other."""
        if self.sense != other.sense or self.above != other.above:
            return False
        return self.threshold >= other.threshold if self.above else self.threshold <= other.threshold


@dataclass(frozen=True, slots=True)
class SensorOrder:
    """One sensor above (or below) another one."""

    left: Sense
    right: Sense
    above: bool

    @property
    def text(self) -> str:
        """The condition as it stands in a rule."""
        return f"{self.left.name} {'>' if self.above else '<'} {self.right.name}"


@dataclass(frozen=True, slots=True)
class NonZero:
    """A sensor alone: true when it is not zero."""

    sense: Sense

    @property
    def text(self) -> str:
        """The condition in words."""
        return f"{self.sense.name} is not 0"


@dataclass(frozen=True, slots=True)
class ConstantCondition:
    """What no sensor decides: true or false as long as no parameter changes."""

    holds: bool
    text: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """True when every term is."""

    terms: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """True when any term is."""

    terms: tuple[Condition, ...]


Leaf = Limit | SensorOrder | NonZero | ConstantCondition
Condition = Leaf | AllOf | AnyOf
Case = tuple[Limit | SensorOrder | NonZero, ...]
"""Conditions that have to hold together."""


@dataclass(frozen=True, slots=True)
class WiredAction:
    """One action of a module: `index` is its place among all states, `rule` what it is entered by.

    `central` is what it is entered by without a sensory event, where no rule leads elsewhere (section 9.4.1).
    """

    index: int
    name: str
    color: Color
    rule: Condition
    central: Condition | None = None

    @property
    def short(self) -> str:
        """The name without the joint's: `LevationPRO` of `CTr_LevationPRO`."""
        return self.name.rpartition("_")[2] or self.name


@dataclass(frozen=True, slots=True)
class Module:
    """One joint that has actions, or a module without a motor, which is counted after all joints."""

    joint: int
    name: str
    role: JointRole
    actions: tuple[WiredAction, ...]
    start: int

    @property
    def short(self) -> str:
        """A name for tight places: the joint's usual abbreviation, else its name."""
        return self.role or self.name

    def action(self, index: int) -> WiredAction:
        """Return the action with this state index. Raises KeyError."""
        for action in self.actions:
            if action.index == index:
                return action
        raise KeyError(index)


@dataclass(frozen=True, slots=True)
class Wiring:
    """The whole control system at one moment; `values` by HDSO index, modules from the body outwards.

    `upper` are the modules without a motor.
    """

    label: str
    time_s: float | None
    plan: Plan
    values: tuple[Values | None, ...]
    modules: tuple[Module, ...]
    upper: tuple[Module, ...] = ()

    @property
    def moment(self) -> str:
        """When that is, in words."""
        if self.time_s is None:
            return "with the values in force"
        return f"at {self.time_s:g} s" if self.time_s else "as configured"

    def thresholds(self) -> dict[str, float]:
        """Return what sensors are compared with, by name."""
        found = [leaf for module in self.modules for action in module.actions for leaf in leaves(action.rule)]
        return {leaf.parameter: leaf.threshold for leaf in found if isinstance(leaf, Limit)}

    def senses(self) -> tuple[Sense, ...]:
        """Return the sensors any rule reads, those of the joint nearest the body first."""
        found = {sense for module in self.modules for action in module.actions for sense in senses_of(action.rule)}
        last = len(self.plan.joints)
        return tuple(sorted(found, key=lambda s: (last if s.joint is None else s.joint, s.hdso)))


def wiring_at(model: Model, plan: Plan, changesets: Sequence[Changeset], time_s: float, label: str) -> Wiring:
    """Return the control system of a model `time_s` after the start, changes of that instant included.

    Raises DiagramError as `wiring_with`.
    """
    values = list(initial_values(plan))
    for changeset in changesets:
        if changeset.time_ns > round(time_s * NS_PER_S):
            break
        for write in changeset.writes:
            values[write.hdso] = write.values + (values[write.hdso] or ())[len(write.values) :]
    for control in plan.controls:
        if (at := values[control.value.hdso]) is not None:
            _lead(plan, control, float(at[0]), values)
    return wiring_with(model, plan, values, time_s, label)


def _lead(plan: Plan, control: ControlPlan, at: float, values: list[Values | None]) -> None:
    """Let what follows a control have its value."""
    for slot, points in control.maps:
        held = list(values[slot.hdso] or ())
        held[slot.element] = follow(plan.hdsos[slot.hdso], points, at)
        values[slot.hdso] = tuple(held)


def wiring_with(model: Model, plan: Plan, values: Sequence[Values | None], time_s: float | None, label: str) -> Wiring:
    """Return the control system of a model with values in force, by HDSO index; `time_s` None: they are those of now.

    Raises DiagramError when no joint has actions, or when a rule reads what has no value.
    """
    reader = _Reader(plan, values, _colors(model))
    modules = tuple(reader.module(joint) for joint in plan.joints if joint.states)
    if not modules:
        raise DiagramError(f"{label}: no joint has actions, so there is nothing to draw")
    upper = tuple(reader.upper_module(module) for module in plan.modules)
    return Wiring(label, time_s, plan, tuple(values), modules, upper)


def leaves(condition: Condition) -> Iterator[Leaf]:
    """Yield the leaves of a condition in the order written."""
    if isinstance(condition, AllOf | AnyOf):
        for term in condition.terms:
            yield from leaves(term)
    else:
        yield condition


def senses_of(condition: Condition) -> tuple[Sense, ...]:
    """Return the sensors a condition reads, each once, in the order written."""
    found: list[Sense] = []
    for leaf in leaves(condition):
        if isinstance(leaf, SensorOrder):
            found += [leaf.left, leaf.right]
        elif not isinstance(leaf, ConstantCondition):
            found.append(leaf.sense)
    return tuple(dict.fromkeys(found))


def cases(condition: Condition) -> tuple[Case, ...]:
    """Return a condition as alternatives; an empty case is always true. Raises DiagramError for more than MAX_CASES."""
    if isinstance(condition, ConstantCondition):
        return ((),) if condition.holds else ()
    if not isinstance(condition, AllOf | AnyOf):
        return ((condition,),)
    parts = [cases(term) for term in condition.terms]
    if isinstance(condition, AnyOf):
        found = [case for part in parts for case in part]
    else:
        if math.prod(len(part) for part in parts) > MAX_CASES:
            raise DiagramError(f"a rule has more than {MAX_CASES} cases, which no diagram shows")
        found = [tuple(dict.fromkeys(leaf for case in choice for leaf in case)) for choice in product(*parts)]
    return tuple(dict.fromkeys(found))


def rule_text(condition: Condition) -> str:
    """Return a condition in one line, with numbers for thresholds."""
    return _text(condition, nested=False)


def when_text(condition: Condition) -> str:
    """Return a condition as rules are written, by names of sensors and thresholds; 1 and 0 where no sensor decides."""
    if isinstance(condition, AllOf | AnyOf):
        return (" & " if isinstance(condition, AllOf) else " | ").join(
            f"({when_text(term)})" if isinstance(term, AllOf | AnyOf) else when_text(term) for term in condition.terms
        )
    if isinstance(condition, Limit):
        return f"{condition.sense.name} {'>' if condition.above else '<'} {condition.parameter}"
    if isinstance(condition, NonZero):
        return condition.sense.name
    return condition.text if isinstance(condition, SensorOrder) else str(int(condition.holds))


def any_text(found: Iterable[Leaf]) -> str:
    """Return conditions as a rule that is true when any of them is."""
    return " | ".join(dict.fromkeys(when_text(leaf) for leaf in found))


def _text(condition: Condition, *, nested: bool) -> str:
    if not isinstance(condition, AllOf | AnyOf):
        return condition.text
    word = " and " if isinstance(condition, AllOf) else " or "
    inner = word.join(_text(term, nested=True) for term in condition.terms)
    return f"({inner})" if nested else inner


_ROLE_COLORS: Mapping[JointRole, tuple[Color, ...]] = {
    "ThC": ((0.0, 0.58, 0.39), (0.66, 1.0, 0.0), (0.35, 0.75, 0.55)),
    "CTr": ((0.0, 0.86, 0.86), (0.0, 0.30, 0.64), (0.45, 0.60, 0.90)),
    "FTi": ((1.0, 0.4, 0.0), (0.71, 0.0, 0.22), (1.0, 0.75, 0.35)),
    "": ((0.62, 0.62, 0.64), (0.35, 0.35, 0.38), (0.80, 0.80, 0.82)),
}


def _colors(model: Model) -> dict[int, Color]:
    """Return the colour the configuration gives each state, by id."""
    states = [state for joint in model.jointlist.joints for state in joint.states]
    styles = {state.id_num: state.plotstyle for state in states}
    return {id_num: style.colorspec for id_num, style in styles.items() if style is not None and style.colorspec}


class _Reader:
    """Turns rules into conditions with the values of one moment."""

    def __init__(self, plan: Plan, values: Sequence[Values | None], colors: Mapping[int, Color]) -> None:
        self._plan, self._values, self._colors = plan, values, colors
        self._by_id = {hdso.id_num: hdso for hdso in plan.hdsos}
        self._ranges = free_ranges(plan)
        self._fed: dict[int, tuple[int | None, Literal["angle", "load", "action", "other"]]]
        self._fed = {motor.angle: (motor.joint, "angle") for motor in plan.motors}
        self._fed |= {motor.current: (motor.joint, "load") for motor in plan.motors}
        joints = len(plan.joints)
        for told in plan.action_signals:
            self._fed[told.output.hdso] = (told.switch if told.switch < joints else None, "action")
        for signal in plan.signals:
            # A signal that is made of one joint's sensors alone is that joint's.
            made_of = {self._fed.get(slot.hdso, (None, ""))[0] for slot in signal.inputs}
            self._fed[signal.output.hdso] = (made_of.pop() if len(made_of) == 1 else None, "other")

    def module(self, joint: JointPlan) -> Module:
        role = joint_role(joint.name)
        actions = tuple(self._action(state, role, k) for k, state in enumerate(joint.states))
        start = joint.start_state if joint.start_state in joint.states else joint.states[0]
        return Module(joint.index, joint.name, role, actions, start)

    def upper_module(self, module: ModulePlan) -> Module:
        actions = tuple(self._action(state.index, "", k) for k, state in enumerate(module.states))
        return Module(len(self._plan.joints) + module.index, module.name, "", actions, module.start_state)

    def _action(self, index: int, role: JointRole, place: int) -> WiredAction:
        state = self._plan.every_state[index]
        choices = _ROLE_COLORS[role]
        color = self._colors.get(state.id_num, choices[place % len(choices)])
        rule = self._plan.hdsos[state.rule]
        central = None if state.central is None else self._open(self._plan.hdsos[state.central.rule], 0)
        return WiredAction(index, state.name, color, self._open(rule, 0), central)

    def _open(self, rule: HdsoPlan, level: int) -> Condition:
        held = self._values[rule.index]
        if held is None:
            raise DiagramError(f"rule {rule.name} ({rule.id_num}) has no value yet, expected an expression")
        if level > MAX_RULE_LEVELS:
            raise DiagramError(f"rule {rule.name} ({rule.id_num}) holds rules within rules too deep to draw")
        return self._condition(parse_tokens(rule_tokens(rule, held)), level)

    def _condition(self, rule: Rule, level: int) -> Condition:
        if isinstance(rule, Inequality):
            return self._comparison(rule)
        if isinstance(rule, Variable):
            return self._alone(self._by_id[int(rule.ref)], level)
        terms = tuple(self._condition(term, level) for term in rule.terms)
        return AllOf(terms) if isinstance(rule, And) else AnyOf(terms)

    def _alone(self, hdso: HdsoPlan, level: int) -> Condition:
        if hdso.kind == "boolstring":
            return self._open(hdso, level + 1)
        if hdso.kind == "sensor":
            return NonZero(self._sense(hdso))
        value = self._number(hdso)
        return ConstantCondition(value != 0.0, f"{'always' if value else 'never'} ({hdso.name})")

    def _comparison(self, rule: Inequality) -> Condition:
        left, right = self._by_id[int(rule.left.ref)], self._by_id[int(rule.right.ref)]
        above = rule.op == ">"
        if left.kind == right.kind == "sensor":
            return SensorOrder(self._sense(left), self._sense(right), above)
        if left.kind == "sensor":
            return Limit(self._sense(left), above, self._number(right), right.name + _late(rule.left), right.id_num)
        if right.kind == "sensor":
            return Limit(self._sense(right), not above, self._number(left), left.name + _late(rule.right), left.id_num)
        a, b = self._number(left), self._number(right)
        return ConstantCondition(a > b if above else a < b, f"{left.name} {rule.op} {right.name}")

    def _number(self, hdso: HdsoPlan) -> float:
        held = self._values[hdso.index]
        if held is None:
            raise DiagramError(f"{hdso.name} ({hdso.id_num}) has no value yet, but a rule reads it")
        return float(plain_number(held[0], hdso.datatype))

    def _sense(self, hdso: HdsoPlan) -> Sense:
        low, high = self._ranges.get(hdso.index, (-math.inf, math.inf))
        unknown: tuple[None, Literal["other"]] = (None, "other")
        joint, what = self._fed.get(hdso.index, unknown)
        return Sense(hdso.index, hdso.name, hdso.units, joint, what, low, high)


def _late(sensor: Variable) -> str:
    """Return what is said behind a threshold whose sensor acts late."""
    return f", {seconds_text(sensor.delay_us)} s late" if sensor.delay_us else ""
